/* What people see: escaping, laying out, the bar, canonical JSON, moments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "ledger/export/canonical.h"
#include "ledger/export/export.h"
#include "ledger/export/filter.h"
#include "ledger/output/progress.h"
#include "ledger/output/shown.h"
#include "ledger/report/html_escape.h"
#include "ledger/utf8.h"

static char *shown;
static size_t shown_len;

static FILE *
capture(void)
{
	free(shown);
	shown = NULL;
	return open_memstream(&shown, &shown_len);
}

static const char *
text(const char *bytes, size_t len)
{
	FILE *out = capture();

	html_text(out, bytes, len);
	fclose(out);
	return shown;
}

static const char *
json(const char *value, size_t max)
{
	FILE *out = capture();

	html_json(out, value, strlen(value), max, true);
	fclose(out);
	return shown;
}

static void
escapes(void **state)
{
	assert_string_equal(text("a<b>&\"'", 7), "a&lt;b&gt;&amp;&quot;&#39;");
	assert_string_equal(text("\xe2\x80\xae", 3), "<i>U+202E</i>");
	assert_string_equal(text("\0\x1b\x7f", 3), "<i>U+0000</i><i>U+001B</i><i>U+007F</i>");
	assert_string_equal(text("\xc3\xa4\xf0\x9f\x98\x80", 6), "\xc3\xa4\xf0\x9f\x98\x80");
	/* no UTF-8: cut, overlong, a surrogate, beyond, a lone byte */
	assert_string_equal(text("\xc3", 1), "<i>U+FFFD</i>");
	assert_string_equal(text("\xc0\xaf", 2), "<i>U+FFFD</i><i>U+FFFD</i>");
	assert_string_equal(text("\xe0\x80\xaf", 3), "<i>U+FFFD</i><i>U+FFFD</i><i>U+FFFD</i>");
	assert_string_equal(text("\xf4\x90\x80\x80", 4),
	    "<i>U+FFFD</i><i>U+FFFD</i><i>U+FFFD</i><i>U+FFFD</i>");
	assert_string_equal(text("\xed\xa0\x80", 3), "<i>U+FFFD</i><i>U+FFFD</i><i>U+FFFD</i>");
	assert_string_equal(text("", 0), "");
}

/* Every character, one by one: what comes out is text and nothing else. */
static void
every_character(void **state)
{
	uint32_t c, back;
	char bytes[4];
	bool surrogate;
	size_t n;

	for (c = 0; c < 0x110000; c += c < 0x3000 || (c > 0xd000 && c < 0x10000) ? 1 : 251) {
		if (c < 0x80) {
			bytes[0] = (char)c;
			n = 1;
		} else if (c < 0x800) {
			bytes[0] = (char)(0xc0 | c >> 6);
			bytes[1] = (char)(0x80 | (c & 0x3f));
			n = 2;
		} else if (c < 0x10000) {
			bytes[0] = (char)(0xe0 | c >> 12);
			bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
			bytes[2] = (char)(0x80 | (c & 0x3f));
			n = 3;
		} else {
			bytes[0] = (char)(0xf0 | c >> 18);
			bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
			bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
			bytes[3] = (char)(0x80 | (c & 0x3f));
			n = 4;
		}
		surrogate = c >= 0xd800 && c <= 0xdfff;	/* of UTF-16, which UTF-8 has none of */
		assert_int_equal(utf8_next(bytes, n, &back), surrogate ? 1 : n);
		assert_int_equal(back, surrogate ? UTF8_NONE : c);
		if (n > 1) {	/* cut off */
			assert_int_equal(utf8_next(bytes, n - 1, &back), 1);
			assert_int_equal(back, UTF8_NONE);
		}
		text(bytes, n);
		if (utf8_is_odd(c))
			assert_int_equal(strncmp(shown, "<i>U+", 5), 0);
		else if (strchr("<>&\"'", (int)c) == NULL || c > 0x7f)
			assert_memory_equal(shown, bytes, n);
	}
}

