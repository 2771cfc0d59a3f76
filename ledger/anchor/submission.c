#include "ledger/anchor/submission.h"
#include "ledger/tree/hash_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int
submission_parse(struct submission *submission, const char *body, size_t len,
    const char **why)
{
	const char *at = body + 4, *end = body + len;

	*submission = (struct submission){ .note = NULL };
	if (len > SUBMISSION_MAX) {
		*why = "longer than any submission";
		return -1;
	}
	if (len < 4 || memcmp(body, "old ", 4) != 0 ||
	    !hash_lines_number(&at, end, &submission->old_size)) {
		*why = "the first line must be `old` and a size";
		return -1;
	}
	if (!hash_lines_read(&at, end, SUBMISSION_PROOF_MAX,
	    &submission->proof)) {
		*why = "at most 63 hashes in base64 and an empty line must "
		    "follow the old size";
		return -1;
	}
	submission->note = at;
	submission->note_len = (size_t)(end - at);
	return 0;
}

int
submission_format(const struct submission *submission, char *out, size_t cap)
{
	int n = snprintf(out, cap, "old %" PRIu64 "\n", submission->old_size);
	size_t at = (size_t)n;

	if (n < 0 || submission->proof.count > SUBMISSION_PROOF_MAX ||
	    cap < at + submission->proof.count * HASH_LINE_LEN +
	    submission->note_len + 2)
		return -1;
	at += hash_lines_write(&submission->proof, out + at);
	out[at++] = '\n';
	memcpy(out + at, submission->note, submission->note_len);
	at += submission->note_len;
	out[at] = '\0';
	return (int)at;
}
