/* Which pack may take another's place, and what is remembered of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "discover/revision.h"
#include "discover/state.h"

static const char *
digest(unsigned n)
{
	static char text[4][POLICY_DIGEST_LEN + 1];
	char *out = text[n % 4];

	snprintf(out, sizeof(text[0]), "sha256:%064x", n);
	return out;
}

/* Does a pack of revision b replace one of a? */
static bool
replaces(const char *a, const char *b)
{
	struct revision_history history = { .n = 0 };

	revision_note(&history, digest(1), a);
	return revision_wrong(&history, digest(2), b) == NULL;
}

static void
ordered(void **state)
{
	static const char *const up[][2] = { { "1", "2" }, { "9", "10" },
	    { "1.2.3", "1.10.0" }, { "2026-11-29", "2026-12-01" },
	    { "2026-11-29T10:00Z", "2026-11-29T10:05Z" }, { "1.0", "1.0.1" } };

	for (size_t i = 0; i < sizeof(up) / sizeof(up[0]); i++) {
		if (!revision_ordered(up[i][0]))
			fail_msg("%s has no order", up[i][0]);
		if (!replaces(up[i][0], up[i][1]))
			fail_msg("%s does not replace %s", up[i][1], up[i][0]);
		assert_false(replaces(up[i][1], up[i][0]));
		assert_false(replaces(up[i][0], up[i][0]));
	}
	assert_false(replaces("1", ""));
	assert_false(replaces("1", "v2"));
	(void)state;
}

#define HASH "1b4f0e9851971998e732078544c96b36c3d01ced"

static void
without_order(void **state)
{
	struct revision_history history = { .n = 0 };

	assert_false(revision_ordered(""));
	assert_false(revision_ordered("v1"));
	assert_false(revision_ordered("1 2"));
	assert_false(revision_ordered(HASH));
	assert_true(replaces("", "1"));
	assert_true(replaces(HASH, "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"));
	assert_true(replaces("v2", "v1"));
	assert_null(revision_wrong(&history, digest(1), ""));

	/* But never back. */
	revision_note(&history, digest(1), "a");
	revision_note(&history, digest(2), "b");
	revision_note(&history, digest(3), "c");
	assert_non_null(revision_wrong(&history, digest(1), "d"));
	assert_non_null(revision_wrong(&history, digest(2), "d"));
	assert_null(revision_wrong(&history, digest(4), "d"));
	(void)state;
}

static void
remembers(void **state)
{
	struct revision_history history = { .n = 0 };
	unsigned i;

	for (i = 0; i < REVISION_SEEN_MAX + 10; i++)
		revision_note(&history, digest(i), "x");
	assert_int_equal(history.n, REVISION_SEEN_MAX);
	assert_string_equal(history.seen[0], digest(10));
	assert_string_equal(history.seen[history.n - 1], digest(i - 1));
	(void)state;
}

static void
over_a_restart(void **state)
{
	struct revision_history history = { .n = 0 }, back;
	char dir[] = "/tmp/test_discover.XXXXXX", path[128], err[512] = "";
	FILE *f;

	assert_non_null(mkdtemp(dir));
	assert_int_equal(state_read(dir, "/a", &back, err, sizeof(err)), 0);
	assert_int_equal(back.n, 0);
	revision_note(&history, digest(1), "1");
	revision_note(&history, digest(2), "2");
	assert_int_equal(state_write(dir, "/a", &history, err, sizeof(err)), 0);
	assert_int_equal(state_read(dir, "/a", &back, err, sizeof(err)), 0);
	assert_int_equal(back.n, 2);
	assert_string_equal(back.seen[1], digest(2));
	assert_string_equal(back.revision, "2");

	/* Another source has another history. */
	assert_int_equal(state_read(dir, "/b", &back, err, sizeof(err)), 0);
	assert_int_equal(back.n, 0);

	snprintf(path, sizeof(path), "%s/" STATE_NAME, dir);
	assert_non_null(f = fopen(path, "w"));
	fputs("{\"v\":1,\"from\":\"/a\",\"revision\":\"\",\"seen\":[\"../x\"]}", f);
	fclose(f);
	assert_int_equal(state_read(dir, "/a", &back, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "digests of packs"));
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(state_read(dir, "/a", &back, err, sizeof(err)), -1);
	unlink(path);
	rmdir(dir);
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ordered),
		cmocka_unit_test(without_order),
		cmocka_unit_test(remembers),
		cmocka_unit_test(over_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
