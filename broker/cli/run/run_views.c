#include "cli/run/run_views.h"
#include "ledger/scan/view/packed.h"
#include "ledger/scan/view/view.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define DEPTH_MAX 8		/* noise comes to four now and then */
#define LEAST 8			/* bytes of a secret */
#define SHORT_MAX 256		/* digits of a run that is decoded as one */
#define UNPACKED_MAX (1u << 20)	/* bytes that one packed stream may come to */

enum { ESCAPED, HEX, BASE64, BASE32, DECIMAL, VIEWS };

struct looking {
	run_views_each *each;
	void *arg;
};

static int look(const struct looking *looking, const uint8_t *text, size_t len,
    unsigned depth);

/* --- views ----------------------------------------------------------- */

enum turn { BACKWARDS, ROT13, TURNS };

static char
rot13(char c)
{
	char a = c >= 'a' && c <= 'z' ? 'a' : 'A';

	return c >= a && c <= a + 25 ? (char)(a + (c - a + 13) % 26) : c;
}

/* A copy, read the other way; NULL where memory lacks. */
static char *
turned(enum turn turn, const char *text, size_t len)
{
	char *out = malloc(len + 1);
	size_t i;

	for (i = 0; out != NULL && i < len; i++)
		out[i] = turn == ROT13 ? rot13(text[i]) : text[len - 1 - i];
	return out;
}

static void
forget(char *text, size_t len)
{
	if (text != NULL)
		sodium_memzero(text, len);
	free(text);
}

static bool
each_turned(const struct looking *looking, const char *text, size_t len)
{
	bool stop = false;
	unsigned turn;
	char *copy;

	for (turn = 0; turn < TURNS && !stop; turn++) {
		copy = turned((enum turn)turn, text, len);
		/* Where memory lacks nothing passes. */
		stop = copy == NULL || looking->each(looking->arg, copy, len);
		forget(copy, len);
	}
	return stop;
}

static int
derive(const struct scan_part *part, struct scan_view *view)
{
	static const char *const names[VIEWS] = { "escaped", "hex", "base64",
	    "base32", "decimal" };
	unsigned kind;

	for (kind = 0; kind < VIEWS; kind++)
		scan_view_clear(&view[kind], names[kind], part->map,
		    kind == ESCAPED);
	if (scan_view_unescape(part, &view[ESCAPED]) != 0)
		return -1;
	return scan_view_runs(part, &view[BASE64], &view[HEX], &view[BASE32],
	    &view[DECIMAL]);
}

/* Where an escape was begun and none undone, the view is the text that it is of: that
 * has been looked at, and leads no deeper. */
static int
look_deeper(const struct looking *looking, const struct scan_view *view,
    const struct scan_part *of, unsigned depth)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < view->segments && rc == 0; i++) {
		const uint8_t *text = view->text + view->segment[i];
		const size_t len = view->segment_len[i];

		if (len >= LEAST && memmem(of->text, of->len, text, len) == NULL)
			rc = depth == DEPTH_MAX ? -1 : look(looking, text, len,
			    depth + 1);
	}
	return rc;
}

/* --- packed ---------------------------------------------------------- */

struct unpacked {
	uint8_t *text;
	size_t len;
};

static int
take_unpacked(void *context, const uint8_t *bytes, size_t len)
{
	struct unpacked *out = context;

	if (len > UNPACKED_MAX - out->len)
		return -1;
	memcpy(out->text + out->len, bytes, len);
	out->len += len;
	return 0;
}

/* What is damaged further on is looked at up to there. */
static int
look_packed(const struct looking *looking, const struct scan_packed_kind *kind,
    const uint8_t *text, size_t len, unsigned depth)
{
	struct unpacked out = { malloc(UNPACKED_MAX), 0 };
	struct scan_packed *packed = NULL;
	enum scan_packed_state state;
	size_t used;
	int rc = -1;

	if (out.text == NULL ||
	    (packed = scan_packed_new(NULL, kind, take_unpacked, &out)) == NULL)
		goto out;
	state = scan_packed_feed(packed, text, len, &used);
	if (state == SCAN_PACKED_STOPPED || state == SCAN_PACKED_HUGE)
		goto out;
	rc = 0;
	if (out.len >= LEAST)
		rc = depth == DEPTH_MAX ? -1 : look(looking, out.text, out.len,
		    depth + 1);
out:
	scan_packed_free(packed);
	forget((char *)out.text, out.len);
	return rc;
}

