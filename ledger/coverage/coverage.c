#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/coverage/given.h"
#include "ledger/coverage/reconcile.h"
#include "ledger/evidence/evidence.h"
#include "ledger/verify/load.h"
#include "ledger/verify/vouch.h"

/* Of one file in two places the same content: the first that was read. */
struct digest {
	char hex[65];
};

struct judging {
	const struct coverage_options *options;
	struct verify_result *result;
	struct coverage *coverage;
	size_t *by_leaf;
	int dirfd;		/* of the evidence */
	struct digest given[COVERAGE_SOURCES_MAX];
	char *err;
	size_t err_len;
};

/* ---- sources ---- */

static void
digest_of(const char *text, size_t len, char hex[65])
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const uint8_t *)text, len);
	sodium_bin2hex(hex, 65, hash, sizeof(hash));
}

/* The end of a path that a finding has room for. */
static void
name_file(struct coverage_source *s, const char *path)
{
	const char *slash = s->given ? strrchr(path, '/') : NULL;

	if (slash != NULL)
		path = slash + 1;
	if (strlen(path) >= sizeof(s->file))
		path += strlen(path) - sizeof(s->file) + 1;
	snprintf(s->file, sizeof(s->file), "%s", path);
}

static const char *
shown(const struct judging *j, const char *text)
{
	return j->options->shown == NULL ? text :
	    j->options->shown(j->options->shown_context, text);
}

#define NO_MEMORY (-2)	/* of a visit: the walk itself may fail by what it walks over */

bool
coverage_vouched(const struct coverage_source *s)
{
	return s->given || (s->signature == SIGNED_GOOD && s->spans);
}

/* Between from and to he misses nothing: is that all of the run? */
static bool
spans(const struct truth *t, const struct recorded *r)
{
	return t->exhaustive && t->from_us != INT64_MIN && t->to_us != INT64_MAX &&
	    t->from_us <= r->from_us && t->to_us >= r->to_us;
}

static void
find_forged(struct judging *j, const struct coverage_source *s)
{
	verify_find(j->result, VERIFY_NOT_ESTABLISHED, "observer", "%.80s is signed in the name "
	    "of %.100s, and not by his key: it was altered since, or is not his", s->file,
	    s->signer);
}

static void
judge_signature(struct judging *j, struct coverage_source *s, const char *text, size_t len)
{
	const struct coverage_options *o = j->options;
	char name[NOTE_NAME_MAX + 1];

	s->signature = signed_judge(text, len, o->observer, o->observers, &s->observer, name);
	snprintf(s->signer, sizeof(s->signer), "%s", shown(j, name));
	if (s->signature == SIGNED_FORGED)
		find_forged(j, s);
}

static int
reconcile_source(struct judging *j, struct coverage_source *s, const struct truth *truth)
{
	struct reconcile re = { j->options, &j->coverage->recorded, j->by_leaf, truth, s,
	    j->result };
	int result;

	s->why[0] = '\0';
	s->spans = spans(truth, &j->coverage->recorded);
	snprintf(s->source, sizeof(s->source), "%s", shown(j, truth->source));
	snprintf(s->instance, sizeof(s->instance), "%s", shown(j, truth->instance));
	result = reconcile_run(&re);
	if (s->signature == SIGNED_FORGED)
		s->verdict = verify_worse(s->verdict, VERIFY_NOT_ESTABLISHED);
	if (truth->bad > 0)
		snprintf(s->why, sizeof(s->why), "line %" PRIu64 ": %s", truth->bad_line,
		    truth->bad_why);
	return result;
}

/* One source's text.  -1: memory lacks. */
static int
add_source(struct judging *j, const char *path, bool given, const char *text, size_t len)
{
	struct coverage_source *s = &j->coverage->source[j->coverage->sources];
	const enum verify_verdict before = j->result->verdict;
	struct truth truth;
	int result = 0;

	s->given = given;
	s->verdict = VERIFY_NOT_ESTABLISHED;
	name_file(s, shown(j, path));
	j->coverage->sources++;
	judge_signature(j, s, text, len);
	if (truth_parse(&truth, text, len, s->why, sizeof(s->why)) == 0)
		result = reconcile_source(j, s, &truth);
	truth_free(&truth);
	/* what lies in the bundle may have been put there by anybody */
	if (!given && s->unrecorded == 0 && s->signature != SIGNED_FORGED)
		j->result->verdict = before;
	if (!given && s->signature == SIGNED_GOOD)
		vouch_taken(j->result, shown(j, path));
	return result;
}

static int
add_given(struct judging *j)
{
	const struct coverage_options *o = j->options;
	int result = 0;

	for (size_t i = 0; i < o->truths && result == 0; i++) {
		char *text;
		size_t len;

		if (i == COVERAGE_SOURCES_MAX) {
			snprintf(j->err, j->err_len, "more than %d files of ground truth",
			    COVERAGE_SOURCES_MAX);
			return -1;
		}
		text = given_read(o->truth[i], TRUTH_BYTES_MAX, &len, j->err, j->err_len);
		if (text == NULL)
			return -1;
		digest_of(text, len, j->given[i].hex);
		result = add_source(j, o->truth[i], true, text, len);
		if (result == 0 && j->coverage->source[i].source[0] == '\0') {
			snprintf(j->err, j->err_len, "%.200s: no ground truth: %s", o->truth[i],
			    j->coverage->source[i].why);
			result = -1;
		}
		free(text);
	}
	return result;
}

