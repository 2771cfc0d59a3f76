#include "redact/redact_needles.h"

#include <stdlib.h>
#include <sodium.h>

/*
 * A stream holds its last bytes back while some reader (redact_form.h) that began
 * among them is still on its way.  Each byte moves every reader; one that comes to
 * its end marks the bytes that it read.  Bytes in front of the oldest reader are
 * let go: marked ones as a marker for each run, others as they are.
 *
 * Readers are few: a new one begins only where four bytes look like the start of
 * a form (two, where no more have come).  A secret like "aaaa…" can drive
 * their number up; a stream in which there is no room for one more is closed: its
 * rest is hidden behind one marker, rather than any of it shown unread.
 */

enum mark { PLAIN, FOUND, FOUND_WIDE };	/* wide: in UTF-16 */

struct redact {
	struct redact_needles *needles;
	uint64_t offset;	/* of the next byte to come */
	char *held;		/* the bytes [offset - n_held, offset) */
	uint8_t *marked;	/* an enum mark for each of them */
	size_t n_held, most_held;	/* most: so much is to be wiped */
	/* Room for readers is made with the first one: in most streams there is
	 * none.  next: scratch of move_readers. */
	struct redact_at *readers, *next;
	size_t n_readers;
	bool in_run;		/* the last byte let go was a marked one */
	bool closed;
	uint32_t count;
};

static void
begin(struct redact *r)
{
	r->offset = 0;
	r->n_held = r->n_readers = 0;
	r->in_run = r->closed = false;
}

/* What is held is written before it is read: nothing is zeroed. */
struct redact *
redact_new(struct redact_needles *needles)
{
	struct redact *r = malloc(sizeof(*r) + 2 * needles->hold);

	if (r == NULL)
		return NULL;
	*r = (struct redact){ .needles = redact_needles_ref(needles),
	    .held = (char *)(r + 1),
	    .marked = (uint8_t *)(r + 1) + needles->hold };
	return r;
}

struct redact *
redact_like(const struct redact *redact)
{
	return redact_new(redact->needles);
}

static bool
make_room(struct redact *r)
{
	size_t n = r->needles->readers;

	if (r->readers != NULL)
		return true;
	/* Each is written whole before it is read: zeroing them would cost more
	 * than all else that a stream with one false start does. */
	r->readers = reallocarray(NULL, 2 * n, sizeof(*r->readers));
	r->next = r->readers != NULL ? r->readers + n : NULL;
	return r->readers != NULL;
}

void
redact_free(struct redact *r)
{
	if (r == NULL)
		return;
	sodium_memzero(r->held, r->most_held);
	free(r->readers < r->next ? r->readers : r->next);
	redact_needles_unref(r->needles);
	free(r);
}

void
redact_reset(struct redact *r)
{
	begin(r);
	r->count = 0;
}

uint32_t
redact_count(const struct redact *r)
{
	return r->count;
}

#define MARKER_WIDE (2 * (sizeof(REDACT_MARKER) - 1) - 1)

/* All held and all new bytes as they are, and a marker for each find that they
 * have room for: runs are apart by a byte at least, and what a wide marker stands
 * for is wide itself. */
size_t
redact_bound(const struct redact *r, size_t len)
{
	size_t all = r->n_held + len;

	return all + (all / (r->needles->min + 1) + 2) * MARKER_WIDE;
}

/* --- letting go ------------------------------------------------------------ */

/* What follows a find in UTF-16 must still be whole units: so the marker is in
 * UTF-16 too, without the NUL at its end (or front), which was not taken. */
static char *
put_wide(char *out)
{
	memset(out, 0, MARKER_WIDE);
	for (size_t i = 0; i < sizeof(REDACT_MARKER) - 1; i++)
		out[2 * i] = REDACT_MARKER[i];
	return out + MARKER_WIDE;
}

static char *
put_marker(struct redact *r, enum mark mark, char *out)
{
	if (r->in_run)
		return out;
	r->in_run = true;
	r->count++;
	if (mark == FOUND_WIDE)
		return put_wide(out);
	memcpy(out, REDACT_MARKER, sizeof(REDACT_MARKER) - 1);
	return out + sizeof(REDACT_MARKER) - 1;
}

