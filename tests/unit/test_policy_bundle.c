/* Bundles: what is read, what is refused, what a signature covers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <zlib.h>

#include "policy/builtins/codec.h"
#include "policy/bundle.h"

#define KEY "a shared secret"

static uint8_t tar[65536], gz[65536];
static size_t tar_len, gz_len;

static void
begin(void)
{
	tar_len = 0;
	memset(tar, 0, sizeof(tar));
}

static void
entry(const char *path, char type, const char *body)
{
	char *h = (char *)tar + tar_len;
	unsigned sum = 0;
	size_t n = strlen(body), i;

	snprintf(h, 100, "%s", path);
	snprintf(h + 124, 12, "%011o", (unsigned)n);
	h[156] = type;
	memcpy(h + 257, "ustar", 6);
	memset(h + 148, ' ', 8);
	for (i = 0; i < 512; i++)
		sum += (unsigned char)h[i];
	snprintf(h + 148, 8, "%06o", sum);
	memcpy(h + 512, body, n);
	tar_len += 512 + (n + 511) / 512 * 512;
}

static void
compress_tar(void)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = tar;
	z.avail_in = (uInt)tar_len + 1024;
	z.next_out = gz;
	z.avail_out = sizeof(gz);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	gz_len = sizeof(gz) - z.avail_out;
	deflateEnd(&z);
}

static int
read_back(struct pack_files *files, char *err)
{
	compress_tar();
	memset(files, 0, sizeof(*files));
	err[0] = '\0';
	return bundle_read(files, gz, gz_len, err, 300);
}

static void
refuse(const char *path, char type, const char *word)
{
	struct pack_files files;
	char err[300];

	begin();
	entry(path, type, "x");
	assert_int_equal(read_back(&files, err), -1);
	if (strstr(err, word) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", err, word);
	pack_files_free(&files);
}

static void
reads_files(void **state)
{
	struct pack_files files;
	char err[300];

	begin();
	entry("b/", '5', "");
	entry("/b/policy.rego", '0', "package b\n");
	entry("./data.json", '\0', "{}");
	assert_int_equal(read_back(&files, err), 0);
	assert_int_equal(files.n, 2);
	assert_string_equal(files.file[0].path, "b/policy.rego");
	assert_string_equal(files.file[1].bytes, "{}");
	pack_files_free(&files);
	(void)state;
}

static void
refuses_tricks(void **state)
{
	struct pack_files files = { 0 };
	char err[300] = "";

	refuse("../x", '0', "not a path inside the pack");
	refuse("a/../../x", '0', "not a path inside the pack");
	refuse("a", '2', "neither a file nor a directory");
	refuse("a", '1', "neither a file nor a directory");
	begin();
	entry("a", '0', "1");
	entry("/a", '0', "2");
	assert_int_equal(read_back(&files, err), -1);
	assert_non_null(strstr(err, "twice"));
	pack_files_free(&files);
	assert_int_equal(bundle_read(&files, gz, gz_len - 9, err,
	    sizeof(err)), -1);
	begin();
	entry("a", '0', "1");
	tar[0] ^= 1;
	assert_int_equal(read_back(&files, err), -1);
	assert_non_null(strstr(err, "malformed header"));
	pack_files_free(&files);
	(void)state;
}

/* --- signatures ------------------------------------------------------- */

static char *
signature(const char *data_hash, const char *rego_hash)
{
	static char json[4096];
	struct arena arena;
	struct buf text = { .arena = &arena };
	char payload[512];
	unsigned char mac[32];
	unsigned n = 0;
	jmp_buf here;

	assert_int_equal(arena_init(&arena, 65536, 1 << 20, 1 << 20), 0);
	if (setjmp(here) != 0)
		fail();
	arena.armed = &here;
	snprintf(payload, sizeof(payload), "{\"files\":[{\"name\":"
	    "\"data.json\",\"hash\":\"%s\",\"algorithm\":\"SHA-256\"},"
	    "{\"name\":\"a.rego\",\"hash\":\"%s\",\"algorithm\":\"SHA-256\"}"
	    "]}", data_hash, rego_hash);
	codec_base64(&text, "{\"alg\":\"HS256\"}", 15, CODEC_URL);
	buf_putc(&text, '.');
	codec_base64(&text, payload, strlen(payload), CODEC_URL);
	HMAC(EVP_sha256(), KEY, sizeof(KEY) - 1, (unsigned char *)text.p,
	    text.n, mac, &n);
	buf_putc(&text, '.');
	codec_base64(&text, (const char *)mac, n, CODEC_URL);
	snprintf(json, sizeof(json), "{\"signatures\":[\"%.*s\"]}",
	    (int)text.n, text.p);
	arena_release(&arena);
	return json;
}

/* Of {"a":[1,2],"b":1} without its spaces, and of the policy. */
#define DATA "{ \"b\": 1, \"a\": [1, 2] }"
#define REGO "package a\n"

static void
sha256(const char *text, char hex[65])
{
	unsigned char md[32];
	size_t i;

	EVP_Digest(text, strlen(text), md, NULL, EVP_sha256(), NULL);
	for (i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", md[i]);
}

static int
verify(const char *data, const char *rego, const char *extra, const char *key,
    char *err)
{
	struct pack_files files;
	char data_hash[65], rego_hash[65];
	int result;

	sha256("{\"a\":[1,2],\"b\":1}", data_hash);
	sha256(REGO, rego_hash);
	begin();
	entry("data.json", '0', data);
	if (rego != NULL)
		entry("a.rego", '0', rego);
	if (extra != NULL)
		entry(extra, '0', "x");
	entry(".signatures.json", '0', signature(data_hash, rego_hash));
	assert_int_equal(read_back(&files, err), 0);
	result = bundle_verify(&files, key, strlen(key), err, 300);
	pack_files_free(&files);
	return result;
}

static void
signature_covers_all(void **state)
{
	char err[300];

	if (verify(DATA, REGO, NULL, KEY, err) != 0)
		fail_msg("%s", err);
	assert_int_equal(verify(DATA, REGO, NULL, "another", err), -1);
	assert_non_null(strstr(err, "does not verify"));
	assert_int_equal(verify("{\"b\":2}", REGO, NULL, KEY, err), -1);
	assert_non_null(strstr(err, "data.json: differs"));
	/* what is no JSON is told with its place, before its digest */
	assert_int_equal(verify("{\n \"b\": 1,\n x}", REGO, NULL, KEY, err), -1);
	assert_string_equal(err, "data.json: line 3, column 2: a name in quotes "
	    "expected");
	assert_int_equal(verify(DATA, "package b\n", NULL, KEY, err), -1);
	assert_non_null(strstr(err, "a.rego: differs"));
	assert_int_equal(verify(DATA, NULL, NULL, KEY, err), -1);
	assert_non_null(strstr(err, "missing"));
	assert_int_equal(verify(DATA, REGO, "b.rego", KEY, err), -1);
	assert_non_null(strstr(err, "b.rego: is not signed"));
	/* What everybody may know is no shared secret. */
	assert_int_equal(verify(DATA, REGO, NULL,
	    "-----BEGIN PUBLIC KEY-----", err), -1);
	assert_non_null(strstr(err, "a public key cannot verify"));
	assert_int_equal(verify(DATA, REGO, NULL, " \n{\"keys\":[]}", err), -1);
	assert_non_null(strstr(err, "a public key cannot verify"));
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_files),
		cmocka_unit_test(refuses_tricks),
		cmocka_unit_test(signature_covers_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
