#include "anchor/turn.h"

#include "ledger/anchor/anchors.h"
#include "ledger/tree/epochs.h"
#include "ledger/anchor/cosign.h"
#include "ledger/anchor/stamp.h"
#include "ledger/anchor/witness.h"
#include "ledger/evidence/evidence.h"
#include "ledger/tree/hash_lines.h"
#include "ledger/tree/hashes.h"
#include "ledger/clock.h"
#include "ledger/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#define TRIES 3		/* of one witness in one turn: its size may move */
#define IDLE_MS 600000	/* a witness's word is that old at most, while nothing is written */

void
turn_init(struct turn *turn)
{
	const struct conf_anchors *conf = turn->conf;

	for (size_t i = 0; i < conf->witnesses; i++) {
		struct turn_witness *witness = &turn->witness[i];
		char id[2 * NOTE_ID_LEN + 1];

		note_key_parse(&witness->key, conf->witness[i].vkey,
		    strlen(conf->witness[i].vkey));
		sodium_bin2hex(id, sizeof(id), witness->key.id, NOTE_ID_LEN);
		snprintf(witness->who, sizeof(witness->who), "w-%s", id);
	}
	for (size_t i = 0; i < conf->authorities; i++) {
		unsigned party = (unsigned)(conf->witnesses + i);
		uint64_t size = anchors_stamped(turn->anchors_fd, conf->authority[i].name);

		atomic_store(&turn->shared->party[party].size, size);
		recent_recall(&turn->recent, party, turn->anchors_fd, size,
		    conf->authority[i].name);
	}
}

static void
note_result(struct anchor_party *party, enum anchor_reason reason)
{
	atomic_store(&party->reason, reason);
	atomic_fetch_add(reason == ANCHOR_GOOD ? &party->good :
	    &party->failed, 1);
}

static void
note_good(struct anchor_party *party, uint64_t size, uint64_t time_s)
{
	atomic_store(&party->size, size);
	atomic_store(&party->time_s, time_s);
	note_result(party, ANCHOR_GOOD);
}

/* The latest checkpoint as the recorder wrote it: its signature alone. */
static int
read_checkpoint(struct turn *turn)
{
	ssize_t n = io_read_file(turn->ledger_fd, "checkpoint", turn->note,
	    NOTE_MAX);
	struct note note;
	const char *why;

	if (n <= 0 || note_parse(&note, turn->note, (size_t)n, &why) != 0 ||
	    checkpoint_parse(&turn->at, note.text, note.text_len) != 0)
		return -1;
	turn->note_len = (size_t)n;
	turn->note[n] = '\0';
	memcpy(turn->cosigned, turn->note, turn->note_len);
	turn->cosigned_len = turn->note_len;
	return 0;
}

/* ---- witnesses ---- */

/* The length of the submission in turn->body, or -1. */
static int
compose(struct turn *turn, uint64_t old_size)
{
	struct hashes_reader reader = { turn->ledger_fd, turn->at.size };
	struct tree_source source = hashes_source(&reader);
	struct submission in = { .old_size = old_size, .note = turn->note,
	    .note_len = turn->note_len };

	if (tree_prove_consistency(&source, old_size, turn->at.size,
	    &in.proof) != 0)
		return -1;
	return submission_format(&in, turn->body, sizeof(turn->body));
}

/* What was sent and what came, for whoever looks into it. */
static enum anchor_reason
alarm_of(struct turn *turn, const struct turn_witness *witness,
    enum anchor_reason reason)
{
	struct problem problem;
	size_t cap = SUBMISSION_MAX + POST_REPLY_MAX + 512;
	char *text = malloc(cap);
	int n;

	if (text == NULL)
		return reason;
	n = snprintf(text, cap, "%s: %s\n%s\n\nsent:\n%s\nanswered: "
	    "status %ld\n%s\n", witness->key.name, anchor_reason_word(reason),
	    anchor_reason_text(reason), turn->body, turn->reply.status,
	    (const char *)turn->reply.body);
	if (n > 0 && anchors_add_alarm(turn->anchors_fd, witness->who, text,
	    (size_t)n < cap ? (size_t)n : cap - 1, &problem) != 0)
		fprintf(stderr, "countersignd: anchors: %s\n", problem.text);
	free(text);
	return reason;
}