static char *
put_plain(struct redact *r, const char *p, size_t n, char *out)
{
	if (n == 0)
		return out;
	r->in_run = false;
	memcpy(out, p, n);
	return out + n;
}

/* The first n held bytes. */
static char *
let_go(struct redact *r, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		out = r->marked[i] != PLAIN ?
		    put_marker(r, (enum mark)r->marked[i], out) :
		    put_plain(r, r->held + i, 1, out);
	r->n_held -= n;
	memmove(r->held, r->held + n, r->n_held);
	memmove(r->marked, r->marked + n, r->n_held);
	return out;
}

/* --- one byte ---------------------------------------------------------------- */

static void
mark_from(struct redact *r, const struct redact_at *at)
{
	size_t n = (size_t)(r->offset - at->start);

	memset(r->marked + r->n_held - n,
	    at->form == REDACT_UTF16 ? FOUND_WIDE : FOUND, n);
}

/* Two readers at one place read the same from here on: the older one, which
 * stands in front, speaks for both. */
static bool
is_spoken_for(const struct redact_at *readers, size_t n,
    const struct redact_at *at)
{
	for (size_t i = 0; i < n; i++)
		if (readers[i].element == at->element &&
		    readers[i].form == at->form && readers[i].item == at->item &&
		    readers[i].escape == at->escape &&
		    readers[i].fillers == at->fillers)
			return true;
	return false;
}

/* A place that a reader came to with the byte at offset - 1; the first `others`
 * of the n readers may have come there before it. */
static void
arrive(struct redact *r, struct redact_at *at, struct redact_at *readers,
    size_t *n, size_t others)
{
	bool whole = at->escape == NULL &&
	    redact_form_bytes(at->form, at->element) >= REDACT_COMMIT;

	if (at->done || whole) {
		mark_from(r, at);
		at->start = r->offset;
	}
	if (at->done || is_spoken_for(readers, others, at))
		return;
	if (*n < r->needles->readers)
		readers[(*n)++] = *at;
	else
		r->closed = true;
}

/* The readers that began in these ways with the byte before this one, as they stood
 * then. */
static void
begin_readers(struct redact *r, uint8_t first, unsigned begins)
{
	const struct redact_needles *needles = r->needles;
	REDACT_WAYS_UNSET struct redact_at ways[REDACT_WAYS_MAX];
	uint32_t n_items = begins >> REDACT_TWICE != 0 ? needles->n_items : needles->n_once;
	size_t others = r->n_readers;

	if (!make_room(r)) {
		r->closed = true;	/* unread, the rest must not show */
		return;
	}
	for (uint16_t i = 0; i < n_items; i++)
		for (unsigned left = redact_forms_of(&needles->items[i], begins); left != 0;
		    left &= left - 1) {
			struct redact_at at = { .start = r->offset - 2, .item = i,
			    .form = (uint8_t)__builtin_ctz(left) };
			size_t n = redact_form_step(&needles->items[i], &at, first,
			    ways);
			for (size_t k = 0; k < n; k++)
				arrive(r, &ways[k], r->readers, &r->n_readers, others);
		}
}

/* Readers at different places can only meet where one of them ends an escape. */
static void
move_readers(struct redact *r, uint8_t c)
{
	REDACT_WAYS_UNSET struct redact_at ways[REDACT_WAYS_MAX], *next = r->next;
	size_t n_next = 0;
	bool may_meet = false;

	for (size_t i = 0; i < r->n_readers; i++) {
		const struct redact_at *at = &r->readers[i];
		size_t n = redact_form_step(&r->needles->items[at->item], at, c,
		    ways);
		for (size_t k = 0; k < n; k++) {
			may_meet |= ways[k].escaped;
			arrive(r, &ways[k], next, &n_next, may_meet ? n_next : 0);
		}
	}
	r->next = r->readers;
	r->readers = next;
	r->n_readers = n_next;
}

/* The first byte that must stay: where the oldest reader began, or the last
 * byte if a form may begin with it. */
static size_t
free_to_go(const struct redact *r, uint8_t last)
{
	uint64_t stay = r->offset - (r->needles->may[0][last] != 0 ? 1 : 0);

	for (size_t i = 0; i < r->n_readers; i++)
		if (r->readers[i].start < stay)
			stay = r->readers[i].start;
	return (size_t)(stay - (r->offset - r->n_held));
}

