#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ledger/anchor/anchor.h"
#include "ledger/evidence/evidence.h"
#include "ledger/verify/keys.h"
#include "ledger/input.h"

#define CLOCKS_APART_S 300	/* of the recorder and of those who vouch */

/* ---- the keys ---- */

static const char *
path_of(const struct load *load)
{
	return load->kind == VERIFY_BUNDLE ? "keys/" EPOCHS_FILE : EPOCHS_FILE;
}

/* A ledger goes on; an earlier run's bundle need not, but whoever took keys out of a
 * later one's (its manifest is not signed) leaves the same. */
static void
not_reached(const struct load *load, uint64_t epoch, struct verify_result *result)
{
	const unsigned last = load->epochs.count - 1;

	if (load->kind == VERIFY_LEDGER)
		verify_find(result, VERIFY_GAP, "rollback", "the policy pins the key of "
		    "epoch %" PRIu64 ", this ledger has %u: what came later is gone",
		    epoch, last);
	else
		verify_find(result, VERIFY_NOT_ESTABLISHED, "key", "the policy pins the "
		    "key of epoch %" PRIu64 ", and the keys here end at epoch %u: whether "
		    "the one that signed was in force is not known (--epochs)", epoch, last);
}

/* Another key than one that the policy pins for that epoch. */
static void
check_pinned(const struct load *load, const struct verify_options *options,
    struct verify_result *result)
{
	const struct trust_log *log = options->trust == NULL ? NULL :
	    trust_log(options->trust, options->key->name);

	for (unsigned i = 0; log != NULL && i < log->epochs; i++) {
		const struct trust_epoch *want = &log->epoch[i];

		if (want->epoch >= load->epochs.count) {
			not_reached(load, want->epoch, result);
			continue;
		}
		if (memcmp(load->epochs.epoch[want->epoch].key.pk, want->key.pk,
		    NOTE_PK_LEN) != 0)
			verify_find(result, VERIFY_GAP, "key", "the key of epoch "
			    "%" PRIu64 " is not the one that the policy pins",
			    want->epoch);
	}
}

/* The checkpoints that end epochs: the records must give their roots too. */
static int
add_seals(struct load *load, const char *text, size_t len)
{
	struct seal seal;
	size_t at = 0, n;

	for (unsigned i = 1; i < load->epochs.count &&
	    (n = epochs_entry_len(text + at, len - at)) > 0; i++, at += n) {
		const char *end = text + at + n - 1, *note;

		/* behind the empty line that ends the proof's hashes */
		note = memmem(text + at, n, "\n\n", 2);
		if (note == NULL)
			return 0;
		seal_read(&seal, note + 2, (size_t)(end - note - 2),
		    &load->epochs, NULL);
		if (seal.state == SEAL_GOOD &&
		    seals_add(&load->seals, &seal) != 0)
			return -1;
	}
	return 0;
}

/* The whole file `epochs` that the verifier brings, to be freed; NULL with a message. */
static char *
read_given(const char *path, size_t *len, char *err, size_t err_len)
{
	FILE *in = input_open(path);
	char *text = in != NULL ? malloc(EPOCHS_BYTES_MAX + 1) : NULL;
	const char *why = in != NULL ? "out of memory" : input_why(errno);

	if (text != NULL) {
		*len = fread(text, 1, EPOCHS_BYTES_MAX + 1, in);
		why = ferror(in) ? strerror(errno) : *len > EPOCHS_BYTES_MAX ?
		    "too long" : NULL;
	}
	if (in != NULL)
		fclose(in);
	if (why == NULL)
		return text;
	snprintf(err, err_len, "%.200s: the epochs cannot be read: %s", path, why);
	free(text);
	return NULL;
}

/* Does one begin with the other? */
static bool
agree(const struct epochs *a, const struct epochs *b)
{
	const unsigned count = a->count < b->count ? a->count : b->count;

	for (unsigned i = 0; i < count; i++) {
		if (memcmp(a->epoch[i].key.pk, b->epoch[i].key.pk, NOTE_PK_LEN) != 0 ||
		    (i + 1 < count && a->epoch[i].until != b->epoch[i].until))
			return false;
	}
	return true;
}

/* The keys that the verifier brings for a bundle go before those in it where they
 * reach further.  0, or -1 with a message. */
static int
take_given(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len)
{
	struct epochs given = { .count = 0 };
	const char *why = "out of memory";
	size_t len;
	char *text = read_given(options->epochs, &len, err, err_len);
	int status = -1;

	if (text == NULL)
		return -1;
	if (epochs_pin(&given, options->key) != 0 ||
	    epochs_follow(&given, text, len, &why) != 0) {
		snprintf(err, err_len, "%.200s: %s", options->epochs, why);
		goto out;
	}
	status = 0;
	if (!agree(&load->epochs, &given)) {
		verify_of_file(verify_find(result, VERIFY_GAP, "fork", "%s: other keys than "
		    "those of --epochs follow from the pinned one", path_of(load)),
		    path_of(load));
	} else if (given.count > load->epochs.count) {
		const struct epochs own = load->epochs;

		load->epochs = given;
		given = own;	/* to be freed */
		if ((status = add_seals(load, text, len)) != 0)
			snprintf(err, err_len, "out of memory");
	}
out:
	epochs_free(&given);
	free(text);
	return status;
}

