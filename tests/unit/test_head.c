/* The head parser: what is taken, what is refused and by which rule, and that
 * cutting the bytes anywhere changes neither. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "http/head.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))
#define H "Host: a.example\r\n"

static const struct slice NO_METHOD = { NULL, 0 };

/* The parser must not look past len: the bytes lie at the end of a block of
 * their own, where a sanitizer sees it. */
static enum head_result
parse(bool response, struct slice text, size_t len, struct slice method,
    struct head *head, size_t *used, struct head_error *err, char **keep)
{
	char *copy = malloc(len > 0 ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text.p, len);
	free(*keep);
	*keep = copy;
	return response ?
	    head_parse_response(copy, len, method, head, used, err) :
	    head_parse_request(copy, len, head, used, err);
}

/* Every beginning of good text asks for more. */
static void
check_good(bool response, const char *text, struct slice method,
    struct head *head, char **keep)
{
	struct slice s = slice_of(text);
	struct head_error err;
	size_t used = 0;

	for (size_t n = 0; n < s.n; n++)
		assert_int_equal(parse(response, s, n, method, head, &used,
		    &err, keep), HEAD_MORE);
	assert_int_equal(parse(response, s, s.n, method, head, &used, &err,
	    keep), HEAD_DONE);
	assert_int_equal(used, s.n);
}

/* A beginning of bad text asks for more or is refused; once refused, more
 * bytes do not help. */
static void
check_bad(bool response, struct slice s, struct slice method, unsigned status,
    const char *rule)
{
	struct head head;
	struct head_error err = { 0, NULL };
	char *keep = NULL;
	bool refused = false;
	size_t used;

	for (size_t n = 0; n <= s.n; n++) {
		enum head_result r = parse(response, s, n, method, &head, &used,
		    &err, &keep);
		assert_int_not_equal(r, HEAD_DONE);
		if (refused)
			assert_int_equal(r, HEAD_BAD);
		refused = r == HEAD_BAD;
	}
	if (!refused)
		fail_msg("taken, but \"%s\" forbids it", rule);
	assert_string_equal(err.rule, rule);
	assert_int_equal(err.status, status);
	free(keep);
}

static void
test_request_is_taken_apart(void **state)
{
	struct head head;
	char *keep = NULL;

	check_good(false, "POST /a?b=c HTTP/1.1\r\nHost: a.example:81\r\n"
	    "X-One: \t two words\t \r\nX-Two:\r\nX-Three: \xc3\xa9\r\n"
	    "Content-Length: 12\r\n\r\n", NO_METHOD, &head, &keep);
	assert_true(slice_eq(head.method, SLICE("POST")));
	assert_true(slice_eq(head.target, SLICE("/a?b=c")));
	assert_int_equal(head.target_form, HEAD_ORIGIN);
	assert_int_equal(head.minor, 1);
	assert_int_equal(head.n_fields, 5);
	assert_true(slice_eq(head.host, SLICE("a.example:81")));
	assert_true(slice_eq(head.fields[1].value, SLICE("two words")));
	assert_int_equal(head.fields[2].value.n, 0);
	assert_int_equal(head.framing, HEAD_LENGTH);
	assert_int_equal(head.body_len, 12);
	assert_true(head.keep_alive && head.has_length);
	assert_false(head.expect_continue || head.upgrade);
	assert_ptr_equal(head_find(&head, SLICE("x-two")), &head.fields[2]);
	assert_null(head_find(&head, SLICE("x-tw")));
	free(keep);
}

static void
test_bytes_after_the_head_are_left(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\n" H "\r\nGET /next";
	struct head head;
	struct head_error err;
	size_t used = 0;

	assert_int_equal(head_parse_request(text, sizeof(text) - 1, &head, &used,
	    &err), HEAD_DONE);
	assert_int_equal(used, sizeof(text) - 1 - 9);
}

