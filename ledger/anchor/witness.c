#include "ledger/io.h"
#include "ledger/anchor/submission.h"
#include "ledger/anchor/witness_impl.h"
#include "ledger/tree/proof.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

/* ---- add-checkpoint ---- */

/* One submission on its way. */
struct turn {
	struct witness *witness;
	struct watched *log;
	struct submission in;
	struct note note;
	struct checkpoint at;
	char plain[COSIGN_PLAIN_MAX + 1];	/* with the log's signature alone */
	size_t plain_len;
	uint64_t now_s;
	struct witness_reply *reply;
};

static void
say(struct turn *turn, unsigned status, const char *event, const char *text)
{
	struct witness_reply *reply = turn->reply;

	reply->status = status;
	reply->event = event;
	reply->type = "text/plain; charset=utf-8";
	reply->len = (size_t)snprintf(reply->body, sizeof(reply->body), "%s",
	    text);
	assert(reply->len < sizeof(reply->body));
}

static void
say_size(struct turn *turn)
{
	char size[32];

	snprintf(size, sizeof(size), "%" PRIu64 "\n", turn->log->at.size);
	say(turn, 409, "other_size", size);
	turn->reply->type = "text/x.tlog.size";
}

/* What a log's key signed and cannot have signed honestly, or what somebody
 * joined to a proof that does not hold: whoever looks into it decides.  most: of
 * the latter fewer, since anybody can take honest checkpoints for it. */
static void
keep_evidence(struct turn *turn, unsigned most)
{
	uint8_t digest[crypto_hash_sha256_BYTES];
	char name[128], hex[33];

	if (turn->log->evidence >= most)
		return;
	crypto_hash_sha256(digest, (const uint8_t *)turn->plain,
	    turn->plain_len);
	sodium_bin2hex(hex, sizeof(hex), digest, 16);
	snprintf(name, sizeof(name), "evidence-%s-%s", turn->log->id, hex);
	if (faccessat(turn->witness->dirfd, name, F_OK,
	    AT_SYMLINK_NOFOLLOW) == 0)
		return;
	if (io_replace(turn->witness->dirfd, name, 0400, turn->plain,
	    turn->plain_len) == 0)
		turn->log->evidence++;
	else
		turn->reply->event = "evidence_lost";
}

static int
read_note(struct turn *turn, const char *body, size_t len)
{
	const char *why = "";

	if (submission_parse(&turn->in, body, len, &why) != 0 ||
	    note_parse(&turn->note, turn->in.note, turn->in.note_len,
	    &why) != 0) {
		say(turn, 400, "malformed", why);
		return -1;
	}
	if (checkpoint_parse(&turn->at, turn->note.text,
	    turn->note.text_len) != 0) {
		say(turn, 400, "malformed", "not three lines of origin, size "
		    "and root");
		return -1;
	}
	turn->reply->size = turn->at.size;
	return 0;
}

/* A log that we watch, signed by one of its keys. */
static int
admit(struct turn *turn)
{
	turn->log = witness_find(turn->witness, turn->at.origin);
	if (turn->log == NULL) {
		say(turn, 404, "unknown_log", "this witness does not watch that "
		    "origin");
		return -1;
	}
	memcpy(turn->reply->origin, turn->log->origin,
	    sizeof(turn->reply->origin));
	for (unsigned i = 0; i < turn->log->keys; i++) {
		int n = cosign_plain(&turn->note, epochs_key(
		    &turn->log->key[i], turn->at.size), turn->plain,
		    sizeof(turn->plain));

		turn->plain_len = n > 0 ? (size_t)n : 0;
		if (n > 0)
			return 0;
	}
	say(turn, 403, "unknown_key", "not signed by a key that this witness "
	    "knows for that origin");
	return -1;
}

/* Does the tree begin with the one that we cosigned last? */
static int
follows(struct turn *turn)
{
	const struct watched *log = turn->log;

	if (turn->in.old_size > turn->at.size) {
		say(turn, 400, "malformed", "the old size is above the "
		    "checkpoint's");
		return -1;
	}
	if (turn->at.size == log->at.size && log->note != NULL &&
	    memcmp(turn->at.root, log->at.root, TREE_HASH_LEN) != 0) {
		say(turn, 409, "equivocation", "");
		keep_evidence(turn, WITNESS_EVIDENCE_MAX);
		return -1;
	}
	if (turn->in.old_size != log->at.size) {
		say_size(turn);
		return -1;
	}
	if (log->at.size == 0 ? turn->in.proof.count == 0 :
	    tree_verify_consistency(&turn->in.proof, log->at.size,
	    turn->at.size, log->at.root, turn->at.root))
		return 0;
	say(turn, 422, "inconsistent", "the proof does not lead from the tree "
	    "that this witness cosigned to this one");
	keep_evidence(turn, WITNESS_EVIDENCE_MAX / 2);
	return -1;
}

