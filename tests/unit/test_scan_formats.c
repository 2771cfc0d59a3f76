/* Token formats: made-up tokens with right and wrong checksums, text that
 * only looks like one, and dummies of every shape.  Literals are split so that
 * no scanner mistakes this file for a leak. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/format/engine.h"
#include "ledger/scan/format/formats.h"

#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

/* Checksums computed by another program. */
static const struct { const char *id, *token; size_t prefix_len; } checked[] = {
	{ "github-ghp", GHP, 4 },
	{ "npm", "npm" "_aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC12qUI4f", 4 },
	{ "gitlab-pat-routable1", "glpat" "-Xw3kQz81LmPvRtYb2NcDsH4jGf9a.01.0s02tt8wn", 6 },
	{ "grafana-sa", "glsa" "_Hk3LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk_91be9640", 5 },
	{ "confluent", "cflt" "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3gH5jK7mN9pQ1sT3vW5yZ7mKHAdg", 4 },
	{ "zuplo", "zpka" "_q7xk2lmzp9rtvb4ncw8syd1hgj5aefk3_4795c79a", 5 },
	{ "github-pat-fg", "github" "_pat_11ABCDEFG0Q7xk2LmZp9Rt_Vb4NcW8sYd1HgJ5aEf"
	    "Q7xk2LmZp9RtVb4NcW8sYd1HgH2WRUDAKQ7xk2Lm9", 11 },
	{ "age", "AGE-SECRET" "-KEY-1R23CLXD5MZFSH79VN6PG0KAYTJEQ8W4UR23CLXD5MZFSH79VN6PGP5X68K", 16 },
};

/* Without a checksum, yet told by their shape. */
static const struct { const char *id, *token; } plain[] = {
	{ "gitlab-pat", "glpat" "-Xw3kQz81LmPvRtYb2NcD" },
	{ "stripe", "sk" "_live_Q7xk2LmZp9RtVb4NcW8sYd1H" },
	{ "openai-proj", "sk-proj" "-Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aT3BlbkFJQ7xk2LmZp9RtVb4NcW8sYd1HgJ5a" },
	{ "slack-bot", "xoxb" "-123456789012-123456789012-Q7xk2LmZp9RtVb4NcW8sYd1H" },
	{ "aws-akid", "AKIA" "Q7XK2LMZP5RTVB4N" },
	{ "sendgrid", "SG" ".Q7xk2LmZp9RtVb4NcW8sYd.1HgJ5aEfQ7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2" },
	{ "terraform", "Q7xk2LmZp9RtVb.atlas" "v1.4NcW8sYd1HgJ5aEfQ7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9RtVb4N" },
	{ "azure-ad-secret", "Q7x8Q" "~Lm.Zp9RtVb4NcW8sYd1HgJ5aEfQ7xk2L-m" },
	{ "telegram", "1234567890:A" "Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk" },
	{ "discord-bot", "MTIzNDU2Nzg5MDEyMzQ1Njc4.GaBcDe" ".Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZ" },
	{ "doppler", "dp" ".st.prod.Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9" },
	{ "anthropic", "sk-ant" "-api03-Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf"
	    "Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf_-LAA" },
};

static struct scan_engine *engine;
static struct scan_hits hits;

static int
setup(void **state)
{
	char err[200];

	return sodium_init() < 0 || (engine = scan_engine_new(err, sizeof(err))) == NULL;
}

static int
teardown(void **state)
{
	scan_engine_free(engine);
	scan_hits_free(&hits);
	return 0;
}

/* The n-th match of a text. */
static bool
nth(const void *text, size_t len, size_t n, struct scan_match *m)
{
	assert_int_equal(scan_engine_run(engine, text, len, NULL, &hits), 0);
	if (n < hits.n)
		*m = hits.hit[n].match;
	return n < hits.n;
}

static bool
first(const char *text, struct scan_match *m)
{
	return nth(text, strlen(text), 0, m);
}

static void
checksums(void **state)
{
	char token[256];
	struct scan_match m;
	size_t i, len;

	for (i = 0; i < sizeof(checked) / sizeof(checked[0]); i++) {
		len = strlen(checked[i].token);
		assert_true(scan_formats_match(checked[i].token, len, &m));
		assert_string_equal(scan_format_id(m.format), checked[i].id);
		assert_int_equal(m.confidence, SCAN_HIGH);
		assert_int_equal(m.prefix_len, checked[i].prefix_len);
		assert_true(scan_format_check(m.format) < SCAN_CHECKSUMS);
		/* a body changed: still a finding, with less confidence */
		memcpy(token, checked[i].token, len + 1);
		token[m.prefix_len + 3] = token[m.prefix_len + 3] == 'X' ? 'Q' : 'X';
		if (!strcmp(checked[i].id, "zuplo"))
			token[m.prefix_len + 3] = 'x';
		assert_true(scan_formats_match(token, len, &m));
		assert_int_equal(m.confidence, SCAN_LOW);
	}
}

