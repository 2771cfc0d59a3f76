/* The scanner's views: one token in every form, each found and nothing else;
 * every format in each view, however the stream is cut; budgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/formats_impl.h"
#include "ledger/scan/stream.h"
#include "scan_forms.h"

/* Made up; its checksum is right.  Split, so that this file is no finding. */
#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

struct seen {
	unsigned found, surely, low, incomplete;
	uint64_t offset, line, len;
	char what[64], chain[96], why[128];
};

static struct scan_worker *worker;

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	seen->found++;
	seen->surely += found->confidence == SCAN_HIGH;
	seen->low += found->confidence == SCAN_LOW;
	seen->offset = found->offset;
	seen->line = found->line;
	seen->len = found->len;
	snprintf(seen->what, sizeof(seen->what), "%s", found->what);
	snprintf(seen->chain, sizeof(seen->chain), "%s", found->chain);
}

static void
on_incomplete(void *context, const char *why)
{
	struct seen *seen = context;

	if (seen->incomplete++ == 0)
		snprintf(seen->why, sizeof(seen->why), "%s", why);
}

/* In two pieces, and windows of the given size. */
static struct seen
scan_cut(const void *text, size_t len, size_t cut, size_t block, size_t overlap)
{
	struct seen seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, block, overlap);

	assert_non_null(stream);
	scan_stream_feed(stream, text, cut);
	scan_stream_feed(stream, (const uint8_t *)text + cut, len - cut);
	scan_stream_end(stream);
	return seen;
}

static struct seen
scan(const void *text, size_t len)
{
	return scan_cut(text, len, 0, SCAN_BLOCK, SCAN_OVERLAP);
}

static int
setup(void **state)
{
	char err[200];

	return sodium_init() < 0 ||
	    (worker = scan_worker_new(NULL, NULL, true, err, sizeof(err))) == NULL;
}

static int
teardown(void **state)
{
	scan_worker_free(worker);
	return 0;
}

/* The matrix: one token is found in each form, with its checksum, and nothing
 * else.  (What zstd cannot make shorter stands in its frame as it is, too.) */
static void
matrix(void **state)
{
	static uint8_t text[SCAN_FORM_MAX];
	unsigned form, found = 0;
	struct seen seen;
	size_t len;

	for (form = 0; form < SCAN_FORMS; form++) {
		len = scan_form_make(form, GHP, text);
		seen = scan(text, len);
		if (seen.surely > 0 && seen.found == seen.surely && seen.incomplete == 0 &&
		    strcmp(seen.what, "github-ghp") == 0)
			found++;
		else
			print_message("# %s: found %u, surely %u, incomplete %u %s %s %s\n",
			    scan_form_name(form), seen.found, seen.surely, seen.incomplete,
			    seen.what, seen.chain, seen.why);
	}
	print_message("# %u of %u forms of one token found\n", found, SCAN_FORMS);
	assert_int_equal(found, SCAN_FORMS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
