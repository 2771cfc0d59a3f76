#include "plane/redact_needles.h"

#include <stdlib.h>
#include <sodium.h>

/*
 * A stream holds its last bytes back while some reader (redact_form.h) that began
 * among them is still on its way.  Each byte moves every reader; one that comes to
 * its end marks the bytes that it read.  Bytes in front of the oldest reader are
 * let go: marked ones as a marker for each run, others as they are.
 *
 * Readers are few: a new one begins only where two bytes look like the start of
 * a form, and nearly all end with the third.  A secret like "aaaa…" can drive
 * their number up; a stream in which there is no room for one more is closed: its
 * rest is hidden behind one marker, rather than any of it shown unread.
 */

struct redact {
	struct redact_needles *needles;
	uint64_t offset;	/* of the next byte to come */
	char *held;		/* the bytes [offset - n_held, offset) */
	uint8_t *marked;	/* one flag for each of them */
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

/* All held and all new bytes as they are, and a marker for each find that they
 * have room for: runs are apart by a byte at least. */
size_t
redact_bound(const struct redact *r, size_t len)
{
	size_t all = r->n_held + len;

	return all + (all / (r->needles->min + 1) + 2) * (sizeof(REDACT_MARKER) - 1);
}

/* --- letting go ------------------------------------------------------------ */

static char *
put_marker(struct redact *r, char *out)
{
	if (r->in_run)
		return out;
	r->in_run = true;
	r->count++;
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
		out = r->marked[i] ? put_marker(r, out) :
		    put_plain(r, r->held + i, 1, out);
	r->n_held -= n;
	memmove(r->held, r->held + n, r->n_held);
	memmove(r->marked, r->marked + n, r->n_held);
	return out;
}

/* --- one byte ---------------------------------------------------------------- */

static void
mark_from(struct redact *r, uint64_t start)
{
	size_t n = (size_t)(r->offset - start);

	memset(r->marked + r->n_held - n, 1, n);
}

static bool
may_begin(const struct redact_needles *needles, uint8_t c)
{
	return needles->first[c] != needles->first[c + 1];
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
		    readers[i].wrapped == at->wrapped)
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
		mark_from(r, at->start);
		at->start = r->offset;
	}
	if (at->done || is_spoken_for(readers, others, at))
		return;
	if (*n < r->needles->readers)
		readers[(*n)++] = *at;
	else
		r->closed = true;
}

/* The readers that began with the byte before this one, as they stood then.
 * Not two of them are at one place. */
static void
begin_readers(struct redact *r, uint8_t first)
{
	const struct redact_needles *needles = r->needles;
	REDACT_WAYS_UNSET struct redact_at ways[REDACT_WAYS_MAX];
	size_t others = r->n_readers;

	if (!make_room(r)) {
		r->closed = true;	/* unread, the rest must not show */
		return;
	}
	for (uint32_t i = needles->first[first]; i < needles->first[first + 1]; i++) {
		struct redact_at at = { .start = r->offset - 2,
		    .item = needles->starts[i].item,
		    .form = needles->starts[i].form };
		size_t n_ways = redact_form_step(&needles->items[at.item], &at,
		    first, ways);
		for (size_t k = 0; k < n_ways; k++)
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
	uint64_t stay = r->offset - (may_begin(r->needles, last) ? 1 : 0);

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
	bool have = r->n_held > 0;
	uint8_t before = have ? (uint8_t)r->held[r->n_held - 1] : 0;

	if (r->n_held == r->needles->hold)	/* cannot be: see measure() */
		return close_stream(r, out);
	r->held[r->n_held] = (char)c;
	r->marked[r->n_held++] = 0;
	if (r->n_held > r->most_held)
		r->most_held = r->n_held;
	r->offset++;
	if (have && redact_pair(r->needles, before, c))
		begin_readers(r, before);
	if (r->n_readers > 0)
		move_readers(r, c);
	if (r->closed)
		return close_stream(r, out);
	return let_go(r, free_to_go(r, c), out);
}

/* --- many bytes ---------------------------------------------------------------- */

/* The first i in [1, len) where p[i-1], p[i] may begin a form; or len. */
static size_t
find_pair(const struct redact_needles *needles, const uint8_t *p, size_t len)
{
	const uint8_t *first = needles->as_first, *second = needles->as_second;
	size_t i = 1;

	while (i < len) {
		for (; len - i >= 4; i += 4)
			if (((first[p[i - 1]] & second[p[i]]) |
			    (first[p[i]] & second[p[i + 1]]) |
			    (first[p[i + 1]] & second[p[i + 2]]) |
			    (first[p[i + 2]] & second[p[i + 3]])) != 0)
				break;
		for (unsigned n = 0; n < 4 && i < len; n++, i++)
			if (redact_pair(needles, p[i - 1], p[i]))
				return i;
	}
	return len;
}

/* With no reader on its way and nothing held: pass on what cannot begin a form,
 * keep the byte that may.  Returns how many bytes were taken. */
static size_t
take_run(struct redact *r, const char *in, size_t len, char **out)
{
	size_t i = find_pair(r->needles, (const uint8_t *)in, len);
	bool stay = i < len || may_begin(r->needles, (uint8_t)in[len - 1]);
	size_t pass = i - (stay ? 1 : 0);

	*out = put_plain(r, in, pass, *out);
	if (stay) {
		r->held[0] = in[pass];
		r->marked[0] = 0;
		r->n_held = 1;
		if (r->most_held == 0)
			r->most_held = 1;
	}
	r->offset += i;
	return i;
}

/* Is all that is held one byte, and c none that a form may go on with? */
static bool
held_in_vain(const struct redact *r, uint8_t c)
{
	return r->n_readers == 0 && r->n_held == 1 &&
	    !redact_pair(r->needles, (uint8_t)r->held[0], c);
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