/* All that is held is hidden, and so is all that comes. */
static char *
close_stream(struct redact *r, char *out)
{
	r->closed = true;
	r->n_readers = 0;
	memset(r->marked, 1, r->n_held);
	return let_go(r, r->n_held, out);
}

static char *
take_byte(struct redact *r, uint8_t c, char *out)
{
	/* a byte that may begin a form is still held when the next one comes */
	unsigned begins = 0;

	if (r->n_held == r->needles->hold)	/* cannot be: see measure() */
		return close_stream(r, out);
	r->held[r->n_held] = (char)c;
	r->marked[r->n_held++] = 0;
	if (r->n_held > r->most_held)
		r->most_held = r->n_held;
	r->offset++;
	if (r->n_held > 1)
		begins = redact_may_begin(r->needles,
		    (const uint8_t *)r->held + r->n_held - 2, 2);
	if (begins != 0)
		begin_readers(r, (uint8_t)r->held[r->n_held - 2], begins);
	if (r->n_readers > 0)
		move_readers(r, c);
	if (r->closed)
		return close_stream(r, out);
	return let_go(r, free_to_go(r, c), out);
}

/* --- many bytes ---------------------------------------------------------------- */

/* What may begin at four places, as far as bytes 1 and 2 of a form tell: byte 0 of
 * base64 may be half the neighbour's, and fits too often. */
static inline uint32_t
may_be_in_four(const uint32_t *second, const uint32_t *third, const uint8_t *p)
{
	return (second[p[1]] & third[p[2]]) | (second[p[2]] & third[p[3]]) |
	    (second[p[3]] & third[p[4]]) | (second[p[4]] & third[p[5]]);
}

/* The first of four places where a form may begin; 4: none. */
static inline size_t
start_in_four(const struct redact_needles *needles, const uint8_t *p)
{
	size_t k = 0;

	while (k < 4 && redact_may_begin(needles, p + k, REDACT_LOOK) == 0)
		k++;
	return k;
}

/* The first place where a form may begin, as far as what is there tells; or len. */
static size_t
find_start(const struct redact_needles *needles, const uint8_t *p, size_t len)
{
	const uint32_t *second = needles->may[1], *third = needles->may[2];
	size_t i = 0, k;

	for (; len - i >= 7 + REDACT_LOOK; i += 8) {
		if (may_be_in_four(second, third, p + i) != 0 &&
		    (k = start_in_four(needles, p + i)) < 4)
			return i + k;
		if (may_be_in_four(second, third, p + i + 4) != 0 &&
		    (k = start_in_four(needles, p + i + 4)) < 4)
			return i + 4 + k;
	}
	for (; i < len; i++)
		if (redact_may_begin(needles, p + i, len - i) != 0)
			return i;
	return len;
}

/* With no reader on its way and nothing held: pass on what cannot begin a form,
 * keep the byte that may.  Returns how many bytes were taken. */
static size_t
take_run(struct redact *r, const char *in, size_t len, char **out)
{
	size_t pass = find_start(r->needles, (const uint8_t *)in, len);

	*out = put_plain(r, in, pass, *out);
	if (pass == len) {
		r->offset += len;
		return len;
	}
	r->held[0] = in[pass];
	r->marked[0] = PLAIN;
	r->n_held = 1;
	if (r->most_held == 0)
		r->most_held = 1;
	r->offset += pass + 1;
	return pass + 1;
}

/* Is all that is held one byte, and c none that a form may go on with? */
static bool
held_in_vain(const struct redact *r, uint8_t c)
{
	return r->n_readers == 0 && r->n_held == 1 &&
	    (r->needles->may[0][(uint8_t)r->held[0]] & r->needles->may[1][c]) == 0;
}

size_t
redact_feed(struct redact *r, const char *in, size_t len, bool last, char *out)
{
	char *begin_out = out;

	for (size_t i = 0; i < len && !r->closed; ) {
		if (held_in_vain(r, (uint8_t)in[i]))
			out = let_go(r, 1, out);
		if (r->n_held == 0 && r->n_readers == 0)
			i += take_run(r, in + i, len - i, &out);
		else
			out = take_byte(r, (uint8_t)in[i++], out);
	}
	if (last) {
		out = let_go(r, r->n_held, out);
		begin(r);
	}
	return (size_t)(out - begin_out);
}
