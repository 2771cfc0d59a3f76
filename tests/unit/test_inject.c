/* The head that goes upstream: exactly what it says, the credential once and in
 * its place, and nothing of ours or of the hop in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "inject/inject.h"
#include "inject/basic.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))
#define SECRET "s3cr3t/+token"

static const struct binding BEARER = { .placement = { PLACE_HEADER,
    (char *)"Authorization", (char *)"Bearer ", (char *)"", NULL } };
static const struct binding API_KEY = { .placement = { PLACE_HEADER,
    (char *)"X-Api-Key", (char *)"", (char *)"", NULL } };
static const struct binding ODD = { .placement = { PLACE_HEADER,
    (char *)"X-Odd", (char *)"key=<", (char *)">", NULL } };
static const struct binding OVERLAP = { .placement = { PLACE_HEADER,
    (char *)"X-Odd", (char *)"a:", (char *)":", NULL } };
static const struct binding BASIC = { .placement = { PLACE_BASIC, NULL, NULL,
    NULL, (char *)"x-access-token" } };
static const struct binding QUERY = { .placement = { PLACE_QUERY,
    (char *)"api_key", NULL, NULL, NULL } };

struct request {
	struct head head;
	struct target target;
	char text[4096], buf[TARGET_BUF_MAX];
};

static void
request(struct request *r, const char *line, const char *fields)
{
	struct head_error err;
	const char *why;
	size_t used;
	int n = snprintf(r->text, sizeof(r->text),
	    "%s HTTP/1.1\r\nHost: api.example.com\r\n%s\r\n", line, fields);

	if (head_parse_request(r->text, (size_t)n, &r->head, &used, &err) !=
	    HEAD_DONE)
		fail_msg("%s: %s", line, err.rule);
	assert_null(target_from_authority(SLICE("api.example.com"), 443,
	    &r->target));
	why = target_set_path(&r->target, r->head.target, r->buf, sizeof(r->buf));
	assert_null(why);
}

static void
check(const char *line, const char *fields, const struct binding *binding,
    bool keep_encoding, const char *want)
{
	struct request r;
	char out[8192];
	struct inject in = { .head = &r.head, .target = &r.target, .binding = binding,
	    .secret = SLICE(SECRET), .keep_accept_encoding = keep_encoding };
	int n;

	request(&r, line, fields);
	n = inject_request_head(&in, out, sizeof(out));
	assert_in_range(n, 1, sizeof(out) - 1);
	out[n] = '\0';
	assert_string_equal(out, want);
	for (size_t cap = 0; cap < (size_t)n; cap++)	/* never half a head */
		assert_int_equal(inject_request_head(&in, out, cap), -1);
	assert_int_equal(inject_request_head(&in, out, (size_t)n), n);
}

