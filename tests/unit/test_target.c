/* One spelling for one place, or a refusal that says why. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "http/target.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))

/* Same scheme, host and port? */
static bool
same_origin(const struct target *a, const struct target *b)
{
	return a->https == b->https && a->port == b->port &&
	    strcmp(a->host, b->host) == 0;
}

/* What a target looks like to people, query included. */
static void
spell(const struct target *t, char *buf, size_t cap)
{
	size_t n = target_url(t, true, buf, cap);

	assert_int_not_equal(n, 0);
	if (t->query != NULL)
		snprintf(buf + n, cap - n, "?%.*s", (int)t->query_len, t->query);
}

static void
test_same_place_same_spelling(void **state)
{
	static const struct { const char *uri, *want; } cases[] = {
		{ "https://api.example.com", "https://api.example.com:443/" },
		{ "HTTPS://API.Example.COM:443/", "https://api.example.com:443/" },
		{ "https://api.example.com./x", "https://api.example.com:443/x" },
		{ "http://api.example.com/x", "http://api.example.com:80/x" },
		{ "http://api.example.com:443/x", "http://api.example.com:443/x" },
		{ "http://a", "http://a:80/" },
		{ "http://a_b.example/", "http://a_b.example:80/" },
		{ "http://xn--bcher-kva.example/", "http://xn--bcher-kva.example:80/" },
		{ "http://1.2.3.4./", "http://1.2.3.4:80/" },
		{ "http://4chan.example/", "http://4chan.example:80/" },
		{ "http://1.2.3.4a/", "http://1.2.3.4a:80/" },
		{ "http://[2001:DB8:0:0:0:0:0:1]:8080/", "http://[2001:db8::1]:8080/" },
		{ "http://[::1]/", "http://[::1]:80/" },
		{ "http://[::ffff:127.0.0.1]/", "http://127.0.0.1:80/" },
		{ "http://[::ffff:7f00:1]/", "http://127.0.0.1:80/" },
		{ "https://a.example?x", "https://a.example:443/?x" },
		{ "https://a.example/?", "https://a.example:443/?" },
		{ "https://a.example/a?b?c/../d%2f", "https://a.example:443/a?b?c/../d%2f" },
		/* paths */
		{ "https://a.example/%7euser/%61%2Db", "https://a.example:443/~user/a-b" },
		{ "https://a.example/%c3%a9/x%20y", "https://a.example:443/%C3%A9/x%20y" },
		{ "https://a.example/a%3fb%23c%25", "https://a.example:443/a%3Fb%23c%25" },
		{ "https://a.example/a\"<>^`{|}[]", "https://a.example:443/a%22%3C%3E%5E%60%7B%7C%7D%5B%5D" },
		{ "https://a.example/!$&'()*+,;=:@", "https://a.example:443/!$&'()*+,;=:@" },
		{ "https://a.example/a/", "https://a.example:443/a/" },
		{ "https://a.example/...", "https://a.example:443/..." },
		{ "https://a.example/.a/..b/c./d..", "https://a.example:443/.a/..b/c./d.." },
		{ "https://a.example/%252e%252e", "https://a.example:443/%252e%252e" },
		{ "https://a.example/@s%2fn", "https://a.example:443/@s%2Fn" },
		{ "https://a.example/p/g%2Fs%2fn/x%2f", "https://a.example:443/p/g%2Fs%2Fn/x%2F" },
		{ "https://a.example/%e0%a0%80%f0%90%80%80%e0%41%e0", "https://a.example:443/%E0%A0%80%F0%90%80%80%E0A%E0" },
		{ "https://a.example/%e0abcd%e0%7Azz%f0%F7", "https://a.example:443/%E0abcd%E0zzz%F0%F7" },
	};
	char buf[TARGET_BUF_MAX], again[TARGET_BUF_MAX], text[1024], twice[1024];
	struct target t, u;

	for (size_t i = 0; i < N(cases); i++) {
		const char *why = target_from_absolute(slice_of(cases[i].uri), buf,
		    sizeof(buf), &t);
		if (why != NULL)
			fail_msg("%s: %s", cases[i].uri, why);
		spell(&t, text, sizeof(text));
		assert_string_equal(text, cases[i].want);
		assert_int_equal(t.path_len, strlen(t.path));
		assert_null(target_from_absolute(slice_of(text), again,
		    sizeof(again), &u));
		spell(&u, twice, sizeof(twice));
		assert_string_equal(twice, text);
		assert_true(same_origin(&t, &u));
	}
}

