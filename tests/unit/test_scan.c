/* The scanner over files: known secrets in every form, formats, what cannot be
 * read.  Tokens are split so that no scanner mistakes this file for a leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/scan.h"
#include "ledger_maker.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"
#define SECRET "s3cr/t \"value\"+with\\odd=chars&more"

static char dir[64], err[256];
static struct scan_result result;

static int
setup(void **state)
{
	make_temp_dir(dir);
	return sodium_init() < 0;
}

static int
teardown(void **state)
{
	remove_tree(dir);
	return 0;
}

static bool tiny;	/* is a secret too short to look for among the known? */

static enum scan_verdict
scan(void)
{
	struct scanner *scanner = scanner_new();

	memset(&result, 0, sizeof(result));
	assert_int_equal(scanner_add_secret(scanner, "odd", (const uint8_t *)SECRET,
	    strlen(SECRET)), 0);
	if (tiny)
		assert_int_equal(scanner_add_secret(scanner, "tiny",
		    (const uint8_t *)"abc", 3), 0);
	if (scanner_scan(scanner, dir, &result, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	scanner_free(scanner);
	return result.verdict;
}

static void
clean(void **state)
{
	write_file(dir, "a", "nothing to see, token = none\n", 29);
	assert_int_equal(scan(), SCAN_CLEAN);
	assert_int_equal(result.files, 1);
	assert_int_equal(result.bytes, 29);
	assert_int_equal(result.secrets, 1);
	assert_int_equal(result.short_secrets, 0);
	tiny = true;
	assert_int_equal(scan(), SCAN_INCOMPLETE);
	assert_int_equal(result.short_secrets, 1);
	tiny = false;
}

/* As many as years of rotation leave; what two have in common is told as the first's. */
static void
many(void **state)
{
	struct scanner *scanner = scanner_new();
	char name[16], value[64];
	int n = 0;

	for (int i = 0; i < 6000; i++) {
		snprintf(name, sizeof(name), "s%d", i);
		n = snprintf(value, sizeof(value), "ghp-%06d.of.many.known", i / 2);
		assert_int_equal(scanner_add_secret(scanner, name, (const uint8_t *)value,
		    (size_t)n), 0);
	}
	write_file(dir, "a", value, (size_t)n);
	memset(&result, 0, sizeof(result));
	assert_int_equal(scanner_scan(scanner, dir, &result, err, sizeof(err)), 0);
	assert_int_equal(result.secrets, 6000);
	assert_int_equal(result.finding_count, 1);
	assert_string_equal(result.finding[0].what, "s5998");
	scanner_free(scanner);
}

/* Where and in what form; the value is in no finding. */
static void
expect(const char *text, size_t len, const char *form, uint64_t line)
{
	write_file(dir, "a", text, len);
	assert_int_equal(scan(), SCAN_FOUND);
	assert_int_equal(result.finding_count, 1);
	assert_true(result.finding[0].known);
	assert_string_equal(result.finding[0].what, "odd");
	assert_string_equal(result.finding[0].form, form);
	assert_int_equal(result.finding[0].line, line);
	assert_string_equal(result.finding[0].path, "a");
}

static void
forms(void **state)
{
	static const char json[] = "s3cr/t \\\"value\\\"+with\\\\odd=chars&more";
	static const char json_slash[] = "s3cr\\/t \\\"value\\\"+with\\\\odd=chars&more";
	static const char percent[] = "s3cr%2Ft%20%22value%22%2Bwith%5Codd%3Dchars%26more";
	static const char percent_low[] = "s3cr%2ft%20%22value%22%2bwith%5codd%3dchars%26more";
	char text[1024], around[256], hex[256];
	size_t i, k;
	int n;

	n = snprintf(text, sizeof(text), "line\n\nx%sy", SECRET);
	expect(text, (size_t)n, "raw", 3);
	n = snprintf(text, sizeof(text), "{\"a\":\"%s\"}", json);
	expect(text, (size_t)n, "json", 1);
	n = snprintf(text, sizeof(text), "{\"a\":\"%s\"}", json_slash);
	expect(text, (size_t)n, "json", 1);
	n = snprintf(text, sizeof(text), "?q=%s&b=1", percent);
	expect(text, (size_t)n, "percent", 1);
	n = snprintf(text, sizeof(text), "?q=%s&b=1", percent_low);
	expect(text, (size_t)n, "percent", 1);
	sodium_bin2hex(hex, sizeof(hex), (const uint8_t *)SECRET, strlen(SECRET));
	expect(hex, strlen(hex), "hex", 1);
	/* base64 of it among other bytes, at every alignment and length */
	for (i = 0; i < 9; i++)
		for (k = 0; k < 4; k++) {
			n = snprintf(around, sizeof(around), "%.*s%s%.*s", (int)i, "user:pass",
			    SECRET, (int)k, "tail");
			sodium_bin2base64(text, sizeof(text), (const uint8_t *)around, (size_t)n,
			    sodium_base64_VARIANT_ORIGINAL);
			expect(text, strlen(text), "base64", 1);
		}
}

/* Turned around, by thirteen letters, and base64 turned around. */
static void
disguised(void **state)
{
	static const char rot13[] = "f3pe/g \"inyhr\"+jvgu\\bqq=punef&zber";
	char turned[128] = "", around[256], text[512], back[512];
	const size_t len = strlen(SECRET);
	size_t i, k, n;

	for (i = 0; i < len; i++)
		turned[i] = SECRET[len - 1 - i];
	expect(turned, len, "reversed", 1);
	expect(rot13, len, "rot13", 1);
	for (i = 0; i < 3; i++) {
		n = (size_t)snprintf(around, sizeof(around), "%.*s%s.", (int)i, "ab", SECRET);
		sodium_bin2base64(text, sizeof(text), (const uint8_t *)around, n,
		    sodium_base64_VARIANT_ORIGINAL);
		n = strlen(text);
		for (k = 0; k < n; k++)
			back[k] = text[n - 1 - k];
		write_file(dir, "a", back, n);
		assert_int_equal(scan(), SCAN_FOUND);
	}
}

static void
formats_in_files(void **state)
{
	char text[512], sub[96];
	int n;

	snprintf(sub, sizeof(sub), "%s/sub", dir);
	mkdir(sub, 0700);
	write_file(dir, "a", "plain\n", 6);
	n = snprintf(text, sizeof(text), "x\nheader: %s\n", GHP);
	write_file(dir, "sub/b", text, (size_t)n);
	assert_int_equal(scan(), SCAN_FOUND);
	assert_int_equal(result.finding_count, 1);
	assert_string_equal(result.finding[0].path, "sub/b");
	assert_string_equal(result.finding[0].what, "github-ghp");
	assert_int_equal(result.finding[0].line, 2);
	assert_int_equal(result.finding[0].offset, 10);
	/* advisory ones do not turn the verdict */
	write_file(dir, "sub/b", "password = \"Q7xk2LmZp9RtVb\"", 27);
	assert_int_equal(scan(), SCAN_CLEAN);
	assert_int_equal(result.advisory_count, 1);
	snprintf(text, sizeof(text), "%s/sub/b", dir);
	unlink(text);
	rmdir(sub);
}

/* At every offset around the ends of blocks, each is found exactly once. */
static void
across_blocks(void **state)
{
	const size_t len = 2400000;
	char *text = malloc(len);
	size_t at;

	for (at = 1048576 - 70; at < 1048576 + 66300; at += at % 7 + 11) {
		memset(text, '.', len);
		memcpy(text + at, GHP, 40);
		memcpy(text + at + 1048576, SECRET, strlen(SECRET));
		write_file(dir, "a", text, len);
		assert_int_equal(scan(), SCAN_FOUND);
		if (result.finding_count != 2)
			fail_msg("at %zu: %d", at, (int)result.finding_count);
		if (at > 1048576 + 100)
			at += 1999;
	}
	free(text);
}

static void
not_readable(void **state)
{
	char path[96];

	write_file(dir, "a", "\x1f\x8b\x08 something", 13);
	assert_int_equal(scan(), SCAN_INCOMPLETE);
	assert_non_null(strstr(result.incomplete, "gzip"));
	write_file(dir, "a", "plain", 5);
	snprintf(path, sizeof(path), "%s/link", dir);
	assert_int_equal(symlink("a", path), 0);
	assert_int_equal(scan(), SCAN_INCOMPLETE);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(scan(), SCAN_INCOMPLETE);
	unlink(path);
	assert_int_equal(scan(), SCAN_CLEAN);
}

/* More kinds of what was not looked at than are kept: counted all the same. */
static void
many_kinds(void **state)
{
	struct scan_result *r = calloc(1, sizeof(*r));
	char why[400];
	unsigned i;

	assert_non_null(r);
	for (i = 0; i < 3 * SCAN_REASONS_MAX; i++) {
		snprintf(why, sizeof(why), "kind %u", i % (SCAN_REASONS_MAX + 4));
		scan_result_incomplete(r, i == 0 ? "first" : "later", "gzip", why);
	}
	assert_int_equal(r->incomplete_count, 3 * SCAN_REASONS_MAX);
	assert_string_equal(r->incomplete, "first: gzip: kind 0");
	assert_int_equal(r->reasons, SCAN_REASONS_MAX);
	assert_int_equal(r->reason[0].count, 3);
	assert_string_equal(r->reason[0].path, "first");
	assert_int_equal(scan_result_unkept(r), 8);
	memset(why, 'w', sizeof(why) - 1);
	why[sizeof(why) - 1] = '\0';
	memset(r, 0, sizeof(*r));
	scan_result_incomplete(r, why, why, why);
	scan_result_incomplete(r, "", "", why);
	assert_int_equal(r->reasons, 1);
	assert_int_equal(scan_result_unkept(r), 0);
	free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_kinds),
		cmocka_unit_test(clean),
		cmocka_unit_test(many),
		cmocka_unit_test(forms),
		cmocka_unit_test(disguised),
		cmocka_unit_test(formats_in_files),
		cmocka_unit_test(across_blocks),
		cmocka_unit_test(not_readable),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