static void
test_nothing_to_inject(void **state)
{
	check("GET /a?b=c", "X-One: 1\r\nAccept-Encoding: gzip\r\n", NULL, true,
	    "GET /a?b=c HTTP/1.1\r\nHost: api.example.com\r\nX-One: 1\r\n"
	    "Accept-Encoding: gzip\r\n\r\n");
	check("GET /%7ea?", "", NULL, true,
	    "GET /~a? HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	/* without a binding the client's own Authorization is its own affair */
	check("GET /", "Authorization: Bearer mine\r\n", NULL, true,
	    "GET / HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer mine\r\n\r\n");
}

static void
test_header(void **state)
{
	check("GET /a", "X-One: 1\r\nauthorization: Bearer placeholder\r\nX-Two: 2\r\n"
	    "AUTHORIZATION: token other\r\nAccept-Encoding: gzip, br\r\n", &BEARER, false,
	    "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX-One: 1\r\nX-Two: 2\r\n"
	    "Accept-Encoding: identity\r\nAuthorization: Bearer " SECRET "\r\n\r\n");
	/* a binding on another field leaves Authorization alone */
	check("GET /a", "X-API-KEY: placeholder\r\nAuthorization: Bearer session\r\n", &API_KEY, true,
	    "GET /a HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer session\r\n"
	    "X-Api-Key: " SECRET "\r\n\r\n");
	/* it is the slot of a client that sends none of that field */
	check("GET /a", "Authorization: Bearer placeholder\r\nX-One: 1\r\n", &API_KEY, true,
	    "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX-One: 1\r\nX-Api-Key: " SECRET "\r\n\r\n");
	check("GET /a", "", &ODD, true,
	    "GET /a HTTP/1.1\r\nHost: api.example.com\r\nX-Odd: key=<" SECRET ">\r\n\r\n");
	/* what a header binding sends is its template, also to a client of Basic */
	check("GET /a", "Authorization: Basic eDpwbGFjZWhvbGRlcg==\r\n", &BEARER, true,
	    "GET /a HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer " SECRET "\r\n\r\n");
}

static void
test_basic(void **state)
{
	check("GET /o/r.git/info/refs?service=git-upload-pack",
	    "Authorization: Basic eDpwbGFjZWhvbGRlcg==\r\nGit-Protocol: version=2\r\n", &BASIC, true,
	    "GET /o/r.git/info/refs?service=git-upload-pack HTTP/1.1\r\nHost: api.example.com\r\n"
	    "Git-Protocol: version=2\r\n"
	    "Authorization: Basic eC1hY2Nlc3MtdG9rZW46czNjcjN0Lyt0b2tlbg==\r\n\r\n");
}

static void
test_query(void **state)
{
	check("GET /a?x=1&api_key=placeholder&y&%61pi%5fkey=again&z=2&API_KEY=other", "", &QUERY, true,
	    "GET /a?x=1&y&z=2&API_KEY=other&api_key=s3cr3t%2F%2Btoken HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	check("GET /a", "", &QUERY, true,
	    "GET /a?api_key=s3cr3t%2F%2Btoken HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	check("GET /a?api_key", "", &QUERY, true,
	    "GET /a?api_key=s3cr3t%2F%2Btoken HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	check("GET /a?api_key%", "", &QUERY, true,
	    "GET /a?api_key%&api_key=s3cr3t%2F%2Btoken HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
	check("GET /a?", "", &QUERY, true,
	    "GET /a?&api_key=s3cr3t%2F%2Btoken HTTP/1.1\r\nHost: api.example.com\r\n\r\n");
}

static void
test_what_is_left_out(void **state)
{
	check("POST /a", "Connection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\n"
	    "Trailer: X\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\n"
	    "Proxy-Anything: 1\r\nX-Countersign-Run: r\r\nx-countersign-grant: g\r\n"
	    "Expect: 100-continue\r\nUpgrade: foo\r\nContent-Length: 3\r\nCookie: a=b\r\n"
	    "anthropic-version: 2023-06-01\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"
	    "X-Forwarded-For: 192.0.2.1\r\n", NULL, false,
	    "POST /a HTTP/1.1\r\nHost: api.example.com\r\nCookie: a=b\r\nanthropic-version: 2023-06-01\r\n"
	    "X-Forwarded-For: 192.0.2.1\r\nAccept-Encoding: identity\r\nContent-Length: 3\r\n\r\n");
	check("POST /a", "Transfer-Encoding: Chunked\r\n", NULL, true,
	    "POST /a HTTP/1.1\r\nHost: api.example.com\r\nTransfer-Encoding: chunked\r\n\r\n");
	check("POST /a", "Content-Length: 0\r\n", NULL, true,
	    "POST /a HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n");
}

static void
test_websocket_only_when_told(void **state)
{
	struct request r;
	struct inject in = { .head = &r.head, .target = &r.target, .binding = &BEARER,
	    .secret = SLICE(SECRET), .websocket = true };
	char out[4096];
	int n;

	request(&r, "GET /ws", "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
	    "Sec-WebSocket-Key: a\r\nSec-WebSocket-Extensions: permessage-deflate\r\n");
	n = inject_request_head(&in, out, sizeof(out) - 1);
	assert_true(n > 0);
	out[n] = '\0';
	assert_string_equal(out, "GET /ws HTTP/1.1\r\nHost: api.example.com\r\nSec-WebSocket-Key: a\r\n"
	    "Accept-Encoding: identity\r\nAuthorization: Bearer " SECRET "\r\n"
	    "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
	in.websocket = false;
	n = inject_request_head(&in, out, sizeof(out) - 1);
	out[n] = '\0';
	assert_null(strstr(out, "pgrade"));
}

static void
test_host_from_the_target(void **state)
{
	struct request r;
	struct inject in = { .head = &r.head, .target = &r.target,
	    .keep_accept_encoding = true };
	char out[4096];
	int n;

	request(&r, "GET /", "");
	r.target.port = 8443;
	n = inject_request_head(&in, out, sizeof(out));
	assert_int_equal(n, 46);
	assert_memory_equal(out, "GET / HTTP/1.1\r\nHost: api.example.com:8443\r\n\r\n", 46);
}

/* A secret that would begin another field is refused, and nothing of it stays
 * in the buffer. */
static void
test_a_secret_cannot_split_the_head(void **state)
{
	static const char *const bad[] = { "abc\r\nX: y", "abc\n", "ab\x7f" "c", "ab\x01" };
	struct request r;
	struct inject in = { .head = &r.head, .target = &r.target, .binding = &API_KEY,
	    .keep_accept_encoding = true };
	char out[4096];

	request(&r, "GET /", "");
	for (size_t i = 0; i < N(bad); i++) {
		in.secret = slice_of(bad[i]);
		in.binding = &API_KEY;
		memset(out, 0, sizeof(out));
		assert_int_equal(inject_request_head(&in, out, sizeof(out)), -1);
		for (size_t k = 0; k < sizeof(out); k++)
			assert_int_equal(out[k], 0);
		in.binding = &QUERY;		/* escaped there, and in base64 */
		assert_true(inject_request_head(&in, out, sizeof(out)) > 0);
		in.binding = &BASIC;
		assert_true(inject_request_head(&in, out, sizeof(out)) > 0);
	}
	in.binding = &API_KEY;
	in.secret = SLICE("a b\tc~\xc3\xa4");	/* nothing to split it */
	assert_true(inject_request_head(&in, out, sizeof(out)) > 0);
}

static void
test_refusal(void **state)
{
	static const char *const spelt[] = { ".method=DELETE", "%2emethod=DELETE",
	    "[method=DELETE", "+_method=DELETE", "%20%20.method=DELETE",
	    "_method%00x=DELETE", "a=b;_method=DELETE", "a&&_method=DELETE", "+method;" "&_method" };
	struct request r;

	request(&r, "GET /", "");
	assert_null(inject_refusal(&r.head));
	request(&r, "TRACE /", "");
	assert_non_null(inject_refusal(&r.head));
	request(&r, "TRACK /", "");
	assert_non_null(inject_refusal(&r.head));
	request(&r, "POST /", "X-HTTP-Method-Override: DELETE\r\n");
	assert_non_null(inject_refusal(&r.head));
	request(&r, "GET /", "X-Original-URL: /admin\r\n");
	assert_non_null(inject_refusal(&r.head));
	request(&r, "POST /a?b=c&%5fmethod=DELETE", "");
	assert_non_null(inject_query_refusal(&r.head, &r.target));
	request(&r, "POST /a?_method", "");
	assert_non_null(inject_query_refusal(&r.head, &r.target));
	request(&r, "POST /", "X_HTTP_METHOD_OVERRIDE: DELETE\r\n");
	assert_non_null(inject_refusal(&r.head));
	for (size_t i = 0; i < sizeof(spelt) / sizeof(spelt[0]); i++) {
		char line[80];

		snprintf(line, sizeof(line), "POST /a?%s", spelt[i]);
		request(&r, line, "");
		assert_non_null(inject_query_refusal(&r.head, &r.target));
	}
	request(&r, "POST /a?", "");
	assert_null(inject_query_refusal(&r.head, &r.target));
	request(&r, "POST /a?%00_method=1&a.method=1&_meth%00od=1;b&+&=_method", "");
	assert_null(inject_query_refusal(&r.head, &r.target));
	request(&r, "POST /a?x_method=DELETE&_methods=1&b=_method=", "");
	assert_null(inject_query_refusal(&r.head, &r.target));
	request(&r, "POST /a", "");
	assert_null(inject_query_refusal(&r.head, &r.target));
	/* nobody reads it there */
	request(&r, "GET /a?_method=DELETE", "");
	assert_null(inject_query_refusal(&r.head, &r.target));
}

static void
test_slot(void **state)
{
	static const struct {
		const struct binding *binding;
		const char *line, *fields, *want;	/* NULL: empty */
		unsigned copies;
	} cases[] = {
		{ &BEARER, "GET /", "", NULL, 0 },
		{ &BEARER, "GET /", "Authorization: Bearer tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "authorization: bearer  tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: Bearer Bearer tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: token tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: Token\ttok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: token Bearer tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: token token tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: tok\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: Bearer\r\n", "Bearer", 1 },
		{ &BEARER, "GET /", "Authorization: Bearertok\r\n", "Bearertok", 1 },
		{ &BEARER, "GET /", "Authorization: Basic eDp0b2s=\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: BASIC eDp0b2s\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: Basic dG9rOg==\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: Basic dG9rOngtb2F1dGgtYmFzaWM=\r\n", "tok", 1 },
		{ &BEARER, "GET /", "Authorization: Basic !\r\n", "", 1 },
		{ &BEARER, "GET /", "Authorization: Basic dG9r\r\n", "", 1 },
		{ &BEARER, "GET /", "Authorization: Bearer tok\r\nAUTHORIZATION: x\r\n", "tok", 2 },
		{ &BEARER, "GET /?Authorization=tok", "X-Api-Key: tok\r\n", NULL, 0 },
		{ &API_KEY, "GET /", "x-api-key: tok\r\n", "tok", 1 },
		{ &API_KEY, "GET /", "x-api-key: Bearer tok\r\n", "tok", 1 },
		{ &API_KEY, "GET /", "x-api-key:\r\n", "", 1 },
		{ &API_KEY, "GET /", "Authorization: Bearer tok\r\n", "tok", 1 },
		{ &API_KEY, "GET /", "Authorization: Basic eDp0b2s=\r\n", "tok", 1 },
		{ &API_KEY, "GET /", "Authorization: Bearer tok\r\nAuthorization: x\r\n", "tok", 2 },
		{ &API_KEY, "GET /", "Authorization: Bearer x\r\nx-api-key: tok\r\n", "tok", 1 },
		{ &API_KEY, "GET /", "Authorization: Bearer tok\r\nx-api-key:\r\n", "", 1 },
		{ &ODD, "GET /", "X-Odd: key=<tok>\r\n", "tok", 1 },
		{ &ODD, "GET /", "X-Odd: KEY=<tok>\r\n", "tok", 1 },
		{ &ODD, "GET /", "X-Odd: key=<tok\r\n", "key=<tok", 1 },
		{ &ODD, "GET /", "X-Odd: key\r\n", "key", 1 },
		{ &ODD, "GET /", "X-Odd: key=<tok)\r\n", "key=<tok)", 1 },
		{ &OVERLAP, "GET /", "X-Odd: a:\r\n", "a:", 1 },
		{ &OVERLAP, "GET /", "X-Odd: a::\r\n", "", 1 },
		{ &BASIC, "GET /", "Authorization: Basic eDp0b2s=\r\n", "tok", 1 },
		{ &BASIC, "GET /", "Authorization: Bearer tok\r\n", "tok", 1 },
		{ &QUERY, "GET /", "api_key: tok\r\n", NULL, 0 },
		{ &QUERY, "GET /?api_key=tok", "", "tok", 1 },
		{ &QUERY, "GET /?a=b&%61pi_key=t%6fk&api_key=x", "", "tok", 2 },
		{ &QUERY, "GET /?api_key", "", "", 1 },
		{ &QUERY, "GET /?api_key=t%6", "", "t%6", 1 },
		{ &QUERY, "GET /?api_key=t%6gk%", "", "t%6gk%", 1 },
		{ &QUERY, "GET /?api_key=t%g6", "", "t%g6", 1 },
		{ &QUERY, "GET /?api_ke=tok&api_keyy=tok&API_KEY=tok&api+key=tok", "", NULL, 0 },
	};
	struct request r;
	struct slice got;
	char buf[64];
	unsigned copies;

	for (size_t i = 0; i < N(cases); i++) {
		request(&r, cases[i].line, cases[i].fields);
		got = inject_slot(&r.head, &r.target, cases[i].binding, buf,
		    sizeof(buf), &copies);
		assert_int_equal(copies, cases[i].copies);
		if (cases[i].want == NULL) {
			assert_null(got.p);
			continue;
		}
		assert_non_null(got.p);
		if (!slice_eq(got, slice_of(cases[i].want)))
			fail_msg("case %zu: \"%.*s\"", i, (int)got.n, got.p);
	}
	/* where buf is too small nobody can read it, but it is there */
	request(&r, "GET /?api_key=t%6fk", "Authorization: Basic eDp0b2s=\r\n");
	got = inject_slot(&r.head, &r.target, &QUERY, buf, 2, &copies);
	assert_true(got.p != NULL && got.n == 0 && copies == 1);
	got = inject_slot(&r.head, &r.target, &BASIC, buf, 4, &copies);
	assert_true(got.p != NULL && got.n == 0 && copies == 1);
}

static void
test_key_with_a_space(void **state)
{
	const struct binding b = { .placement = { PLACE_QUERY, (char *)"my key",
	    NULL, NULL, NULL } };
	struct request r;
	char buf[16];
	unsigned copies;

	request(&r, "GET /?my+key=a&my%20key=b&my%2bkey=c", "");
	inject_slot(&r.head, &r.target, &b, buf, sizeof(buf), &copies);
	assert_int_equal(copies, 2);
}

static void
test_basic_round_trip(void **state)
{
	static const char user[] = "x-access-token";
	char password[64], encoded[256], buf[128];
	struct slice u, p;
	size_t n;

	for (size_t len = 0; len < sizeof(password); len++) {
		for (size_t i = 0; i < len; i++)
			password[i] = (char)(i * 37 + len);
		n = basic_encode(slice_of(user), (struct slice){ password, len },
		    encoded, sizeof(encoded));
		assert_int_equal(n, (sizeof(user) + len + 2) / 3 * 4);
		assert_int_equal(basic_encode(slice_of(user), (struct slice){
		    password, len }, encoded, n - 1), 0);
		assert_true(basic_decode((struct slice){ encoded, n }, buf,
		    sizeof(buf), &u, &p));
		assert_true(slice_eq(u, slice_of(user)));
		assert_int_equal(p.n, len);
		assert_memory_equal(p.p, password, len);
	}
	assert_int_equal(basic_encode(SLICE("a:b"), SLICE("c"), encoded,
	    sizeof(encoded)), 0);
	assert_int_equal(basic_encode(SLICE(""), SLICE(""), encoded,
	    sizeof(encoded)), 4);
	assert_memory_equal(encoded, "Og==", 4);
	assert_false(basic_decode(SLICE(""), buf, sizeof(buf), &u, &p));
	assert_false(basic_decode(SLICE("====="), buf, sizeof(buf), &u, &p));
	assert_false(basic_decode(SLICE("dG9rO"), buf, sizeof(buf), &u, &p));
	assert_true(basic_decode(SLICE("dDp4"), buf, sizeof(buf), &u, &p));
	assert_false(basic_decode(SLICE("dDp4O"), buf, sizeof(buf), &u, &p));
	assert_true(basic_decode(SLICE("_-86_-8"), buf, sizeof(buf), &u, &p));
	assert_true(slice_eq(u, SLICE("\xff\xef")));
}

/* Signed anew: at our time, with the real key's id and token, what the dummy signed left out. */
static void
test_signature(void **state)
{
	static const struct binding aws = { .placement = { .kind = PLACE_SIGV4 } };
	static const char want[] = "GET /?Action=ListUsers HTTP/1.1\r\nHost: api.example.com\r\n"
	    "X-Amz-Target: a\r\nX-Amz-Date: 20150830T123600Z\r\n"
	    "X-Amz-Security-Token: real-token\r\nAuthorization: AWS4-HMAC-SHA256 "
	    "Credential=ASIAREAL/20150830/us-east-1/iam/aws4_request, "
	    "SignedHeaders=host;x-amz-date;x-amz-security-token;x-amz-target, Signature=";
	struct request r;
	char out[8192];
	struct inject in = { .head = &r.head, .target = &r.target, .binding = &aws,
	    .secret = SLICE("aws:ASIAREAL:real-secret-key:real-token"),
	    .keep_accept_encoding = true, .now = 1440938160 };
	int n;

	request(&r, "GET /?Action=ListUsers", "X-Amz-Date: 20010101T000000Z\r\n"
	    "x-amz-security-token: dummy\r\nX-Amz-Target: a\r\n"
	    "Authorization: AWS4-HMAC-SHA256 Credential=DUMMY/20010101/us-east-1/iam/aws4_request, "
	    "SignedHeaders=host;x-amz-date, Signature=00\r\n");
	n = inject_request_head(&in, out, sizeof(out));
	assert_true(n > 0);
	out[n] = '\0';
	assert_int_equal(strncmp(out, want, sizeof(want) - 1), 0);
	assert_null(strstr(out, "real-secret-key"));
	assert_null(strstr(out, "DUMMY"));
	assert_null(strstr(out, "dummy"));

	in.secret = SLICE("AKIANOKEY:real-secret-key");
	assert_int_equal(inject_request_head(&in, out, sizeof(out)), -1);
	in.secret = SLICE("aws:ASIAREAL:real-secret-key");
	request(&r, "POST /", "Content-Length: 1\r\nAuthorization: AWS4-HMAC-SHA256 "
	    "Credential=DUMMY/20010101/us-east-1/iam/aws4_request, SignedHeaders=host\r\n");
	assert_int_equal(inject_request_head(&in, out, sizeof(out)), -1);
	in.body_hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	assert_true(inject_request_head(&in, out, sizeof(out)) > 0);
	assert_null(strstr(out, "Security-Token"));
}

static void
test_signature_slot(void **state)
{
	static const struct binding aws = { .placement = { .kind = PLACE_SIGV4 } };
	struct request r;
	unsigned copies;
	char buf[256];
	struct slice slot;

	request(&r, "GET /", "Authorization: AWS4-HMAC-SHA256 "
	    "Credential=AKIADUMMY/20010101/us-east-1/iam/aws4_request, SignedHeaders=host\r\n");
	slot = inject_slot(&r.head, &r.target, &aws, buf, sizeof(buf), &copies);
	assert_true(slice_eq(slot, SLICE("AKIADUMMY")));
	assert_int_equal(copies, 1);
	request(&r, "GET /", "Authorization: Bearer AKIADUMMY\r\n");
	slot = inject_slot(&r.head, &r.target, &aws, buf, sizeof(buf), &copies);
	assert_int_equal(slot.n, 0);
	request(&r, "GET /", "");
	slot = inject_slot(&r.head, &r.target, &aws, buf, sizeof(buf), &copies);
	assert_null(slot.p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_to_inject),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_basic),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_websocket_only_when_told),
		cmocka_unit_test(test_host_from_the_target),
		cmocka_unit_test(test_a_secret_cannot_split_the_head),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_slot),
		cmocka_unit_test(test_key_with_a_space),
		cmocka_unit_test(test_basic_round_trip),
		cmocka_unit_test(test_signature),
		cmocka_unit_test(test_signature_slot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