static bool
is_given(const struct judging *j, const char *text, size_t len)
{
	char hex[65];

	digest_of(text, len, hex);
	for (size_t i = 0; i < j->options->truths; i++)
		if (strcmp(hex, j->given[i].hex) == 0)
			return true;
	return false;
}

static int
add_bundled(struct judging *j, const char *path)
{
	size_t len;
	char *text;
	int result = 0;

	if (j->coverage->sources == COVERAGE_SOURCES_MAX ||
	    (text = evidence_read(j->dirfd, path, TRUTH_BYTES_MAX, &len)) == NULL)
		return 0;
	if (!is_given(j, text, len))
		result = add_source(j, path, false, text, len);
	free(text);
	return result;
}

static void
add_claim(struct judging *j, const char *path)
{
	struct claim claim;
	char err[160];
	size_t len;
	char *text = evidence_read(j->dirfd, path, CLAIM_BYTES_MAX, &len);

	if (text == NULL) {
		j->coverage->recorded.bad_claims++;
		return;
	}
	if (claim_parse(&claim, text, len, err, sizeof(err)) == 0) {
		recorded_add_claim(&j->coverage->recorded, &claim, shown(j, path), 0);
	} else {
		claim_free(&claim);
		j->coverage->recorded.bad_claims++;
	}
	free(text);
}

static int
on_claim(void *context, const char *path, uint64_t size, int regular)
{
	(void)size;
	if (regular && strncmp(path, "coverage/", 9) == 0)
		add_claim(context, path);
	return 0;
}

static int
is_any_truth(void *context, const char *path, uint64_t size, int regular)
{
	(void)context;
	(void)size;
	return regular && strncmp(path, "truth/", 6) == 0;
}

static int
on_truth(void *context, const char *path, uint64_t size, int regular)
{
	(void)size;
	return regular && strncmp(path, "truth/", 6) == 0 &&
	    add_bundled(context, path) != 0 ? NO_MEMORY : 0;
}

/* ---- the whole ---- */

/* Nothing was read that could be held against anything. */
static void
state_unread(struct judging *j)
{
	struct verify_statement *s = &j->result->coverage;

	s->verdict = VERIFY_NOT_ESTABLISHED;
	snprintf(s->text, sizeof(s->text), "the records cannot be read: %.200s", j->err);
	j->coverage->verdict = VERIFY_NOT_ESTABLISHED;
	if (j->options->truths > 0 || j->options->observed > 0)
		j->result->verdict = verify_worse(j->result->verdict, s->verdict);
}

static int
judge_all(struct judging *j)
{
	const struct coverage_options *o = j->options;
	struct coverage *c = j->coverage;
	bool any;

	if ((j->dirfd = evidence_dir(o->dir)) < 0) {
		snprintf(j->err, j->err_len, "%.200s: %s", o->dir, strerror(errno));
		return -1;
	}
	any = o->truths > 0 || evidence_walk(j->dirfd, is_any_truth, j) == 1;
	if (recorded_read(&c->recorded, o->dir, o->run != NULL && o->run[0] != '\0' ?
	    o->run : NULL, !any, j->err, j->err_len) != 0) {
		state_unread(j);
		return 0;
	}
	snprintf(j->err, j->err_len, "out of memory");
	if ((j->by_leaf = recorded_by_leaf(&c->recorded)) == NULL)
		return -1;
	(void)evidence_walk(j->dirfd, on_claim, j);
	if (add_given(j) != 0 || evidence_walk(j->dirfd, on_truth, j) == NO_MEMORY)
		return -1;
	coverage_state(c, j->result);
	return 0;
}

int
coverage_judge(const struct coverage_options *options, struct verify_result *result,
    struct coverage **out, char *err, size_t err_len)
{
	struct judging *j = calloc(1, sizeof(*j));
	int status = -1;

	*out = calloc(1, sizeof(**out));
	snprintf(err, err_len, "out of memory");
	if (j != NULL && *out != NULL) {
		*j = (struct judging){ .options = options, .result = result,
		    .coverage = *out, .dirfd = -1, .err = err, .err_len = err_len };
		(*out)->window_ms = options->window_ms;
		(*out)->observers = options->observers;
		(*out)->observed = options->observed;
		status = judge_all(j);
	}
	if (j != NULL) {
		free(j->by_leaf);
		if (j->dirfd >= 0)
			close(j->dirfd);
	}
	free(j);
	if (status != 0) {
		coverage_free(*out);
		*out = NULL;
	}
	return status;
}

void
coverage_free(struct coverage *c)
{
	if (c == NULL)
		return;
	recorded_free(&c->recorded);
	free(c);
}