static void
shapes(void **state)
{
	struct scan_match m;
	char text[512];
	size_t i, len;

	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		len = strlen(plain[i].token);
		assert_true(scan_formats_match(plain[i].token, len, &m));
		assert_string_equal(scan_format_id(m.format), plain[i].id);
		assert_int_equal(m.confidence, SCAN_MEDIUM);
		snprintf(text, sizeof(text), "{\"a\":\"%s\",\"b\":1}", plain[i].token);
		assert_true(first(text, &m));
		assert_int_equal(m.start, 6);
		assert_int_equal(m.len, len);
		assert_string_equal(scan_format_id(m.format), plain[i].id);
	}
}

/* Glued to other words: a right checksum tells it all the same. */
static void
glued(void **state)
{
	struct scan_match m;

	assert_true(first("errorghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9unexpected", &m));
	assert_string_equal(scan_format_id(m.format), "github-ghp");
	assert_int_equal(m.start, 5);
	assert_int_equal(m.len, 40);
	assert_int_equal(m.confidence, SCAN_HIGH);
	assert_true(first("\x1b[31mglpat" "-aB3dE5gH7jK9mN1pQ3sT\x1b[m", &m));
	assert_int_equal(m.start, 5);
	assert_false(first("a[31nglpat" "-aB3dE5gH7jK9mN1pQ3sT", &m));
}

/* Nothing of this is a secret. */
static void
innocent(void **state)
{
	static const char *text[] = {
		"", "g", "ghp_", "the prefix ghp_ is followed by 36 characters",
		"ghp_short", "xghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV8",
		"xglpat" "-aB3dE5gH7jK9mN1pQ3sT", "glpat" "-aB3dE5gH7jK9mN1pQ3sTx",
		"\"integrity\": \"sha512-aWs3kd0Zq1bN2vLx7yTgRk5uHe8PmC4oJfDiSa6XwQ9rYtVbEnUlMzKhGc+/Op==\"",
		"commit 4f1c0de9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3",
		"-----BEGIN RSA PRIVATE KEY----- is how such a file begins, and a reader knows it",
		"AKIA" "IOSFODNN7EXAMPLE", "password = ${DB_PASSWORD}", "token: [REDACTED]",
		"Authorization: Bearer [REDACTED]", "https://user:***@host.example/", "secret: correct-horse-battery",
		"eyJub3QiOiJhIGp3dCJ9", "prefix-us10", "run_Q7xk2LmZp9RtVb4NcW8sYd",
		"sha256:1111111111111111111111111111111111111111111111111111111111111111",
		"data/v1.0-beta", "A3-SHORT", "okta is a company", "00000000000000000000000000000000000000000000",
	};
	struct scan_match m;
	size_t i;

	for (i = 0; i < sizeof(text) / sizeof(text[0]); i++)
		if (first(text[i], &m))
			fail_msg("%s found in sample %zu", scan_format_id(m.format), i);
}

static void
context(void **state)
{
	static const struct { const char *text, *id; enum scan_confidence least; } sample[] = {
		{ "Authorization: Bearer Q7xk2LmZp9RtVb4NcW8sYd", "http-bearer", SCAN_MEDIUM },
		{ "{\\\"AUTHORIZATION\\\": \\\"Basic dXNlcjpRN3hrMkxtWnA5\\\"}", "http-basic", SCAN_HIGH },
		{ "postgres://app:Q7xk2LmZp9@db.example/x", "url-creds", SCAN_MEDIUM },
		{ "password = \"Q7xk2LmZp9RtVb\"", "generic-assign", SCAN_LOW },
		{ "aws_secret_access_key=Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9", "aws-secret", SCAN_LOW },
		{ "DATADOG_API_KEY: 0123456789abcdef0123456789abcdef", "datadog", SCAN_LOW },
		{ "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibiI6MX0.Q7xk2LmZp9RtVb", "jwt", SCAN_HIGH },
		{ "eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0.eyJzdWIiOiIxMjM0NTY3ODkwIiwibiI6MX0.Q7xk2LmZp9RtVb", "jwt", SCAN_LOW },
		{ "-----BEGIN" " PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ", "pem-private", SCAN_HIGH },
	};
	struct scan_match m;
	size_t i;

	for (i = 0; i < sizeof(sample) / sizeof(sample[0]); i++) {
		assert_true(first(sample[i].text, &m));
		assert_string_equal(scan_format_id(m.format), sample[i].id);
		assert_int_equal(m.confidence, sample[i].least);
	}
	/* the token counts, not the assignment or header around it */
	assert_true(first("my_token = \"" GHP "\"", &m));
	assert_string_equal(scan_format_id(m.format), "github-ghp");
	assert_true(first("Authorization: Bearer " GHP, &m));
	assert_string_equal(scan_format_id(m.format), "github-ghp");
	assert_true(first("https://x-access-token:" GHP "@git.example/", &m));
	assert_string_equal(scan_format_id(m.format), "github-ghp");
}

