/* What a variable of the environment decodes to: all of it is shown, noise is looked
 * through to its end, and what is nested too deep is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/run/run_views.h"

#include <string.h>

#include <sodium.h>
#include <zlib.h>
#include <zstd.h>

#define SECRET "Zq7-tH3-s3cr3t"

static char text[130000];

static bool
each(void *arg, const char *view, size_t len)
{
	return memmem(view, len, SECRET, strlen(SECRET)) != NULL;
}

static int
look(void)
{
	return run_views(text, strlen(text), each, NULL);
}

/* Base64 of 90,000 bytes by chance, the same ones each time.  In all but the last two
 * something like an escape that is none was followed down to the end. */
static void
test_noise(void **state)
{
	static const unsigned char seeds[] = { 6, 27, 36, 53, 66, 54, 82 };
	static unsigned char noise[90000];
	unsigned char seed[randombytes_SEEDBYTES];

	for (size_t i = 0; i < sizeof(seeds); i++) {
		memset(seed, 0, sizeof(seed));
		seed[0] = seeds[i];
		randombytes_buf_deterministic(noise, sizeof(noise), seed);
		sodium_bin2base64(text, sizeof(text), noise, sizeof(noise),
		    sodium_base64_VARIANT_ORIGINAL);
		assert_int_equal(look(), 0);
	}
}

/* The secret in base64 so many times over. */
static int
nested(unsigned times)
{
	static char inner[sizeof(text)];

	strcpy(text, "token: " SECRET);
	while (times-- > 0) {
		memcpy(inner, text, strlen(text) + 1);
		sodium_bin2base64(text, sizeof(text), (unsigned char *)inner,
		    strlen(inner), sodium_base64_VARIANT_ORIGINAL);
	}
	return look();
}

static void
test_depth(void **state)
{
	for (unsigned times = 0; times <= 8; times++)
		assert_int_equal(nested(times), 1);
	assert_int_equal(nested(12), -1);
	assert_int_equal(nested(20), -1);
}

/* An escape within what another one gives, and one that was only begun. */
static void
test_escapes(void **state)
{
	strcpy(text, "t=%255aq7%2dtH3%25252ds3cr3t");
	assert_int_equal(look(), 1);
	strcpy(text, "\\q \\ % %z &amp &;");
	assert_int_equal(look(), 0);
}

#define UNPACKED_MAX (1u << 20)

static unsigned char plain[2 * UNPACKED_MAX], packed[90000];

static int
look_encoded(size_t len)
{
	assert_in_range(len, 1, sizeof(packed));
	assert_non_null(sodium_bin2base64(text, sizeof(text), packed, len,
	    sodium_base64_VARIANT_ORIGINAL));
	return look();
}

/* The secret behind so much in zlib, in base64. */
static int
behind(size_t len)
{
	uLongf packed_len = sizeof(packed);

	memset(plain, 'a', sizeof(plain));
	memcpy(plain + len, SECRET, strlen(SECRET));
	assert_int_equal(compress2(packed, &packed_len, plain, len + strlen(SECRET), 9), Z_OK);
	return look_encoded(packed_len);
}

/* What unpacks to more than is looked at may hide one behind that. */
static void
test_packed(void **state)
{
	assert_int_equal(behind(100), 1);
	assert_int_equal(behind(UNPACKED_MAX - strlen(SECRET)), 1);
	assert_int_equal(behind(UNPACKED_MAX - strlen(SECRET) + 1), -1);
	assert_int_equal(behind(UNPACKED_MAX + 100), -1);
}

/* So may one in what wants more memory than is given. */
static void
test_packed_huge(void **state)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	ZSTD_outBuffer out = { packed, sizeof(packed), 0 };
	ZSTD_inBuffer in = { plain, 1000, 0 };

	randombytes_buf_deterministic(plain, 1000, (unsigned char[randombytes_SEEDBYTES]){ 1 });
	assert_false(ZSTD_isError(ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, 27)));
	assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_flush), 0);
	assert_int_equal(ZSTD_compressStream2(zstd, &out, &in, ZSTD_e_end), 0);
	ZSTD_freeCCtx(zstd);
	assert_int_equal(look_encoded(out.pos), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_packed_huge),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
