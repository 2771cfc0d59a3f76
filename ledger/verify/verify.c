#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/bundle/packs.h"
#include "ledger/verify/locate.h"

#define THREADS_DEFAULT_MAX 4

/* The one pass over the records. */
struct pass {
	struct load *load;
	struct verify_result *result;
	struct chain chain;
	struct tree_frontier tree;
	unsigned next_seal;
	uint64_t torn;			/* bytes of an unterminated end */
	uint64_t torn_line;
	unsigned torn_segment;
	bool segment_gap;
	uint64_t run_first, run_last, run_records;	/* of the bundle's run */
	uint64_t opened, teardown;	/* indices, UINT64_MAX: none */
	struct packs_named named;	/* bundle: packs, by its records */
	const struct verify_options *options;
	uint64_t done;			/* bytes, for progress */
};

const char *
verify_verdict_word(enum verify_verdict verdict)
{
	static const char *const words[] = { "complete", "gap", "not_established" };

	return words[verdict];
}

enum verify_verdict
verify_worse(enum verify_verdict a, enum verify_verdict b)
{
	if (a == VERIFY_GAP || b == VERIFY_GAP)
		return VERIFY_GAP;
	return a == VERIFY_COMPLETE ? b : a;
}

static void
state(struct verify_statement *statement, enum verify_verdict verdict,
    const char *text)
{
	statement->verdict = verdict;
	snprintf(statement->text, sizeof(statement->text), "%s", text);
}

/* ---- the pass ---- */

/* Roots at the sizes that were signed. */
static void
reach(struct pass *pass)
{
	uint8_t root[TREE_HASH_LEN];
	struct seal *seal;
	bool known = false;

	while (pass->next_seal < pass->load->seals) {
		seal = &pass->load->seal[pass->next_seal];
		if (seal->at.size > pass->tree.size)
			return;
		if (seal->at.size == pass->tree.size) {
			if (!known)
				tree_frontier_root(&pass->tree, root);
			known = true;
			seal->reached = true;
			seal->matches = memcmp(root, seal->at.root, TREE_HASH_LEN) == 0;
		}
		pass->next_seal++;
	}
}

static int
grow(struct pass *pass, const struct walk_batch *batch)
{
	uint64_t seal = UINT64_MAX;
	unsigned i;

	if (pass->next_seal < pass->load->seals)
		seal = pass->load->seal[pass->next_seal].at.size;
	if (batch->whole && pass->tree.size % WALK_LINES == 0 &&
	    seal >= pass->tree.size + WALK_LINES) {
		if (tree_frontier_append_node(&pass->tree, WALK_LEVEL, batch->node) != 0)
			return -1;
		reach(pass);
		return 0;
	}
	for (i = 0; i < batch->count; i++) {
		if (tree_frontier_append(&pass->tree, batch->lines[i].leaf) != 0)
			return -1;
		if (pass->tree.size >= seal) {
			reach(pass);
			seal = pass->next_seal < pass->load->seals ?
			    pass->load->seal[pass->next_seal].at.size : UINT64_MAX;
		}
	}
	return 0;
}

static bool
is(struct record_slice slice, const char *text)
{
	return slice.ptr != NULL && slice.len == strlen(text) &&
	    memcmp(slice.ptr, text, slice.len) == 0;
}

/* The bundle's run: where it was opened and torn down; and the packs. */
static void
follow_run(struct pass *pass, const struct walk_batch *batch)
{
	const struct record_line *r;
	uint64_t index;
	unsigned i;
	bool ours;

	for (i = 0; i < batch->count; i++) {
		r = &batch->lines[i].record;
		index = batch->index + i;
		if (batch->lines[i].rule != NULL)
			continue;
		ours = is(r->run, pass->result->run);
		packs_note(&pass->named, r, ours);
		if (!ours)
			continue;
		if (pass->run_records++ == 0)
			pass->run_first = index;
		pass->run_last = index;
		if (pass->opened == UINT64_MAX && is(r->type, "run"))
			pass->opened = index;
		if (is(r->type, "teardown"))
			pass->teardown = index;
	}
}