/* A letter of an escape before it is no part of the token. */
static void
after_escapes(void **state)
{
	static const char *before[] = { "\\n", "\\t", "%3D", "%20", "\\u003d", "\\\"", "=", " ", "\xc3\xa9" };
	struct scan_match m;
	char text[128];
	size_t i;

	for (i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		snprintf(text, sizeof(text), "a%s%s", before[i], GHP);
		assert_true(first(text, &m));
		assert_int_equal(m.start, 1 + strlen(before[i]));
	}
}

static void
several(void **state)
{
	static const char text[] = GHP "," GHP "\n" GHP;
	struct scan_match m;
	size_t n = 0;

	while (nth(text, sizeof(text) - 1, n, &m))
		assert_int_equal(m.start, 41 * n++);
	assert_int_equal(n, 3);
}

/* A dummy is of the same format, passes its checksum, and is another one. */
static void
dummies(void **state)
{
	char out[512];
	struct scan_match m, d;
	size_t i, len;

	for (i = 0; i < sizeof(checked) / sizeof(checked[0]); i++) {
		len = strlen(checked[i].token);
		assert_true(scan_formats_match(checked[i].token, len, &m));
		assert_int_equal(scan_formats_dummy(checked[i].token, len, out), 0);
		assert_memory_equal(out, checked[i].token, m.prefix_len);
		assert_memory_not_equal(out, checked[i].token, len);
		assert_true(scan_formats_match(out, len, &d));
		assert_ptr_equal(d.format, m.format);
		assert_int_equal(d.confidence, SCAN_HIGH);
	}
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		len = strlen(plain[i].token);
		assert_int_equal(scan_formats_dummy(plain[i].token, len, out), 0);
		assert_memory_not_equal(out, plain[i].token, len);
		assert_true(scan_formats_match(out, len, &d));
		assert_string_equal(scan_format_id(d.format), plain[i].id);
	}
	assert_int_equal(scan_formats_dummy("plain text", 10, out), -1);
	assert_int_equal(scan_formats_dummy("", 0, out), -1);
}

/* No text makes it slow or reads past an end (the sanitizers watch). */
static void
hostile_text(void **state)
{
	static const char *unit[] = { "token", "AKIA", "eyJ", "-----BEGIN ", "ghs_1_", "pypi-AgEIcHlwaS5vcmc",
	    "://a:", "M.", ".", "sk-proj-T3BlbkFJ", "\xff", "SG.", "glpat-" };
	static uint8_t text[200000];
	size_t i, k, n;

	for (i = 0; i < sizeof(unit) / sizeof(unit[0]); i++) {
		n = strlen(unit[i]);
		for (k = 0; k < sizeof(text); k++)
			text[k] = (uint8_t)unit[i][k % n];
		assert_int_equal(scan_engine_run(engine, text, sizeof(text), NULL, &hits), 0);
		for (k = 0; k < hits.n; k++)
			assert_true(hits.hit[k].match.len > 0 && hits.hit[k].match.start +
			    hits.hit[k].match.len <= sizeof(text));
	}
	for (i = 0; i <= 40; i++) {
		assert_int_equal(scan_engine_run(engine, (const uint8_t *)GHP, i, NULL, &hits), 0);
		assert_int_equal(hits.n, i == 40);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksums),
		cmocka_unit_test(shapes),
		cmocka_unit_test(innocent),
		cmocka_unit_test(glued),
		cmocka_unit_test(context),
		cmocka_unit_test(after_escapes),
		cmocka_unit_test(several),
		cmocka_unit_test(dummies),
		cmocka_unit_test(hostile_text),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
