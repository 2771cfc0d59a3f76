#include "secret.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <sodium.h>

struct secret {
	atomic_uint references;
	size_t len;
	uint8_t *bytes;		/* a guarded, read-only mapping of its own */
};

static bool unlocked_is_fine;

void
secret_allow_unlocked(bool allow)
{
	unlocked_is_fine = allow;
}

void *
secret_memory_new(size_t len)
{
	void *memory;

	if (len == 0 || sodium_init() < 0 || (memory = sodium_malloc(len)) == NULL)
		return NULL;

	/* sodium_malloc locks, but keeps quiet where that fails: ask again. */
	if (sodium_mlock(memory, len) != 0 && !unlocked_is_fine) {
		sodium_free(memory);
		errno = ENOMEM;
		return NULL;
	}
	return memory;
}

void
secret_memory_free(void *memory)
{
	sodium_free(memory);
}

void
secret_text_free(char *text)
{
	if (text != NULL)
		sodium_memzero(text, strlen(text));
	free(text);
}

struct secret *
secret_new(const void *bytes, size_t len)
{
	struct secret *secret;

	if (len == 0 || len > SECRET_MAX)
		return NULL;
	if ((secret = calloc(1, sizeof(*secret))) == NULL)
		return NULL;
	if ((secret->bytes = secret_memory_new(len)) == NULL) {
		free(secret);
		return NULL;
	}
	memcpy(secret->bytes, bytes, len);
	secret->len = len;
	atomic_init(&secret->references, 1);
	sodium_mprotect_readonly(secret->bytes);
	return secret;
}

struct secret *
secret_ref(struct secret *secret)
{
	atomic_fetch_add_explicit(&secret->references, 1, memory_order_relaxed);
	return secret;
}

void
secret_unref(struct secret *secret)
{
	if (secret == NULL)
		return;
	if (atomic_fetch_sub_explicit(&secret->references, 1,
	    memory_order_acq_rel) != 1)
		return;
	secret_memory_free(secret->bytes);
	free(secret);
}

struct slice
secret_bytes(const struct secret *secret)
{
	return (struct slice){ (const char *)secret->bytes, secret->len };
}

bool
secret_equal(const struct secret *a, const void *bytes, size_t len)
{
	return a->len == len && sodium_memcmp(a->bytes, bytes, len) == 0;
}

const char *
secret_check(const void *bytes, size_t *len)
{
	const unsigned char *p = bytes;
	size_t i, n = *len;

	if (n > 0 && p[n - 1] == '\n') {
		n--;
		if (n > 0 && p[n - 1] == '\r')
			n--;
	}
	*len = n;

	if (n == 0)
		return "is empty";
	if (n > SECRET_MAX)
		return "is longer than 16384 bytes";
	for (i = 0; i < n; i++) {
		if (p[i] == '\r' || p[i] == '\n' || p[i] == '\0')
			return "contains CR, LF or NUL: one line is wanted";
		if (p[i] < 0x20 || p[i] == 0x7f)
			return "contains a control character";
	}
	if (p[0] == ' ' || p[n - 1] == ' ')
		return "begins or ends with a space";
	return NULL;
}