/* A file whose name says another index than it has: one before it is gone. */
static void
check_segment(struct pass *pass, const struct walk_batch *batch)
{
	const struct walk_segment *segment = &pass->load->segment[batch->segment];
	struct verify_finding *f;

	if (batch->line != 1 || segment->first == batch->index)
		return;
	if (pass->load->kind == VERIFY_LEDGER && !pass->segment_gap) {
		f = verify_find(pass->result, VERIFY_GAP, "missing",
		    "%s begins at %" PRIu64 ", the records before it end at %" PRIu64,
		    segment->path, segment->first, batch->index);
		f->has_index = true;
		f->index = batch->index;
		f->count = segment->first > batch->index ? segment->first - batch->index : 1;
		pass->segment_gap = true;
	}
}

/*
 * Behind the signed records the first NUL ends them: it is space taken ahead,
 * which a reader may see for a moment before what is being written there, and
 * which a power cut leaves.  What lies beyond is no record yet.
 */
static void
check_end(struct pass *pass, const struct walk_batch *batch)
{
	const struct walk_line *line;
	unsigned i;

	if (pass->load->kind != VERIFY_LEDGER || pass->chain.end != UINT64_MAX)
		return;
	for (i = 0; i < batch->count; i++) {
		line = &batch->lines[i];
		if (line->rule == NULL || batch->index + i < load_sealed(pass->load) ||
		    memchr(line->text, '\0', line->len) == NULL)
			continue;
		pass->chain.end = batch->index + i;
		pass->torn = line->len;
		pass->torn_line = batch->line + i;
		pass->torn_segment = batch->segment;
		return;
	}
}

static void
tell_progress(struct pass *pass, const struct walk_batch *batch)
{
	unsigned i;

	if (pass->options->progress == NULL)
		return;
	for (i = 0; i < batch->count; i++)
		pass->done += batch->lines[i].len + 1;
	pass->options->progress(pass->options->context, pass->done, pass->load->bytes);
}

/* A refusal whose body begins with a number stands for so many of them. */
static void
count_told(struct verify_result *result, const struct record_line *record)
{
	static const char begins[] = "{\"count\":";
	uint64_t n = 0;

	if (record->body.len < sizeof(begins) || record->type.len != 7 ||
	    memcmp(record->type.ptr, "refusal", 7) != 0 ||
	    memcmp(record->body.ptr, begins, sizeof(begins) - 1) != 0)
		return;
	for (size_t i = sizeof(begins) - 1; i < record->body.len &&
	    record->body.ptr[i] >= '0' && record->body.ptr[i] <= '9' &&
	    n <= RECORD_SEQ_MAX / 10; i++)
		n = n * 10 + (uint64_t)(record->body.ptr[i] - '0');
	result->counted += n;
	result->counted_records++;
}

static int
on_batch(void *context, const struct walk_batch *batch)
{
	struct pass *pass = context;

	tell_progress(pass, batch);
	check_segment(pass, batch);
	check_end(pass, batch);
	for (unsigned i = 0; i < batch->count; i++)
		if (batch->lines[i].rule == NULL)
			count_told(pass->result, &batch->lines[i].record);
	if (pass->result->run[0] != '\0')
		follow_run(pass, batch);
	return chain_batch(&pass->chain, batch) != 0 || grow(pass, batch) != 0 ? -2 : 0;
}

static int
on_torn(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	struct pass *pass = context;

	pass->torn = bytes;
	pass->torn_line = line;
	pass->torn_segment = segment;
	return 0;
}

static unsigned
threads_of(const struct verify_options *options)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (options->threads != 0)
		return options->threads;
	return online < 1 ? 1 : online > THREADS_DEFAULT_MAX ? THREADS_DEFAULT_MAX :
	    (unsigned)online;
}

static int
walk_all(struct pass *pass, const struct verify_options *options,
    int (*batch)(void *, const struct walk_batch *), void *context,
    char *err, size_t err_len)
{
	struct walk walk = {
		.dirfd = pass->load->dirfd, .segments = pass->load->segment,
		.segment_count = pass->load->segments,
		.first = pass->load->frontier.size, .threads = threads_of(options),
		.batch = batch, .torn = on_torn, .context = context,
	};
	int result = walk_run(&walk, err, err_len);

	pass->result->bytes = walk.bytes;
	return result;
}

