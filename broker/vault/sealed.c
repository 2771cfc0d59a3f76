/* Small sealed files; layout in FORMAT.md. */
#include "vault/master.h"
#include "private_file.h"

#include <errno.h>
#include <stdlib.h>

#include <sodium.h>

#define MAGIC "csseal\n\1"
#define MAGIC_LEN 8
#define DIGEST_LEN 32
#define NONCE_LEN crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG_LEN crypto_aead_xchacha20poly1305_ietf_ABYTES
#define HEAD_LEN (MAGIC_LEN + DIGEST_LEN + NONCE_LEN)
#define LABEL_MAX 64

/* The digest, of everything behind it, is no protection but a diagnosis. */
static void
digest(const uint8_t *file, size_t len, uint8_t out[DIGEST_LEN])
{
	crypto_generichash(out, DIGEST_LEN, file + MAGIC_LEN + DIGEST_LEN,
	    len - MAGIC_LEN - DIGEST_LEN, NULL, 0);
}

static size_t
make_label(uint8_t out[MAGIC_LEN + LABEL_MAX], const char *label)
{
	size_t len = strnlen(label, LABEL_MAX);

	memcpy(out, MAGIC, MAGIC_LEN);
	memcpy(out + MAGIC_LEN, label, len);
	return MAGIC_LEN + len;
}

enum vault_status
sealed_write(const char *path, const uint8_t *key, const char *label,
    const void *bytes, size_t len, struct vault_error *err)
{
	uint8_t ad[MAGIC_LEN + LABEL_MAX], *file;
	size_t file_len = HEAD_LEN + len + TAG_LEN;
	int result;

	if (len == 0 || len > SECRET_MAX)
		return vault_fail(err, VAULT_INVALID, "%s: 1 to %d bytes can "
		    "be sealed", path, SECRET_MAX);
	if (sodium_init() < 0 || (file = malloc(file_len)) == NULL)
		return vault_fail(err, VAULT_IO, "%s: out of memory", path);
	memcpy(file, MAGIC, MAGIC_LEN);
	randombytes_buf(file + MAGIC_LEN + DIGEST_LEN, NONCE_LEN);
	crypto_aead_xchacha20poly1305_ietf_encrypt(file + HEAD_LEN, NULL, bytes,
	    len, ad, make_label(ad, label), NULL,
	    file + MAGIC_LEN + DIGEST_LEN, key);
	digest(file, file_len, file + MAGIC_LEN);

	result = private_file_replace(path, file, file_len);
	free(file);
	if (result != 0)
		return vault_fail(err, VAULT_IO, "%s: %s", path,
		    strerror(errno));
	return VAULT_OK;
}

/* Decrypt what has the right shape. */
static enum vault_status
unseal(const char *path, const uint8_t *file, size_t len, const uint8_t *key,
    const char *label, struct secret **out, struct vault_error *err)
{
	uint8_t ad[MAGIC_LEN + LABEL_MAX], *plain;
	size_t plain_len = len - HEAD_LEN - TAG_LEN;
	enum vault_status status = VAULT_OK;

	if ((plain = secret_memory_new(plain_len)) == NULL)
		return vault_fail(err, VAULT_IO, "%s: no locked memory", path);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt(plain, NULL, NULL,
	    file + HEAD_LEN, len - HEAD_LEN, ad, make_label(ad, label),
	    file + MAGIC_LEN + DIGEST_LEN, key) != 0)
		status = vault_fail(err, VAULT_WRONG_KEY, "%s: sealed under "
		    "another key, or for another use than %s", path, label);
	else if ((*out = secret_new(plain, plain_len)) == NULL)
		status = vault_fail(err, VAULT_IO, "%s: no locked memory", path);
	secret_memory_free(plain);
	return status;
}

enum vault_status
sealed_read(const char *path, const uint8_t *key, const char *label,
    struct secret **out, struct vault_error *err)
{
	uint8_t sum[DIGEST_LEN], *file;
	enum vault_status status;
	size_t len = 0;

	*out = NULL;
	if (sodium_init() < 0)
		return vault_fail(err, VAULT_IO, "libsodium does not start");
	file = private_file_read(path, PRIVATE_SECRET,
	    HEAD_LEN + SECRET_MAX + TAG_LEN, &len);
	if (file == NULL)
		return vault_fail_file(err, path, errno);
	if (len < MAGIC_LEN || memcmp(file, MAGIC, MAGIC_LEN - 1) != 0)
		status = vault_fail(err, VAULT_DAMAGED, "%s: no sealed file of "
		    "countersign", path);
	else if (len <= HEAD_LEN + TAG_LEN)
		status = vault_fail(err, VAULT_DAMAGED, "%s: cut short", path);
	else if (digest(file, len, sum),
	    memcmp(sum, file + MAGIC_LEN, DIGEST_LEN) != 0)
		status = vault_fail(err, VAULT_DAMAGED, "%s: altered or cut",
		    path);
	else if (file[MAGIC_LEN - 1] != MAGIC[MAGIC_LEN - 1])
		status = vault_fail(err, VAULT_INVALID, "%s: sealed format %d, "
		    "this program knows 1", path, file[MAGIC_LEN - 1]);
	else
		status = unseal(path, file, len, key, label, out, err);
	free(file);
	return status;
}