static void
test_target_forms(void **state)
{
	static const struct { const char *line; enum head_target form; } cases[] = {
		{ "GET /", HEAD_ORIGIN },
		{ "GET //x", HEAD_ORIGIN },
		{ "GET /http://x/", HEAD_ORIGIN },
		{ "GET http://a.example/x?y@z", HEAD_ABSOLUTE },
		{ "GET HTTPS://a.example", HEAD_ABSOLUTE },
		{ "GET http://a.example?u@h", HEAD_ABSOLUTE },
		{ "GET http://a.example\\u@h", HEAD_ABSOLUTE },
		{ "CONNECT a.example:443", HEAD_AUTHORITY },
		{ "CONNECT [2001:db8::1]:443", HEAD_AUTHORITY },
		/* whose it is can still be told; route_connect refuses it */
		{ "CONNECT a.example", HEAD_AUTHORITY }, { "CONNECT a.example:", HEAD_AUTHORITY },
		{ "CONNECT :443", HEAD_AUTHORITY }, { "CONNECT a.example:123456", HEAD_AUTHORITY },
		{ "OPTIONS *", HEAD_ASTERISK },
		{ "M-SEARCH /", HEAD_ORIGIN },
		{ "X_1 /", HEAD_ORIGIN },
	};
	char text[256], *keep = NULL;
	struct head head;

	for (size_t i = 0; i < N(cases); i++) {
		snprintf(text, sizeof(text), "%s HTTP/1.1\r\n" H "\r\n",
		    cases[i].line);
		check_good(false, text, NO_METHOD, &head, &keep);
		assert_int_equal(head.target_form, cases[i].form);
		assert_int_equal(head.framing, HEAD_NO_BODY);
	}
	free(keep);
}

static void
test_http10_may_lack_host_where_the_target_says_it(void **state)
{
	struct head head;
	char *keep = NULL;

	check_good(false, "CONNECT a.example:443 HTTP/1.0\r\n\r\n", NO_METHOD,
	    &head, &keep);
	assert_int_equal(head.host.n, 0);
	assert_false(head.keep_alive);
	check_good(false, "GET http://a.example/ HTTP/1.0\r\n"
	    "Connection: keep-alive\r\n\r\n", NO_METHOD, &head, &keep);
	assert_true(head.keep_alive);
	check_good(false, "GET / HTTP/1.0\r\n" H "\r\n", NO_METHOD, &head, &keep);
	free(keep);
	check_bad(false, SLICE("GET / HTTP/1.0\r\n\r\n"), NO_METHOD, 400,
	    "no Host field");
}

