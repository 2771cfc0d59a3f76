#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/verify/keys.h"
#include "ledger/verify/locate.h"
#include "ledger/verify/pass.h"
#include "ledger/verify/vouch.h"

static void
state(struct verify_statement *statement, enum verify_verdict verdict,
    const char *text)
{
	statement->verdict = verdict;
	snprintf(statement->text, sizeof(statement->text), "%s", text);
}

/* Two notes of one size with different roots are evidence by themselves, and
 * so is a signed root that is none of a history signed later. */
static void
check_forks(const struct load *load, uint64_t bad, struct verify_result *result)
{
	const struct seal *a, *b;
	unsigned i;

	for (i = 0; i < load->seals.count && bad == UINT64_MAX; i++) {
		a = &load->seals.seal[i];
		if (a->reached && !a->matches && a->state == SEAL_GOOD && !a->saved)
			verify_find(result, VERIFY_GAP, "fork", "the key signed a root for "
			    "size %" PRIu64 " that the later history does not have",
			    a->at.size);
	}
	for (i = 1; i < load->seals.count; i++) {
		a = &load->seals.seal[i - 1];
		b = &load->seals.seal[i];
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
		    pass->nul ? "with NULs among them, so no record yet" :
		    "without the LF that ends a record",
		    sealed_all ? ", behind the sealed ones" : "");
	if (pass->beyond > 0)
		snprintf(f->what + strlen(f->what), sizeof(f->what) - strlen(f->what),
		    "; %" PRIu64 " records beyond them were not followed", pass->beyond);
	f->line = pass->torn_line;
	snprintf(f->file, sizeof(f->file), "%s",
	    pass->load->segment[pass->torn_segment].path);
}

