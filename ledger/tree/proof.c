#include "ledger/tree/proof.h"
#include "ledger/io.h"
#include "ledger/tree/hash_lines.h"
#include "ledger/tree/hashes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER "c2sp.org/tlog-proof@v1\nindex "

/* The size in the text of a note, without verifying it: what is served is
 * checked by whoever receives it. */
static int
checkpoint_of(const char *buf, size_t len, struct checkpoint *checkpoint)
{
	struct note note;
	const char *why;

	if (note_parse(&note, buf, len, &why) != 0)
		return -1;
	return checkpoint_parse(checkpoint, note.text, note.text_len);
}

int
proof_format(const struct tree_proof *proof, uint64_t index, const char *note,
    size_t note_len, char *out, size_t cap)
{
	int n = snprintf(out, cap, HEADER "%" PRIu64 "\n", index);
	size_t at = (size_t)n;

	if (n < 0 || cap < at + proof->count * HASH_LINE_LEN + note_len + 2)
		return -1;
	at += hash_lines_write(proof, out + at);
	out[at++] = '\n';
	memcpy(out + at, note, note_len);
	at += note_len;
	out[at] = '\0';
	return (int)at;
}

/* The last checkpoint that witnesses cosigned, where it holds the record and
 * is of this tree; its length, or -1. */
static ssize_t
read_cosigned(int dirfd, uint64_t index, char *note)
{
	ssize_t len = io_read_file(dirfd, "anchors/checkpoint", note, NOTE_MAX);
	struct hashes_reader reader = { .dirfd = dirfd };
	struct tree_source source = hashes_source(&reader);
	uint8_t root[TREE_HASH_LEN];
	struct checkpoint at;

	if (len < 0 || checkpoint_of(note, (size_t)len, &at) != 0 ||
	    at.size <= index)
		return -1;
	reader.size = at.size;
	return tree_root(&source, at.size, root) == 0 &&
	    memcmp(root, at.root, sizeof(root)) == 0 ? len : -1;
}

static int
compose(int dirfd, uint64_t index, char *note, char *out, size_t cap,
    struct problem *problem)
{
	ssize_t len = read_cosigned(dirfd, index, note);
	struct hashes_reader reader = { .dirfd = dirfd };
	struct tree_source source = hashes_source(&reader);
	struct checkpoint checkpoint;
	struct tree_proof proof;
	int n;

	if (len < 0)
		len = io_read_file(dirfd, "checkpoint", note, NOTE_MAX);
	if (len < 0)
		return problem_errno(problem, "cannot read checkpoint");
	if (checkpoint_of(note, (size_t)len, &checkpoint) != 0)
		return problem_set(problem, "checkpoint is malformed");
	if (index >= checkpoint.size)
		return problem_set(problem, "record %" PRIu64 " is not sealed: "
		    "the latest checkpoint signs %" PRIu64, index,
		    checkpoint.size);
	reader.size = checkpoint.size;
	if (tree_prove_inclusion(&source, index, checkpoint.size, &proof) != 0)
		return problem_set(problem, "the hashes beside the records are "
		    "not whole; the next start of the daemon makes them again");
	n = proof_format(&proof, index, note, (size_t)len, out, cap);
	return n >= 0 ? n : problem_set(problem, "no room for the proof");
}

int
proof_compose(int dirfd, uint64_t index, char *out, size_t cap,
    struct problem *problem)
{
	char *note = malloc(NOTE_MAX);
	int len;

	if (note == NULL)
		return problem_set(problem, "out of memory");
	len = compose(dirfd, index, note, out, cap, problem);
	free(note);
	return len;
}

int
proof_checkpoint(const char *text, size_t len, struct checkpoint *checkpoint)
{
	const char *blank = memmem(text, len, "\n\n", 2);

	return blank != NULL ? checkpoint_of(blank + 2,
	    len - (size_t)(blank + 2 - text), checkpoint) : -1;
}

int
proof_check(const char *text, size_t len,
    const uint8_t leaf[TREE_HASH_LEN], const struct note_key *key,
    uint64_t *index, struct checkpoint *checkpoint, const char **why)
{
	const char *at = text + sizeof(HEADER) - 1, *end = text + len;
	struct tree_proof proof;

	memset(checkpoint, 0, sizeof(*checkpoint));	/* until its signature is good */
	if (len < sizeof(HEADER) ||
	    memcmp(text, HEADER, sizeof(HEADER) - 1) != 0 ||
	    !hash_lines_number(&at, end, index) ||
	    !hash_lines_read(&at, end, TREE_PROOF_MAX, &proof)) {
		*why = "malformed proof";
		return -1;
	}
	if (checkpoint_open(checkpoint, at, (size_t)(end - at), key, why) != 0) {
		memset(checkpoint, 0, sizeof(*checkpoint));
		return -1;
	}
	if (tree_verify_inclusion(&proof, *index, checkpoint->size, leaf,
	    checkpoint->root))
		return 0;
	*why = "the proof does not lead to the signed root";
	return -1;
}