/* ---- what it means ---- */

/* The largest signed size whose root was reproduced, and the first that was
 * reached and was not (or UINT64_MAX).  Where the latest one is reproduced, the
 * records are as signed, and an earlier one that is not is a fork. */
static void
bounds(const struct load *load, uint64_t *good, uint64_t *bad)
{
	const struct seal *seal;
	unsigned i;

	*good = load->frontier.size;
	*bad = UINT64_MAX;
	for (i = 0; i < load->seals; i++) {
		seal = &load->seal[i];
		if (!seal->reached || seal->state == SEAL_FORGED || seal->saved)
			continue;
		if (seal->matches && seal->at.size == load->latest.at.size)
			*bad = UINT64_MAX;
		if (seal->matches && seal->at.size > *good && *bad == UINT64_MAX)
			*good = seal->at.size;
		if (!seal->matches && seal->at.size < *bad)
			*bad = seal->at.size;
	}
}

static int
locate_batch_cb(void *context, const struct walk_batch *batch)
{
	locate_batch(context, batch);
	return 0;
}

static int
ignore_torn(void *context, unsigned segment, uint64_t line, uint64_t bytes)
{
	(void)context;
	(void)segment;
	(void)line;
	(void)bytes;
	return 0;
}

/* Once more over the records, for what the first pass could not know. */
static int
walk_again(const struct load *load,
    int (*batch)(void *, const struct walk_batch *), void *context)
{
	char err[256];
	struct walk walk = {
		.dirfd = load->dirfd, .segments = load->segment,
		.segment_count = load->segments, .first = load->frontier.size,
		.batch = batch, .torn = ignore_torn, .context = context,
	};

	return walk_run(&walk, err, sizeof(err));
}

/* The tree with one other leaf. */
struct supposed {
	const struct load *load;
	struct tree_frontier tree;
	uint64_t index, size;
	const uint8_t *leaf;
	const uint8_t *root;
};

static int
suppose_batch(void *context, const struct walk_batch *batch)
{
	struct supposed *s = context;
	unsigned i;

	for (i = 0; i < batch->count && s->tree.size < s->size; i++)
		if (tree_frontier_append(&s->tree, batch->index + i == s->index ?
		    s->leaf : batch->lines[i].leaf) != 0)
			return 1;
	return s->tree.size == s->size;
}

static bool
suppose(void *context, uint64_t index, const uint8_t leaf[TREE_HASH_LEN])
{
	const struct supposed *at = context;
	struct supposed s = *at;
	uint8_t root[TREE_HASH_LEN];

	s.tree = s.load->frontier;
	s.index = index;
	s.leaf = leaf;
	if (walk_again(s.load, suppose_batch, &s) < 0 || s.tree.size != s.size)
		return false;
	tree_frontier_root(&s.tree, root);
	return memcmp(root, s.root, TREE_HASH_LEN) == 0;
}

/* The root at the first size where it was not the signed one. */
static const uint8_t *
root_at(const struct load *load, uint64_t size)
{
	unsigned i;

	for (i = 0; i < load->seals; i++)
		if (load->seal[i].at.size == size && !load->seal[i].saved)
			return load->seal[i].at.root;
	return load->latest.at.root;
}

/* Name what was changed: by the leaves where there are good ones. */
static void
name_changes(struct pass *pass, uint64_t good, uint64_t bad)
{
	struct locate locate;
	struct supposed supposed = { .load = pass->load,
	    .size = bad != UINT64_MAX ? bad : pass->load->latest.at.size,
	    .root = root_at(pass->load, bad) };
	struct suspects suspects = { &pass->chain, pass->load, good,
	    bad < pass->tree.size ? bad : pass->tree.size, suppose, &supposed,
	    pass->result };

	if (pass->load->leaf == NULL) {
		locate_by_chain(&suspects);
		return;
	}
	locate_init(&locate, pass->load, pass->result);
	/* where the files cannot be read, the first pass has said so */
	if (walk_again(pass->load, locate_batch_cb, &locate) == 0)
		locate_end(&locate);
}