/* Who sends a path asks these two before. */
static void
test_escapes_are_told(void **state)
{
	static const struct { const char *uri; bool slash, twice; } cases[] = {
		{ "http://a/", false, false }, { "http://a/b/c", false, false },
		{ "http://a/b?c%2fd", false, false }, { "http://a/b%2fc", true, false },
		{ "http://a/b%2F", true, false }, { "http://a/b%252fc", false, true },
		{ "http://a/b%252E", false, true }, { "http://a/b%25%32f", false, true },
		{ "http://a/b%252", false, false }, { "http://a/b%25", false, false },
		{ "http://a/b%25zz%25252", false, true }, { "http://a/x%2fb%255Cc", true, true },
	};
	char buf[TARGET_BUF_MAX];
	struct target t;

	for (size_t i = 0; i < N(cases); i++) {
		assert_null(target_from_absolute(slice_of(cases[i].uri), buf,
		    sizeof(buf), &t));
		if (t.escaped_slash != cases[i].slash || t.escaped_twice != cases[i].twice)
			fail_msg("%s", cases[i].uri);
	}
}

static void
test_refused(void **state)
{
	static const struct { struct slice uri; const char *why; } cases[] = {
#define BAD(uri, why) { { uri, sizeof(uri) - 1 }, why }
#define SPELLING "an IPv4 address in another spelling than dotted decimal"
#define SCHEME "a scheme other than http and https"
#define RELATIVE "no absolute URL, like https://host/path"
#define PORT "port is not a number from 1 to 65535"
#define DOTS "a '.' or '..' segment in the path"
		BAD("", RELATIVE), BAD("ftp://a.example/", SCHEME), BAD("http:/a", RELATIVE),
		BAD("https://", SCHEME), BAD("http://", SCHEME), BAD("//a.example/", RELATIVE),
		BAD("http:///x", "no host"), BAD("http://?x", "no host"), BAD("http://./", "no host"),
		BAD("http://:80/", "no host"),
		BAD("http://u:p@a.example/", "userinfo in the target"),
		BAD("http://a.example:80@b.example/", "userinfo in the target"),
		BAD("http://a..example/", "an empty label in the host"),
		BAD("http://.a/", "an empty label in the host"),
		BAD("http://a.example../", "an empty label in the host"),
		BAD("http://-a.example/", "a label of the host begins or ends with '-'"),
		BAD("http://a-.example/", "a label of the host begins or ends with '-'"),
		BAD("http://a%2eexample/", "a byte that no host name may have"),
		BAD("http://a b/", "a byte that no host name may have"),
		BAD("http://a\0b/", "a byte that no host name may have"),
		BAD("http://b\xc3\xbc" "cher.example/", "host is not ASCII: write its xn-- form"),
		BAD("http://a.\xe3\x80\x82/", "host is not ASCII: write its xn-- form"),
		BAD("http://2130706433/", SPELLING), BAD("http://127.1/", SPELLING),
		BAD("http://0x7f.0.0.1/", SPELLING), BAD("http://127.0.0.0X1/", SPELLING),
		BAD("http://0177.0.0.1/", SPELLING), BAD("http://127.0.0.01/", SPELLING),
		BAD("http://1.2.3.4.5/", SPELLING), BAD("http://256.0.0.1/", SPELLING),
		BAD("http://a.example.7/", SPELLING), BAD("http://0x7f000001/", SPELLING),
		BAD("http://0x/", SPELLING), BAD("http://0/", SPELLING), BAD("http://2130706433./", SPELLING),
		BAD("http://[::1/", "no ']' after an IPv6 address"),
		BAD("http://[::1]x/", "something else than a port after an IPv6 address"),
		BAD("http://[::1%25lo]/", "not an IPv6 address"), BAD("http://[]/", "not an IPv6 address"),
		BAD("http://[127.0.0.1]/", "not an IPv6 address"), BAD("http://[::1\0]/", "not an IPv6 address"),
		BAD("http://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/", "not an IPv6 address"),
		BAD("http://::1/", PORT), BAD("http://a:/", PORT), BAD("http://a:0/", PORT),
		BAD("http://a:080/", PORT), BAD("http://a:65536/", PORT), BAD("http://a:123456/", PORT),
		BAD("http://a:+80/", PORT), BAD("http://a:80x/", PORT), BAD("http://[::1]:/", PORT),
		BAD("http://a/..", DOTS), BAD("http://a/.", DOTS), BAD("http://a/./b", DOTS),
		BAD("http://a/public/../secret", DOTS), BAD("http://a/%2e%2E/x", DOTS),
		BAD("http://a/.%2e", DOTS), BAD("http://a/%2e/", DOTS), BAD("http://a/..;x=1/b", DOTS),
		BAD("http://a/.;/b", DOTS),
		BAD("http://a//", "'//' in the path"), BAD("http://a/b//c", "'//' in the path"),
		BAD("http://a/b%5Cc", "an escaped '\\' in the path"), BAD("http://a/b%2f%5cc", "an escaped '\\' in the path"),
		BAD("http://a/b%2F..%2Fc", DOTS), BAD("http://a/b%2f%2E%2e", DOTS), BAD("http://a/b/..%2fc", DOTS),
		BAD("http://a/b%2f./c", DOTS), BAD("http://a/..%2f", DOTS), BAD("http://a/b%2f..;x=1/c", DOTS),
		BAD("http://a/%2f", "'//' in the path"), BAD("http://a/%2fetc", "'//' in the path"),
		BAD("http://a/b%2f%2Fc", "'//' in the path"), BAD("http://a/b%2f/c", "'//' in the path"), BAD("http://a/b/%2fc", "'//' in the path"),
		BAD("http://a/b\\c", "a '\\' or '#' in the path"), BAD("http://a\\b", "a '\\' or '#' in the path"),
		BAD("http://a/b#c", "a '\\' or '#' in the path"), BAD("http://a#b", "a '\\' or '#' in the path"),
		BAD("http://a/%00", "an escaped control byte in the path"),
		BAD("http://a/%0d%0a", "an escaped control byte in the path"),
		BAD("http://a/%7f", "an escaped control byte in the path"),
		BAD("http://a/%", "an incomplete percent escape in the path"),
		BAD("http://a/%4", "an incomplete percent escape in the path"),
		BAD("http://a/%4g", "an incomplete percent escape in the path"),
		BAD("http://a/%g4", "an incomplete percent escape in the path"),
		BAD("http://a/%e0%g0", "an incomplete percent escape in the path"),
		BAD("http://a/%e0%8g", "an incomplete percent escape in the path"),
		BAD("http://a/%:0", "an incomplete percent escape in the path"),
		BAD("http://a{/", "a byte that no host name may have"),
		BAD("http://a/%4?1", "an incomplete percent escape in the path"),
		BAD("http://a/%u002e", "an incomplete percent escape in the path"),
		BAD("http://a/%c0%ae", "overlong UTF-8 in the path"), BAD("http://a/%C1%1c", "overlong UTF-8 in the path"),
		BAD("http://a/%e0%80%af", "overlong UTF-8 in the path"), BAD("http://a/%f0%80%80%af", "overlong UTF-8 in the path"),
		BAD("http://a/ b", "a byte in the path that has to be escaped"),
		BAD("http://a/\x7f", "a byte in the path that has to be escaped"),
		BAD("http://a/\xc3\xa9", "a byte in the path that has to be escaped"),
		BAD("http://a/?a b", "a byte in the query that has to be escaped"),
		BAD("http://a/?\x01", "a byte in the query that has to be escaped"),
		BAD("http://a/?\xc3", "a byte in the query that has to be escaped"),
		BAD("http://a/?a#b", "a byte in the query that has to be escaped"),
	};
	char buf[TARGET_BUF_MAX];
	struct target t;

	for (size_t i = 0; i < N(cases); i++) {
		char *uri = malloc(cases[i].uri.n + 1);	/* exact: nothing is read past its end */
		const char *why;
		assert_non_null(uri);
		memcpy(uri, cases[i].uri.p, cases[i].uri.n);
		why = target_from_absolute((struct slice){ uri, cases[i].uri.n },
		    buf, sizeof(buf), &t);
		if (why == NULL)
			fail_msg("%s: taken", cases[i].uri.p);
		assert_string_equal(why, cases[i].why);
		free(uri);
	}
}