static void
cutting(void **state)
{
	FILE *out = capture();

	html_str(out, "\xc3\xa4\xc3\xa4", 3);	/* not within a character */
	fclose(out);
	assert_string_equal(shown, "\xc3\xa4&hellip;");
	out = capture();
	shown_put(out, "abc\ndef\xe2\x80\xaeghi", 8);
	fclose(out);
	assert_string_equal(shown, "abc?def..");
	out = capture();
	shown_put(out, "a\xff" "b", 10);
	fclose(out);
	assert_string_equal(shown, "a?b");
}

static void
laying_out(void **state)
{
	assert_string_equal(json("{}", 99), "{}");
	assert_string_equal(json("{\"a\":[1,true],\"b\":{\"c\":\"<\"}}", 99),
	    "{\n  <b>&quot;a&quot;</b>: [\n    1,\n    true\n  ],\n  <b>&quot;b&quot;</b>: {\n"
	    "    <b>&quot;c&quot;</b>: &quot;&lt;&quot;\n  }\n}");
	assert_string_equal(json("{\"a\":\"}{,:\\\"\"}", 99),
	    "{\n  <b>&quot;a&quot;</b>: &quot;}{,:\\&quot;&quot;\n}");
	assert_string_equal(json("{\"a\":[]}", 99), "{\n  <b>&quot;a&quot;</b>: []\n}");
	assert_non_null(strstr(json("{\"a\":\"0123456789\"}", 8), "<i>and 10 bytes more</i>"));
	/* never checked lines come here too: no end is run past */
	json("{\"a\":\"", 99);
	json("\"\\", 99);
	json("]]]}", 99);
}

