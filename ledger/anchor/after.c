#include "ledger/anchor/after.h"
#include "ledger/anchor/stamp.h"
#include "ledger/base64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

struct after_stamp {
	const char *who;	/* in the JSON */
	uint8_t *der;
	size_t len;
};

struct after_note {
	struct note note;	/* in the JSON */
	struct checkpoint at;
	uint8_t digest[STAMP_DIGEST_LEN];	/* with the log's line alone */
	struct after_stamp stamp[AFTER_STAMPS_MAX];
	unsigned stamps;
};

struct after {
	json_t *root;
	struct after_note note[AFTER_NOTES_MAX];
	unsigned notes;
};

/* ---- reading ---- */

static int
read_stamp(const json_t *object, struct after_stamp *out)
{
	const char *token = json_string_value(json_object_get(object, "token"));
	size_t len = json_string_length(json_object_get(object, "token"));

	out->who = json_string_value(json_object_get(object, "authority"));
	if (token == NULL || out->who == NULL || !anchors_who_valid(out->who) ||
	    len > 2 * AFTER_TOKEN_MAX || (out->der = malloc(len + 1)) == NULL)
		return -1;
	return base64_read(out->der, AFTER_TOKEN_MAX, token, len, &out->len);
}

static int
read_stamps(const json_t *list, struct after_note *out)
{
	size_t n = json_array_size(list);

	if (list != NULL && (!json_is_array(list) || n > AFTER_STAMPS_MAX))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (read_stamp(json_array_get(list, i), &out->stamp[out->stamps++]) != 0)
			return -1;
	return 0;
}

/* The log's line stands first, and was stamped with the text before it. */
static int
read_note(const json_t *object, struct after_note *out)
{
	const char *text = json_string_value(json_object_get(object, "note"));
	size_t len = json_string_length(json_object_get(object, "note"));
	const char *why, *lf;

	if (text == NULL || note_parse(&out->note, text, len, &why) != 0 ||
	    checkpoint_parse(&out->at, out->note.text, out->note.text_len) != 0 ||
	    out->note.sig[0].name_len != strlen(out->at.origin) ||
	    memcmp(out->note.sig[0].name, out->at.origin, out->note.sig[0].name_len) != 0)
		return -1;
	lf = memchr(text + out->note.text_len + 1, '\n', len - out->note.text_len - 1);
	if (lf == NULL)
		return -1;
	stamp_digest(text, (size_t)(lf + 1 - text), out->digest);
	return read_stamps(json_object_get(object, "stamps"), out);
}

struct after *
after_parse(const char *body, size_t len)
{
	struct after *after = calloc(1, sizeof(*after));
	json_error_t error;
	json_t *list;
	size_t n, i = 0;

	if (after == NULL || len > AFTER_BYTES_MAX)
		goto fail;
	after->root = json_loadb(body, len, JSON_REJECT_DUPLICATES, &error);
	list = json_object_get(after->root, "anchors");
	n = json_array_size(list);
	if (n == 0 || n > AFTER_NOTES_MAX)
		goto fail;
	for (; i < n; i++)
		if (read_note(json_array_get(list, i), &after->note[after->notes++]) != 0)
			goto fail;
	return after;
fail:
	after_free(after);
	return NULL;
}

void
after_free(struct after *after)
{
	if (after == NULL)
		return;
	for (unsigned i = 0; i < after->notes; i++)
		for (unsigned k = 0; k < after->note[i].stamps; k++)
			free(after->note[i].stamp[k].der);
	json_decref(after->root);
	free(after);
}

/* ---- whether it may be recorded ---- */

static const char *
note_misfit(const struct after_note *note, const struct checkpoint *at,
    const struct note_key *witness, size_t witnesses, int64_t latest_s)
{
	unsigned good = 0;
	uint64_t time_s;

	if (strcmp(note->at.origin, at->origin) != 0)
		return "a checkpoint of another log";
	if (note->at.size > at->size)
		return "a checkpoint of more records than there are";
	for (size_t i = 0; i < witnesses; i++) {
		if (note_verify(&note->note, &witness[i], &time_s) != NOTE_GOOD)
			continue;
		good++;
		if (time_s > (uint64_t)latest_s)
			return "a witness's clock is ahead of ours";
	}
	/* whoever trusts another key than we know of would be shown a forgery */
	if (good + 1 != note->note.count)
		return "a signature that is no witness's of ours";
	return good + note->stamps > 0 ? NULL : "a checkpoint that nobody vouches for";
}

const char *
after_misfit(const struct after *after, const struct checkpoint *at,
    const struct note_key *witness, size_t witnesses, int64_t latest_s)
{
	const char *why = NULL;

	for (unsigned i = 0; i < after->notes && why == NULL; i++)
		why = note_misfit(&after->note[i], at, witness, witnesses, latest_s);
	return why;
}

/* ---- what it proves ---- */

struct said {
	int64_t time_s;		/* the latest; 0: nothing */
	const char *name;
	uint8_t signer[STAMP_DIGEST_LEN];	/* of a stamp: whose key */
};

struct asked {
	const struct trust *trust;
	struct after_answer *answer;
	struct said witness[TRUST_WITNESSES_MAX], authority[TRUST_AUTHORITIES_MAX];
};

static void
hear(struct asked *asked, struct said *said, int64_t time_s)
{
	if (time_s > said->time_s)
		said->time_s = time_s;
	if (time_s > asked->answer->latest_s)
		asked->answer->latest_s = time_s;
}

