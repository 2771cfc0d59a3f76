/* /v1/ledger/epochs, /v1/ledger/rotate-key: the keys that sign the ledger. */
#include "api/impl.h"

#include "ledger/evidence/evidence.h"
#include "ledger/tree/epochs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROTATE_MS 10000

/* A file of the ledger, to be freed; NULL: not there, or it cannot be read. */
static char *
read_file(const struct api *api, const char *name, size_t max, size_t *len)
{
	int dirfd = api->options.ledger_dir != NULL ?
	    evidence_dir(api->options.ledger_dir) : -1;
	char *text = dirfd >= 0 ? evidence_read(dirfd, name, max, len) : NULL;

	if (dirfd >= 0)
		close(dirfd);
	return text;
}

void
api_epochs(struct api_call *call)
{
	size_t len = 0;
	char *text = read_file(call->api, EPOCHS_FILE, EPOCHS_BYTES_MAX, &len);

	if (text != NULL && len > 0) {
		api_answer_text(call, 200, "text/plain; charset=utf-8", text,
		    len);
		return;
	}
	free(text);
	api_refuse(call, 404, "ledger/no-epochs",
	    "the ledger is still signed by its first key",
	    "its proofs and checkpoints need nothing but log.vkey");
}

/* The keys as the files have them; the origin's own comes from log.vkey. */
static int
follow(const struct api *api, struct epochs *epochs)
{
	const char *why = "";
	struct note_key origin;
	size_t len = 0, n = 0;
	char *vkey = read_file(api, "log.vkey", NOTE_VKEY_MAX + 1, &n);
	char *text = read_file(api, EPOCHS_FILE, EPOCHS_BYTES_MAX, &len);
	int status = -1;

	if (vkey != NULL && n > 0 && vkey[n - 1] == '\n' &&
	    note_key_parse(&origin, vkey, n - 1) == 0 &&
	    epochs_pin(epochs, &origin) == 0 && text != NULL)
		status = epochs_follow(epochs, text, len, &why);
	free(text);
	free(vkey);
	return status;
}

void
api_rotate_key(struct api_call *call)
{
	struct epochs epochs = { .count = 0 };
	char vkey[NOTE_VKEY_MAX + 1];
	const struct epoch *last;

	if (ledger_rotate(call->api->options.ledger, ROTATE_MS) != 0) {
		api_refuse(call, 503, "ledger/not-rotated",
		    "no new signing key came into force",
		    "see the daemon's log: no space, or the recorder is a "
		    "thread");
		return;
	}
	if (follow(call->api, &epochs) != 0 || epochs.count < 2) {
		epochs_free(&epochs);
		api_answer(call, 503, NULL);
		return;
	}
	last = &epochs.epoch[epochs.count - 1];
	note_key_format(&last->key, vkey, sizeof(vkey));
	api_answer(call, 200, json_pack("{s:I, s:s, s:I}", "epoch",
	    (json_int_t)(epochs.count - 1), "key", vkey, "after",
	    (json_int_t)last[-1].until));
	epochs_free(&epochs);
}