static void
test_authority(void **state)
{
	struct target t;
	char buf[300];

	assert_null(target_from_authority(SLICE("A.example"), 443, &t));
	assert_true(t.https && t.port == 443 && t.path == NULL);
	assert_string_equal(t.host, "a.example");
	assert_int_equal(target_host_field(&t, buf, sizeof(buf)), 9);
	assert_string_equal(buf, "a.example");
	assert_int_equal(target_host_field(&t, buf, 9), 0);
	assert_int_equal(target_host_field(&t, buf, 10), 9);
	assert_int_equal(target_url(&t, false, buf, sizeof(buf)), 17);
	assert_string_equal(buf, "https://a.example");
	assert_int_equal(target_url(&t, true, buf, 21), 0);

	assert_null(target_from_authority(SLICE("[2001:db8::2]:8443"), 443, &t));
	assert_true(t.https && t.is_address && t.port == 8443);
	assert_string_equal(t.host, "2001:db8::2");
	target_host_field(&t, buf, sizeof(buf));
	assert_string_equal(buf, "[2001:db8::2]:8443");
	target_url(&t, false, buf, sizeof(buf));
	assert_string_equal(buf, "https://[2001:db8::2]:8443");

	assert_null(target_from_host(SLICE("2001:DB8::2"), 443, &t));
	assert_true(t.https && t.is_address && t.port == 443);
	assert_string_equal(t.host, "2001:db8::2");
	assert_null(target_from_host(SLICE("A.example"), 80, &t));
	assert_false(t.https);
	assert_string_equal(t.host, "a.example");
	assert_non_null(target_from_host(SLICE(""), 80, &t));
	assert_non_null(target_from_host(SLICE("[2001:db8::2]"), 80, &t));
	assert_non_null(target_from_host(SLICE("a.example:80"), 80, &t));
	/* Spelled once, it is taken as it is, and nothing of before stays. */
	memset(&t, 0xff, sizeof(t));
	target_from_known("2001:db8::2", true, 8443, true, &t);
	assert_string_equal(t.host, "2001:db8::2");
	assert_true(t.is_address && t.https && t.port == 8443);
	assert_true(t.path == NULL && t.query == NULL && t.path_len == 0 &&
	    t.query_len == 0 && !t.escaped_slash && !t.escaped_twice);
	target_from_known("a.example", false, 80, false, &t);
	assert_string_equal(t.host, "a.example");
	assert_true(!t.is_address && !t.https && t.port == 80);

	assert_null(target_from_authority(SLICE("[2001:db8::2]"), 80, &t));
	assert_false(t.https);
	target_host_field(&t, buf, sizeof(buf));
	assert_string_equal(buf, "[2001:db8::2]");
	target_url(&t, false, buf, sizeof(buf));
	assert_string_equal(buf, "http://[2001:db8::2]");

	assert_string_equal(target_from_authority(SLICE(""), 80, &t), "no host");
	assert_non_null(target_from_authority(SLICE("a.example/"), 80, &t));
}