static void
refute(struct asked *asked, const char *why)
{
	asked->answer->verdict = AFTER_FALSE;
	asked->answer->why = why;
}

static void
hear_witnesses(struct asked *asked, const struct after_note *note)
{
	const struct trust *trust = asked->trust;
	enum note_verdict verdict;
	uint64_t time_s;

	for (unsigned i = 0; i < trust->witnesses; i++) {
		verdict = note_verify(&note->note, &trust->witness[i], &time_s);
		if (verdict == NOTE_GOOD && time_s <= INT64_MAX)
			hear(asked, &asked->witness[i], (int64_t)time_s);
		else if (verdict == NOTE_FORGED)
			refute(asked, "a cosignature that the witness did not make");
	}
}

/* Which certificates an authority goes by is for whoever trusts it to say: a token
 * that does not lead there proves nothing, and contradicts nothing. */
static void
hear_authorities(struct asked *asked, const struct after_note *note)
{
	const struct trust *trust = asked->trust;
	struct stamp out;
	char why[160];

	for (unsigned k = 0; k < note->stamps; k++) {
		const struct after_stamp *stamp = &note->stamp[k];

		for (unsigned i = 0; i < trust->authorities; i++) {
			struct said *said = &asked->authority[i];

			if (strcmp(stamp->who, trust->authority[i].name) != 0 ||
			    stamp_check(stamp->der, stamp->len, note->digest, NULL,
			    trust->authority[i].ca_file, &out, why, sizeof(why)) != 0 ||
			    out.time_s - out.accuracy_s <= said->time_s)
				continue;
			hear(asked, said, out.time_s - out.accuracy_s);
			memcpy(said->signer, out.signer, sizeof(said->signer));
		}
	}
}

/* One key counts once, under however many names. */
static void
drop_doubles(struct asked *asked)
{
	for (unsigned i = 0; i < asked->trust->authorities; i++) {
		for (unsigned k = 0; k < i; k++) {
			struct said *a = &asked->authority[i], *b = &asked->authority[k];

			if (a->time_s > 0 && b->time_s > 0 &&
			    memcmp(a->signer, b->signer, sizeof(a->signer)) == 0)
				(b->time_s > a->time_s ? a : b)->time_s = 0;
		}
	}
}

static int
latest_first(const void *a, const void *b)
{
	const struct said *x = a, *y = b;

	return (x->time_s < y->time_s) - (x->time_s > y->time_s);
}

/* Of so many that are wanted at least one is honest: so not before the time of the
 * last of them.  0: there are not so many. */
static int64_t
reached(struct asked *asked, struct said *said, unsigned count, unsigned wanted)
{
	struct after_answer *answer = asked->answer;
	size_t at;

	if (wanted == 0 || wanted > count)
		return 0;
	qsort(said, count, sizeof(*said), latest_first);
	if (said[wanted - 1].time_s == 0)
		return 0;
	for (unsigned i = 0; i < wanted; i++) {
		at = strlen(answer->who);
		snprintf(answer->who + at, sizeof(answer->who) - at, "%s%.60s",
		    at > 0 ? ", " : "", said[i].name);
	}
	return said[wanted - 1].time_s;
}

static void
weigh(struct asked *asked)
{
	const struct trust *trust = asked->trust;
	struct after_answer *answer = asked->answer;
	int64_t witnessed = reached(asked, asked->witness, trust->witnesses, trust->quorum);
	int64_t stamped = reached(asked, asked->authority, trust->authorities, trust->stamps);

	answer->why = "too few of those whom the policy names vouch for it";
	if ((trust->quorum > 0 && witnessed == 0) || (trust->stamps > 0 && stamped == 0) ||
	    trust->quorum + trust->stamps == 0)
		return;
	answer->verdict = AFTER_GOOD;
	answer->why = "";
	answer->time_s = trust->quorum == 0 ? stamped :
	    trust->stamps == 0 || witnessed < stamped ? witnessed : stamped;
}

void
after_ask(const struct after *after, const char *origin, uint64_t size,
    const struct trust *trust, struct after_answer *answer)
{
	struct asked asked = { .trust = trust, .answer = answer };

	*answer = (struct after_answer){ .verdict = AFTER_SHORT, .why = "" };
	for (unsigned i = 0; i < trust->witnesses; i++)
		asked.witness[i].name = trust->witness[i].name;
	for (unsigned i = 0; i < trust->authorities; i++)
		asked.authority[i].name = trust->authority[i].name;
	for (unsigned i = 0; i < after->notes; i++) {
		const struct after_note *note = &after->note[i];

		if (strcmp(note->at.origin, origin) != 0)
			refute(&asked, "a checkpoint of another log");
		else if (note->at.size > size)
			refute(&asked, "a checkpoint of more records than stood before it");
		hear_witnesses(&asked, note);
		hear_authorities(&asked, note);
	}
	drop_doubles(&asked);
	if (answer->verdict != AFTER_FALSE)
		weigh(&asked);
	if (answer->verdict != AFTER_GOOD)
		answer->who[0] = '\0';
}

void
after_ask_body(const char *body, size_t len, const char *origin, uint64_t size,
    const struct trust *trust, struct after_answer *answer)
{
	struct after *after = after_parse(body, len);

	if (after != NULL)
		after_ask(after, origin, size, trust, answer);
	else
		*answer = (struct after_answer){ .verdict = AFTER_SHORT,
		    .why = "an anchor that cannot be read" };
	after_free(after);
}
