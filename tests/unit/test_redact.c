/* Every form of a secret becomes the marker, whatever pieces the stream comes in;
 * what only looks like it for a while goes by unchanged, and not a byte late. */
#include "redact_case.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN "tok_Q7v/x+9Zk\"4&<w>"	/* something of all that is escaped */

/* --- ways to write a secret, by other code than redact's own ---------------- */

enum way { RAW, PERCENT, PERCENT_UPPER, URI, JSON, JSON_U, JSON_U_UPPER,
    JSON_SHORT, SLASH_X, HTML_DECIMAL, HTML_PADDED, HTML_HEX, HTML_HEX_4,
    HTML_HEX_3, HTML_DECIMAL_4, HTML_ZEROS, HTML_NAMED, HEX, HEX_UPPER, MIXED, WAYS };

static void
write_byte(struct text *t, enum way way, unsigned char c, size_t i)
{
	static const struct { char c; const char *name; } names[] = {
		{ '"', "&quot;" }, { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" } };
	char buf[16] = "";

	switch (way) {
	case PERCENT: snprintf(buf, sizeof(buf), "%%%02x", c); break;
	case PERCENT_UPPER: snprintf(buf, sizeof(buf), "%%%02X", c); break;
	case URI: snprintf(buf, sizeof(buf), strchr("/+\"&<>", c) ? "%%%02X" : "%c", c); break;
	case JSON: snprintf(buf, sizeof(buf), c == '"' ? "\\\"" : "%c", c); break;
	case JSON_U: snprintf(buf, sizeof(buf), "\\u%04x", c); break;
	case JSON_U_UPPER: snprintf(buf, sizeof(buf), "\\u%04X", c); break;
	case JSON_SHORT: snprintf(buf, sizeof(buf), strchr("/\"", c) ? "\\%c" :
	    strchr("&<>", c) ? "\\u%04x" : "%c", c); break;
	case SLASH_X: snprintf(buf, sizeof(buf), "\\x%02x", c); break;
	case HTML_DECIMAL: snprintf(buf, sizeof(buf), "&#%d;", c); break;
	case HTML_PADDED: snprintf(buf, sizeof(buf), "&#%03d;", c); break;
	case HTML_HEX: snprintf(buf, sizeof(buf), "&#x%X;", c); break;
	case HTML_HEX_4: snprintf(buf, sizeof(buf), "&#x%04x;", c); break;
	case HTML_HEX_3: snprintf(buf, sizeof(buf), "&#X%03X;", c); break;
	case HTML_DECIMAL_4: snprintf(buf, sizeof(buf), "&#%04d;", c); break;
	case HTML_ZEROS: snprintf(buf, sizeof(buf), i % 2 == 0 ?
	    "&#00000000%d;" : "&#x00000000%x;", c); break;
	case HTML_NAMED:
		snprintf(buf, sizeof(buf), "%c", c);
		for (size_t k = 0; k < N(names); k++)
			if (names[k].c == (char)c)
				snprintf(buf, sizeof(buf), "%s", names[k].name);
		break;
	case HEX: snprintf(buf, sizeof(buf), "%02x", c); break;
	case HEX_UPPER: snprintf(buf, sizeof(buf), "%02X", c); break;
	case MIXED: write_byte(t, (enum way)(i * 7 % HEX), c, i); return;
	default: snprintf(buf, sizeof(buf), "%c", c); break;
	}
	add(t, buf, strlen(buf));
}

static void
write_secret(struct text *t, enum way way, const char *secret, size_t n)
{
	for (size_t i = 0; i < n; i++)
		write_byte(t, way, (unsigned char)secret[i], i);
}

static void
test_all_escapes(void **state)
{
	struct redact *r = looking_for(SLICE(TOKEN), NULL);
	struct text in = { NULL, 0, 0 };

	for (unsigned way = 0; way < WAYS; way++) {
		in.n = 0;
		add(&in, "see: ", 5);
		write_secret(&in, (enum way)way, TOKEN, sizeof(TOKEN) - 1);
		add(&in, ", so\n", 5);
		check_with(r, (struct slice){ in.p, in.n }, SLICE("see: " M ", so\n"), 1);
	}
	free(in.p);
	redact_free(r);
}

/* The digits that hold bits of the secret, wherever it stands in what was
 * encoded, are gone; those that do not are there. */
static void
check_base64(struct redact *r, const char *secret, size_t len, int variant)
{
	unsigned char plain[512];
	char encoded[1024], want[1024];
	struct text in = { NULL, 0, 0 };

	for (size_t before = 0; before < 7; before++)
		for (size_t after = 0; after < 4; after++) {
			size_t total = before + len + after, first, end;
			randombytes_buf(plain, sizeof(plain));
			memcpy(plain + before, secret, len);
			sodium_bin2base64(encoded, sizeof(encoded), plain, total, variant);
			first = before * 8 / 6;
			end = ((before + len) * 8 + 5) / 6;
			snprintf(want, sizeof(want), "{\"a\":\"%.*s" M "%s\"}", (int)first,
			    encoded, encoded + end);
			in.n = 0;
			add(&in, "{\"a\":\"", 6);
			add(&in, encoded, strlen(encoded));
			add(&in, "\"}", 2);
			check_with(r, (struct slice){ in.p, in.n }, slice_of(want), 1);
		}
	free(in.p);
}

static void
test_base64(void **state)
{
	static const char *const secrets[] = { TOKEN, "abcdef", "ghp_0123456789abcdefghijABCDEFGHIJ012345",
	    "\xff\xfe\xfd\xfb\xef\xbf\xff" };
	for (size_t i = 0; i < N(secrets); i++) {
		struct redact *r = looking_for(slice_of(secrets[i]), "user");
		size_t n = strlen(secrets[i]);
		check_base64(r, secrets[i], n, sodium_base64_VARIANT_ORIGINAL);
		check_base64(r, secrets[i], n, sodium_base64_VARIANT_URLSAFE);
		check_base64(r, secrets[i], n, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
		redact_free(r);
	}
}

static void
test_base64_escaped_and_wrapped(void **state)
{
	/* a secret with many of the digits that are escaped */
	struct redact *r = looking_for(SLICE("\xff\xfe\xfd\xfb\xef\xbf\xff\xff\xff"), NULL);

	check(r, "<//79+++/////>", "<" M ">", 1);
	check(r, "<\\/\\/79+++\\/\\/\\/\\/\\/>", "<" M ">", 1);
	check(r, "<%2F%2f79%2B%2B+&#47;%2F%2F%2F%2F>", "<" M ">", 1);
	check(r, "<__79---_____>", "<" M ">", 1);
	check(r, "<//79\r\n+++/////>", "<" M ">", 1);
	check(r, "</\n/\n7\n9\n+++/////>", "<" M ">", 1);
	check(r, "<//79\\n+++\\r\\n/////>", "<" M ">", 1);
	check(r, "<//79\n\n+++/////>", "<//79\n\n+++/////>", 0);	/* held back no longer */
	check(r, "<//79\\\n+++/////>", "<//79\\\n+++/////>", 0);
	redact_free(r);
}

static void
test_basic(void **state)
{
	/* the user stays readable, nothing of the secret does */
	struct redact *r = looking_for(SLICE("s3cr3t/+token"), "x-access-token");

	check(r, "Authorization: Basic eC1hY2Nlc3MtdG9rZW46czNjcjN0Lyt0b2tlbg==\r\n",
	    "Authorization: Basic eC1hY2Nlc3MtdG9rZW46" M "==\r\n", 1);
	redact_free(r);
	/* a short secret only with its user */
	r = looking_for(SLICE("pin4"), "me");
	check(r, "Basic bWU6cGluNA== pin4 p%69n4", "Basic " M "== " M " " M, 3);
	check(r, "cGluNA== 70696e34", "cGluNA== 70696e34", 0);
	redact_free(r);
	r = looking_for(SLICE("pin4"), NULL);
	check(r, "Basic bWU6cGluNA== pin4", "Basic bWU6cGluNA== " M, 1);
	redact_free(r);
}

static void
test_what_only_looks_like_it(void **state)
{
	struct redact *r = looking_for(SLICE("abcabcabd"), NULL);

	check(r, "abcabcabcabd", "abc" M, 1);
	check(r, "abcabcab", "abcabcab", 0);
	check(r, "", "", 0);
	check(r, "a", "a", 0);
	check(r, "ABCABCABD", "ABCABCABD", 0);
	check(r, "%61%62%63%61%62%63%61%62%6", "%61%62%63%61%62%63%61%62%6", 0);
	check(r, "%%61bcabcabd", "%" M, 1);
	check(r, "%61abcabcabd", "%61" M, 1);	/* the escape is not the beginning */
	check(r, "\\u0061\\\\u0061bcabcabd", "\\u0061\\" M, 1);
	check(r, "&#&#97;bcabcabd", "&#" M, 1);
	check(r, "&#0&#0000097;bcabcabd", "&#0" M, 1);
	check(r, "&#000000000097;bcabcabd", "&#000000000097;bcabcabd", 0);	/* so many zeros nobody writes */
	check(r, "&#x0970;bcabcabd", "&#x0970;bcabcabd", 0);
	check(r, "616263616263616264", M, 1);
	check(r, "6616263616263616264", "6" M, 1);	/* off by half a byte */
	redact_free(r);
}

static void
test_touching_finds_are_one(void **state)
{
	struct redact *r = looking_for(SLICE("secret-one"), NULL);

	check(r, "secret-onesecret-one", M, 1);
	check(r, "secret-one secret-one", M " " M, 2);
	redact_free(r);
	/* overlapping: no tail of either survives */
	r = looking_for(SLICE("xyzxyzxy"), NULL);
	check(r, "xyzxyzxyzxyz", M "z", 1);
	check(r, "xyzxyzxyxyzxyzxy", M, 1);
	redact_free(r);
}

/* Bytes that cannot be part of a find are given out at once, others are not. */
static void
test_held_back_exactly(void **state)
{
	static const struct { const char *in; size_t held; } cases[] = {
		{ ".", 0 }, { "xk", 1 }, { "xke", 2 }, { "ke.", 0 },
		{ "x%", 1 }, { "x%6", 2 }, { "x%7", 0 }, { "x%6b", 3 }, { "x%6b%", 4 },
		{ "x%6b.", 0 }, { "x\\u00", 4 }, { "x\\u8", 0 }, { "x&#107", 5 },
		{ "x&#108", 0 }, { "x&#x6b", 5 }, { "x&#0", 3 }, { "x&#x00006", 8 }, { "x&#0.", 0 }, { "x&b", 1 }, { "x&.", 0 }, { "x6", 1 }, { "x6B", 2 },
		{ "x6b65", 4 }, { "x6b66", 1 }, { "key-aaaa-bbb", 12 },
		{ "key-aaaa-bbbb", 0 }, { "key-aaaa-bbbc", 1 }, { "key-key", 3 },
		{ "xa2V5", 4 }, { "xa2V5LWFhYWEtYmJi", 16 }, { "xa2V5LWFhYWEtYmJi\r", 17 },
		{ "xa2V5LWFhYWEtYmJiYg", 0 },
	};
	struct redact *r = looking_for(SLICE("key-aaaa-bbbb"), NULL);
	char out[256];

	for (size_t i = 0; i < N(cases); i++) {
		size_t n = strlen(cases[i].in), got, marker;
		redact_reset(r);
		got = redact_feed(r, cases[i].in, n, false, out);
		marker = redact_count(r) * (sizeof(M) - 1);
		if (marker == 0 && n - got != cases[i].held)
			fail_msg("%s: %zu held", cases[i].in, n - got);
		got = redact_feed(r, "", 0, true, out);
		assert_int_equal(got, cases[i].held);
	}
	redact_free(r);
}

/* A field value is one call; a find does not reach over from one to the next. */
static void
test_last_begins_anew(void **state)
{
	struct redact *r = looking_for(SLICE("secret-one"), NULL);
	char out[256];

	assert_int_equal(redact_feed(r, "secret", 6, true, out), 6);
	assert_int_equal(redact_feed(r, "-one", 4, true, out), 4);
	assert_int_equal(redact_count(r), 0);
	assert_int_equal(redact_feed(r, "secret-one", 10, true, out), sizeof(M) - 1);
	assert_int_equal(redact_feed(r, "secret-one", 10, true, out), sizeof(M) - 1);
	assert_int_equal(redact_count(r), 2);
	redact_reset(r);
	assert_int_equal(redact_count(r), 0);
	redact_free(r);
}

static void
random_text(char *p, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < n; i++)
		p[i] = digits[randombytes_uniform(64)];
}

static void
test_long_secret(void **state)
{
	static char secret[16384], noise[1000];
	struct redact *r;
	struct text in = { NULL, 0, 0 }, out = { NULL, 0, 0 };
	char *encoded = malloc(32768);

	assert_non_null(encoded);
	random_text(secret, sizeof(secret));
	for (size_t i = 64; i < sizeof(secret); i += 65)
		secret[i] = '\n';
	memset(noise, '.', sizeof(noise));
	r = looking_for((struct slice){ secret, sizeof(secret) }, NULL);
	assert_true(redact_bound(r, 0) < 20000);
	for (unsigned way = 0; way < WAYS + 1; way++) {
		in.n = 0;
		add(&in, noise, sizeof(noise));
		if (way < WAYS) {
			write_secret(&in, (enum way)way, secret, sizeof(secret));
		} else {
			sodium_bin2base64(encoded, 32768, (unsigned char *)secret,
			    sizeof(secret), sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
			add(&in, encoded, strlen(encoded));
		}
		add(&in, noise, sizeof(noise));
		for (size_t piece = 1; piece < 50000; piece = piece * 9 + 1) {
			run(r, (struct slice){ in.p, in.n }, piece, piece, &out);
			if (out.n != 2 * sizeof(noise) + sizeof(M) - 1)
				fail_msg("way %u, pieces of %zu: %zu", way, piece, out.n);
			assert_int_equal(redact_count(r), 1);
		}
	}
	/* CR LF for LF, as some print it; and a copy that breaks off or goes wrong */
	in.n = 0;
	for (size_t i = 0; i < 3000; i++)
		add(&in, secret[i] == '\n' ? "\r\n" : secret + i, secret[i] == '\n' ? 2 : 1);
	add(&in, noise, sizeof(noise));
	run(r, (struct slice){ in.p, in.n }, 777, 777, &out);
	assert_int_equal(out.n, sizeof(noise) + sizeof(M) - 1);
	free(in.p);
	free(out.p);
	free(encoded);
	redact_free(r);
}

/* Where a stream drives up more readers than there is room for, its rest is
 * hidden: the same in every split. */
static void
test_too_many_readers(void **state)
{
	static char secret[600], in[2000];
	struct redact *r;
	struct text out = { NULL, 0, 0 };

	memset(secret, 'a', sizeof(secret));
	memset(in, 'a', 400);
	memset(in + 400, '.', sizeof(in) - 400);
	r = looking_for((struct slice){ secret, sizeof(secret) }, NULL);
	for (size_t piece = 1; piece <= sizeof(in); piece += 61) {
		run(r, (struct slice){ in, sizeof(in) }, piece, piece, &out);
		assert_int_equal(out.n, sizeof(M) - 1);
		assert_memory_equal(out.p, M, sizeof(M) - 1);
	}
	free(out.p);
	redact_free(r);
	/* and a weak password is just one */
	memset(secret, 'a', 8);
	r = looking_for((struct slice){ secret, 8 }, NULL);
	check(r, "aaaaaaa aaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaa %61%61aaaaaa",
	    "aaaaaaa " M " " M " " M, 3);
	redact_free(r);
}

static void
test_random_splits_and_noise(void **state)
{
	static const char alphabet[] = "tok_Q7v/x+9Zk\"4&<w>%\\u06#;&qat\r\n74F6b";
	struct redact *r = looking_for(SLICE(TOKEN), NULL);
	struct text in = { NULL, 0, 0 }, whole = { NULL, 0, 0 }, out = { NULL, 0, 0 };

	for (unsigned round = 0; round < 300; round++) {
		in.n = 0;
		for (unsigned i = randombytes_uniform(60); i > 0; i--) {
			if (randombytes_uniform(4) == 0)
				write_secret(&in, (enum way)randombytes_uniform(WAYS), TOKEN,
				    randombytes_uniform(3) == 0 ? sizeof(TOKEN) - 1 :
				    randombytes_uniform(sizeof(TOKEN)));
			else
				add(&in, alphabet + randombytes_uniform(sizeof(alphabet) - 1), 1);
		}
		add(&in, "", 1);
		run(r, (struct slice){ in.p, in.n }, in.n, in.n, &whole);
		assert_null(memmem(whole.p, whole.n, TOKEN, sizeof(TOKEN) - 1));
		for (unsigned i = 0; i < 8; i++) {
			size_t piece = 1 + randombytes_uniform(20);
			run(r, (struct slice){ in.p, in.n }, 1 + randombytes_uniform(9),
			    piece, &out);
			assert_int_equal(out.n, whole.n);
			assert_memory_equal(out.p, whole.p, whole.n);
		}
	}
	free(in.p);
	free(whole.p);
	free(out.p);
	redact_free(r);
}

/* Whoever searches a text that holds others need not search those: plane/reply.c
 * looks at a head as a whole first. */
static void
test_found_in_any_context(void **state)
{
	static const char alphabet[] = "tok_Q7v/x+9Zk\"4&<w>%\\u06#;&qat\r\n74F6b: ";
	struct redact *r = looking_for(SLICE(TOKEN), NULL);
	struct text part = { NULL, 0, 0 }, whole = { NULL, 0, 0 }, out = { NULL, 0, 0 };
	unsigned found = 0;

	for (unsigned round = 0; round < 4000; round++) {
		part.n = whole.n = 0;
		for (unsigned i = randombytes_uniform(4); i > 0; i--)
			add(&part, alphabet + randombytes_uniform(sizeof(alphabet) - 1), 1);
		write_secret(&part, (enum way)randombytes_uniform(WAYS), TOKEN,
		    sizeof(TOKEN) - 1 - randombytes_uniform(2));
		run(r, (struct slice){ part.p, part.n }, part.n, part.n, &out);
		if (redact_count(r) == 0)
			continue;
		found++;
		for (unsigned i = randombytes_uniform(30); i > 0; i--)
			add(&whole, alphabet + randombytes_uniform(sizeof(alphabet) - 1), 1);
		add(&whole, part.p, part.n);
		for (unsigned i = randombytes_uniform(30); i > 0; i--)
			add(&whole, alphabet + randombytes_uniform(sizeof(alphabet) - 1), 1);
		run(r, (struct slice){ whole.p, whole.n }, whole.n, whole.n, &out);
		assert_true(redact_count(r) > 0);
	}
	assert_true(found > 1000);
	free(part.p);
	free(whole.p);
	free(out.p);
	redact_free(r);
}

static void
test_refused(void **state)
{
	static char user[2000];

	errno = 0;
	assert_null(redact_needles_new(SLICE("abc"), NULL));
	assert_int_equal(errno, EINVAL);
	assert_null(redact_needles_new(SLICE(""), NULL));
	memset(user, 'u', sizeof(user) - 1);
	assert_null(redact_needles_new(SLICE("long-enough"), user));
	assert_null(redact_needles_new((struct slice){ user, 1u << 25 }, NULL));
	redact_needles_unref(NULL);
	redact_free(NULL);
}

/* They hold the secret: in memory that cannot be locked there are none. */
static void
test_locked(void **state)
{
	const struct rlimit none = { 0, 0 };
	int status = 0;
	pid_t pid;

#ifdef __SANITIZE_ADDRESS__
	skip();		/* the address sanitizer turns mlock into nothing */
#endif
	if ((pid = fork()) == 0) {
		/* Root may lock whatever the limit is: become nobody. */
		if (setrlimit(RLIMIT_MEMLOCK, &none) != 0 ||
		    (geteuid() == 0 && setuid(65534) != 0))
			_exit(9);
		_exit(redact_needles_new(SLICE("long-enough"), NULL) == NULL &&
		    errno == ENOMEM ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 9)
		skip();
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_all_escapes),
		cmocka_unit_test(test_base64),
		cmocka_unit_test(test_base64_escaped_and_wrapped),
		cmocka_unit_test(test_basic),
		cmocka_unit_test(test_what_only_looks_like_it),
		cmocka_unit_test(test_touching_finds_are_one),
		cmocka_unit_test(test_held_back_exactly),
		cmocka_unit_test(test_last_begins_anew),
		cmocka_unit_test(test_long_secret),
		cmocka_unit_test(test_too_many_readers),
		cmocka_unit_test(test_random_splits_and_noise),
		cmocka_unit_test(test_found_in_any_context),
		cmocka_unit_test(test_refused),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
