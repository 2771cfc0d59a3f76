/* The anchors of a ledger that a bundle takes along. */
#include "ledger/anchor/anchor.h"
#include "ledger/anchor/gather.h"
#include "ledger/tree/hashes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MAX GATHER_BUNDLE_MAX	/* each brings one file at most, or two */

struct extract {
	int dirfd;
	uint64_t size;
	struct gather gather;
	int (*put)(void *context, const char *name, const void *bytes,
	    size_t len);
	void *context;
	struct problem *problem;
	char seen[SEEN_MAX][224];	/* witnesses and authorities met */
	unsigned n_seen;
	uint64_t put_size;		/* the note of that size is there */
};

/* All signature lines of the entries of one size and root, under one text. */
static char *
merged(const struct gather *gather, unsigned first, size_t *len)
{
	const struct gather_note *note = &gather->note[first];
	char *out = malloc(2 * (size_t)NOTE_MAX);
	size_t head;

	if (out == NULL || note->len > NOTE_MAX) {
		free(out);
		return NULL;
	}
	memcpy(out, note->text, note->len);
	*len = note->len;
	for (unsigned i = first + 1; i < gather->notes; i++) {
		const struct gather_note *other = &gather->note[i];
		const char *lines, *lf;

		if (other->at.size != note->at.size || memcmp(other->at.root,
		    note->at.root, TREE_HASH_LEN) != 0)
			continue;
		lines = strstr(other->text, "\n\n");
		lf = lines != NULL ? strchr(lines + 2, '\n') : NULL;
		/* behind the log's own line, which stands first */
		head = lf != NULL ? (size_t)(lf + 1 - other->text) : other->len;
		if (*len + other->len - head > NOTE_MAX)
			break;
		memcpy(out + *len, other->text + head, other->len - head);
		*len += other->len - head;
	}
	return out;
}

static int
put_note(struct extract *x, unsigned i)
{
	struct hashes_reader reader = { x->dirfd, x->gather.note[i].at.size };
	struct tree_source source = hashes_source(&reader);
	struct submission in = { .old_size = x->size };
	char name[64], *text = merged(&x->gather, i, &in.note_len), *body;
	int n = -1, status = -1;

	body = malloc(SUBMISSION_MAX + 1);
	in.note = text;
	if (text != NULL && body != NULL && tree_prove_consistency(&source,
	    x->size, x->gather.note[i].at.size, &in.proof) == 0)
		n = submission_format(&in, body, SUBMISSION_MAX + 1);
	if (n > 0) {
		snprintf(name, sizeof(name), "%020" PRIu64 ".anchor",
		    x->gather.note[i].at.size);
		status = x->put(x->context, name, body, (size_t)n);
	} else {
		problem_set(x->problem, "the hashes beside the records are not "
		    "whole; the next start of the daemon makes them again");
	}
	free(body);
	free(text);
	return status;
}

static int
put_stamp(struct extract *x, const struct gather_stamp *stamp)
{
	char name[128];
	size_t len;
	uint8_t *der = gather_stamp(&x->gather, x->dirfd, stamp, &len);
	int status;

	if (der == NULL)
		return 0;	/* gone meanwhile, or nothing */
	snprintf(name, sizeof(name), "%020" PRIu64 ".%s.tsr", stamp->size,
	    stamp->who);
	status = x->put(x->context, name, der, len);
	free(der);
	return status;
}

/* True the first time that somebody is met, while there is room. */
static bool
is_new(struct extract *x, const char *who, size_t len, const uint8_t *id)
{
	char text[sizeof(x->seen[0])];

	snprintf(text, sizeof(text), "%02x%02x%02x%02x %.*s", id[0], id[1],
	    id[2], id[3], (int)(len < 200 ? len : 200), who);
	for (unsigned i = 0; i < x->n_seen; i++) {
		if (strcmp(x->seen[i], text) == 0)
			return false;
	}
	if (x->n_seen == SEEN_MAX)
		return false;
	memcpy(x->seen[x->n_seen++], text, sizeof(text));
	return true;
}

/* Does it bring a witness that no nearer checkpoint has? */
static bool
adds_witness(struct extract *x, const struct gather_note *note)
{
	struct note parsed;
	const char *why;
	bool adds = false;

	if (note_parse(&parsed, note->text, note->len, &why) != 0)
		return false;
	for (unsigned i = 0; i < parsed.count; i++) {
		const struct note_signature *sig = &parsed.sig[i];

		if (sig->name_len != strlen(note->at.origin) ||
		    memcmp(sig->name, note->at.origin, sig->name_len) != 0)
			adds |= is_new(x, sig->name, sig->name_len, sig->id);
	}
	return adds;
}

/* The stamps of that size, by authorities that stamped no nearer one. */
static int
put_stamps(struct extract *x, uint64_t size, bool *any)
{
	static const uint8_t no_id[NOTE_ID_LEN];
	int status = 0;

	for (unsigned i = 0; i < x->gather.stamps && status == 0; i++) {
		const struct gather_stamp *stamp = &x->gather.stamp[i];

		if (stamp->size != size ||
		    !is_new(x, stamp->who, strlen(stamp->who), no_id))
			continue;
		*any = true;
		status = put_stamp(x, stamp);
	}
	return status;
}

/* Everybody's nearest one: a quorum needs not be in one checkpoint. */
static int
extract(struct extract *x)
{
	int status = 0;

	for (unsigned i = 0; i < x->gather.notes && status == 0; i++) {
		const struct gather_note *note = &x->gather.note[i];
		bool first = i == 0 || note[-1].at.size != note->at.size;
		bool wanted = false;

		if (note->at.size < x->size)
			continue;
		wanted = adds_witness(x, note);
		if (first)
			x->put_size = 0;
		status = put_stamps(x, note->at.size, &wanted);
		if (status == 0 && wanted && x->put_size != note->at.size)
			status = put_note(x, i);
		if (wanted)
			x->put_size = note->at.size;
	}
	return status;
}

int
anchor_extract(int dirfd, uint64_t size,
    int (*put)(void *context, const char *name, const void *bytes, size_t len),
    void *context, struct problem *problem)
{
	struct extract *x = calloc(1, sizeof(*x));
	int status;

	if (x == NULL)
		return problem_set(problem, "out of memory");
	*x = (struct extract){ .dirfd = dirfd, .size = size, .put = put,
	    .context = context, .problem = problem };
	if (gather_read(&x->gather, dirfd, false) != 0)
		status = problem_set(problem, "out of memory");
	else
		status = extract(x);
	gather_free(&x->gather);
	free(x);
	return status;
}
