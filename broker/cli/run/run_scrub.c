/* Which variables hold a real secret. */
#include "cli/run/run_env.h"
#include "cli/run/run_views.h"
#include "secret.h"
#include "ledger/scan/format/formats.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define TAG_LEN 32
#define WINDOW_MIN 8		/* a shorter secret stands in many a word */
#define WORK_MAX ((uint64_t)4 << 30)	/* bytes hashed in all: a few seconds */
#define MARK_LEN crypto_shorthash_BYTES

/* TOO_LONG: cannot be told, and so counts as one. */
enum finding { CLEAN, SECRET, TOO_LONG };

struct tags {
	uint8_t key[TAG_LEN];
	uint8_t (*tags)[TAG_LEN];
	size_t *lengths;	/* of each tag's secret; 0: not known */
	uint8_t (*marks)[MARK_LEN];	/* a quicker hash of each; NULL: none given */
	size_t n;
	uint64_t work;		/* bytes hashed so far */
};

static bool
from_hex(const json_t *json, uint8_t *out, size_t want)
{
	const char *text = json_string_value(json);
	size_t len = 0;

	return text != NULL && strlen(text) == 2 * want &&
	    sodium_hex2bin(out, want, text, 2 * want, NULL, &len,
	    NULL) == 0 && len == want;
}

/* A daemon of before gives none: then every window is hashed in full. */
static int
read_marks(const json_t *list, struct tags *tags)
{
	size_t i, n = json_array_size(list);

	if (list == NULL)
		return 0;
	if (n != tags->n || (tags->marks = calloc(n + 1, MARK_LEN)) == NULL)
		return -1;
	for (i = 0; i < n; i++)
		if (!from_hex(json_array_get(list, i), tags->marks[i], MARK_LEN))
			return -1;
	return 0;
}

static int
read_tags(const json_t *scrub, struct tags *tags)
{
	const json_t *list = json_object_get(scrub, "tags");
	const json_t *lengths = json_object_get(scrub, "lengths");
	json_int_t len;
	size_t i, n = json_array_size(list);

	memset(tags, 0, sizeof(*tags));
	if (!json_is_array(list) ||
	    !from_hex(json_object_get(scrub, "key"), tags->key, TAG_LEN))
		return -1;
	tags->tags = calloc(n + 1, TAG_LEN);
	tags->lengths = calloc(n + 1, sizeof(*tags->lengths));
	if (tags->tags == NULL || tags->lengths == NULL)
		return -1;
	for (i = 0; i < n; i++) {
		if (!from_hex(json_array_get(list, i), tags->tags[i], TAG_LEN))
			return -1;
		len = json_integer_value(json_array_get(lengths, i));
		if (len < 0)
			return -1;
		tags->lengths[i] = (size_t)len;
	}
	tags->n = n;
	return read_marks(json_object_get(scrub, "marks"), tags);
}

/* A token of a known format, whoever's it is. */
static bool
formed(const char *bytes, size_t len)
{
	struct scan_match match;

	return scan_formats_match(bytes, len, &match) && !match.identifier &&
	    match.confidence >= SCAN_MEDIUM;
}

static bool
tagged(const struct tags *tags, const char *bytes, size_t len)
{
	uint8_t tag[TAG_LEN];
	size_t i;

	if (len == 0 || tags->n == 0)
		return false;
	crypto_generichash(tag, sizeof(tag), (const uint8_t *)bytes, len,
	    tags->key, sizeof(tags->key));
	for (i = 0; i < tags->n; i++)
		if (sodium_memcmp(tag, tags->tags[i], TAG_LEN) == 0)
			return true;
	return false;
}

/* By tag, or by form where tags is NULL. */
static bool
suspect(const struct tags *tags, const char *bytes, size_t len)
{
	return tags != NULL ? tagged(tags, bytes, len) : formed(bytes, len);
}

/* The value as a whole, and every part between the given delimiters: tokens
 * stand in URLs, in headers and in JSON too. */
static bool
parts_suspect(const struct tags *tags, const char *value, const char *delimiters)
{
	size_t len;

	while (*value != '\0') {
		len = strcspn(value, delimiters);
		if (suspect(tags, value, len))
			return true;
		value += len;
		value += strspn(value, delimiters);
	}
	return false;
}

/* Whether it may be one: a window that no mark is of needs no tag. */
static bool
marked(const struct tags *tags, const char *bytes, size_t len)
{
	uint8_t mark[MARK_LEN];
	size_t i;

	if (tags->marks == NULL)
		return true;
	crypto_shorthash(mark, (const uint8_t *)bytes, len, tags->key);
	for (i = 0; i < tags->n; i++)
		if (memcmp(mark, tags->marks[i], MARK_LEN) == 0)
			return true;
	return false;
}

/* Any place of a value: a secret need not stand between delimiters. */
static bool
window_tagged(const struct tags *tags, const char *value, size_t len,
    size_t window)
{
	size_t at;

	for (at = 0; at + window <= len; at++)
		if (marked(tags, value + at, window) &&
		    tagged(tags, value + at, window))
			return true;
	return false;
}

static bool
length_seen(const struct tags *tags, size_t i)
{
	size_t k;

	for (k = 0; k < i; k++)
		if (tags->lengths[k] == tags->lengths[i])
			return true;
	return false;
}

/* Every window of every secret's length.  A tag costs a block for the key beside
 * the bytes, a mark little; beyond the bound nothing is tested, and nothing
 * passes. */