static void
test_lengths(void **state)
{
	char name[400], buf[TARGET_BUF_MAX];
	static char uri[TARGET_PATH_MAX + TARGET_QUERY_MAX + 64];
	struct target t;
	size_t n = 0;

	/* 63 bytes a label, 253 a name, the root's dot apart */
	for (int i = 0; i < 4; i++) {
		memset(name + n, 'a', 63);
		name[n + 63] = '.';
		n += 64;
	}
	assert_null(target_from_authority((struct slice){ name + 2, 254 }, 80, &t));
	assert_int_equal(strlen(t.host), 253);
	assert_string_equal(target_from_authority((struct slice){ name + 1, 255 },
	    80, &t), "host longer than 253 bytes");
	memset(name, 'a', 64);
	assert_string_equal(target_from_authority((struct slice){ name, 64 }, 80,
	    &t), "a label of the host longer than 63 bytes");

	memcpy(uri, "http://a/", 9);
	memset(uri + 9, 'b', sizeof(uri) - 9);
	assert_null(target_from_absolute((struct slice){ uri, 8 + TARGET_PATH_MAX },
	    buf, sizeof(buf), &t));
	assert_int_equal(t.path_len, TARGET_PATH_MAX);
	assert_string_equal(target_from_absolute((struct slice){ uri, 9 +
	    TARGET_PATH_MAX }, buf, sizeof(buf), &t), "path longer than allowed");
	uri[8 + TARGET_PATH_MAX] = '?';
	n = 9 + TARGET_PATH_MAX + TARGET_QUERY_MAX;
	assert_null(target_from_absolute((struct slice){ uri, n }, buf,
	    sizeof(buf), &t));
	assert_int_equal(t.query_len, TARGET_QUERY_MAX);
	assert_string_equal(target_from_absolute((struct slice){ uri, n + 1 }, buf,
	    sizeof(buf), &t), "query longer than allowed");

	/* a buffer too small is a refusal, not a cut */
	assert_string_equal(target_set_path(&t, SLICE("/abc?de"), buf, 1),
	    "path longer than allowed");
	assert_string_equal(target_set_path(&t, SLICE("/abc?de"), buf, 4),
	    "path longer than allowed");
	assert_string_equal(target_set_path(&t, SLICE("/abc?de"), buf, 7),
	    "query longer than allowed");
	assert_null(target_set_path(&t, SLICE("/abc?de"), buf, 8));
}

