/* The VLC-1 journal's coverage: what adapters published, and where it changes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coverage_scene.h"
#include "ledger/export/vlc1_sights.h"

static bool
take(struct vlc1_sights *s, const char *text, uint64_t index, bool first_only)
{
	json_t *body = json_loads(text, 0, NULL);
	bool changed;

	assert_non_null(body);
	changed = vlc1_sights_take(s, body, index, first_only);
	json_decref(body);
	return changed;
}

static void
expect(const struct vlc1_sights *s, const char *sees, const char *leaves_out, const char *cannot)
{
	const char *const want[VLC1_LISTS] = { sees, leaves_out, cannot };
	char list[VLC1_LIST_MAX];

	for (int i = 0; i < VLC1_LISTS; i++) {
		vlc1_sights_list(s, i, list);
		assert_string_equal(list, want[i]);
	}
}

#define HTTP "{\"kind\":\"http\"}"
#define LOOPBACK "{\"kind\":\"http\",\"what\":\"loopback\"}"

static void
lists(void **state)
{
	struct vlc1_sights *s = calloc(1, sizeof(*s));

	expect(s, "", "", "");
	assert_true(take(s, CLAIM(HTTP "," HTTP ",{\"kind\":\"*\"}", "{\"kind\":\"http\",\"what\":\"w\"}", ""), 3, true));
	expect(s, "proxy:http,proxy:all-else", "", "proxy:http:beyond");
	/* the first stands before the first event, a later one where it is recorded */
	assert_false(take(s, CLAIM(HTTP, "", LOOPBACK), 9, true));
	assert_true(take(s, CLAIM(HTTP, "", LOOPBACK), 9, false));
	expect(s, "proxy:http", "proxy:http:left-out", "");
	assert_int_equal(s->one[0].index, 9);
	assert_false(take(s, CLAIM(HTTP, "", LOOPBACK), 12, false));
	assert_false(take(s, "{\"v\":1}", 13, false));
	assert_true(take(s, "{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":\"hook\",\"instance\":\"a\","
	    "\"version\":\"1\",\"sees\":[{\"kind\":\"tool\"}],\"cannot_see\":[],\"leaves_out\":[]}", 14, false));
	expect(s, "proxy:http,hook@a:tool", "proxy:http:left-out", "");
	free(s);
}

static void
too_much(void **state)
{
	struct vlc1_sights *s = calloc(1, sizeof(*s));
	char body[8192], list[VLC1_LIST_MAX];
	size_t len;

	for (unsigned i = 0; i < VLC1_SIGHTS_MAX + 1; i++) {
		len = (size_t)snprintf(body, sizeof(body), "{\"v\":1,\"kind\":\"countersign-coverage\","
		    "\"adapter\":\"adapter-with-a-long-name-%02u\",\"version\":\"1\",\"cannot_see\":[],"
		    "\"leaves_out\":[],\"sees\":[", i);
		for (unsigned k = 0; k < 64; k++)
			len += (size_t)snprintf(body + len, sizeof(body) - len, "%s{\"kind\":\"kind-%02u\"}",
			    k > 0 ? "," : "", k);
		snprintf(body + len, sizeof(body) - len, "]}");
		assert_int_equal(take(s, body, i, false), i < VLC1_SIGHTS_MAX);
	}
	vlc1_sights_list(s, VLC1_SEES, list);
	assert_non_null(strstr(list, "adapter-with-a-long-name-00:more,"));
	assert_string_equal(list + strlen(list) - 5, ",more");
	assert_null(strstr(strstr(list, ",more") + 1, ",more"));
	free(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lists), cmocka_unit_test(too_much) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
