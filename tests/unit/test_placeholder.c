/* Dummies have the shape of what they stand for, and nothing of its body. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sodium.h>

#include "gate/placeholder.h"
#include "ledger/scan/format/formats.h"

#define N(cases) (sizeof(cases) / sizeof((cases)[0]))
#define PLAIN PLACEHOLDER_PLAIN

static char out[PLACEHOLDER_MAX + 1], again[PLACEHOLDER_MAX + 1];

static size_t
make(struct slice secret)
{
	size_t n = placeholder_make(secret, out, PLACEHOLDER_MAX);

	assert_in_range(n, 1, PLACEHOLDER_MAX);
	out[n] = '\0';
	assert_int_equal(strlen(out), n);
	assert_false(n == secret.n && memcmp(out, secret.p, n) == 0);
	assert_int_not_equal(placeholder_make(secret, again, PLACEHOLDER_MAX), 0);
	assert_memory_not_equal(out, again, n);		/* drawn each time */
	return n;
}

/* A longest run of the body's characters at their own places: chance gives a
 * few, copying gives many. */
static void
check_no_run(struct slice secret, size_t prefix)
{
	size_t run = 0, longest = 0;

	for (size_t i = prefix; i < secret.n; i++) {
		run = out[i] == secret.p[i] ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	assert_in_range(longest, 0, 7);
}

static void
test_one_alphabet(void **state)
{
	static const struct { const char *secret; size_t prefix; const char *alphabet; } cases[] = {
		{ "0123456789012345678901234567", 0, "0123456789" },
		{ "0f1e2d3c4b5a69788796a5b4c3d2e1f0", 0, "0123456789abcdef" },
		{ "0F1E2D3C4B5A69788796A5B4C3D2E1F0", 0, "0123456789ABCDEF" },
		{ "ABCDEFGHIJ234567ABCDEFGHIJ", 0, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567" },
		{ "qk3jx8v2mzb7w1ht5c9r4nd6", 0, "0123456789abcdefghijklmnopqrstuvwxyz" },
		{ "xyzzy-Qk3Jx8v2Mzb7W1ht5C9r4Nd6", 6, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" },
		{ "zz-live_Qk3Jx8v2Mzb7W1ht5C9r4Nd6", 8, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ" },
		{ "Qk3Jx-v2Mzb7_1ht5C9r4Nd6Zk", 0, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_" },
		{ "Qk3Jx+v2Mzb7/1ht5C9r4Nd6Zk==", 0, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+/=" },
		{ "3f2504e0-4f89-41d3-9a0c-0305e82c3301", 0, "0123456789abcdef-" },
		{ "Qk3Jx8v2Mz.b7W1ht5C9r.4Nd6Zk31Yp", 0, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ." },
	};

	for (size_t i = 0; i < N(cases); i++) {
		struct slice s = slice_of(cases[i].secret);
		assert_int_equal(make(s), s.n);
		assert_memory_equal(out, s.p, cases[i].prefix);
		assert_int_equal(strspn(out + cases[i].prefix, cases[i].alphabet),
		    s.n - cases[i].prefix);
		check_no_run(s, cases[i].prefix);
		for (size_t k = 0; k < s.n; k++)	/* joints stay where they are */
			if (s.p[k] == '.' || s.p[k] == '=')
				assert_int_equal(out[k], s.p[k]);
	}
	make(slice_of("3f2504e0-4f89-41d3-9a0c-0305e82c3301"));
	assert_true(out[8] == '-' && out[13] == '-' && out[18] == '-' && out[23] == '-');
}

static void
test_prefixes_not_kept(void **state)
{
	static const char *const secrets[] = {
		"dead-0f1e2d3c4b5a69788796a5b4c3d2e1f0",	/* could be hex */
		"q-3jx8v2mzb7w1ht5c9r4nd6Kx",			/* one letter */
		"aB-3jx8v2mzb7w1ht5c9r4nd6Kx",			/* two cases */
		"k3y-3jx8v2mzb7w1ht5c9r4nd6Kx",			/* a digit */
		"abcdefghijklm-3jx8v2mzb7w1ht5c9r4nd6Kx",	/* too far in */
	};

	for (size_t i = 0; i < N(secrets); i++) {
		struct slice s = slice_of(secrets[i]);
		unsigned same = 0;
		for (int k = 0; k < 20; k++) {
			assert_int_equal(make(s), s.n);
			same += memcmp(out, s.p, 2) == 0;
		}
		assert_in_range(same, 0, 10);
	}
}

/* What a client remembers of a key (its last 20 characters) is the same in all
 * dummies; what names the run is not. */
static void
test_ends_alike(void **state)
{
	static const char tail[] = "-countersign-dummyAA";
	char secret[109], other[109];
	struct scan_match match;

	snprintf(secret, sizeof(secret), "sk-ant-api03-%.93sAA",
	    "Qk3Jx8v2Mzb7W1ht5C9r4Nd6Zk31Yp-_Qk3Jx8v2Mzb7W1ht5C9r4Nd6Zk31Yp-_"
	    "Qk3Jx8v2Mzb7W1ht5C9r4Nd6Zk31Yp-_");
	snprintf(other, sizeof(other), "%s", secret);
	memcpy(other + 3, "ant-adm", 7);	/* no such format: nothing is fixed */
	assert_int_equal(make(slice_of(secret)), 108);
	assert_string_equal(out + 88, tail);
	assert_memory_equal(again + 88, tail, 20);
	assert_memory_not_equal(out + 13, again + 13, 16);
	assert_true(scan_formats_match(out, 108, &match) && match.len == 108);
	make(slice_of(other));
	assert_null(strstr(out, "countersign-dummy"));
}

static void
test_plain(void **state)
{
	static const char *const secrets[] = { "x", "hunter2", "0123456789",
	    "p@ssw0rd with some more words!", "two words and nothing more here",
	    "short_1", "line\none that goes on for quite a while", "tr\xc3\xa9s-secret-et-long-comme-tout",
	    "...................................." };
	static char longest[PLACEHOLDER_MAX + 1];

	for (size_t i = 0; i < N(secrets); i++) {
		assert_int_equal(make(slice_of(secrets[i])), sizeof(PLAIN) - 1 + 32);
		assert_memory_equal(out, PLAIN, sizeof(PLAIN) - 1);
	}
	memset(longest, 'x', sizeof(longest));
	make((struct slice){ longest, sizeof(longest) });
	assert_memory_equal(out, PLAIN, sizeof(PLAIN) - 1);
	assert_int_equal(make((struct slice){ longest, PLACEHOLDER_MAX }),
	    PLACEHOLDER_MAX);
}

static void
test_known_formats(void **state)
{
	/* made-up tokens, cut so that they are none in this file */
	static const char *const secrets[] = {
		"ghp" "_" "0123456789abcdefghijABCDEFGHIJ0aBcDe",
		"glpat" "-" "AbCdEfGhIjKlMnOpQrSt",
	};
	struct scan_match match, dummy;

	for (size_t i = 0; i < N(secrets); i++) {
		struct slice s = slice_of(secrets[i]);
		assert_true(scan_formats_match(s.p, s.n, &match));
		assert_int_equal(make(s), s.n);
		assert_memory_equal(out, s.p, match.prefix_len);
		check_no_run(s, match.prefix_len);
		assert_true(scan_formats_match(out, s.n, &dummy));
		assert_ptr_equal(dummy.format, match.format);
	}
	/* GitHub's checksum is made right: some clients test it */
	make(slice_of(secrets[0]));
	assert_true(scan_formats_match(out, strlen(out), &dummy));
	assert_int_equal(dummy.confidence, SCAN_HIGH);
}

static void
test_jwt(void **state)
{
	/* {"alg":"RS256"} . {"sub":"somebody"} . signature */
	static const char secret[] = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9.c2lnbmF0dXJlLXNpZ25hdHVyZQ";
	unsigned char part[256];
	size_t n, len;
	char *dot, *end;

	n = make(slice_of(secret));
	assert_null(strstr(out, "eyJzdWIiOiJzb21lYm9keSJ9"));
	dot = strchr(out, '.');
	assert_non_null(dot);
	assert_int_equal(sodium_base642bin(part, sizeof(part), out, (size_t)(dot - out),
	    NULL, &len, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
	assert_memory_equal(part, "{\"alg\":\"HS256\",\"typ\":\"JWT\"}", len);
	end = strchr(dot + 1, '.');
	assert_non_null(end);
	assert_int_equal(sodium_base642bin(part, sizeof(part) - 1, dot + 1,
	    (size_t)(end - dot) - 1, NULL, &len, NULL,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING), 0);
	part[len] = '\0';
	assert_non_null(strstr((char *)part, "\"exp\":4102444800"));
	assert_int_equal(strlen(end + 1), 43);
	/* not quite JWTs keep the dots of their own */
	for (size_t cap = 0; cap < n; cap++)
		assert_int_equal(placeholder_make(slice_of(secret), again, cap), 0);
	assert_int_not_equal(placeholder_make(slice_of(secret), again, n), 0);
	make(SLICE("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9"));
	assert_memory_not_equal(out, "eyJ", 3);
	make(SLICE("eyJhbGciOiJSUzI1NiJ9..c2lnbmF0dXJlLXNpZ25hdHVyZQ"));
	make(SLICE("eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzb21lYm9keSJ9.c2ln!"));
}

static void
test_pem(void **state)
{
	static char secret[16384];
	static const char begin[] = "-----BEGIN " "PRIVATE KEY-----\n";
	static const char end[] = "\n-----END " "PRIVATE KEY-----";
	size_t n = sizeof(begin) - 1, made;

	memcpy(secret, begin, n);
	for (size_t i = 0; i < 400; i++)
		secret[n++] = i % 65 == 64 ? '\n' : "QkJCQ0RF"[i % 8];
	memcpy(secret + n, end, sizeof(end) - 1);
	n += sizeof(end) - 1;
	made = make((struct slice){ secret, n });
	assert_memory_equal(out, begin, sizeof(begin) - 1);
	assert_string_equal(out + made - (sizeof(end) - 1), end);
	assert_in_range(made, n - 20, n + 20);
	assert_int_equal(strcspn(out + sizeof(begin) - 1, "\n"), 64);
	for (size_t cap = 0; cap < made; cap++)
		assert_int_equal(placeholder_make((struct slice){ secret, n }, again,
		    cap), 0);

	/* one line, and longer than a dummy gets */
	n = sizeof(begin) - 2;
	memset(secret + n, 'Q', sizeof(secret) - n);
	made = make((struct slice){ secret, sizeof(secret) });
	assert_in_range(made, 1600, 1700);
	assert_null(strchr(out, '\n'));

	/* no body, and labels that are none */
	make(SLICE("-----BEGIN KEY-----\n-----END KEY-----"));
	assert_memory_equal(out, PLAIN, 5);
	make(SLICE("-----BEGIN "));
	assert_memory_equal(out, PLAIN, 5);
	make(SLICE("-----BEGIN private KEY-----abc"));
	assert_memory_equal(out, PLAIN, 5);
	make(SLICE("-----BEGIN -----abc"));
	assert_memory_equal(out, PLAIN, 5);
}

static void
test_room(void **state)
{
	assert_int_equal(placeholder_make(SLICE("hunter2"), out, 46), 0);
	assert_int_equal(placeholder_make(SLICE("hunter2"), out, 47), 47);
	assert_int_equal(placeholder_make(SLICE("0f1e2d3c4b5a69788796a5b4c3d2e1f0"), out, 31), 0);
	assert_int_equal(placeholder_make(SLICE("0f1e2d3c4b5a69788796a5b4c3d2e1f0"), out, 32), 32);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_alphabet),
		cmocka_unit_test(test_prefixes_not_kept),
		cmocka_unit_test(test_ends_alike),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_known_formats),
		cmocka_unit_test(test_jwt),
		cmocka_unit_test(test_pem),
		cmocka_unit_test(test_room),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