static void
test_set_path_keeps_the_rest(void **state)
{
	char buf[TARGET_BUF_MAX];
	struct target t;

	assert_null(target_from_authority(SLICE("a.example:8443"), 443, &t));
	assert_null(target_set_path(&t, SLICE("/x?y"), buf, sizeof(buf)));
	assert_string_equal(t.path, "/x");
	assert_string_equal(t.query, "y");
	assert_int_equal(t.port, 8443);
	assert_null(target_set_path(&t, SLICE("/z"), buf, sizeof(buf)));
	assert_null(t.query);
	assert_string_equal(target_set_path(&t, SLICE("x"), buf, sizeof(buf)),
	    "a path that does not begin with '/'");
	assert_string_equal(target_set_path(&t, SLICE("*"), buf, sizeof(buf)),
	    "a path that does not begin with '/'");
	assert_string_equal(target_set_path(&t, SLICE(""), buf, sizeof(buf)),
	    "a path that does not begin with '/'");
}

static void
test_origin(void **state)
{
	struct target a, b;

	target_from_authority(SLICE("a.example"), 443, &a);
	target_from_authority(SLICE("A.EXAMPLE.:443"), 443, &b);
	assert_true(same_origin(&a, &b));
	target_from_authority(SLICE("a.example:8443"), 443, &b);
	assert_false(same_origin(&a, &b));
	target_from_authority(SLICE("b.example"), 443, &b);
	assert_false(same_origin(&a, &b));
	target_from_authority(SLICE("a.example:443"), 80, &b);
	assert_false(same_origin(&a, &b));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_place_same_spelling),
		cmocka_unit_test(test_escapes_are_told),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_authority),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_set_path_keeps_the_rest),
		cmocka_unit_test(test_origin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
