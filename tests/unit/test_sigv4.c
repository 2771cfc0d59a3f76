/* AWS Signature Version 4: the signatures of AWS's own documentation and test suite,
 * and what is read of a client's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "aws_keys.h"
#include "secret_parts.h"
#include "inject/aws_request.h"

#include <string.h>

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define SUITE_KEY "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define S3_KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define SUITE_TIME "20150830T123600Z"
#define S3_TIME "20130524T000000Z"

/* Fields are "name: value" pairs, in any order; path and query as on the wire. */
struct signed_case {
	const char *what, *method, *path, *query;
	const char *fields[12];
	const char *payload, *time, *service, *key, *names, *signature;
};

static const struct signed_case cases[] = {
	{ "IAM, the user guide", "GET", "/", "Action=ListUsers&Version=2010-05-08",
	  { "X-Amz-Date", SUITE_TIME, "Content-Type",
	    "application/x-www-form-urlencoded; charset=utf-8", "Host", "iam.amazonaws.com" },
	  EMPTY, SUITE_TIME, "iam", SUITE_KEY, "content-type;host;x-amz-date",
	  "5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7" },
	{ "get-vanilla", "GET", "/", NULL,
	  { "Host", "example.amazonaws.com", "X-Amz-Date", SUITE_TIME },
	  EMPTY, SUITE_TIME, "service", SUITE_KEY, "host;x-amz-date",
	  "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31" },
	{ "get-vanilla-query-order-key-case", "GET", "/", "Param2=value2&Param1=value1",
	  { "Host", "example.amazonaws.com", "X-Amz-Date", SUITE_TIME },
	  EMPTY, SUITE_TIME, "service", SUITE_KEY, "host;x-amz-date",
	  "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500" },
	{ "S3, get an object", "GET", "/test.txt", NULL,
	  { "Range", "bytes=0-9", "Host", "examplebucket.s3.amazonaws.com",
	    "x-amz-content-sha256", EMPTY, "x-amz-date", S3_TIME },
	  EMPTY, S3_TIME, "s3", S3_KEY, "host;range;x-amz-content-sha256;x-amz-date",
	  "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41" },
	{ "S3, put an object", "PUT", "/test$file.text", NULL,
	  { "Host", "examplebucket.s3.amazonaws.com", "Date", "Fri, 24 May 2013 00:00:00 GMT",
	    "x-amz-content-sha256",
	    "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
	    "x-amz-date", S3_TIME, "x-amz-storage-class", "REDUCED_REDUNDANCY" },
	  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072", S3_TIME, "s3",
	  S3_KEY, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
	  "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
	{ "S3, the same as a client may escape it", "PUT", "/test%24file.text", NULL,
	  { "Host", "examplebucket.s3.amazonaws.com", "Date", "Fri,  24 May\t2013 00:00:00 GMT",
	    "x-amz-content-sha256",
	    "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
	    "x-amz-date", S3_TIME, "x-amz-storage-class", "REDUCED_REDUNDANCY" },
	  "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072", S3_TIME, "s3",
	  S3_KEY, "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
	  "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd" },
	{ "S3, a key without a value", "GET", "/", "lifecycle",
	  { "Host", "examplebucket.s3.amazonaws.com", "x-amz-content-sha256", EMPTY,
	    "x-amz-date", S3_TIME },
	  EMPTY, S3_TIME, "s3", S3_KEY, "host;x-amz-content-sha256;x-amz-date",
	  "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543" },
	{ "S3, list objects", "GET", "/", "prefix=J&max-keys=2",
	  { "Host", "examplebucket.s3.amazonaws.com", "x-amz-content-sha256", EMPTY,
	    "x-amz-date", S3_TIME },
	  EMPTY, S3_TIME, "s3", S3_KEY, "host;x-amz-content-sha256;x-amz-date",
	  "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7" },
};

static void
set_up(const struct signed_case *c, struct sigv4 *out)
{
	*out = (struct sigv4){ .method = slice_of(c->method),
	    .path = slice_of(c->path), .query = slice_of(c->query),
	    .payload = slice_of(c->payload), .region = SLICE("us-east-1"),
	    .service = slice_of(c->service) };
	for (size_t i = 0; c->fields[i] != NULL; i += 2)
		out->fields[out->n_fields++] = (struct head_field){
		    slice_of(c->fields[i]), slice_of(c->fields[i + 1]) };
	memcpy(out->time, c->time, sizeof(out->time));
}

static void
test_documented(void **state)
{
	char signature[SIGV4_HEX_LEN + 1];
	struct sigv4 request;

	for (size_t i = 0; i < N(cases); i++) {
		set_up(&cases[i], &request);
		assert_true(sigv4_sign(&request, slice_of(cases[i].key), signature));
		if (strcmp(signature, cases[i].signature) != 0)
			fail_msg("%s: %s", cases[i].what, signature);
		assert_true(slice_eq(slice_of(cases[i].names),
		    (struct slice){ request.names, request.names_len }));
	}
}

static void
sign_one(const char *path, const char *query, const char *service, char *out)
{
	struct signed_case c = cases[1];
	struct sigv4 request;

	c.path = path;
	c.query = query;
	c.service = service;
	set_up(&c, &request);
	assert_true(sigv4_sign(&request, SLICE(SUITE_KEY), out));
}

/* What must come to the same signature, and what must not. */
static void
test_spellings(void **state)
{
	static const struct {
		const char *service, *a_path, *a_query, *b_path, *b_query;
		bool same;
	} pairs[] = {
		{ "ec2", "/", "a=1&b=2", "/", "b=2&a=1", true },
		{ "ec2", "/", "a=%7E", "/", "a=~", true },
		{ "ec2", "/", "a=x%20y", "/", "a=x+y", true },
		{ "ec2", "/", "a=%2B", "/", "a=+", false },
		{ "ec2", "/", "a&b=", "/", "b&a=", true },
		{ "ec2", "/", "a=1&a=0", "/", "a=0&a=1", true },
		{ "ec2", "/", "a=1", "/", "a=2", false },
		{ "ec2", "/", "ab=&a%2D=", "/", "a-=&ab=", true },
		{ "s3", "/a%20b", NULL, "/a b", NULL, true },
		{ "s3", "/a:b", NULL, "/a%3Ab", NULL, true },
		{ "s3", "/a%2Fb", NULL, "/a/b", NULL, true },
		{ "s3", "/a+b", NULL, "/a%20b", NULL, false },
		{ "lambda", "/a%3Ab", NULL, "/a:b", NULL, false },
	};
	char a[SIGV4_HEX_LEN + 1], b[SIGV4_HEX_LEN + 1];

	for (size_t i = 0; i < N(pairs); i++) {
		sign_one(pairs[i].a_path, pairs[i].a_query, pairs[i].service, a);
		sign_one(pairs[i].b_path, pairs[i].b_query, pairs[i].service, b);
		if ((strcmp(a, b) == 0) != pairs[i].same)
			fail_msg("%s %s %s", pairs[i].service, pairs[i].a_path,
			    pairs[i].a_query != NULL ? pairs[i].a_query : "");
	}
}

static void
test_too_much(void **state)
{
	static char query[4 * SIGV4_PARAMETERS_MAX], name[SIGV4_NAMES_MAX];
	char signature[SIGV4_HEX_LEN + 1], key[300];
	struct sigv4 request;

	for (size_t i = 0; i < SIGV4_PARAMETERS_MAX; i++)
		memcpy(query + 2 * i, "a&", 2);
	set_up(&cases[1], &request);
	request.query = (struct slice){ query, 2 * SIGV4_PARAMETERS_MAX };
	assert_true(sigv4_sign(&request, SLICE(SUITE_KEY), signature));
	query[2 * SIGV4_PARAMETERS_MAX] = 'a';
	request.query.n++;
	assert_false(sigv4_sign(&request, SLICE(SUITE_KEY), signature));

	set_up(&cases[1], &request);
	memset(name, 'x', sizeof(name));
	request.fields[0].name = (struct slice){ name, sizeof(name) };
	assert_false(sigv4_sign(&request, SLICE(SUITE_KEY), signature));

	set_up(&cases[1], &request);
	memset(key, 'k', sizeof(key));
	assert_true(sigv4_sign(&request, (struct slice){ key, 252 }, signature));
	assert_false(sigv4_sign(&request, (struct slice){ key, 253 }, signature));
}

/* --- the key, as it is stored ------------------------------------------------ */

struct parts {
	size_t n;
	struct slice first;
};

static bool
note_part(void *arg, struct slice part)
{
	struct parts *parts = arg;

	if (parts->n++ == 0)
		parts->first = part;
	return true;
}

static void
test_keys(void **state)
{
	static const struct {
		const char *value, *id, *secret, *token;	/* id NULL: no key */
	} forms[] = {
		{ "aws:AKIAIOSFODNN7EXAMPLE:" S3_KEY, "AKIAIOSFODNN7EXAMPLE", S3_KEY, "" },
		{ "aws:ASIAIOSFODNN7EXAMPLE:" S3_KEY ":IQoJb3JpZ2luX2VjEXAMPLE==",
		  "ASIAIOSFODNN7EXAMPLE", S3_KEY, "IQoJb3JpZ2luX2VjEXAMPLE==" },
		{ "aws:minio:minio-secret:", "minio", "minio-secret", "" },
		{ "AKIAIOSFODNN7EXAMPLE:" S3_KEY, NULL, NULL, NULL },
		{ "aws:AKIAIOSFODNN7EXAMPLE", NULL, NULL, NULL },
		{ "aws::" S3_KEY, NULL, NULL, NULL },
		{ "aws:a/b:" S3_KEY, NULL, NULL, NULL },
		{ "aws:a,b:" S3_KEY, NULL, NULL, NULL },
		{ "aws:AKIA:short", NULL, NULL, NULL },
		{ "aws:AKIA:with a blank", NULL, NULL, NULL },
		{ "aws:AKIA:" S3_KEY ":token:more", NULL, NULL, NULL },
		{ "aws:", NULL, NULL, NULL },
		{ "", NULL, NULL, NULL },
	};
	struct aws_keys keys;

	for (size_t i = 0; i < N(forms); i++) {
		bool is_key = aws_keys_read(slice_of(forms[i].value), &keys);
		struct parts parts = { .n = 0 };

		if (is_key != (forms[i].id != NULL))
			fail_msg("%s", forms[i].value);
		assert_true(secret_parts(slice_of(forms[i].value), note_part, &parts));
		if (!is_key) {
			assert_int_equal(parts.n, 1);
			assert_true(slice_eq(parts.first, slice_of(forms[i].value)));
			continue;
		}
		assert_true(slice_eq(keys.id, slice_of(forms[i].id)));
		assert_true(slice_eq(keys.secret, slice_of(forms[i].secret)));
		assert_true(slice_eq(keys.token, slice_of(forms[i].token)));
		assert_int_equal(parts.n, 1 + (keys.token.n > 0));
		assert_true(slice_eq(parts.first, keys.secret));
	}
}

/* --- what a client sent -------------------------------------------------------- */

#define SIGNED(scope) "AWS4-HMAC-SHA256 Credential=" scope \
    ", SignedHeaders=host, Signature=00"
#define LONG "a23456789-123456789-123456789-123456789-123456789-123456789-1234"
#define GOOD SIGNED("AKIAX/20260101/eu-west-1/s3/aws4_request")

static void
test_scope(void **state)
{
	static const struct {
		const char *field, *id, *region, *service;
	} fields[] = {
		{ GOOD, "AKIAX", "eu-west-1", "s3" },
		{ "aws4-hmac-sha256 Credential=k/1/us-east-1/execute-api/aws4_request", "k",
		  "us-east-1", "execute-api" },
		{ SIGNED("AKIAX/20260101/eu-west-1/s3"), "AKIAX", "", "" },
		{ SIGNED("AKIAX/20260101/RegionOne/s3_2.x/aws4_request"), "AKIAX", "RegionOne", "s3_2.x" },
		{ SIGNED("AKIAX/20260101/eu\xc3\xa9/s3/aws4_request"), "AKIAX", "", "" },
		{ SIGNED("AKIAX/20260101/eu\"1/s3/aws4_request"), "AKIAX", "", "" },
		{ SIGNED("AKIAX/20260101/eu/s3/aws5_request"), "AKIAX", "", "" },
		{ SIGNED("AKIAX/20260101//s3/aws4_request"), "AKIAX", "", "" },
		{ SIGNED("AKIAX/20260101/eu//aws4_request"), "AKIAX", "", "" },
		{ SIGNED("AKIAX/20260101/eu/" LONG "/aws4_request"), "AKIAX", "eu", LONG },
		{ SIGNED("AKIAX/20260101/eu/" LONG "x/aws4_request"), "AKIAX", "", "" },
		{ SIGNED("AKIAX"), NULL, NULL, NULL },
		{ "Bearer Credential=a/b/c/d/aws4_request", NULL, NULL, NULL },
		{ "AWS4-HMAC-SHA256 Signature=00", NULL, NULL, NULL },
		{ "AWS4", NULL, NULL, NULL }, { "", NULL, NULL, NULL },
	};
	struct aws_scope scope;

	for (size_t i = 0; i < N(fields); i++) {
		bool found = aws_request_scope(slice_of(fields[i].field), &scope);

		if (found != (fields[i].id != NULL))
			fail_msg("%s", fields[i].field);
		if (!found)
			continue;
		assert_true(slice_eq(scope.id, slice_of(fields[i].id)));
		assert_true(slice_eq(scope.region, slice_of(fields[i].region)));
		assert_true(slice_eq(scope.service, slice_of(fields[i].service)));
	}
}

static void
test_refusals(void **state)
{
	static const struct {
		const char *authorization, *payload, *second;	/* NULL: no such field */
		enum head_framing framing;
		uint64_t len;
		bool refused, needs_body;
	} requests[] = {
		{ GOOD, NULL, NULL, HEAD_NO_BODY, 0, false, false },
		{ GOOD, NULL, NULL, HEAD_LENGTH, 0, false, false },
		{ GOOD, NULL, NULL, HEAD_LENGTH, 10, false, true },
		{ GOOD, NULL, NULL, HEAD_LENGTH, AWS_BODY_MAX, false, true },
		{ GOOD, NULL, NULL, HEAD_LENGTH, AWS_BODY_MAX + 1, true, true },
		{ GOOD, NULL, NULL, HEAD_CHUNKED, 0, true, false },
		{ GOOD, EMPTY, NULL, HEAD_LENGTH, 1ull << 40, false, false },
		{ GOOD, "UNSIGNED-PAYLOAD", NULL, HEAD_CHUNKED, 0, false, false },
		{ GOOD, "STREAMING-UNSIGNED-PAYLOAD-TRAILER", NULL, HEAD_CHUNKED, 0, false, false },
		{ GOOD, "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", NULL, HEAD_LENGTH, 9, true, false },
		{ GOOD, "required", NULL, HEAD_LENGTH, 9, true, false },
		{ GOOD, EMPTY, "UNSIGNED-PAYLOAD", HEAD_LENGTH, 9, true, false },
		{ SIGNED("AKIAX/1/s3/aws4_request"), NULL, NULL, HEAD_NO_BODY, 0, true, false },
		{ "AWS4-ECDSA-P256-SHA256 Credential=a/1/us-east-1/s3/aws4_request", NULL, NULL,
		  HEAD_NO_BODY, 0, true, false },
		{ "Bearer x", NULL, NULL, HEAD_NO_BODY, 0, true, false },
		{ NULL, NULL, NULL, HEAD_NO_BODY, 0, true, false },
	};
	struct head head;

	for (size_t i = 0; i < N(requests); i++) {
		head = (struct head){ .framing = requests[i].framing,
		    .body_len = requests[i].len };
		if (requests[i].authorization != NULL)
			head.fields[head.n_fields++] = (struct head_field){
			    SLICE("authorization"), slice_of(requests[i].authorization) };
		if (requests[i].payload != NULL)
			head.fields[head.n_fields++] = (struct head_field){
			    SLICE("x-amz-content-sha256"), slice_of(requests[i].payload) };
		if (requests[i].second != NULL)
			head.fields[head.n_fields++] = (struct head_field){
			    SLICE("X-Amz-Content-SHA256"), slice_of(requests[i].second) };
		if ((aws_request_refusal(&head) != NULL) != requests[i].refused ||
		    aws_request_needs_body(&head) != requests[i].needs_body)
			fail_msg("request %zu", i);
	}
}

/* What sigv4_sign would not take is refused before; what is not, it takes. */
static void
test_sizes(void **state)
{
	static char target[2 * SIGV4_PARAMETERS_MAX + 8], names[40][112];
	struct head head = { .fields = { { SLICE("Authorization"), SLICE(GOOD) } },
	    .n_fields = 1 };
	struct aws_signed made;
	struct aws_keys keys;

	assert_true(aws_keys_read(SLICE("aws:AKIA:" S3_KEY ":token"), &keys));
	memcpy(target, "/?a", 3);
	for (size_t i = 1; i <= SIGV4_PARAMETERS_MAX; i++) {
		struct sigv4 request = { .path = SLICE("/") };

		head.target = (struct slice){ target, strlen(target) };
		request.query = (struct slice){ target + 2, head.target.n - 2 };
		assert_null(aws_request_refusal(&head));
		assert_true(aws_request_sign(&head, &request, &keys, NULL, 0, &made));
		strcat(target, "&a");
	}
	head.target = (struct slice){ target, strlen(target) };
	assert_non_null(aws_request_refusal(&head));

	head.target = SLICE("/");
	for (size_t i = 0; i < 40; i++) {
		struct sigv4 request = { .path = SLICE("/"),
		    .fields = { { SLICE("Host"), SLICE("h") } }, .n_fields = 1 };

		memset(names[i], 'n', 110);
		memcpy(names[i], "x-amz-", 6);
		names[i][6] = (char)('0' + i / 10);
		names[i][7] = (char)('0' + i % 10);
		head.fields[head.n_fields++] = (struct head_field){
		    slice_of(names[i]), SLICE("v") };
		for (size_t k = 1; k < head.n_fields; k++)
			request.fields[request.n_fields++] = head.fields[k];
		if (aws_request_refusal(&head) != NULL) {
			assert_true(i > 30);
			return;
		}
		assert_true(aws_request_sign(&head, &request, &keys, NULL, 0, &made));
	}
	fail();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_documented),
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests_name("sigv4", tests, NULL, NULL);
}
