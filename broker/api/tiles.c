/* /v1/ledger: tiles and proofs, from the files beside the records. */
#include "api/impl.h"

#include "ledger/anchor/tiles.h"
#include "ledger/evidence/evidence.h"
#include "ledger/tree/note.h"
#include "ledger/tree/proof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int
open_ledger(const struct api *api)
{
	const char *dir = api->options.ledger_dir;

	return dir != NULL ? evidence_dir(dir) : -1;
}

static void
refuse_tile(struct api_call *call, const char *detail)
{
	api_refuse(call, 404, "ledger/no-tile", detail,
	    "take the checkpoint, and ask for tiles of its size");
}

/*
 * The size that the checkpoint signs which is served, so that its tiles are there for
 * whoever has just taken it: the recorder's count follows a moment behind the file.
 */
static uint64_t
served_size(const struct api *api)
{
	struct checkpoint checkpoint = { .size = 0 };
	struct note note;
	const char *why;
	size_t len = 0;
	char *text = api_read_checkpoint(api, &len);

	if (text == NULL || note_parse(&note, text, len, &why) != 0 ||
	    checkpoint_parse(&checkpoint, note.text, note.text_len) != 0)
		checkpoint.size = 0;
	free(text);
	return checkpoint.size;
}

void
api_tile(struct api_call *call)
{
	struct problem problem = { .text = "the ledger cannot be read" };
	struct tiles_name name;
	uint8_t *bytes = NULL;
	size_t len = 0;
	int dirfd;

	if (tiles_name_parse(&name, call->param) != 0) {
		refuse_tile(call, "this is no tile's name");
		return;
	}
	if (name.entries) {
		api_refuse(call, 404, "ledger/hashes-only",
		    "the records themselves are not served",
		    "`countersign ledger publish --entries` writes them out");
		return;
	}
	if ((dirfd = open_ledger(call->api)) >= 0) {
		bytes = tiles_read(dirfd, served_size(call->api), &name, &len,
		    &problem);
		close(dirfd);
	}
	if (bytes == NULL)
		refuse_tile(call, problem.text);
	else
		api_answer_text(call, 200, "application/octet-stream",
		    (char *)bytes, len);
}

/* A number without leading zeros. */
static bool
read_index(const char *text, uint64_t *index)
{
	char again[24];

	*index = strtoull(text, NULL, 10);
	snprintf(again, sizeof(again), "%" PRIu64, *index);
	return strcmp(again, text) == 0;
}

void
api_proof(struct api_call *call)
{
	struct problem problem = { .text = "the ledger cannot be read" };
	char *text = malloc(PROOF_TEXT_MAX);
	int len = -1, dirfd;
	uint64_t index;

	if (!read_index(call->param, &index)) {
		api_refuse(call, 400, "api/index", "an index is a decimal number",
		    "take the one of the receipt");
	} else if (text != NULL && (dirfd = open_ledger(call->api)) >= 0) {
		len = proof_compose(dirfd, index, text, PROOF_TEXT_MAX, &problem);
		close(dirfd);
	}
	if (len >= 0) {
		api_answer_text(call, 200, "text/plain; charset=utf-8", text,
		    (size_t)len);
		return;
	}
	free(text);
	if (!call->answered)
		api_refuse(call, 404, "ledger/no-proof", problem.text,
		    "try again after the checkpoint interval");
}
