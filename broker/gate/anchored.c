#include "gate/anchored.h"

#include "gate/impl.h"
#include "log.h"
#include "ledger/anchor/after.h"
#include "ledger/evidence/evidence.h"
#include "ledger/record/json_scan.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#define AHEAD_S 60	/* of our clock: less than what a verifier passes over */

struct anchored {
	pthread_mutex_t lock;		/* held over the append: others wait for the same */
	char *ledger_dir;
	struct note_key witness[CONF_WITNESSES_MAX];
	size_t witnesses;
	uint8_t seen[crypto_hash_sha256_BYTES];	/* the file, when it was looked at last */
	bool recorded;
	struct ledger_receipt receipt;	/* meant where recorded */
};

struct anchored *
anchored_new(const struct conf_anchors *conf, const char *ledger_dir)
{
	struct anchored *anchored;

	if (conf == NULL || ledger_dir == NULL || conf->witnesses + conf->authorities == 0 ||
	    (anchored = calloc(1, sizeof(*anchored))) == NULL)
		return NULL;
	anchored->ledger_dir = strdup(ledger_dir);
	if (anchored->ledger_dir == NULL ||
	    pthread_mutex_init(&anchored->lock, NULL) != 0) {
		free(anchored->ledger_dir);
		free(anchored);
		return NULL;
	}
	for (; anchored->witnesses < conf->witnesses; anchored->witnesses++)
		note_key_parse(&anchored->witness[anchored->witnesses],
		    conf->witness[anchored->witnesses].vkey,
		    strlen(conf->witness[anchored->witnesses].vkey));
	return anchored;
}

void
anchored_free(struct anchored *anchored)
{
	if (anchored == NULL)
		return;
	pthread_mutex_destroy(&anchored->lock);
	free(anchored->ledger_dir);
	free(anchored);
}

/* The ledger's latest checkpoint, and the file; to be freed, NULL where there is none. */
static char *
read_recent(const struct anchored *anchored, struct checkpoint *at, size_t *len)
{
	int dirfd = evidence_dir(anchored->ledger_dir);
	char *signed_note = NULL, *text = NULL;
	struct note note;
	const char *why;
	size_t n = 0;

	if (dirfd < 0)
		return NULL;
	text = evidence_read(dirfd, ANCHORS_DIR "/" ANCHORS_RECENT, AFTER_BYTES_MAX, len);
	if (text != NULL)
		signed_note = evidence_read(dirfd, "checkpoint", NOTE_MAX, &n);
	if (signed_note == NULL || note_parse(&note, signed_note, n, &why) != 0 ||
	    checkpoint_parse(at, note.text, note.text_len) != 0) {
		free(text);
		text = NULL;
	}
	free(signed_note);
	close(dirfd);
	return text;
}

static const char *
misfit(const struct anchored *anchored, const struct checkpoint *at, const char *text,
    size_t len)
{
	struct json_scan scratch;
	struct after *after = after_parse(text, len);
	const char *why = "no anchors, or memory lacks";

	if (after != NULL)
		why = after_misfit(after, at, anchored->witness, anchored->witnesses,
		    clock_wall_ns() / 1000000000 + AHEAD_S);
	after_free(after);
	return why != NULL ? why : json_scan_object(&scratch, text, len);
}

static int
record(struct anchored *anchored, struct ledger_port *port, const char *policy,
    const char *text, size_t len, struct gate_problem *why)
{
	struct ledger_receipt receipt;

	if (gate_append(port, "anchor", NULL, policy, text, (int)len, false, &receipt,
	    why) == -1)
		return -1;
	anchored->receipt = receipt;
	anchored->recorded = true;
	return 0;
}

/* What was looked at once is not looked at again. */
static int
look(struct anchored *anchored, struct ledger_port *port, const char *policy,
    struct gate_problem *why)
{
	uint8_t digest[crypto_hash_sha256_BYTES];
	struct checkpoint at;
	size_t len = 0;
	char *text = read_recent(anchored, &at, &len);
	const char *rule;
	int status = 0;

	if (text == NULL)
		return 0;
	crypto_hash_sha256(digest, (const uint8_t *)text, len);
	if (memcmp(digest, anchored->seen, sizeof(digest)) != 0) {
		rule = misfit(anchored, &at, text, len);
		if (rule != NULL)
			log_event(LOG_WARNING, "anchor_not_recorded", "what witnesses and "
			    "authorities said last is not recorded: %s", rule);
		else
			status = record(anchored, port, policy, text, len, why);
		if (status == 0)
			memcpy(anchored->seen, digest, sizeof(digest));
	}
	free(text);
	return status;
}

int
anchored_latest(struct anchored *anchored, struct ledger_port *port,
    const char *policy, struct ledger_receipt *out, struct gate_problem *why)
{
	int status;

	if (anchored == NULL)
		return 0;
	pthread_mutex_lock(&anchored->lock);
	status = look(anchored, port, policy, why);
	if (status == 0 && anchored->recorded) {
		*out = anchored->receipt;
		status = 1;
	}
	pthread_mutex_unlock(&anchored->lock);
	return status;
}