/* Two notes of one size with different roots are evidence by themselves, and
 * so is a signed root that is none of a history signed later. */
static void
check_forks(const struct load *load, uint64_t bad, struct verify_result *result)
{
	const struct seal *a, *b;
	unsigned i;

	for (i = 0; i < load->seals && bad == UINT64_MAX; i++) {
		a = &load->seal[i];
		if (a->reached && !a->matches && a->state == SEAL_GOOD && !a->saved)
			verify_find(result, VERIFY_GAP, "fork", "the key signed a root for "
			    "size %" PRIu64 " that the later history does not have",
			    a->at.size);
	}
	for (i = 1; i < load->seals; i++) {
		a = &load->seal[i - 1];
		b = &load->seal[i];
		if (a->at.size == b->at.size && a->state == SEAL_GOOD &&
		    b->state == SEAL_GOOD && !a->saved && !b->saved &&
		    memcmp(a->at.root, b->at.root, TREE_HASH_LEN) != 0)
			verify_find(result, VERIFY_GAP, "fork", "the key signed two roots "
			    "for size %" PRIu64 ": two histories", a->at.size);
	}
}

static void
check_torn(struct pass *pass, bool sealed_all)
{
	struct verify_finding *f;

	if (pass->torn == 0)
		return;
	if (pass->load->kind == VERIFY_BUNDLE ||
	    pass->torn_segment + 1 != pass->load->segments)
		f = verify_find(pass->result, VERIFY_GAP, "cut",
		    "%" PRIu64 " bytes without the LF that ends a record", pass->torn);
	else
		f = verify_find(pass->result, VERIFY_NOT_ESTABLISHED, "torn",
		    "%" PRIu64 " bytes %s%s", pass->torn,
		    pass->chain.end != UINT64_MAX ? "with NULs among them, so no record yet" :
		    "without the LF that ends a record",
		    sealed_all ? ", behind the sealed ones" : "");
	f->line = pass->torn_line;
	snprintf(f->file, sizeof(f->file), "%s",
	    pass->load->segment[pass->torn_segment].path);
}

static void
judge_integrity(struct pass *pass, const struct verify_options *options,
    bool changed)
{
	const struct seal *latest = &pass->load->latest;
	struct verify_statement *s = &pass->result->integrity;
	const uint64_t n = pass->result->sealed - pass->load->frontier.size;

	if (changed || latest->state == SEAL_FORGED || latest->state == SEAL_MALFORMED) {
		state(s, VERIFY_GAP, "the records are not those that were signed");
		if (latest->state == SEAL_MALFORMED)
			state(s, VERIFY_GAP, "there is no readable checkpoint");
	} else if (options->key == NULL) {
		state(s, VERIFY_NOT_ESTABLISHED, "no key is pinned (--key): the records "
		    "give the checkpoint's root, which anybody could have signed");
	} else if (latest->state == SEAL_UNPINNED) {
		state(s, VERIFY_NOT_ESTABLISHED, "the checkpoint is not signed by the "
		    "pinned key");
	} else if (pass->result->verdict == VERIFY_GAP &&
	    !pass->load->manifest_good && pass->load->kind == VERIFY_BUNDLE) {
		state(s, VERIFY_GAP, "the records give the signed root, but the "
		    "manifest is damaged");
	} else {
		s->verdict = VERIFY_COMPLETE;
		snprintf(s->text, sizeof(s->text), "%" PRIu64 " records give the root "
		    "signed by the pinned key for size %" PRIu64, n, pass->result->sealed);
	}
}

static void
judge_run(struct pass *pass)
{
	struct verify_result *r = pass->result;

	if (pass->opened == UINT64_MAX)
		verify_find(r, VERIFY_NOT_ESTABLISHED, "no_open",
		    "the run's opening is not among the records");
	else if (pass->opened != pass->run_first || pass->opened != pass->load->frontier.size)
		verify_find(r, VERIFY_GAP, "no_open",
		    "the records do not begin with the run's opening");
	if (pass->teardown == UINT64_MAX)
		verify_find(r, VERIFY_NOT_ESTABLISHED, "no_teardown",
		    "the run was not torn down: it is still open, or its end is not here");
	else if (pass->run_last != pass->teardown)
		verify_find(r, VERIFY_GAP, "after_teardown",
		    "records of the run behind its teardown")->index = pass->run_last;
}