/* Those that the files hold.  0, or -1 where memory lacks. */
static int
load_own(struct load *load, const struct verify_options *options,
    struct verify_result *result)
{
	const char *why = "";
	size_t len = 0;
	char *text;
	int status = 0;

	epochs_free(&load->epochs);
	if (epochs_pin(&load->epochs, options->key) != 0)
		return -1;
	text = evidence_read(load->dirfd, path_of(load), EPOCHS_BYTES_MAX, &len);
	if (text != NULL && epochs_follow(&load->epochs, text, len, &why) != 0)
		verify_of_file(verify_find(result, VERIFY_GAP, "key", "%s: %s",
		    path_of(load), why), path_of(load));
	/* In a ledger's it is the next one, which is being written. */
	if (text != NULL && load->kind == VERIFY_BUNDLE && epochs_whole(text, len) != len)
		verify_of_file(verify_find(result, VERIFY_GAP, "key",
		    "%s: bytes that are no whole entry, for which nobody vouches",
		    path_of(load)), path_of(load));
	if (text != NULL)
		status = add_seals(load, text, len);
	free(text);
	return status;
}

int
keys_load(struct load *load, const struct verify_options *options,
    struct verify_result *result, char *err, size_t err_len)
{
	if (options->epochs != NULL && load->kind == VERIFY_LEDGER) {
		snprintf(err, err_len, "--epochs is for a bundle: a ledger has its own");
		return -1;
	}
	if (options->key == NULL)
		return 0;
	if (load_own(load, options, result) != 0) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	if (options->epochs != NULL && take_given(load, options, result, err, err_len) != 0)
		return -1;
	check_pinned(load, options, result);
	return 0;
}

int
keys_follow(struct load *load)
{
	struct note_key origin = load->epochs.epoch[0].key;
	const char *why = "";
	size_t len = 0;
	char *text = evidence_read(load->dirfd, path_of(load), EPOCHS_BYTES_MAX,
	    &len);
	int status = -1;

	epochs_free(&load->epochs);
	if (epochs_pin(&load->epochs, &origin) == 0 && text != NULL)
		status = epochs_follow(&load->epochs, text, len, &why);
	free(text);
	return status;
}

/* ---- the records that bring them in ---- */

static bool
brings_in(const struct epochs *epochs, uint64_t index)
{
	unsigned low = 0, high = epochs->count - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (epochs->epoch[middle].until < index + 1)
			low = middle + 1;
		else
			high = middle;
	}
	return epochs->epoch[low].until == index + 1;
}

static bool
was_read(const struct chain *chain, uint64_t index)
{
	for (unsigned i = 0; i < chain->keys; i++) {
		if (chain->key[i] == index)
			return true;
	}
	return false;
}

void
keys_judge(struct pass *pass)
{
	const struct epochs *epochs = &pass->load->epochs;
	struct verify_result *r = pass->result;
	struct verify_finding *f;

	if (epochs->count == 0)
		return;
	for (unsigned i = 0; i < pass->chain.keys; i++) {
		uint64_t index = pass->chain.key[i];

		if (index >= r->sealed || brings_in(epochs, index))
			continue;
		/* Its entry is written after the checkpoint that ends with it. */
		f = index + 1 == r->sealed ? verify_find(r,
		    VERIFY_NOT_ESTABLISHED, "key", "a key record at the end, with "
		    "which no epoch begins yet") :
		    verify_find(r, VERIFY_GAP, "key", "a key record with which "
		    "no epoch begins: the one before it was not sealed there");
		f->has_index = true;
		f->index = index;
	}
	for (unsigned i = 0; i + 1 < epochs->count; i++) {
		uint64_t index = epochs->epoch[i].until - 1;

		if (index < r->first || index >= r->size ||
		    was_read(&pass->chain, index))
			continue;
		f = verify_find(r, VERIFY_GAP, "key", "epoch %u begins here, but "
		    "the record is no key record", i + 1);
		f->has_index = true;
		f->index = index;
	}
}

/* ---- anchoring ---- */

int
keys_take_others(struct load *load)
{
	const unsigned own = load->seals.count;
	unsigned at = 0;

	seals_sort(&load->seals);
	for (unsigned i = 0; i < load->others.notes; i++) {
		const struct checkpoint *note = &load->others.note[i].at;
		struct seal seal = { .at = { .size = note->size },
		    .state = SEAL_UNPINNED, .kept = true, .why = "" };

		while (at < own && load->seals.seal[at].at.size < note->size)
			at++;
		if ((at < own && load->seals.seal[at].at.size == note->size) ||
		    strcmp(note->origin, load->origin) != 0 ||
		    load->seals.count == SEALS_MAX)
			continue;	/* known, or another log's */
		memcpy(seal.at.root, note->root, TREE_HASH_LEN);
		if (seals_add(&load->seals, &seal) != 0)
			return -1;
	}
	seals_sort(&load->seals);
	return 0;
}