static void
judge_integrity(struct pass *pass, bool changed)
{
	const struct seal *latest = &pass->load->latest;
	struct verify_statement *s = &pass->result->integrity;
	const uint64_t n = pass->result->sealed - pass->load->frontier.size;

	if (changed || latest->state == SEAL_FORGED || latest->state == SEAL_MALFORMED) {
		state(s, VERIFY_GAP, "the records are not those that were signed");
		if (latest->state == SEAL_MALFORMED)
			state(s, VERIFY_GAP, "there is no readable checkpoint");
	} else if (pass->options->key == NULL && pass->options->trust != NULL) {
		state(s, VERIFY_NOT_ESTABLISHED, "the trust policy has no key of this "
		    "ledger's origin: the records give the checkpoint's root, which "
		    "anybody could have signed");
	} else if (pass->options->key == NULL) {
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

/* A session tears down what it opened before it closes: the run of a bundle was opened
 * by the stream that its first record is of. */
static void
judge_session(struct pass *pass)
{
	const struct chain_stream *s = pass->chain.stream;
	struct verify_finding *f;

	if (pass->chain.count == 0 || s->first_index != pass->opened || s->closed_index == 0 ||
	    s->closed_index > pass->teardown)
		return;
	f = verify_find(pass->result, VERIFY_NOT_ESTABLISHED, "no_teardown", "the session "
	    "that opened the run closes here, and the run goes on: how it ended is not known");
	f->has_index = true;
	f->index = s->closed_index;
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
	else
		judge_session(pass);
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
		r->unclosed += pass->chain.stream[i].cuts +
		    (pass->load->kind == VERIFY_LEDGER && pass->chain.stream[i].open);
		r->verdict = verify_worse(r->verdict, judge_stream(pass,
		    &pass->chain.stream[i], good &&
		    pass->chain.stream[i].last_index < r->sealed, &r->stream[i]));
	}
	r->streams = pass->chain.count;
	return 0;
}

static void add(struct verify_statement *statement, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
add(struct verify_statement *statement, const char *format, ...)
{
	const size_t n = strlen(statement->text);
	va_list args;

	va_start(args, format);
	vsnprintf(statement->text + n, sizeof(statement->text) - n, format, args);
	va_end(args);
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
	else if (r->since > 0)
		snprintf(s->text, sizeof(s->text), "every record since the saved head (size %"
		    PRIu64 ") to the close of each of %u streams is here; what comes before "
		    "it was verified when it was saved", r->since, r->streams);
	else
		snprintf(s->text, sizeof(s->text), "every record from the first to the "
		    "close of each of %u streams is here", r->streams);
	if (r->uncounted)
		add(s, "; its teardown does not count the run's requests");
	if (r->since > 0)
		add(s, "; whether runs that were opened before record %" PRIu64 " were torn "
		    "down is not asked", r->first);
	if (r->kind == VERIFY_LEDGER)
		add(s, "; what each run was opened for, and what its teardown counts, is held "
		    "against its bundle");
	if (r->torn > 0)
		add(s, "; %" PRIu64 " torn end%s cut off between sessions, with what nobody had "
		    "been told of (recover)", r->torn, r->torn == 1 ? " was" : "s were");
	if (pass->chain.before.size > 0)
		add(s, "; it follows another ledger, %.100s with %" PRIu64 " records, which is "
		    "to be verified by itself", pass->chain.before.origin,
		    pass->chain.before.size);
}

static void
judge_rest(struct pass *pass)
{
	struct verify_result *r = pass->result;

	state(&r->coverage, VERIFY_NOT_ESTABLISHED, "no independent observer was asked "
	    "(--truth): what was never recorded leaves no trace here");
}

/* Does the note's proof lead from the bundle to it? */
static bool
leads_to(const struct load *load, const struct gather_note *note)
{
	return note->proof != NULL && note->old_size == load->latest.at.size &&
	    tree_verify_consistency(note->proof, note->old_size, note->at.size,
	    load->latest.at.root, note->at.root);
}

/* A head behind the bundle: its anchors may have a checkpoint of that size. */
static void
check_head_ahead(struct pass *pass, const struct seal *head)
{
	const struct load *load = pass->load;
	const struct gather_note *note;
	struct seal seal;
	bool same;

	for (unsigned i = 0; i < load->others.notes; i++) {
		note = &load->others.note[i];
		if (note->at.size != head->at.size)
			continue;
		same = memcmp(note->at.root, head->at.root, TREE_HASH_LEN) == 0;
		if (same && leads_to(load, note))
			return;
		seal_read(&seal, note->text, note->len, &load->epochs, NULL);
		if (same || seal.state != SEAL_GOOD)
			continue;
		verify_find(pass->result, VERIFY_GAP, "fork", "the key signed another root for "
		    "size %" PRIu64 " than the saved head's: two histories", head->at.size);
		return;
	}
	verify_find(pass->result, VERIFY_NOT_ESTABLISHED, "head", "the saved head has size %"
	    PRIu64 ", this bundle was cut out at %" PRIu64 ": whether that one "
	    "continues it only the ledger can tell", head->at.size, pass->result->sealed);
}

/* A head that the verifier saved before. */
static void
check_head(struct pass *pass, const struct seal *head)
{
	struct verify_result *r = pass->result;

	if (head->state != SEAL_GOOD)
		verify_find(r, VERIFY_NOT_ESTABLISHED, "head",
		    "the saved head cannot be used: %s", head->why);
	else if (head->at.size > r->sealed && r->kind == VERIFY_BUNDLE)
		check_head_ahead(pass, head);
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
find_head(const struct load *load)
{
	unsigned i;

	for (i = 0; i < load->seals.count; i++)
		if (load->seals.seal[i].saved)
			return &load->seals.seal[i];
	return &load->head;
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
	} else if (r->size > r->sealed && !pass->load->leaves_good) {
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

	for (i = 0; pass->load->kind == VERIFY_LEDGER && i < pass->load->seals.count; i++) {
		seal = &pass->load->seals.seal[i];
		if (seal->saved || seal->kept || seal->state == SEAL_FORGED || seal->at.size <= r->size ||
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

static bool
has_drops(const struct pass *pass)
{
	unsigned i;

	for (i = 0; i < pass->chain.count; i++)
		if (pass->chain.stream[i].dropped > 0)
			return true;
	return false;
}

int
judge(struct pass *pass, char *err, size_t err_len)
{
	struct verify_result *r = pass->result;
	uint64_t good, bad;
	bool changed, short_of, lost;

	r->first = pass->load->frontier.size;
	r->since = pass->options->since ? pass->load->head.at.size : 0;
	r->size = pass->tree.size < pass->chain.end ? pass->tree.size : pass->chain.end;
	r->sealed = pass->load->latest.at.size;
	sodium_bin2hex(r->root, sizeof(r->root), pass->load->latest.at.root, TREE_HASH_LEN);
	snprintf(r->origin, sizeof(r->origin), "%s", pass->load->origin);
	r->head.size = r->sealed;
	memcpy(r->head.origin, r->origin, sizeof(r->origin));
	memcpy(r->head.root, pass->load->latest.at.root, TREE_HASH_LEN);
	changed = changes_between(pass, &good, &bad);
	short_of = r->size < r->sealed;
	check_forks(pass->load, bad, r);
	if (changed && changes_name(pass, good, bad) != 0)
		goto memory;
	if (!changed) {
		locate_flaws(&pass->chain, pass->load, r);
		links_judge(pass->links, r, pass_again);
		runs_judge(pass->runs, has_drops(pass), r);
		bound_judge(pass->bound, r);
		keys_judge(pass);
	}
	check_length(pass);
	lost = check_newest(pass);
	check_torn(pass, !short_of);
	if (pass->options->head != NULL)
		check_head(pass, find_head(pass->load));
	if (pass->load->kind == VERIFY_BUNDLE && !changed)
		judge_run(pass);
	if (pass->load->kind == VERIFY_BUNDLE)
		packs_check(pass->load->dirfd, &pass->named,
		    !changed && r->run[0] != '\0', pass->options, r);
	judge_integrity(pass, changed || lost);
	r->verdict = verify_worse(r->verdict, r->integrity.verdict);
	if (judge_streams(pass, r->integrity.verdict == VERIFY_COMPLETE) != 0)
		goto memory;
	judge_completeness(pass);
	judge_rest(pass);
	if (keys_anchoring(pass) != 0)
		goto memory;
	bound_state(pass->bound, r);
	if (pass->load->kind == VERIFY_BUNDLE)
		vouch_files(pass);
	return 0;
memory:
	snprintf(err, err_len, "out of memory");
	return -1;
}