static void
bar(void **state)
{
	char said[512] = "";
	struct progress p;
	int fds[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	assert_int_equal(pipe(fds), 0);
	fflush(stderr);
	dup2(fds[1], STDERR_FILENO);
	progress_begin(&p, true, "verifying");
	progress_step(&p, 1, 4);		/* too early */
	p.began_ms -= 10000;
	progress_step(&p, 1000000, 4000000);
	progress_step(&p, 2000000, 4000000);	/* too soon after that */
	p.last_ms -= 10000;
	progress_step(&p, 9000000, 4000000);	/* it grows while we read */
	p.last_ms -= 10000;
	progress_step(&p, 0, 0);
	progress_end(&p);
	progress_begin(&p, false, "silent");
	p.began_ms -= 10000;
	progress_step(&p, 1, 2);
	progress_end(&p);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	n = read(fds[0], said, sizeof(said) - 1);
	close(fds[0]);
	assert_true(n > 0);
	assert_non_null(strstr(said, "verifying [#######......................."));
	assert_non_null(strstr(said, " 25%  1.0 of 4.0 MB"));
	assert_null(strstr(said, " 50%"));
	assert_non_null(strstr(said, "100%"));
	assert_null(strstr(said, "silent"));
	assert_string_equal(said + strlen(said) - 4, "\r\033[K");
}

static void
canonical(void **state)
{
	struct canonical c;
	char buf[256], tiny[8];

	canonical_begin(&c, buf, sizeof(buf), false);
	canonical_object(&c, NULL);
	canonical_array(&c, "a");
	canonical_number(&c, NULL, 1);
	canonical_text(&c, NULL, "\b\t\n\f\r\"\\/\x01\x1f\x7f");
	canonical_array_end(&c);
	canonical_text(&c, "b", "\xc3\xa4\xf0\x9f\x98\x80\xff");
	canonical_object_end(&c);
	assert_int_equal(canonical_end(&c), strlen(buf));
	assert_string_equal(buf, "{\"a\":[1,\"\\b\\t\\n\\f\\r\\\"\\\\/\\u0001\\u001f\x7f\"],"
	    "\"b\":\"\xc3\xa4\xf0\x9f\x98\x80\xef\xbf\xbd\"}");
	canonical_begin(&c, buf, sizeof(buf), true);
	canonical_text(&c, NULL, "\xc3\xa4\xf0\x9f\x98\x80");
	assert_true(canonical_end(&c) > 0);
	assert_string_equal(buf, "\"\\u00e4\\ud83d\\ude00\"");
	canonical_begin(&c, tiny, sizeof(tiny), false);
	canonical_text(&c, NULL, "1234567");
	assert_int_equal(canonical_end(&c), -1);
}

static void
moments(void **state)
{
	static const char *const none[] = { "", "now", "10", "10x", "h", "-1h", "2026-13-01",
	    "2026-11-29T10:00:00", "2026-11-29Z", "2026-11-29T10:00:00+01:00", "10m ", "1.5h" };
	int64_t t;
	size_t i;

	assert_int_equal(filter_time("2026-11-29T15:36:01Z", 0, &t), 0);
	assert_int_equal(t, INT64_C(1795966561000000));
	assert_int_equal(filter_time("2026-11-29T15:36Z", 0, &t), 0);
	assert_int_equal(t, INT64_C(1795966560000000));
	assert_int_equal(filter_time("2026-11-29T15:36:01.5Z", 0, &t), 0);
	assert_int_equal(t, INT64_C(1795966561500000));
	assert_int_equal(filter_time("2026-11-29", 0, &t), 0);
	assert_int_equal(t, INT64_C(1795910400000000));
	assert_int_equal(filter_time("2h", 7200000001, &t), 0);
	assert_int_equal(t, 1);
	assert_int_equal(filter_time("7d", 0, &t), 0);
	assert_int_equal(t, INT64_C(-604800000000));
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		if (filter_time(none[i], 0, &t) == 0)
			fail_msg("\"%s\" is a moment", none[i]);
}

/* Too small a buffer is an error, and nothing is written behind it. */
static void
small_buffers(void **state)
{
	static const char line[] = "{\"v\":1,\"prev\":\"0000000000000000000000000000000000000000000000"
	    "000000000000000000\",\"stream\":\"s\",\"seq\":0,\"t\":\"2026-11-29T15:36:01.123456Z\","
	    "\"type\":\"use\",\"policy\":\"sha256:0000000000000000000000000000000000000000000000000000"
	    "000000000000\",\"body\":{\"decision\":\"allow\",\"input\":{\"action\":{\"verb\":\"GET\"},"
	    "\"target\":{\"host\":\"a.example\",\"path\":\"/x\",\"port\":443,\"scheme\":\"https\"}}}}";
	const struct ocsf_options options = { "host", "origin", true };
	struct export_seqs seqs = { .count = 0 };
	struct reader_line read = { .text = line, .len = sizeof(line) - 1 };
	struct export_item item;
	struct facts facts;
	size_t cap;
	char *buf;
	int n[3], i;

	assert_null(record_parse(line, sizeof(line) - 1, &read.record));
	facts_read(&facts, &read.record);
	export_item_init(&item, &read, &facts, &seqs);
	for (i = 0; i < 3; i++)
		n[i] = 0;
	for (cap = 1; cap < 4096; cap++) {
		buf = malloc(cap);	/* exactly, for the sanitizer */
		n[0] = ocsf_format(&item, &options, buf, cap);
		assert_true(n[0] == -1 || (size_t)n[0] == strlen(buf));
		n[1] = otlp_format(&item, buf, cap);
		assert_true(n[1] == -1 || (size_t)n[1] == strlen(buf));
		n[2] = cef_format(&item, "host", buf, cap);
		assert_true(n[2] == -1 || (size_t)n[2] == strlen(buf));
		free(buf);
	}
	for (i = 0; i < 3; i++)
		assert_true(n[i] > 100);
	facts_free(&facts);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes),
		cmocka_unit_test(every_character),
		cmocka_unit_test(cutting),
		cmocka_unit_test(laying_out),
		cmocka_unit_test(bar),
		cmocka_unit_test(canonical),
		cmocka_unit_test(moments),
		cmocka_unit_test(small_buffers),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	free(shown);
	return failed;
}