/* As io_replace.  Until the rename nothing has changed, and the next try may do; what
 * a failure from there on has left is not known. */
static int
keep(struct witness *witness, const char *name, const char *text, size_t len)
{
	if (io_write_next(witness->dirfd, 0600, text, len) != 0)
		return -1;
	if (io_rename(witness->dirfd, IO_NEXT, name) == 0 &&
	    io_sync_all(witness->dirfd) == 0)
		return 0;
	witness->broken = true;
	return -1;
}

/* Sign, remember, and only then answer. */
static void
cosign(struct turn *turn)
{
	struct problem problem;
	char name[64], line[COSIGN_LINE_MAX + 1], state[WITNESS_STATE_MAX + 1];
	int n = cosign_line(turn->note.text, turn->note.text_len,
	    &turn->witness->key, turn->witness->sk, turn->now_s, line,
	    sizeof(line));
	size_t len = turn->plain_len + (size_t)(n > 0 ? n : 0);

	say(turn, 500, "not_kept", "the witness cannot keep its state");
	if (n <= 0)
		return;
	memcpy(state, turn->plain, turn->plain_len);
	memcpy(state + turn->plain_len, line, (size_t)n + 1);
	witness_state_name(turn->log, name);
	if (keep(turn->witness, name, state, len) != 0)
		return;
	if (witness_take_state(turn->witness, turn->log, state, len, &problem) == 0)
		say(turn, 200, "cosigned", line);
	else
		turn->witness->broken = true;
}

void
witness_add_checkpoint(struct witness *witness, const char *body, size_t len,
    uint64_t now_s, struct witness_reply *reply)
{
	struct turn turn = { .witness = witness, .now_s = now_s,
	    .reply = reply };

	*reply = (struct witness_reply){ .status = 500, .event = "" };
	if (witness->broken) {
		say(&turn, 500, "not_kept", "the witness cannot keep its state");
		return;
	}
	if (read_note(&turn, body, len) == 0 && admit(&turn) == 0 &&
	    follows(&turn) == 0)
		cosign(&turn);
}

/* ---- epochs ---- */

static void
say_epochs(struct witness_reply *reply, unsigned status, const char *event,
    const char *text)
{
	reply->status = status;
	reply->event = event;
	reply->type = "text/plain; charset=utf-8";
	reply->len = (size_t)snprintf(reply->body, sizeof(reply->body), "%s\n",
	    text);
}

/* The log is named by the checkpoint that ends its first epoch. */
static struct watched *
log_of(const struct witness *witness, const char *body, size_t len)
{
	const char *lf = memchr(body, '\n', len);
	struct checkpoint at;

	if (lf == NULL || epochs_entry_len(body, len) == 0 ||
	    proof_checkpoint(lf + 1, epochs_entry_len(body, len) -
	    (size_t)(lf + 1 - body) - 1, &at) != 0)
		return NULL;
	return witness_find(witness, at.origin);
}

void
witness_add_epochs(struct witness *witness, const char *body, size_t len,
    struct witness_reply *reply)
{
	static const char not_kept[] = "the witness cannot keep its state";
	struct watched *log = len <= WITNESS_EPOCHS_MAX ?
	    log_of(witness, body, len) : NULL;
	const char *why = "";
	char name[64];
	unsigned status;

	*reply = (struct witness_reply){ .status = 500, .event = "" };
	if (witness->broken) {
		say_epochs(reply, 500, "not_kept", not_kept);
		return;
	}
	if (log == NULL) {
		say_epochs(reply, 404, "unknown_log",
		    "no epochs of a log that this witness watches");
		return;
	}
	memcpy(reply->origin, log->origin, sizeof(reply->origin));
	status = witness_follow(log, body, len, &why);
	if (status != 200) {
		say_epochs(reply, status, "bad_epochs", why);
		return;
	}
	witness_epochs_name(log, name);
	if (keep(witness, name, body, len) == 0)
		say_epochs(reply, 200, "epochs", "known");
	else
		say_epochs(reply, 500, "not_kept", not_kept);
}