/* Text of an environment holds no NUL, so packed data is always encoded. */
static int
look_unpacked(const struct looking *looking, const uint8_t *text, size_t len,
    unsigned depth)
{
	struct scan_packed_kind kind;
	size_t at;
	int rc = 0;

	for (at = 0; at < len && rc == 0; at++)
		if (scan_packed_at(text, len, at, &kind) && kind.known &&
		    kind.skip < len - at)
			rc = look_packed(looking, &kind, text + at + kind.skip,
			    len - at - kind.skip, depth);
	return rc;
}

/* --- short runs: the views leave out what is too short to be a token --- */

static bool
is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z') || c == '+' || c == '/' || c == '-' || c == '_';
}

static bool
short_text(const struct looking *looking, const uint8_t *text, size_t len,
    unsigned depth)
{
	return len >= LEAST && (looking->each(looking->arg, (const char *)text,
	    len) || each_turned(looking, (const char *)text, len) ||
	    look_unpacked(looking, text, len, depth) != 0);
}

static bool
short_run(const struct looking *looking, const char *run, size_t len,
    unsigned depth)
{
	static const int variants[] = { sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING };
	uint8_t out[SHORT_MAX];
	bool stop = false;
	size_t i, n = 0;

	if (sodium_hex2bin(out, sizeof(out), run, len, NULL, &n, NULL) == 0)
		stop = short_text(looking, out, n, depth);
	/* Of a whole number of groups, whatever bits the last one leaves over. */
	for (i = 0; i < 2 && !stop; i++)
		if ((sodium_base642bin(out, sizeof(out), run, len, NULL, &n, NULL,
		    variants[i]) == 0 || sodium_base642bin(out, sizeof(out), run,
		    len & ~(size_t)3, NULL, &n, NULL, variants[i]) == 0))
			stop = short_text(looking, out, n, depth);
	sodium_memzero(out, sizeof(out));
	return stop;
}

static bool
short_runs(const struct looking *looking, const char *text, size_t len,
    unsigned depth)
{
	size_t at = 0, end;

	for (; at < len; at = end + 1) {
		for (end = at; end < len && is_digit(text[end]); end++)
			;
		if (end - at >= LEAST && end - at <= SHORT_MAX &&
		    short_run(looking, text + at, end - at, depth))
			return true;
	}
	return false;
}

static int
look(const struct looking *looking, const uint8_t *text, size_t len,
    unsigned depth)
{
	struct scan_view view[VIEWS] = { { .name = NULL } };
	struct scan_classes classes = { .cap = 0 };
	struct scan_part part = { .text = text, .len = len, .classes = &classes,
	    .bytes = true, .least = LEAST };
	unsigned kind;
	int rc = 0;

	if (looking->each(looking->arg, (const char *)text, len) ||
	    each_turned(looking, (const char *)text, len) ||
	    short_runs(looking, (const char *)text, len, depth))
		return 1;
	if (depth > 0 && (rc = look_unpacked(looking, text, len, depth)) != 0)
		return rc;
	if (scan_classes_of(&classes, text, len) != 0 || derive(&part, view) != 0)
		rc = -1;
	for (kind = 0; kind < VIEWS && rc == 0; kind++)
		rc = look_deeper(looking, &view[kind], &part, depth);
	for (kind = 0; kind < VIEWS; kind++)
		scan_view_free(&view[kind]);
	scan_classes_free(&classes);
	return rc;
}

/* An encoded text may have been turned as well as one that is then encoded. */
int
run_views(const char *text, size_t len, run_views_each *each, void *arg)
{
	struct looking looking = { each, arg };
	unsigned turn;
	char *copy;
	int rc = look(&looking, (const uint8_t *)text, len, 0);

	for (turn = 0; turn < TURNS && rc == 0; turn++) {
		copy = turned((enum turn)turn, text, len);
		rc = copy == NULL ? -1 : look(&looking, (uint8_t *)copy, len, 0);
		forget(copy, len);
	}
	return rc;
}