/* Is that the root of the records at its size?  By any that the pass reached. */
static int
stands(void *context, const struct checkpoint *at)
{
	const struct seals *seals = context;
	unsigned low = 0, high = seals->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (seals->seal[middle].at.size < at->size)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < seals->count && seals->seal[low].at.size == at->size; low++) {
		const struct seal *seal = &seals->seal[low];
		bool same = memcmp(seal->at.root, at->root, TREE_HASH_LEN) == 0;

		if (seal->reached && (seal->matches || same))
			return same && seal->matches;
	}
	return -1;
}

static void
take_claims(struct verify_result *r, const struct anchor_answer *answer)
{
	r->anchored = answer->size;
	r->anchored_s = answer->time_s;
	for (unsigned i = 0; i < answer->claims; i++) {
		struct verify_anchor *to = &r->anchor[r->anchors++];

		snprintf(to->name, sizeof(to->name), "%s",
		    answer->claim[i].name);
		to->witness = answer->claim[i].witness;
		to->size = answer->claim[i].size;
		to->time_s = answer->claim[i].time_s;
	}
}

static void
state_anchoring(struct verify_result *r, const struct anchor_answer *answer)
{
	static const enum verify_verdict verdicts[] = {
	    [ANCHOR_ESTABLISHED] = VERIFY_COMPLETE,
	    [ANCHOR_REFUTED] = VERIFY_GAP,
	    [ANCHOR_NOT_ESTABLISHED] = VERIFY_NOT_ESTABLISHED };

	r->anchoring.verdict = verdicts[answer->verdict];
	snprintf(r->anchoring.text, sizeof(r->anchoring.text), "%s",
	    answer->text);
	if (answer->lone > 0) {
		verify_find(r, VERIFY_NOT_ESTABLISHED, "rollback", "a time stamp is kept for a "
		    "checkpoint of %" PRIu64 " records, %" PRIu64 " are there, and the "
		    "checkpoint is gone: the ledger may have been cut", answer->lone, r->size);
		r->anchoring.verdict = verify_worse(r->anchoring.verdict,
		    VERIFY_NOT_ESTABLISHED);
	}
	if (answer->code != NULL)
		verify_find(r, VERIFY_GAP, answer->code, "%s", answer->text);
	else if (answer->demanded)
		r->verdict = verify_worse(r->verdict, r->anchoring.verdict);
}

/* Who vouched for a record at a time saw it then: it cannot be of a later one.
 * Whose clock is wrong cannot be told, so the records' times are not believed. */
static void
check_times(const struct pass *pass, const struct anchor_answer *answer)
{
	const int64_t late_us = (answer->time_s + CLOCKS_APART_S) * 1000000;
	struct verify_result *r = pass->result;
	char of[RECORD_TIME_LEN], at[RECORD_TIME_LEN];
	struct verify_finding *f;

	if (answer->verdict != ANCHOR_ESTABLISHED || r->size > r->sealed ||
	    pass->chain.latest_us <= late_us)
		return;
	record_time_format(of, pass->chain.latest_us);
	record_time_format(at, answer->time_s * 1000000);
	f = verify_find(r, VERIFY_NOT_ESTABLISHED, "clock", "it says %.19sZ, and others "
	    "vouched for it at %.19sZ already: one of the clocks is wrong, and when "
	    "things happened is not known", of, at);
	f->has_index = true;
	f->index = pass->chain.latest;
	r->anchoring.verdict = VERIFY_NOT_ESTABLISHED;
	snprintf(r->anchoring.text + strlen(r->anchoring.text),
	    sizeof(r->anchoring.text) - strlen(r->anchoring.text),
	    "; records say that they are of a later time");
}

int
keys_anchoring(struct pass *pass)
{
	const struct load *load = pass->load;
	struct verify_result *r = pass->result;
	struct anchor_question question = { .dirfd = load->dirfd,
	    .bundle = load->kind == VERIFY_BUNDLE,
	    .trust = pass->options->trust, .epochs = &load->epochs,
	    .others = &load->others,
	    .at = { .size = load->latest.at.size }, .records = r->size,
	    .now_s = (int64_t)time(NULL), .stands = stands,
	    .context = &pass->load->seals };
	struct anchor_answer *answer;

	if (r->integrity.verdict != VERIFY_COMPLETE) {
		r->anchoring = (struct verify_statement){
		    VERIFY_NOT_ESTABLISHED, "what others vouch for cannot be "
		    "held against records whose integrity is not established" };
		return 0;
	}
	if ((answer = malloc(sizeof(*answer))) == NULL)
		return -1;
	memcpy(question.at.origin, load->origin, sizeof(question.at.origin));
	memcpy(question.at.root, load->latest.at.root, TREE_HASH_LEN);
	anchor_ask(&question, answer);
	take_claims(r, answer);
	state_anchoring(r, answer);
	check_times(pass, answer);
	free(answer);
	return 0;
}