static enum finding
windows(struct tags *tags, const char *value, size_t len)
{
	size_t i, window;
	uint64_t work;

	for (i = 0; i < tags->n; i++) {
		window = tags->lengths[i];
		if (window < WINDOW_MIN || window > len || length_seen(tags, i))
			continue;
		work = (uint64_t)(len - window + 1) *
		    (window + (tags->marks == NULL ? 128 : 16));
		if (work > WORK_MAX - tags->work)
			return TOO_LONG;
		tags->work += work;
		if (window_tagged(tags, value, len, window))
			return SECRET;
	}
	return CLEAN;
}

static bool
holds_secret(const struct tags *tags, const char *value)
{
	return suspect(tags, value, strlen(value)) ||
	    parts_suspect(tags, value, " \t\r\n") ||
	    parts_suspect(tags, value, " \t\r\n\"',;:@&?") ||
	    parts_suspect(tags, value, " \t\r\n\"',;:@&?=/|<>()[]{}\\");
}

/* The parts first, where most secrets are and where those stand that are too
 * short for windows. */
struct search {
	struct tags *tags;
	enum finding finding;
};

static bool
search_view(void *arg, const char *text, size_t len)
{
	struct search *search = arg;

	search->finding = windows(search->tags, text, len);
	return search->finding != CLEAN;
}

/* Then as it stands and in all that it decodes to. */
static enum finding
vault_secret(struct tags *tags, const char *value)
{
	struct search search = { tags, CLEAN };

	if (holds_secret(tags, value))
		return SECRET;
	if (tags->n == 0)
		return CLEAN;
	if (run_views(value, strlen(value), search_view, &search) == 0)
		return CLEAN;
	return search.finding != CLEAN ? search.finding : TOO_LONG;
}

/* Names that say it themselves; placeholders are put there afterwards. */
static bool
named_secret(const char *name)
{
	static const char *const names[] = { "GITHUB_TOKEN", "GH_TOKEN",
	    "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITLAB_TOKEN",
	    "CI_JOB_TOKEN", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN",
	    "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY",
	    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	    "AZURE_CLIENT_SECRET", "NPM_TOKEN", "NODE_AUTH_TOKEN",
	    "TWINE_PASSWORD", "CARGO_REGISTRY_TOKEN", "VAULT_TOKEN",
	    "SLACK_BOT_TOKEN", "STRIPE_API_KEY", "HF_TOKEN", "PGPASSWORD",
	    "MYSQL_PWD", "COUNTERSIGN_PASSPHRASE_FILE", "CREDENTIALS_DIRECTORY",
	    NULL };
	size_t i;

	for (i = 0; names[i] != NULL; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static bool
kept(const struct opts *opts, const char *name)
{
	const char *value;
	size_t cursor = 0;

	while ((value = opt_next(opts, "keep-env", &cursor)) != NULL)
		if (strcmp(value, name) == 0)
			return true;
	return false;
}

/* What is ours goes without a word; a name that holds a secret is not shown. */
static void
note_removed(struct run_env *env, const char *name, enum finding finding,
    bool withheld)
{
	char text[320];

	if (strncmp(name, "COUNTERSIGN_", 12) == 0 && !withheld)
		return;
	snprintf(text, sizeof(text), "%.255s%s", withheld ?
	    "one whose name holds a secret" : name, finding == TOO_LONG ?
	    " (too long to be searched)" : "");
	if (env->n_removed < RUN_ENV_REMOVED_MAX)
		env->removed[env->n_removed] = strdup(text);
	env->n_removed++;
}

/* Of one variable. */
struct verdict {
	enum finding finding;
	bool withheld;		/* its name may not be shown */
	bool formed;		/* it merely looks like a secret */
};

static struct verdict
judge(struct tags *tags, const char *entry, const char *name, const char *value)
{
	struct verdict out = { .finding = vault_secret(tags, name) };

	out.withheld = out.finding != CLEAN || holds_secret(NULL, name);
	if (out.finding == CLEAN)
		out.finding = vault_secret(tags, value);
	/* A secret with "=" in it may be name and value together. */
	if (out.finding == CLEAN && windows(tags, entry, strlen(entry)) != CLEAN) {
		out.finding = SECRET;
		out.withheld = true;
	}
	out.formed = out.withheld || named_secret(name) ||
	    holds_secret(NULL, value);
	return out;
}

static void
drop(struct run_env *env, size_t i)
{
	secret_text_free(env->vars[i]);
	env->vars[i] = env->vars[--env->n];
	env->vars[env->n] = NULL;
}

/* The variable at i; -1 where memory lacks. */
static int
scrub_one(struct run_env *env, size_t i, struct tags *tags,
    const struct opts *opts, bool *dropped)
{
	const char *entry = env->vars[i], *equals = strchr(entry, '=');
	char *name = strndup(entry, (size_t)(equals - entry));
	struct verdict verdict;

	if (name == NULL)
		return -1;
	verdict = judge(tags, entry, name, equals + 1);
	*dropped = verdict.finding != CLEAN || (verdict.formed &&
	    !kept(opts, name));
	if (*dropped) {
		note_removed(env, name, verdict.finding, verdict.withheld);
		drop(env, i);
	}
	secret_text_free(name);
	return 0;
}

int
run_env_scrub(struct run_env *env, const json_t *scrub, const struct opts *opts)
{
	struct tags tags;
	bool dropped;
	size_t i;
	int rc = -1;

	if (read_tags(scrub, &tags) != 0)
		goto out;
	for (i = 0; i < env->n; i += !dropped) {
		dropped = false;
		if (scrub_one(env, i, &tags, opts, &dropped) != 0)
			goto out;
	}
	rc = 0;
out:
	free(tags.tags);
	free(tags.lengths);
	free(tags.marks);
	return rc;
}