static enum verify_verdict
judge_stream(const struct pass *pass, const struct chain_stream *from,
    bool sealed, struct verify_stream *to)
{
	memcpy(to->name, from->name, sizeof(to->name));
	to->first_seq = from->first_seq;
	to->last_seq = from->next_seq - 1;
	to->first_index = from->first_index;
	to->last_index = from->last_index;
	to->records = from->records;
	to->dropped = from->dropped;
	to->why = "";
	to->verdict = VERIFY_COMPLETE;
	if (from->faults > 0 || from->dropped > 0) {
		to->verdict = VERIFY_GAP;
		to->why = from->faults > 0 ? "does not hold together" : "declared drops";
	} else if (!sealed) {
		to->verdict = VERIFY_NOT_ESTABLISHED;
		to->why = "not sealed";
	} else if (pass->load->kind == VERIFY_LEDGER && from->open) {
		to->verdict = VERIFY_NOT_ESTABLISHED;
		to->why = "no close: still open, or its end is lost";
	} else if (from->cuts > 0) {
		to->verdict = VERIFY_NOT_ESTABLISHED;
		to->why = "opened again without a close";
	}
	return to->verdict;
}

static int
judge_streams(struct pass *pass, bool good)
{
	struct verify_result *r = pass->result;
	unsigned i;

	r->stream = calloc(pass->chain.count + 1, sizeof(*r->stream));
	if (r->stream == NULL)
		return -1;
	for (i = 0; i < pass->chain.count; i++) {
		r->drops += pass->chain.stream[i].dropped;
		r->verdict = verify_worse(r->verdict, judge_stream(pass,
		    &pass->chain.stream[i], good &&
		    pass->chain.stream[i].last_index < r->sealed, &r->stream[i]));
	}
	r->streams = pass->chain.count;
	return 0;
}

static void
judge_completeness(struct pass *pass)
{
	struct verify_result *r = pass->result;
	struct verify_statement *s = &r->completeness;

	s->verdict = verify_worse(r->verdict, r->integrity.verdict);
	if (s->verdict == VERIFY_GAP)
		state(s, VERIFY_GAP, "see the findings");
	else if (s->verdict == VERIFY_NOT_ESTABLISHED)
		state(s, VERIFY_NOT_ESTABLISHED, "see the findings and streams");
	else if (r->kind == VERIFY_BUNDLE)
		snprintf(s->text, sizeof(s->text), "every record from the run's opening "
		    "(index %" PRIu64 ") to its teardown (index %" PRIu64 ") is here",
		    pass->opened, pass->teardown);
	else
		snprintf(s->text, sizeof(s->text), "every record from the first to the "
		    "close of each of %u streams is here", r->streams);
}

static void
judge_rest(struct pass *pass)
{
	struct verify_result *r = pass->result;

	state(&r->anchoring, VERIFY_NOT_ESTABLISHED, "no witness and no time stamp "
	    "vouches for this head: whoever holds the log key could have signed "
	    "another history");
	if (pass->load->latest.others > 0)
		snprintf(r->anchoring.text, sizeof(r->anchoring.text), "%u signatures of "
		    "other keys, none of which is pinned: whoever holds the log key "
		    "could have signed another history", pass->load->latest.others);
	state(&r->coverage, VERIFY_NOT_ESTABLISHED, pass->load->coverage ?
	    "a coverage manifest is there; it was not reconciled" :
	    "no coverage manifest: what was never recorded leaves no trace here");
}

/* A head that the verifier saved before. */
static void
check_head(struct pass *pass, const struct seal *head)
{
	struct verify_result *r = pass->result;

	if (head->state != SEAL_GOOD)
		verify_find(r, VERIFY_NOT_ESTABLISHED, "head",
		    "the saved head cannot be used: %s", head->why);
	else if (head->at.size > r->size)
		verify_find(r, VERIFY_GAP, "rollback", "the saved head has size %" PRIu64
		    ", these records end at %" PRIu64, head->at.size, r->size);
	else if (head->reached && !head->matches)
		verify_find(r, VERIFY_GAP, "fork", "the records do not give the saved "
		    "head's root at size %" PRIu64, head->at.size);
	else if (!head->reached)
		verify_find(r, VERIFY_NOT_ESTABLISHED, "head", "the saved head lies "
		    "before these records: that they extend it cannot be told");
}

