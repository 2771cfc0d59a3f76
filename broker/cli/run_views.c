#include "cli/run_views.h"
#include "ledger/scan/view.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define DEPTH_MAX 4
#define LEAST 8			/* bytes of a secret */
#define SHORT_MAX 256		/* digits of a run that is decoded as one */

enum { ESCAPED, HEX, BASE64, BASE32, VIEWS };

struct looking {
	run_views_each *each;
	void *arg;
};

/* --- short runs: the views leave out what is too short to be a token --- */

static bool
is_digit(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z') || c == '+' || c == '/' || c == '-' || c == '_';
}

static bool
short_run(const struct looking *looking, const char *run, size_t len)
{
	static const int variants[] = { sodium_base64_VARIANT_ORIGINAL_NO_PADDING,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING };
	uint8_t out[SHORT_MAX];
	bool stop = false;
	size_t i, n = 0;

	if (sodium_hex2bin(out, sizeof(out), run, len, NULL, &n, NULL) == 0 &&
	    n >= LEAST)
		stop = looking->each(looking->arg, (char *)out, n);
	/* Of a whole number of groups, whatever bits the last one leaves over. */
	for (i = 0; i < 2 && !stop; i++)
		if ((sodium_base642bin(out, sizeof(out), run, len, NULL, &n, NULL,
		    variants[i]) == 0 || sodium_base642bin(out, sizeof(out), run,
		    len & ~(size_t)3, NULL, &n, NULL, variants[i]) == 0) &&
		    n >= LEAST)
			stop = looking->each(looking->arg, (char *)out, n);
	sodium_memzero(out, sizeof(out));
	return stop;
}

static bool
short_runs(const struct looking *looking, const char *text, size_t len)
{
	size_t at = 0, end;

	for (; at < len; at = end + 1) {
		for (end = at; end < len && is_digit(text[end]); end++)
			;
		if (end - at >= LEAST && end - at <= SHORT_MAX &&
		    short_run(looking, text + at, end - at))
			return true;
	}
	return false;
}

/* --- views ----------------------------------------------------------- */

static bool
backwards(const struct looking *looking, const char *text, size_t len)
{
	char *turned = malloc(len + 1);
	bool stop = true;	/* where memory lacks nothing passes */
	size_t i;

	if (turned == NULL)
		return true;
	for (i = 0; i < len; i++)
		turned[i] = text[len - 1 - i];
	stop = looking->each(looking->arg, turned, len);
	sodium_memzero(turned, len);
	free(turned);
	return stop;
}

static int
derive(const struct scan_part *part, struct scan_view *view)
{
	static const char *const names[VIEWS] = { "escaped", "hex", "base64",
	    "base32" };
	unsigned kind;

	for (kind = 0; kind < VIEWS; kind++)
		scan_view_clear(&view[kind], names[kind], part->map,
		    kind == ESCAPED);
	if (scan_view_unescape(part, &view[ESCAPED]) != 0)
		return -1;
	return scan_view_runs(part, &view[BASE64], &view[HEX], &view[BASE32]);
}

static int look(const struct looking *looking, const uint8_t *text, size_t len,
    unsigned depth);

static int
look_deeper(const struct looking *looking, const struct scan_view *view,
    unsigned depth)
{
	int rc = 0;
	size_t i;

	for (i = 0; i < view->segments && rc == 0; i++)
		if (view->segment_len[i] >= LEAST)
			rc = depth == DEPTH_MAX ? -1 : look(looking,
			    view->text + view->segment[i], view->segment_len[i],
			    depth + 1);
	return rc;
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
	    backwards(looking, (const char *)text, len) ||
	    short_runs(looking, (const char *)text, len))
		return 1;
	if (scan_classes_of(&classes, text, len) != 0 || derive(&part, view) != 0)
		rc = -1;
	for (kind = 0; kind < VIEWS && rc == 0; kind++)
		rc = look_deeper(looking, &view[kind], depth);
	for (kind = 0; kind < VIEWS; kind++)
		scan_view_free(&view[kind]);
	scan_classes_free(&classes);
	return rc;
}

int
run_views(const char *text, size_t len, run_views_each *each, void *arg)
{
	struct looking looking = { each, arg };

	return look(&looking, (const uint8_t *)text, len, 0);
}
