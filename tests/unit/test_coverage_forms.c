/* Coverage: spellings of actions, manifests, and files of ground truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "coverage_scene.h"
#include "ledger/coverage/given.h"
#include "ledger/coverage/truth.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- spellings ---- */

static void
one_spelling(void **state)
{
	static const char *const same[][3] = {
		{ "http", "HTTPS://API.example.com:443", "https://api.example.com/" },
		{ "http", "https://api.example.com./a?x=1#y", "https://api.example.com/a" },
		{ "http", "http://h:8080/%7euser/%2F%c3", "http://h:8080/~user/%2F%C3" },
		{ "http", "http://h:80/a b\"%zz", "http://h/a%20b%22%25zz" },
		{ "http", "https://[2001:DB8::1]:444/x", "https://[2001:db8::1]:444/x" },
		{ "http", "https://h?secret=1", "https://h/" },
		{ "http", "https://AZaz09-_.example/Z", "https://azaz09-_.example/Z" },
		{ "connect", "Example.COM:443", "example.com:443" },
		{ "tcp", "[::1]:22", "[::1]:22" }, { "tool", "rm -rf /", "rm -rf /" },
	};
	static struct act act;

	for (size_t i = 0; i < COUNT(same); i++) {
		assert_null(act_set(&act, same[i][0], "GET", same[i][1]));
		assert_string_equal(act.target, same[i][2]);
		assert_null(act_set(&act, same[i][0], "GET", same[i][2]));
		assert_string_equal(act.target, same[i][2]);
	}
}

static void
no_spelling(void **state)
{
	static const char *const bad[][3] = {
		{ "http", "GET", "/path" }, { "http", "GET", "ftp://h/" },
		{ "http", "GET", "https:///x" }, { "http", "GET", "https://h:0/" },
		{ "http", "GET", "https://h:65536/" }, { "http", "GET", "https://u:p@h/" },
		{ "http", "GET", "https://h h/" }, { "http", "G T", "https://h/" },
		{ "http", "", "https://h/" }, { "HTTP", "GET", "https://h/" },
		{ "connect", "CONNECT", "example.com" }, { "tcp", "*", "h:x" },
		{ "tool", "*", "" }, { "tool", "*", "a\nb" }, { "tool", "*", "\xff" },
		{ "", "GET", "https://h/" },
	};
	static struct act act;
	char *deep = calloc(1, ACT_PATH_MAX + 64);

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_non_null(act_set(&act, bad[i][0], bad[i][1], bad[i][2]));
	strcpy(deep, "https://h/");
	memset(deep + 10, 'x', ACT_PATH_MAX);
	assert_non_null(act_set(&act, "http", "GET", deep));
	free(deep);
}

static void
host_and_port(void **state)
{
	static const char *const all[][3] = {
		{ "http", "https://h/x:1", "h:443" }, { "http", "http://h:81/", "h:81" },
		{ "http", "http://[::1]/", "[::1]:80" }, { "http", "https://[::1]:9/", "[::1]:9" },
		{ "connect", "h:443", "h:443" },
	};
	static struct act act;
	char where[64];

	for (size_t i = 0; i < COUNT(all); i++) {
		assert_null(act_set(&act, all[i][0], "GET", all[i][1]));
		assert_true(act_host_port(&act, where, sizeof(where)));
		assert_string_equal(where, all[i][2]);
	}
	assert_null(act_set(&act, "tool", "Bash", "ls"));
	assert_false(act_host_port(&act, where, sizeof(where)));
}

/* ---- manifests ---- */

static bool
covers(const char *text, const char *kind, const char *verb, const char *target)
{
	static struct act act;
	struct claim claim;
	uint64_t looks = SCOPE_LOOKS(0);
	char err[160] = "";
	bool covered;

	assert_int_equal(claim_parse(&claim, text, strlen(text), err, sizeof(err)), 0);
	assert_null(act_set(&act, kind, verb, target));
	covered = claim_covers(&claim, &act, &looks);
	claim_free(&claim);
	return covered;
}

static void
claims(void **state)
{
	const char *text = CLAIM("{\"kind\":\"http\",\"verbs\":[\"GET\"],\"targets\":"
	    "[\"https://*.example.com/*\"]},{\"kind\":\"tcp\",\"targets\":[\"*:443\"]}", "",
	    "{\"kind\":\"http\",\"targets\":[\"*/private*\"],\"what\":\"wanted\"}");

	assert_true(covers(text, "http", "GET", "https://a.example.com/x/y"));
	assert_false(covers(text, "http", "POST", "https://a.example.com/x/y"));
	assert_false(covers(text, "http", "GET", "https://example.com/x"));
	assert_false(covers(text, "http", "GET", "https://a.example.com/private/x"));
	assert_true(covers(text, "tcp", "*", "h:443"));
	assert_false(covers(text, "tcp", "*", "h:4430"));
	assert_false(covers(text, "dns", "*", "h"));
	assert_true(covers(CLAIM("{\"kind\":\"*\"}", "", ""), "dns", "query", "h"));
}