/* The head as the pass has marked it. */
static const struct seal *
find_head(const struct load *load, const struct seal *head)
{
	unsigned i;

	for (i = 0; i < load->seals; i++)
		if (load->seal[i].saved)
			return &load->seal[i];
	return head;
}

/* Records whose absence the findings have named already: each that is missing,
 * and one for each line that is none any more. */
static uint64_t
accounted(const struct verify_result *r)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < r->findings; i++)
		if (strcmp(r->finding[i].code, "missing") == 0 ||
		    strcmp(r->finding[i].code, "altered") == 0)
			n += r->finding[i].count;
	return n;
}

static void
check_length(struct pass *pass)
{
	struct verify_result *r = pass->result;
	struct verify_finding *f;

	if (pass->load->latest.state == SEAL_MALFORMED)
		return;
	if (r->size < r->sealed && accounted(r) < r->sealed - r->size) {
		f = verify_find(r, VERIFY_GAP, "missing",
		    "%" PRIu64 " records are signed, %" PRIu64 " are there", r->sealed,
		    r->size);
		f->has_index = true;
		f->index = r->size;
		f->count = r->sealed - r->size;
	} else if (r->size > r->sealed && pass->load->kind == VERIFY_LEDGER) {
		f = verify_find(r, VERIFY_NOT_ESTABLISHED, "unsealed",
		    "%" PRIu64 " records behind the last checkpoint are not signed yet",
		    r->size - r->sealed);
		f->has_index = true;
		f->index = r->sealed;
		f->count = r->size - r->sealed;
	} else if (r->size > r->sealed && pass->load->leaf == NULL) {
		verify_find(r, VERIFY_GAP, "inserted", "%" PRIu64
		    " records more than the checkpoint has", r->size - r->sealed);
	}
}

/*
 * The log of all checkpoints may be ahead of the latest one's file, by a crash
 * between the two, but never of the records, which are on disk before they are
 * signed.  True where signed records are gone.
 */
static bool
check_newest(struct pass *pass)
{
	const struct verify_result *r = pass->result;
	const struct seal *newest = NULL, *seal;
	struct verify_finding *f;
	unsigned i;

	for (i = 0; pass->load->kind == VERIFY_LEDGER && i < pass->load->seals; i++) {
		seal = &pass->load->seal[i];
		if (seal->saved || seal->state == SEAL_FORGED || seal->at.size <= r->size ||
		    seal->at.size <= r->sealed)
			continue;
		if (newest == NULL || newest->state != SEAL_GOOD || seal->state == SEAL_GOOD)
			newest = seal;
	}
	if (newest == NULL)
		return false;
	f = verify_find(pass->result, newest->state == SEAL_GOOD ? VERIFY_GAP :
	    VERIFY_NOT_ESTABLISHED, "rollback", "a checkpoint signs %" PRIu64
	    " records, %" PRIu64 " are there", newest->at.size, r->size);
	f->has_index = true;
	f->index = r->size;
	f->count = newest->at.size - r->size;
	return newest->state == SEAL_GOOD;
}

static int
chain_batch_cb(void *context, const struct walk_batch *batch)
{
	return chain_batch(context, batch);
}

/* What was changed among the signed records is found by what they say of each
 * other; those behind them must not take part in that. */
static int
rechain(struct pass *pass)
{
	if (pass->load->kind != VERIFY_LEDGER || pass->tree.size <= load_sealed(pass->load))
		return 0;
	chain_free(&pass->chain);
	if (chain_init(&pass->chain, false) != 0)
		return -1;
	pass->chain.end = load_sealed(pass->load);
	return walk_again(pass->load, chain_batch_cb, &pass->chain) == 0 ? 0 : -1;
}

