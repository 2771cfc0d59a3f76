/* The forms beside text, hex and base64: each becomes the marker in every split,
 * and not a byte more is held back than may still become one. */
#include "redact_case.h"
#include "scan_forms.h"

#define TOKEN "tok_Q7v/x+9Zk\"4&<w>"

static void
check_text(struct redact *r, const struct text *in, const char *want,
    uint32_t count)
{
	check_with(r, (struct slice){ in->p, in->n }, slice_of(want), count);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"	/* the tables below */
static void
spell(struct text *t, const char *format, const char *secret)
{
	char one[16];

	for (size_t i = 0; secret[i] != '\0'; i++) {
		snprintf(one, sizeof(one), format, (unsigned char)secret[i]);
		add(t, one, strlen(one));
	}
}

static void
test_more_escapes(void **state)
{
	static const char *const formats[] = { "=%02X", "=%02x", "\\%03o", "\\u{%x}",
	    "\\u{%04X}", "%02x:", "%02X-", "%02x ", "0x%02x, ", "%02x\n", "%02x, \\n",
	    "%u,", "%u, ", "%u ", "%u,\r\n        " };
	struct redact *r = looking_for(SLICE(TOKEN), NULL);
	struct text in = { NULL, 0, 0 };
	char *end;

	for (size_t i = 0; i < N(formats); i++) {
		in.n = 0;
		add(&in, "<", 1);
		spell(&in, formats[i], TOKEN);
		/* what stands between two stays behind the last; "0x" in front of the first */
		end = strpbrk(formats[i], formats[i][1] == 'u' ? ",\n " : ":-\n ");
		if (formats[i][0] == '%' && end != NULL)
			in.n -= strlen(end);
		if (strcmp(formats[i], "%02x, \\n") == 0)
			in.n--;
		if (strncmp(formats[i], "0x", 2) == 0)
			in.n -= 2;
		add(&in, ">", 1);
		check_text(r, &in, formats[i][0] == '0' ? "<0x" M ">" : "<" M ">", 1);
	}
	free(in.p);
	redact_free(r);
}

static void
test_soft_breaks_and_doubles(void **state)
{
	struct redact *r = looking_for(SLICE("a/b+c=d&\"e f"), NULL);

	check(r, "<a/b=\n+c=3Dd&=\r\n\"e f>", "<" M ">", 1);
	check(r, "<a/b=\n=\n+c=3Dd&\"e f>", "<a/b=\n=\n+c=3Dd&\"e f>", 0);
	check(r, "<a%252Fb%252bc%253Dd%2526%2522e%2520f>", "<" M ">", 1);
	check(r, "<a&sol;b&plus;c&equals;d&amp;&quot;e f>", "<" M ">", 1);
	check(r, "<a/b+c=d\\\\u0026\\\\\\\"e f>", "<" M ">", 1);
	check(r, "<%2561/b+c=d&\"e f>", "<%2561/b+c=d&\"e f>", 0);	/* nobody writes that */
	redact_free(r);
}

static void
test_utf16(void **state)
{
	struct redact *r = looking_for(SLICE("secret-one"), NULL);

	/* whole units are left on both sides, in either order */
	check_with(r, SLICE("x\0s\0e\0c\0r\0e\0t\0-\0o\0n\0e\0y\0"),
	    SLICE("x\0[\0r\0e\0d\0a\0c\0t\0e\0d\0]\0y\0"), 1);
	check_with(r, SLICE("\0x\0s\0e\0c\0r\0e\0t\0-\0o\0n\0e\0y"),
	    SLICE("\0x\0[\0r\0e\0d\0a\0c\0t\0e\0d\0]\0y"), 1);
	check_with(r, SLICE("s\0e\0c\0r\0e\0t\0-\0o\0n\0e"),
	    SLICE("[\0r\0e\0d\0a\0c\0t\0e\0d\0]"), 1);
	check_with(r, SLICE("s\0e\0c\0r\0e\0t\0-\0o\0n\0E\0"),
	    SLICE("s\0e\0c\0r\0e\0t\0-\0o\0n\0E\0"), 0);
	redact_free(r);
	/* a short one too; but not what is other units than bytes and NULs */
	r = looking_for(SLICE("pin4"), NULL);
	check_with(r, SLICE("\0p\0i\0n\0004"), SLICE("\0[\0r\0e\0d\0a\0c\0t\0e\0d\0]"), 1);
	redact_free(r);
	r = looking_for(SLICE("p\xc3\xa4ssword"), NULL);
	check_with(r, SLICE("p\0\xc3\0\xa4\0s\0s\0w\0o\0r\0d\0"),
	    SLICE("p\0\xc3\0\xa4\0s\0s\0w\0o\0r\0d\0"), 0);
	redact_free(r);
}

static size_t
base32(const unsigned char *p, size_t n, const char *alphabet, char *out)
{
	size_t bits = 0, len = 0;
	unsigned window = 0;

	for (size_t i = 0; i < n; i++) {
		window = window << 8 | p[i];
		for (bits += 8; bits >= 5; bits -= 5)
			out[len++] = alphabet[window >> (bits - 5) & 31];
	}
	if (bits > 0)
		out[len++] = alphabet[window << (5 - bits) & 31];
	return len;
}

/* The digits that hold bits of the secret, wherever it stands in what was
 * encoded, are gone; those that do not are there. */
static void
test_base32(void **state)
{
	static const char upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	static const char small[] = "abcdefghijklmnopqrstuvwxyz234567";
	const size_t len = sizeof(TOKEN) - 1;
	struct redact *r = looking_for(SLICE(TOKEN), NULL);
	unsigned char plain[64];
	char digits[128], want[160], in[130];

	for (size_t before = 0; before < 11; before++)
		for (size_t after = 0; after < 6; after++) {
			randombytes_buf(plain, sizeof(plain));
			memcpy(plain + before, TOKEN, len);
			size_t n = base32(plain, before + len + after,
			    after % 2 == 0 ? upper : small, digits);
			size_t first = before * 8 / 5, end = ((before + len) * 8 + 4) / 5;
			snprintf(want, sizeof(want), "\"%.*s" M "%.*s\"", (int)first,
			    digits, (int)(n - end), digits + end);
			snprintf(in, sizeof(in), "\"%.*s\"", (int)n, digits);
			check(r, in, want, 1);
		}
	redact_free(r);
	r = looking_for(SLICE("foobar"), NULL);
	check(r, "MZXW6YTBOI====== mzxw\n6ytb\r\noi", M "====== " M, 2);
	check(r, "MZXW6YTBPI======", "MZXW6YTBPI======", 0);
	redact_free(r);
	r = looking_for(SLICE("pin4"), NULL);	/* short: chance would find it */
	check(r, "OBUW4NA=", "OBUW4NA=", 0);
	redact_free(r);
}

static void
test_turned(void **state)
{
	struct redact *r = looking_for(SLICE("Secret-One9"), NULL);

	check(r, "<9enO-terceS> <Frperg-Bar9>", "<" M "> <" M ">", 2);
	check(r, "<9enO-terces> <Frperg-Bar8>", "<9enO-terces> <Frperg-Bar8>", 0);
	redact_free(r);
	r = looking_for(SLICE("pin4"), NULL);
	check(r, "4nip cva4", "4nip cva4", 0);
	redact_free(r);
}

static void
test_held_back_exactly(void **state)
{
	static const struct { struct slice in; size_t held; } cases[] = {
		{ SLICE(".6b "), 3 }, { SLICE(".6b:"), 3 }, { SLICE(".6b: 0"), 5 },
		{ SLICE(".6b: 0x6"), 7 }, { SLICE(".6b: 0."), 0 }, { SLICE(".6 "), 0 },
		{ SLICE(".6b:65"), 5 }, { SLICE(".6b:66"), 1 },
		{ SLICE(".6b            "), 14 }, { SLICE(".6b             "), 0 },
		{ SLICE(".10"), 2 }, { SLICE(".107"), 3 }, { SLICE(".107,"), 4 },
		{ SLICE(".107, 1"), 6 }, { SLICE(".107, 2"), 1 },
		{ SLICE(".=6b"), 3 }, { SLICE(".=6c"), 1 }, { SLICE(".k=\r"), 3 },
		{ SLICE(".k=\r\n"), 4 }, { SLICE(".k=\n\n"), 0 },
		{ SLICE(".k\0e\0"), 4 }, { SLICE(".k\0f\0"), 0 },
		{ SLICE(".bb"), 2 }, { SLICE(".bbbb-"), 5 }, { SLICE(".bbbb+"), 0 },
		{ SLICE(".xrl-"), 4 }, { SLICE(".xrl+"), 0 },
		{ SLICE(".NNSXS"), 5 }, { SLICE(".NNSXSLLB"), 8 }, { SLICE(".NNSXSLLC"), 1 },
	};
	struct redact *r = looking_for(SLICE("key-aaaa-bbbb"), NULL);
	char out[256];

	for (size_t i = 0; i < N(cases); i++) {
		size_t n = cases[i].in.n, got;
		redact_reset(r);
		got = redact_feed(r, cases[i].in.p, n, false, out);
		if (n - got != cases[i].held)
			fail_msg("%s: %zu held", cases[i].in.p, n - got);
		got = redact_feed(r, "", 0, true, out);
		assert_int_equal(got, cases[i].held);
	}
	redact_free(r);
}

/* Base64 in base64: at every alignment of either, in both alphabets; what stays is of
 * what stands beside the secret. */
static void
test_twice(void **state)
{
	static const int variants[] = { sodium_base64_VARIANT_ORIGINAL,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING };
	static const char *const secrets[] = { "tok_Q7v/x+9Zk?>~\xff\xfe", "sixbyt", TOKEN };
	struct text out = { NULL, 0, 0 };
	char plain[128], once[256], twice[512], left[256];

	(void)state;
	for (size_t s = 0; s < N(secrets); s++) {
		struct redact *r = looking_for(slice_of(secrets[s]), "user");
		for (unsigned i = 0; i < 36; i++) {
			int n = snprintf(plain, sizeof(plain), "%.*s%s%s", (int)(i % 3), "ab",
			    secrets[s], i % 2 != 0 ? "" : "z");
			sodium_bin2base64(once, sizeof(once), (const unsigned char *)plain, (size_t)n,
			    variants[i / 9 % 2]);
			n = snprintf(left, sizeof(left), "%.*s%s", (int)(i / 3 % 3), ": ", once);
			sodium_bin2base64(twice, sizeof(twice), (const unsigned char *)left, (size_t)n,
			    variants[i / 18]);
			for (size_t first = 1; first < strlen(twice); first++) {
				run(r, slice_of(twice), first, sizeof(twice), &out);
				assert_int_equal(redact_count(r), 1);
				assert_true(out.n <= 8 + strlen(M) + 12);
			}
		}
		redact_free(r);
	}
	free(out.p);
}

/* The scanner's list of forms, and what it finds beyond this: packed files, and
 * encodings in encodings.  (zstd keeps so short a text as it is.) */
static void
test_forms_of_the_scanner(void **state)
{
	static const char *const beyond[] = {
	    "base64 in JSON in escaped JSON, wrapped", "gzip", "zlib",
	    "tar in gzip", "zip", "newline split", "SSE split", "ANSI colours",
	    "zero-width spaces", "UTF-16 in gzip", "gzip in base64 in zstd" };
	static const char token[] = "tok_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9";
	struct redact *r = looking_for(slice_of(token), "user");
	struct text out = { NULL, 0, 0 };
	uint8_t in[SCAN_FORM_MAX];

	for (unsigned form = 0; form < SCAN_FORMS; form++) {
		size_t n = scan_form_make(form, token, in), first = 1;
		bool found, want = true;
		for (size_t i = 0; i < N(beyond); i++)
			want = want && strcmp(beyond[i], scan_form_name(form)) != 0;
		run(r, (struct slice){ (char *)in, n }, n, n, &out);
		found = redact_count(r) == 1;
		if (found != want)
			fail_msg("%s: %s", scan_form_name(form), found ? "found" : "missed");
		for (; first < n && n < 1000; first++) {
			run(r, (struct slice){ (char *)in, n }, first, n, &out);
			assert_int_equal(redact_count(r) == 1, want);
		}
	}
	free(out.p);
	redact_free(r);
}

/* The same from pieces as from one block, in noise made of what the forms are of. */
static void
test_random_splits(void **state)
{
	static const char alphabet[] = "tok_16,: -\n=\\x0\0TORXjbx";
	static const char *const formats[] = { "=%02X", "\\%03o", "%02x:", "0x%02x, ",
	    "%u, ", "%c", "%%25%02x" };
	struct redact *r = looking_for(SLICE("tok_tok_1x"), NULL);
	struct text in = { NULL, 0, 0 }, whole = { NULL, 0, 0 }, out = { NULL, 0, 0 };
	unsigned found = 0;

	for (unsigned round = 0; round < 2000; round++) {
		in.n = 0;
		for (unsigned i = randombytes_uniform(40); i > 0; i--)
			if (randombytes_uniform(8) == 0)
				spell(&in, formats[randombytes_uniform(N(formats))],
				    "tok_tok_1x" + randombytes_uniform(2) * 4);
			else
				add(&in, alphabet +
				    randombytes_uniform(sizeof(alphabet) - 1), 1);
		add(&in, "", 1);
		run(r, (struct slice){ in.p, in.n }, in.n, in.n, &whole);
		found += redact_count(r);
		for (unsigned i = 0; i < 6; i++) {
			run(r, (struct slice){ in.p, in.n }, 1 + randombytes_uniform(9),
			    1 + randombytes_uniform(20), &out);
			assert_int_equal(out.n, whole.n);
			assert_memory_equal(out.p, whole.p, whole.n);
		}
	}
	assert_true(found > 1000);
	free(in.p);
	free(whole.p);
	free(out.p);
	redact_free(r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_escapes),
		cmocka_unit_test(test_soft_breaks_and_doubles),
		cmocka_unit_test(test_utf16),
		cmocka_unit_test(test_base32),
		cmocka_unit_test(test_turned),
		cmocka_unit_test(test_held_back_exactly),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_forms_of_the_scanner),
		cmocka_unit_test(test_random_splits),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
