#include "discover/state.h"

#include "json_in.h"
#include "private_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define STATE_MAX 65536

static bool
is_digest(const char *text)
{
	return text != NULL && strlen(text) == POLICY_DIGEST_LEN &&
	    strncmp(text, "sha256:", 7) == 0 &&
	    strspn(text + 7, "0123456789abcdef") == POLICY_DIGEST_LEN - 7;
}

static int
parse(json_t *root, const char *from, struct revision_history *out, char *err,
    size_t err_len)
{
	const char *source = NULL, *revision = NULL, *digest;
	json_t *seen = NULL;
	int64_t version = 0;
	const struct json_in_field fields[] = {
		{ "v", JSON_IN_INT, true, 1, 1, &version },
		{ "from", JSON_IN_STR, true, 1, 0, &source },
		{ "revision", JSON_IN_STR, true, 0, POLICY_REVISION_MAX,
		    &revision },
		{ "seen", JSON_IN_ARRAY, true, 1, REVISION_SEEN_MAX, &seen },
	};

	if (json_in_read(root, fields, 4, "", err, err_len) == -1)
		return -1;
	if (strcmp(source, from) != 0)
		return 0;
	for (size_t i = 0; i < json_array_size(seen); i++) {
		digest = json_string_value(json_array_get(seen, i));
		if (!is_digest(digest)) {
			snprintf(err, err_len, "seen holds digests of packs");
			return -1;
		}
		revision_note(out, digest, revision);
	}
	return 0;
}

int
state_read(const char *packs, const char *from, struct revision_history *out,
    char *err, size_t err_len)
{
	char path[PATH_MAX], why[256] = "this is not JSON";
	uint8_t *bytes;
	json_t *root;
	size_t len = 0;
	int result = -1;

	*out = (struct revision_history){ .n = 0 };
	snprintf(path, sizeof(path), "%s/" STATE_NAME, packs);
	bytes = private_file_read(path, PRIVATE_SETTINGS, STATE_MAX, &len);
	if (bytes == NULL && errno == ENOENT)
		return 0;
	if (bytes == NULL) {
		snprintf(err, err_len, "%s: %s", path, private_file_why(errno));
		return -1;
	}
	root = json_loadb((const char *)bytes, len, JSON_REJECT_DUPLICATES,
	    NULL);
	if (json_is_object(root))
		result = parse(root, from, out, why, sizeof(why));
	if (result != 0)
		snprintf(err, err_len, "%s: %s", path, why);
	json_decref(root);
	free(bytes);
	return result;
}

int
state_write(const char *packs, const char *from,
    const struct revision_history *history, char *err, size_t err_len)
{
	json_t *seen = json_array(), *root;
	char path[PATH_MAX], *text = NULL;
	int result = -1;

	for (size_t i = 0; i < history->n; i++)
		json_array_append_new(seen, json_string(history->seen[i]));
	root = json_pack("{s:i, s:s, s:s, s:o}", "v", 1, "from", from,
	    "revision", history->revision, "seen", seen);
	snprintf(path, sizeof(path), "%s/" STATE_NAME, packs);
	if (root == NULL || (text = json_dumps(root, JSON_INDENT(2))) == NULL)
		errno = ENOMEM;
	else
		result = private_file_replace(path, text, strlen(text));
	if (result != 0)
		snprintf(err, err_len, "%s: %s", path, strerror(errno));
	json_decref(root);
	free(text);
	return result;
}