/* Of what it has cosigned before, only that it says so again is new. */
static enum anchor_reason
take_line(struct turn *turn, const struct turn_witness *witness,
    uint64_t *time_s)
{
	const unsigned party = (unsigned)(witness - turn->witness);
	char line[COSIGN_LINE_MAX + 1];
	const char *why = "";
	int n = cosign_pick(turn->note, turn->note_len,
	    (const char *)turn->reply.body, turn->reply.len, &witness->key,
	    time_s, line, sizeof(line), &why);

	if (n < 0 || (size_t)n > sizeof(turn->cosigned) - turn->cosigned_len)
		return ANCHOR_BAD_ANSWER;
	recent_cosigned(&turn->recent, party, turn->note, line);
	if (turn->again)
		return ANCHOR_GOOD;
	memcpy(turn->cosigned + turn->cosigned_len, line, (size_t)n);
	turn->cosigned_len += (size_t)n;
	return ANCHOR_GOOD;
}

/* 409: the size that the witness is at.  ANCHOR_GOOD: try again from there. */
static enum anchor_reason
take_size(struct turn *turn, struct turn_witness *witness, uint64_t sent)
{
	const char *at = (const char *)turn->reply.body;
	const char *end = at + turn->reply.len;
	uint64_t size;

	if (turn->reply.len == 0)
		return alarm_of(turn, witness, ANCHOR_EQUIVOCATION);
	if (!hash_lines_number(&at, end, &size) || at != end)
		return ANCHOR_BAD_ANSWER;
	if (size > turn->at.size)
		return alarm_of(turn, witness, ANCHOR_ROLLED_BACK);
	if (size == sent)
		return ANCHOR_BAD_ANSWER;
	witness->at = size;
	return ANCHOR_GOOD;
}

/* A witness of ours can be shown how the key in force follows from the one it
 * knows; others are told by their operators. */
static bool
show_epochs(struct turn *turn, size_t i)
{
	size_t len = 0;
	char url[512], *text = evidence_read(turn->ledger_fd, EPOCHS_FILE,
	    WITNESS_EPOCHS_MAX, &len);
	int sent = -1;

	if (text != NULL && len > 0) {
		snprintf(url, sizeof(url), "%s/epochs",
		    turn->conf->witness[i].url);
		sent = post(&(struct post){ .url = url,
		    .type = "text/plain; charset=utf-8",
		    .ca_file = turn->conf->ca_file, .body = text,
		    .body_len = len, .timeout_ms = turn->timeout_ms },
		    &turn->reply);
	}
	free(text);
	return sent == 0 && turn->reply.status == 200;
}

static enum anchor_reason
ask(struct turn *turn, size_t i, uint64_t *time_s, bool *again)
{
	struct turn_witness *witness = &turn->witness[i];
	char url[512];
	uint64_t sent = witness->at;
	int len = compose(turn, sent);
	struct post call = { .url = url, .type = "text/plain; charset=utf-8",
	    .ca_file = turn->conf->ca_file, .body = turn->body,
	    .body_len = (size_t)len, .timeout_ms = turn->timeout_ms };
	enum anchor_reason reason;

	if (len < 0)
		return ANCHOR_NO_PROOF;
	snprintf(url, sizeof(url), "%s/add-checkpoint",
	    turn->conf->witness[i].url);
	if (post(&call, &turn->reply) != 0)
		return ANCHOR_UNREACHED;
	switch (turn->reply.status) {
	case 200:
		return take_line(turn, witness, time_s);
	case 403:
		*again = !turn->shown && show_epochs(turn, i);
		turn->shown = true;
		return ANCHOR_UNKNOWN_KEY;
	case 404:
		return ANCHOR_UNKNOWN_LOG;
	case 409:
		reason = take_size(turn, witness, sent);
		*again = reason == ANCHOR_GOOD;
		return reason;
	case 422:
		return alarm_of(turn, witness, ANCHOR_INCONSISTENT);
	default:
		return ANCHOR_REFUSED;
	}
}

static void
ask_witness(struct turn *turn, size_t i)
{
	struct turn_witness *witness = &turn->witness[i];
	struct anchor_party *party = &turn->shared->party[i];
	enum anchor_reason reason = ANCHOR_REFUSED;
	uint64_t time_s = 0;
	bool again = true;

	if (anchors_alarmed(turn->anchors_fd, witness->who)) {
		if (!anchor_reason_alarm(atomic_load(&party->reason)))
			atomic_store(&party->reason, ANCHOR_EQUIVOCATION);
		return;
	}
	turn->again = atomic_load(&party->reason) == ANCHOR_GOOD &&
	    witness->at == turn->at.size;
	if (turn->again && clock_ms() < witness->asked_ms + IDLE_MS)
		return;
	turn->shown = false;
	witness->fresh_s = 0;
	for (int n = 0; n < TRIES && again; n++) {
		again = false;
		reason = ask(turn, i, &time_s, &again);
	}
	if (again && reason == ANCHOR_GOOD)
		reason = ANCHOR_REFUSED;	/* it moved each time */
	if (reason == ANCHOR_GOOD)
		witness->asked_ms = clock_ms();
	if (reason == ANCHOR_GOOD && turn->again)
		note_good(party, turn->at.size, time_s);
	else if (reason == ANCHOR_GOOD)
		witness->fresh_s = time_s;	/* told once it is kept */
	else
		note_result(party, reason);
}

