/*
 * Targets.  A canonical one comes back from its own spelling unchanged, has no
 * segment that servers resolve away, and no host that is an address in disguise.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Same scheme, host and port? */
static bool
same_origin(const struct target *a, const struct target *b)
{
	return a->https == b->https && a->port == b->port &&
	    strcmp(a->host, b->host) == 0;
}

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
require_canonical_host(const struct target *t)
{
	struct target again;
	struct in_addr address;
	char field[TARGET_HOST_MAX + 16];

	require(target_host_field(t, field, sizeof(field)) > 0);
	require(target_from_authority(slice_of(field), t->https ? 443 : 80,
	    &again) == NULL);
	require(same_origin(t, &again));
	require(t->is_address == again.is_address);
	/* what inet_aton takes for an address, ours knows for one */
	if (inet_aton(t->host, &address) != 0)
		require(t->is_address);
	for (const char *p = t->host; *p != '\0'; p++)
		require(!(*p >= 'A' && *p <= 'Z') && (unsigned char)*p < 0x7f);
}

/* Read as slashes, the escaped ones make no segment that a server resolves away. */
static void
require_plain_segments(const char *path)
{
	static char slashed[TARGET_PATH_MAX + 4];
	size_t n = 0;

	for (; *path != '\0'; path++)
		if (strncmp(path, "%2F", 3) == 0) {
			slashed[n++] = '/';
			path += 2;
		} else {
			slashed[n++] = *path;
		}
	memcpy(slashed + n, "/", 2);	/* so that a last segment ends too */
	require(n == 1 || strstr(slashed, "//") == NULL || strstr(slashed, "//")[2] == '\0');
	require(strstr(slashed, "/../") == NULL && strstr(slashed, "/./") == NULL);
}

static void
require_canonical_path(const struct target *t)
{
	require(t->path[0] == '/' && strlen(t->path) == t->path_len);
	require(strstr(t->path, "//") == NULL && strchr(t->path, '\\') == NULL);
	require(strstr(t->path, "/../") == NULL && strstr(t->path, "/./") == NULL);
	require((strstr(t->path, "%2F") != NULL) == t->escaped_slash);
	require(strstr(t->path, "%2E") == NULL && strstr(t->path, "%5C") == NULL);
	require_plain_segments(t->path);
	require(strstr(t->path, "%00") == NULL);
	for (size_t i = 0; i < t->path_len; i++)
		require(t->path[i] > 0x20 && t->path[i] < 0x7f);
}

static void
absolute(struct slice uri)
{
	static char buf[TARGET_BUF_MAX], buf2[TARGET_BUF_MAX];
	static char text[TARGET_BUF_MAX + TARGET_HOST_MAX + 64];
	struct target t, again;
	size_t n;

	if (target_from_absolute(uri, buf, sizeof(buf), &t) != NULL)
		return;
	require_canonical_host(&t);
	require_canonical_path(&t);
	n = target_url(&t, true, text, sizeof(text));
	require(n > 0);
	if (t.query != NULL)
		snprintf(text + n, sizeof(text) - n, "?%s", t.query);
	require(target_from_absolute(slice_of(text), buf2, sizeof(buf2), &again) ==
	    NULL);
	require(same_origin(&t, &again));
	require(strcmp(t.path, again.path) == 0);
	require(t.query_len == again.query_len);
	require((t.query == NULL) == (again.query == NULL));
	require(t.query == NULL || strcmp(t.query, again.query) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static char buf[TARGET_BUF_MAX];
	struct slice s = { (const char *)data, len };
	struct target t;

	absolute(s);
	if (target_from_authority(s, 443, &t) == NULL) {
		require_canonical_host(&t);
		if (target_set_path(&t, s, buf, sizeof(buf)) == NULL)
			require_canonical_path(&t);
	}
	return 0;
}