static void
test_requests_refused(void **state)
{
	static const struct { struct slice text; unsigned status; const char *rule; } cases[] = {
#define BAD(text, status, rule) { { text, sizeof(text) - 1 }, status, rule }
#define GET(rest) "GET / HTTP/1.1\r\n" rest "\r\n"
		/* lines */
		BAD("\r\nGET / HTTP/1.1\r\n" H "\r\n", 400, "empty line before the request"),
		BAD("\n", 400, "method"),
		BAD("get / HTTP/1.1\r\n" H "\r\n", 400, "method"),
		BAD(" GET / HTTP/1.1\r\n" H "\r\n", 400, "method"),
		BAD("GET\t/ HTTP/1.1\r\n" H "\r\n", 400, "method"),
		BAD("ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG / HTTP/1.1\r\n" H "\r\n", 501, "method too long"),
		BAD("GET  / HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET /\x01 HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET[ / HTTP/1.1\r\n" H "\r\n", 400, "method"),
		BAD("GET /\x7f HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET /\xc3\xa9 HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET /#f HTTP/1.1\r\n" H "\r\n", 400, "fragment in the target"),
		BAD("GET /\r\n" H "\r\n", 400, "target"),
		BAD("GET a.example/ HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET ://a.example/ HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET a.example:443 HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET a:// HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET mailto:someone HTTP/1.1\r\n" H "\r\n", 400, "target"),
		BAD("GET * HTTP/1.1\r\n" H "\r\n", 400, "target * of a method other than OPTIONS"),
		BAD("GET http://u:p@a.example/ HTTP/1.1\r\n" H "\r\n", 400, "userinfo in the target"),
		BAD("CONNECT u@a.example:443 HTTP/1.1\r\n" H "\r\n", 400, "userinfo in the target"),
		BAD("CONNECT a.example,b.example:443 HTTP/1.1\r\n" H "\r\n", 400, "CONNECT without host:port"),
		BAD("CONNECT http://a.example:443 HTTP/1.1\r\n" H "\r\n", 400, "CONNECT without host:port"),
		BAD("CONNECT /:443 HTTP/1.1\r\n" H "\r\n", 400, "CONNECT without host:port"),
		BAD("GET / HTTX/1.1\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / http/1.1\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/11\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/1,1\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/x.1\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/1.x\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/1.10\r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/1.1 \r\n" H "\r\n", 400, "no HTTP version"),
		BAD("GET / HTTP/1.2\r\n" H "\r\n", 505, "HTTP version other than 1.0 and 1.1"),
		BAD("GET / HTTP/0.9\r\n" H "\r\n", 505, "HTTP version other than 1.0 and 1.1"),
		BAD("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "target * of a method other than OPTIONS"),
		BAD("GET / HTTP/1.1\n" H "\r\n", 400, "bare LF"),
		BAD("GET / HTTP/1.1\rHost: a.example\r\n\r\n", 400, "bare CR"),
		/* fields */
		BAD(GET("Host: a.example\n"), 400, "bare LF"),
		BAD(GET(H "\n"), 400, "bare LF"),
		BAD(GET(H "X\n"), 400, "bare LF"),
		BAD(GET(H "X: a\rb\r\n"), 400, "bare CR"),
		BAD(GET(H "\rX: a\r\n"), 400, "bare CR"),
		BAD(GET(H "X: a\r\n b\r\n"), 400, "folded line"),
		BAD(GET(H "X: a\r\n\tb\r\n"), 400, "folded line"),
		BAD(GET(" " H), 400, "folded line"),
		BAD(GET("Host : a.example\r\n"), 400, "white space before a colon"),
		BAD(GET("Host\t: a.example\r\n"), 400, "white space before a colon"),
		BAD(GET(H ": a\r\n"), 400, "field name"),
		BAD(GET(H "X\r\n"), 400, "field name"),
		BAD(GET(H "X(: a\r\n"), 400, "field name"),
		BAD(GET(H "X\xc3: a\r\n"), 400, "field name"),
		BAD(GET(H "X: a\0b\r\n"), 400, "control byte"),
		BAD(GET(H "X: a\x7f\r\n"), 400, "control byte"),
		BAD(GET(H "X: a long clean beginning \x1b and as long an end of it\r\n"), 400, "control byte"),
		/* Host */
		BAD(GET(""), 400, "no Host field"),
		BAD(GET(H H), 400, "several Host fields"),
		BAD(GET(H "hOST: b.example\r\n"), 400, "several Host fields"),
		BAD(GET("Host:\r\n"), 400, "empty Host field"),
		BAD(GET("Host: a.example, b.example\r\n"), 400, "Host is not a host"),
		BAD(GET("Host: a.example/x\r\n"), 400, "Host is not a host"),
		BAD(GET("Host: u@a.example\r\n"), 400, "Host is not a host"),
		BAD(GET("Host: a%2eexample\r\n"), 400, "Host is not a host"),
		BAD(GET("Host: \xc3\xa9.example\r\n"), 400, "Host is not a host"),
		/* framing */
		BAD(GET(H "Content-Length: 1\r\nContent-Length: 1\r\n"), 400, "several Content-Length fields"),
		BAD(GET(H "Content-Length: 1\r\nContent-Length: 2\r\n"), 400, "several Content-Length fields"),
#define NOT_A_NUMBER "Content-Length is not a number of at most 18 digits"
		BAD(GET(H "Content-Length: 1, 1\r\n"), 400, NOT_A_NUMBER),
		BAD(GET(H "Content-Length: +1\r\n"), 400, NOT_A_NUMBER),
		BAD(GET(H "Content-Length: -1\r\n"), 400, NOT_A_NUMBER),
		BAD(GET(H "Content-Length: 0x1\r\n"), 400, NOT_A_NUMBER),
		BAD(GET(H "Content-Length:\r\n"), 400, NOT_A_NUMBER),
		BAD(GET(H "Content-Length: 1234567890123456789\r\n"), 400, NOT_A_NUMBER),
		BAD(GET(H "Content_Length: 1\r\n"), 400, "look-alike of Content-Length"),
		BAD(GET(H "Transfer_Encoding: chunked\r\n"), 400, "look-alike of Transfer-Encoding"),
		BAD(GET(H "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n"), 400, "Transfer-Encoding together with Content-Length"),
		BAD(GET(H "Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"), 400, "Transfer-Encoding together with Content-Length"),
		BAD(GET(H "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400, "several Transfer-Encoding fields"),
		BAD(GET(H "Transfer-Encoding: gzip, chunked\r\n"), 501, "transfer coding other than chunked"),
		BAD(GET(H "Transfer-Encoding: identity\r\n"), 501, "transfer coding other than chunked"),
		BAD(GET(H "Transfer-Encoding: chunked;q=1\r\n"), 501, "transfer coding other than chunked"),
		BAD(GET(H "Transfer-Encoding: \x0b" "chunked\r\n"), 400, "control byte"),
		BAD(GET(H "Transfer-Encoding:\r\n"), 501, "transfer coding other than chunked"),
		BAD("GET / HTTP/1.0\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 400, "Transfer-Encoding in HTTP/1.0"),
		/* the rest */
		BAD(GET(H "Expect: 100-continue\r\nExpect: 100-continue\r\n"), 417, "expectation other than 100-continue"),
		BAD(GET(H "Expect: 200-ok\r\n"), 417, "expectation other than 100-continue"),
		BAD(GET(H "Connection: a b\r\n"), 400, "Connection is not a list of tokens"),
		BAD(GET(H "Connection: close, \"x\"\r\n"), 400, "Connection is not a list of tokens"),
		BAD(GET(H "Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n"), 400, "upgrade with a body"),
		BAD(GET(H "Connection: upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n"), 400, "upgrade with a body"),
		BAD("CONNECT a.example:443 HTTP/1.1\r\n" H "Content-Length: 1\r\n\r\n", 400, "CONNECT with a body"),
		BAD("CONNECT a.example:443 HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n", 400, "CONNECT with a body"),
	};

	for (size_t i = 0; i < N(cases); i++)
		check_bad(false, cases[i].text, NO_METHOD, cases[i].status,
		    cases[i].rule);
}

static void
test_request_framing(void **state)
{
	static const struct {
		const char *fields;
		enum head_framing framing;
		uint64_t body_len;
		bool keep_alive, expect, upgrade, names;
	} cases[] = {
		{ "", HEAD_NO_BODY, 0, true, false, false, false },
		{ "Content-Length: 0\r\n", HEAD_LENGTH, 0, true, false, false, false },
		{ "Content-Length: 007\r\n", HEAD_LENGTH, 7, true, false, false, false },
		{ "content-length: 999999999999999999\r\n", HEAD_LENGTH, 999999999999999999u, true, false, false, false },
		{ "Transfer-Encoding: CHUNKED\r\n", HEAD_CHUNKED, 0, true, false, false, false },
		{ "Expect: 100-Continue\r\nContent-Length: 1\r\n", HEAD_LENGTH, 1, true, true, false, false },
		{ "Connection: Close\r\n", HEAD_NO_BODY, 0, false, false, false, false },
		{ "Connection: keep-alive\r\nConnection: close\r\n", HEAD_NO_BODY, 0, false, false, false, false },
		{ "Connection: , keep-alive ,,\r\n", HEAD_NO_BODY, 0, true, false, false, false },
		{ "Connection: x-mine\r\n", HEAD_NO_BODY, 0, true, false, false, true },
		{ "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n", HEAD_NO_BODY, 0, true, false, true, false },
		{ "Connection: Upgrade\r\n", HEAD_NO_BODY, 0, true, false, false, false },
		{ "Upgrade: websocket\r\n", HEAD_NO_BODY, 0, true, false, false, false },
		{ "Connection: Upgrade\r\nUpgrade: ,\r\n", HEAD_NO_BODY, 0, true, false, false, false },
		/* h2c is passed over, also with a body */
		{ "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n", HEAD_NO_BODY, 0, true, false, false, true },
		{ "Connection: Upgrade\r\nUpgrade: H2C-16\r\nContent-Length: 3\r\n", HEAD_LENGTH, 3, true, false, false, false },
		{ "Connection: Upgrade\r\nUpgrade: h2c, websocket\r\n", HEAD_NO_BODY, 0, true, false, true, false },
		{ "Xpect: 1\r\nHosts: 1\r\nAbcd: 1\r\nAbcdef: 1\r\nAbcdefg: 1\r\nAbcdefghij: 1\r\n"
		  "Abcdefghijklmn: 1\r\nAbcdefghijklmnopq: 1\r\n", HEAD_NO_BODY, 0, true, false, false, false },
	};
	char text[512], *keep = NULL;
	struct head head;

	for (size_t i = 0; i < N(cases); i++) {
		snprintf(text, sizeof(text), "POST / HTTP/1.1\r\n" H "%s\r\n",
		    cases[i].fields);
		check_good(false, text, NO_METHOD, &head, &keep);
		assert_int_equal(head.framing, cases[i].framing);
		assert_int_equal(head.body_len, cases[i].body_len);
		assert_int_equal(head.keep_alive, cases[i].keep_alive);
		assert_int_equal(head.expect_continue, cases[i].expect);
		assert_int_equal(head.upgrade, cases[i].upgrade);
		assert_int_equal(head.connection_names, cases[i].names);
	}
	/* HTTP/1.0 knows neither expectations nor upgrades */
	check_good(false, "POST / HTTP/1.0\r\n" H "Expect: 100-continue\r\n"
	    "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", NO_METHOD,
	    &head, &keep);
	assert_false(head.expect_continue || head.upgrade || head.keep_alive);
	free(keep);
}

static void
test_response_framing(void **state)
{
	static const struct {
		const char *text, *method;
		unsigned status;
		enum head_framing framing;
		uint64_t body_len;
		bool keep_alive, upgrade;
	} cases[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "GET", 200, HEAD_LENGTH, 5, true, false },
		{ "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", "GET", 200, HEAD_LENGTH, 5, true, false },
		{ "HTTP/1.1 200 \r\nTransfer-Encoding: chunked\r\n\r\n", "GET", 200, HEAD_CHUNKED, 0, true, false },
		{ "HTTP/1.1 200 OK\r\n\r\n", "GET", 200, HEAD_UNTIL_CLOSE, 0, false, false },
		{ "HTTP/1.0 200 OK\r\n\r\n", "GET", 200, HEAD_UNTIL_CLOSE, 0, false, false },
		{ "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n", "GET", 200, HEAD_LENGTH, 1, true, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "HEAD", 200, HEAD_NO_BODY, 5, true, false },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HEAD", 200, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 200 OK\r\n\r\n", "HEAD", 200, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", "GET", 304, HEAD_NO_BODY, 5, true, false },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "DELETE", 204, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", "DELETE", 204, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 100 Continue\r\n\r\n", "POST", 100, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "GET", 103, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "GET", 101, HEAD_NO_BODY, 0, true, true },
		{ "HTTP/1.1 200 Connection established\r\n\r\n", "CONNECT", 200, HEAD_NO_BODY, 0, true, false },
		{ "HTTP/1.1 407 Auth\r\nContent-Length: 2\r\n\r\n", "CONNECT", 407, HEAD_LENGTH, 2, true, false },
		{ "HTTP/1.1 200 OK\r\nConnection: Upgrade\r\nUpgrade: h2,h2c\r\nContent-Length: 2\r\n\r\n", "GET", 200, HEAD_LENGTH, 2, true, false },
		{ "HTTP/1.1 999 Denied\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "GET", 999, HEAD_LENGTH, 0, false, false },
		/* what would matter in a request does not here */
		{ "HTTP/1.1 200 OK\r\nHost:\r\nHost: x\r\nExpect: y\r\nContent-Length: 0\r\n\r\n", "GET", 200, HEAD_LENGTH, 0, true, false },
	};
	struct head head;
	char *keep = NULL;

	for (size_t i = 0; i < N(cases); i++) {
		check_good(true, cases[i].text, slice_of(cases[i].method), &head,
		    &keep);
		assert_int_equal(head.status, cases[i].status);
		assert_int_equal(head.framing, cases[i].framing);
		assert_int_equal(head.body_len, cases[i].body_len);
		assert_int_equal(head.keep_alive, cases[i].keep_alive);
		assert_int_equal(head.upgrade, cases[i].upgrade);
	}
	free(keep);
}

static void
test_responses_refused(void **state)
{
	static const struct { struct slice text; const char *rule; } cases[] = {
#define REPLY(text, rule) { { text, sizeof(text) - 1 }, rule }
		REPLY("ICY 200 OK\r\n\r\n", "no HTTP version"),
		REPLY("HTTP/2.0 200 OK\r\n\r\n", "HTTP version other than 1.0 and 1.1"),
		REPLY("HTTP/1.1  200 OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1\t200 OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 020 OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 2x0 OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 20x OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 x00 OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 2000 OK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 200\tOK\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 200\n\r\n\r\n", "status code"),
		REPLY("HTTP/1.1 200 a\x01" "b\r\n\r\n", "control byte"),
		REPLY("HTTP/1.1 200 OK\n\r\n", "bare LF"),
		REPLY("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "folded line"),
		REPLY("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "several Content-Length fields"),
		REPLY("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding together with Content-Length"),
		REPLY("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "Transfer-Encoding in HTTP/1.0"),
		REPLY("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "transfer coding other than chunked"),
		REPLY("HTTP/1.1 204 No\r\nContent-Length: 1\r\n\r\n", "a body where the status allows none"),
		REPLY("HTTP/1.1 204 No\r\nTransfer-Encoding: chunked\r\n\r\n", "a body where the status allows none"),
		REPLY("HTTP/1.1 100 Go\r\nContent-Length: 1\r\n\r\n", "a body where the status allows none"),
		REPLY("HTTP/1.1 101 Up\r\n\r\n", "101 without an upgrade"),
		REPLY("HTTP/1.1 101 Up\r\nUpgrade: websocket\r\n\r\n", "101 without an upgrade"),
		REPLY("HTTP/1.1 101 Up\r\nConnection: upgrade\r\n\r\n", "101 without an upgrade"),
		REPLY("HTTP/1.1 101 Up\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", "upgrade to h2c"),
	};

	for (size_t i = 0; i < N(cases); i++)
		check_bad(true, cases[i].text, SLICE("GET"), 502, cases[i].rule);
}

static size_t
fill(char *buf, const char *begin, const char *each, size_t times,
    const char *end)
{
	size_t n = strlen(begin), m = strlen(each);

	memcpy(buf, begin, n);
	for (size_t i = 0; i < times; i++, n += m)
		memcpy(buf + n, each, m);
	memcpy(buf + n, end, strlen(end));
	return n + strlen(end);
}

static void
test_limits(void **state)
{
	static char buf[HEAD_BYTES_MAX + 4096];
	struct head head;
	struct head_error err;
	size_t used, n;

	n = fill(buf, "GET / HTTP/1.1\r\n" H, "A: b\r\n", HEAD_FIELDS_MAX - 1, "\r\n");
	assert_int_equal(head_parse_request(buf, n, &head, &used, &err), HEAD_DONE);
	assert_int_equal(head.n_fields, HEAD_FIELDS_MAX);
	n = fill(buf, "GET / HTTP/1.1\r\n" H, "A: b\r\n", HEAD_FIELDS_MAX, "\r\n");
	assert_int_equal(head_parse_request(buf, n, &head, &used, &err), HEAD_BAD);
	assert_int_equal(err.status, 431);
	assert_string_equal(err.rule, "too many fields");

	n = fill(buf, "GET /", "a", HEAD_TARGET_MAX - 1, " HTTP/1.1\r\n" H "\r\n");
	assert_int_equal(head_parse_request(buf, n, &head, &used, &err), HEAD_DONE);
	n = fill(buf, "GET /", "a", HEAD_TARGET_MAX, "");
	assert_int_equal(head_parse_request(buf, n, &head, &used, &err), HEAD_BAD);
	assert_int_equal(err.status, 414);

	n = fill(buf, "GET / HTTP/1.1\r\n" H "A: ", "b", HEAD_BYTES_MAX - 16 -
	    17 - 3 - 4, "\r\n\r\n");
	assert_int_equal(n, HEAD_BYTES_MAX);
	assert_int_equal(head_parse_request(buf, n, &head, &used, &err), HEAD_DONE);
	assert_int_equal(head_parse_request(buf, n - 1, &head, &used, &err), HEAD_MORE);
	n = fill(buf, "GET / HTTP/1.1\r\n" H "A: ", "b", HEAD_BYTES_MAX - 16 -
	    17 - 3 - 3, "\r\n\r\n");
	assert_int_equal(head_parse_request(buf, n, &head, &used, &err), HEAD_BAD);
	assert_int_equal(err.status, 431);
	assert_string_equal(err.rule, "head too long");
	assert_int_equal(head_parse_request(buf, n - 4, &head, &used, &err), HEAD_MORE);
}

/* A head sent byte by byte is not parsed once a byte. */
/* Each byte within a Host field: those of names, addresses and ports, no other. */
static void
test_host_bytes(void **state)
{
	static const char good[] = "-._~:[]0123456789"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	struct head_error err;
	struct head head;
	size_t used;
	char text[64];

	for (int c = 1; c < 256; c++) {
		int n = snprintf(text, sizeof(text),
		    "GET / HTTP/1.1\r\nHost: a%cb\r\n\r\n", c);

		assert_int_equal(head_parse_request(text, (size_t)n, &head,
		    &used, &err), strchr(good, c) != NULL ? HEAD_DONE : HEAD_BAD);
	}
}

static void
test_worth_parsing(void **state)
{
	static char buf[HEAD_BYTES_MAX];
	size_t seen = 0, parses = 0, n;

	n = fill(buf, "GET / HTTP/1.1\r\n" H, "A: bbbbbbbbbbbbbbbbbb\r\n", 100,
	    "B: bbbbb");
	memset(buf + n, 'b', sizeof(buf) - n);
	for (size_t len = 1; len <= sizeof(buf); len++) {
		if (!head_worth_parsing(buf, seen, len))
			continue;
		seen = len;
		parses++;
	}
	assert_int_equal(seen, sizeof(buf));	/* the limit is always tried */
	assert_in_range(parses, 102, HEAD_FIELDS_MAX + 18);
}

static void
test_hop_by_hop(void **state)
{
	static const char *const hop[] = { "Connection", "Keep-Alive",
	    "Proxy-Connection", "Proxy-Authenticate", "PROXY-AUTHORIZATION",
	    "TE", "Trailer", "Transfer-Encoding", "Upgrade", "X-Mine",
	    "http2-settings", "Proxy-Authentication-Info" };
	static const char *const end[] = { "Host", "Content-Type", "X-Min",
	    "Anthropic-Version", "A-Name-That-Is-Longer-Than-Any-On-The-List" };
	struct head head = { .n_fields = 2, .connection_names = true };
	struct head_field field = { { NULL, 0 }, { NULL, 0 } };

	head.fields[0].name = SLICE("X-Other");
	head.fields[1].name = SLICE("connection");
	head.fields[1].value = SLICE("close, x-MINE");
	for (size_t i = 0; i < N(hop); i++) {
		field.name = slice_of(hop[i]);
		assert_true(head_hop_by_hop(&head, &field));
	}
	for (size_t i = 0; i < N(end); i++) {
		field.name = slice_of(end[i]);
		assert_false(head_hop_by_hop(&head, &field));
	}
	head.connection_names = false;
	field.name = SLICE("X-Mine");
	assert_false(head_hop_by_hop(&head, &field));
}

static void
test_override(void **state)
{
	struct head head;
	char *keep = NULL;

	check_good(false, "POST / HTTP/1.1\r\n" H "X-Some-Other-Field: a\r\n\r\n",
	    NO_METHOD, &head, &keep);
	assert_null(head_override(&head));
	check_good(false, "POST / HTTP/1.1\r\n" H "x-http-METHOD-override: DELETE"
	    "\r\n\r\n", NO_METHOD, &head, &keep);
	assert_ptr_equal(head_override(&head), &head.fields[1]);
	check_good(false, "POST / HTTP/1.1\r\n" H "X_HTTP.Method~Override: DELETE"
	    "\r\n\r\n", NO_METHOD, &head, &keep);
	assert_ptr_equal(head_override(&head), &head.fields[1]);
	check_good(false, "POST / HTTP/1.1\r\n" H "XXHTTP-Method-Override: DELETE"
	    "\r\n\r\n", NO_METHOD, &head, &keep);
	assert_null(head_override(&head));
	free(keep);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_is_taken_apart),
		cmocka_unit_test(test_bytes_after_the_head_are_left),
		cmocka_unit_test(test_target_forms),
		cmocka_unit_test(test_http10_may_lack_host_where_the_target_says_it),
		cmocka_unit_test(test_requests_refused),
		cmocka_unit_test(test_request_framing),
		cmocka_unit_test(test_response_framing),
		cmocka_unit_test(test_responses_refused),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_host_bytes),
		cmocka_unit_test(test_worth_parsing),
		cmocka_unit_test(test_hop_by_hop),
		cmocka_unit_test(test_override),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