/* What could not be kept does not count: those who cosigned are asked again. */
static void
keep_cosigned(struct turn *turn)
{
	struct problem problem;
	bool kept;

	if (turn->cosigned_len == turn->note_len)
		return;
	kept = anchors_add_cosigned(turn->anchors_fd, turn->cosigned,
	    turn->cosigned_len, &problem) == 0;
	if (!kept)
		fprintf(stderr, "countersignd: anchors: %s\n", problem.text);
	for (size_t i = 0; i < turn->conf->witnesses; i++) {
		struct turn_witness *witness = &turn->witness[i];
		struct anchor_party *party = &turn->shared->party[i];

		if (witness->fresh_s == 0)
			continue;
		witness->at = turn->at.size;
		if (kept)
			note_good(party, turn->at.size, witness->fresh_s);
		else
			note_result(party, ANCHOR_NOT_KEPT);
		witness->fresh_s = 0;
	}
}

/* ---- authorities ---- */

static enum anchor_reason
stamp(struct turn *turn, const struct conf_authority *authority,
    unsigned party, uint64_t *time_s)
{
	uint8_t digest[STAMP_DIGEST_LEN], nonce[STAMP_NONCE_LEN];
	struct problem problem;
	struct stamp out;
	char why[256];
	size_t len = 0;
	uint8_t *request;
	int sent;

	randombytes_buf(nonce, sizeof(nonce));
	nonce[0] &= 0x7f;
	stamp_digest(turn->note, turn->note_len, digest);
	if ((request = stamp_request(digest, nonce, &len)) == NULL)
		return ANCHOR_NOT_KEPT;
	sent = post(&(struct post){ .url = authority->url, .type = STAMP_TYPE,
	    .body = request, .body_len = len,
	    .timeout_ms = turn->timeout_ms }, &turn->reply);
	free(request);
	if (sent != 0)
		return ANCHOR_UNREACHED;
	if (turn->reply.status != 200)
		return ANCHOR_REFUSED;
	if (stamp_check(turn->reply.body, turn->reply.len, digest, nonce,
	    authority->ca_file, &out, why, sizeof(why)) != 0) {
		fprintf(stderr, "countersignd: anchors: %s: %s\n",
		    authority->name, why);
		return ANCHOR_BAD_ANSWER;
	}
	*time_s = (uint64_t)out.time_s;
	if (anchors_add_stamp(turn->anchors_fd, turn->at.size, authority->name,
	    turn->note, turn->note_len, turn->reply.body, turn->reply.len,
	    &problem) != 0)
		return ANCHOR_NOT_KEPT;
	recent_stamped(&turn->recent, party, turn->note, turn->reply.body,
	    turn->reply.len);
	return ANCHOR_GOOD;
}

static void
ask_authority(struct turn *turn, size_t i, bool now)
{
	struct anchor_party *party =
	    &turn->shared->party[turn->conf->witnesses + i];
	bool good = atomic_load(&party->reason) == ANCHOR_GOOD;
	int64_t due = turn->stamped_ms[i] + (int64_t)turn->conf->stamp_s * 1000;
	enum anchor_reason reason;
	uint64_t time_s = 0;

	if (atomic_load(&party->size) >= turn->at.size ||
	    (good && !now && clock_ms() < due))
		return;
	reason = stamp(turn, &turn->conf->authority[i],
	    (unsigned)(turn->conf->witnesses + i), &time_s);
	if (reason != ANCHOR_GOOD) {
		note_result(party, reason);
		return;
	}
	turn->stamped_ms[i] = clock_ms();
	note_good(party, turn->at.size, time_s);
}

void
turn_run(struct turn *turn, bool stamps)
{
	if (read_checkpoint(turn) != 0 || turn->at.size == 0)
		return;
	for (size_t i = 0; i < turn->conf->witnesses; i++)
		ask_witness(turn, i);
	keep_cosigned(turn);
	for (size_t i = 0; i < turn->conf->authorities; i++)
		ask_authority(turn, i, stamps);
	recent_keep(&turn->recent, turn->anchors_fd, turn->conf);
}