static int
judge(struct pass *pass, const struct verify_options *options,
    const struct seal *head, char *err, size_t err_len)
{
	struct verify_result *r = pass->result;
	uint64_t good, bad;
	bool changed, short_of, lost;

	r->first = pass->load->frontier.size;
	r->size = pass->tree.size;
	r->sealed = pass->load->latest.at.size;
	sodium_bin2hex(r->root, sizeof(r->root), pass->load->latest.at.root, TREE_HASH_LEN);
	snprintf(r->origin, sizeof(r->origin), "%s", pass->load->latest.at.origin);
	r->head = pass->load->latest.at;
	bounds(pass->load, &good, &bad);
	short_of = r->size < r->sealed;
	changed = bad != UINT64_MAX || short_of ||
	    (pass->load->kind == VERIFY_BUNDLE && r->size != r->sealed);
	check_forks(pass->load, bad, r);
	if (changed && rechain(pass) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	if (changed && (bad != UINT64_MAX || pass->chain.events > 0 ||
	    pass->load->leaf != NULL))
		name_changes(pass, good, bad);
	else
		locate_flaws(&pass->chain, pass->load, r);
	check_length(pass);
	lost = check_newest(pass);
	check_torn(pass, !short_of);
	if (options->head != NULL)
		check_head(pass, find_head(pass->load, head));
	if (pass->load->kind == VERIFY_BUNDLE && !changed)
		judge_run(pass);
	if (pass->load->kind == VERIFY_BUNDLE)
		packs_check(pass->load->dirfd, &pass->named,
		    !changed && r->run[0] != '\0', r);
	judge_integrity(pass, options, changed || lost);
	r->verdict = verify_worse(r->verdict, r->integrity.verdict);
	if (judge_streams(pass, r->integrity.verdict == VERIFY_COMPLETE) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	judge_completeness(pass);
	judge_rest(pass);
	return 0;
}

static int
load_head(struct load *load, const struct verify_options *options,
    struct seal *head, char *err, size_t err_len)
{
	if (options->head == NULL)
		return 0;
	if (load_saved_head(load, options->head, options->key, head) != 0)
		snprintf(err, err_len, "%.200s: the saved head cannot be read", options->head);
	else if (head->state == SEAL_MALFORMED)
		snprintf(err, err_len, "%.200s: no saved head, which is a signed "
		    "checkpoint: %s", options->head, head->why);
	else
		return 0;
	return -1;
}

static int
run(struct pass *pass, const struct verify_options *options, char *err,
    size_t err_len)
{
	struct seal head = { .state = SEAL_MALFORMED, .why = "malformed" };
	int result;

	if (load_open(pass->load, options, pass->result, err, err_len) != 0 ||
	    load_head(pass->load, options, &head, err, err_len) != 0)
		return -1;
	if (chain_init(&pass->chain, pass->load->kind == VERIFY_BUNDLE) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	pass->tree = pass->load->frontier;
	reach(pass);
	result = walk_all(pass, options, on_batch, pass, err, err_len);
	if (result == -2)
		snprintf(err, err_len, "out of memory");
	if (result == -1 && pass->load->kind == VERIFY_BUNDLE)
		verify_find(pass->result, VERIFY_GAP, "missing_file", "%.250s", err);
	else if (result != 0)
		return -1;
	return judge(pass, options, &head, err, err_len);
}

int
verify_run(const struct verify_options *options, struct verify_result *result,
    char *err, size_t err_len)
{
	struct load load = { .dirfd = -1 };
	struct pass *pass = calloc(1, sizeof(*pass));
	int status = -1;

	memset(result, 0, sizeof(*result));
	if (pass == NULL || sodium_init() < 0) {
		snprintf(err, err_len, "out of memory");
		goto out;
	}
	pass->load = &load;
	pass->result = result;
	pass->options = options;
	pass->opened = pass->teardown = UINT64_MAX;
	status = run(pass, options, err, err_len);
out:
	if (pass != NULL)
		chain_free(&pass->chain);
	free(pass);
	load_close(&load);
	if (status != 0)
		verify_free(result);
	return status;
}

void
verify_free(struct verify_result *result)
{
	free(result->stream);
	result->stream = NULL;
	result->streams = 0;
}