static void
bad_claims(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{}", "{\"v\":1}", CLAIM("{}", "", ""), CLAIM("7", "", ""),
		CLAIM("{\"kind\":\"HTTP\"}", "", ""), CLAIM("{\"kind\":\"http\",\"x\":1}", "", ""),
		CLAIM("{\"kind\":\"http\",\"verbs\":[]}", "", ""),
		CLAIM("{\"kind\":\"http\",\"targets\":[7]}", "", ""),
		CLAIM("", "{\"kind\":\"udp\"}", ""), CLAIM("", "", "{\"kind\":\"udp\"}"),
		CLAIM("{\"kind\":\"a\",\"kind\":\"b\"}", "", ""),
		CLAIM("{\"kind\":\"a\",\"what\":\"b\\nc\"}", "", ""),
		"{\"v\":2,\"kind\":\"countersign-coverage\",\"adapter\":\"p\",\"version\":\"1\","
		"\"sees\":[],\"cannot_see\":[],\"leaves_out\":[]}",
		"{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":\"p\",\"version\":\"1\","
		"\"sees\":[],\"cannot_see\":[]}",
		"{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":\"\",\"version\":\"1\","
		"\"sees\":[],\"cannot_see\":[],\"leaves_out\":[]}",
	};
	static const char *const members[] = { "\"v\":1", "\"kind\":\"countersign-coverage\"",
	    "\"adapter\":\"p\"", "\"version\":\"1\"", "\"sees\":[]", "\"cannot_see\":[]",
	    "\"leaves_out\":[]" };
	struct claim claim;
	char err[160], text[256];

	/* one that is whole, then each member left out */
	for (size_t out = COUNT(members) + 1; out-- > 0;) {
		size_t n = 0;

		for (size_t i = 0; i < COUNT(members); i++)
			if (i != out)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%s",
				    n == 0 ? '{' : ',', members[i]);
		snprintf(text + n, sizeof(text) - n, "}");
		assert_int_equal(claim_parse(&claim, text, strlen(text), err, sizeof(err)),
		    out == COUNT(members) ? 0 : -1);
		claim_free(&claim);
	}
	for (size_t i = 0; i < COUNT(bad); i++) {
		err[0] = '\0';
		assert_int_equal(claim_parse(&claim, bad[i], strlen(bad[i]), err, sizeof(err)), -1);
		assert_int_not_equal(err[0], '\0');
		claim_free(&claim);
	}
}

/* ---- files ---- */

static void
given(void **state)
{
	char path[] = "/tmp/cs-given-XXXXXX", err[300], *text;
	int fd = mkstemp(path);
	size_t len = 0;

	assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	text = given_read(path, 10, &len, err, sizeof(err));
	assert_non_null(text);
	assert_int_equal(len, 10);
	assert_string_equal(text, "0123456789");
	free(text);
	assert_null(given_read(path, 9, &len, err, sizeof(err)));
	assert_non_null(strstr(err, "longer than 9 bytes"));
	unlink(path);
	assert_null(given_read(path, 10, &len, err, sizeof(err)));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_null(given_read(path, 10, &len, err, sizeof(err)));
	assert_non_null(strstr(err, "not a regular file"));
	unlink(path);
}

/* ---- ground truth ---- */

static void
truths(void **state)
{
	const char *text = HEAD ",\"resolution_ms\":1000}\n" SEEN("01.500000", "/a")
	    "{" AT("02.000000") ",\"kind\":\"tool\",\"target\":\"x\",\"id\":\"7\",\"outcome\":200}\n"
	    "{\"kind\":\"tool\"}\n" "{" AT("99.000000") ",\"kind\":\"tool\",\"target\":\"x\"}\n"
	    SEEN("01.500000", "/a?secret") "not JSON\n" "{" AT("01.500000") ",\"kind\":\"tool\"";
	struct truth t;
	char err[160];

	assert_int_equal(truth_parse(&t, text, strlen(text), err, sizeof(err)), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.bad, 4);
	assert_int_equal(t.bad_line, 4);
	assert_int_equal(t.seen[2].line, 6);
	assert_string_equal(t.seen[0].key, t.seen[2].key);
	assert_int_equal(t.resolution_us, 1000000);
	assert_int_equal(t.seen[1].outcome, 200);
	truth_free(&t);
}

static void
bad_truths(void **state)
{
	static const char *const bad[] = { "", "\n", "{}\n", HEAD "}", HEAD ",\"x\":1}\n",
	    "{\"v\":1,\"type\":\"countersign-truth\",\"sees\":[]}\n",
	    "{\"v\":1,\"type\":\"countersign-truth\",\"source\":\"s\"}\n",
	    "{\"v\":2,\"type\":\"countersign-truth\",\"source\":\"s\",\"sees\":[]}\n",
	    HEAD ",\"from\":\"2026-11-30T12:00:00.000001Z\",\"to\":\"2026-11-30T12:00:00.000000Z\"}\n",
	    HEAD ",\"resolution_ms\":60001}\n", HEAD ",\"from\":\"now\"}\n",
	    HEAD ",\"exhaustive\":1}\n", HEAD ",\"source\":\"t\"}\n" };
	struct truth t;
	char err[160];

	for (size_t i = 0; i < COUNT(bad); i++) {
		err[0] = '\0';
		assert_int_equal(truth_parse(&t, bad[i], strlen(bad[i]), err, sizeof(err)), -1);
		assert_int_not_equal(err[0], '\0');
		truth_free(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_spelling),
		cmocka_unit_test(no_spelling),
		cmocka_unit_test(host_and_port),
		cmocka_unit_test(claims),
		cmocka_unit_test(bad_claims),
		cmocka_unit_test(given),
		cmocka_unit_test(truths),
		cmocka_unit_test(bad_truths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
