#include "ledger/anchor/anchor.h"
#include "ledger/anchor/anchors.h"
#include "ledger/anchor/cosign.h"
#include "ledger/anchor/gather.h"
#include "ledger/tree/hashes.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FUTURE_MAX_S 86400	/* a clock that is further ahead says nothing */

/* How a checkpoint that the log signed stands to this history. */
enum relation {
	BELONGS, FORKS, BEYOND, UNKNOWN_RELATION, NOT_THE_LOGS
};

struct asking {
	const struct anchor_question *question;
	struct anchor_answer *answer;
	uint64_t stamped;	/* the size whose stamps were asked last */
};

/* ---- which of them belong here ---- */

/* Through the tree beside the records: what it says must lead to the root. */
static enum relation
relate_by_tree(const struct anchor_question *q, const struct checkpoint *at)
{
	struct hashes_reader reader = { .dirfd = q->dirfd,
	    .size = q->at.size };
	struct tree_source source = hashes_source(&reader);
	struct tree_proof proof;
	uint8_t root[TREE_HASH_LEN];

	if (q->bundle || tree_prove_consistency(&source, at->size, q->at.size,
	    &proof) != 0 || tree_root(&source, at->size, root) != 0 ||
	    !tree_verify_consistency(&proof, at->size, q->at.size, root,
	    q->at.root))
		return UNKNOWN_RELATION;
	return memcmp(root, at->root, sizeof(root)) == 0 ? BELONGS : FORKS;
}

static bool
signed_by_log(const struct anchor_question *q, const struct gather_note *note)
{
	struct note parsed;
	const char *why;

	return note_parse(&parsed, note->text, note->len, &why) == 0 &&
	    note_verify(&parsed, epochs_key(q->epochs, note->at.size), NULL) ==
	    NOTE_GOOD;
}

/* wanted: it would be a better anchor than those known, and worth reading the
 * tree for. */
static enum relation
relate_before(const struct anchor_question *q, const struct checkpoint *at,
    bool wanted)
{
	int stands = q->stands != NULL ? q->stands(q->context, at) : -1;

	if (stands >= 0)
		return stands == 1 ? BELONGS : FORKS;
	return wanted ? relate_by_tree(q, at) : UNKNOWN_RELATION;
}

/* By its root alone; whether the log signed it is asked where it matters. */
static enum relation
relate(const struct anchor_question *q, const struct gather_note *note,
    bool wanted)
{
	const struct checkpoint *at = &note->at;

	if (strcmp(at->origin, q->at.origin) != 0)
		return NOT_THE_LOGS;
	if (at->size == q->at.size)
		return memcmp(at->root, q->at.root, TREE_HASH_LEN) == 0 ?
		    BELONGS : FORKS;
	if (at->size < q->at.size || (!q->bundle && at->size <= q->records))
		return relate_before(q, at, wanted);
	if (!q->bundle)
		return BEYOND;
	return note->proof != NULL && note->old_size == q->at.size &&
	    tree_verify_consistency(note->proof, q->at.size, at->size,
	    q->at.root, at->root) ? BELONGS : UNKNOWN_RELATION;
}

/* ---- what is said ---- */

static bool
plausible(const struct asking *asking, int64_t time_s)
{
	return time_s > 0 && time_s <= asking->question->now_s + FUTURE_MAX_S;
}

static int64_t
earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void
take_cosignatures(struct asking *asking, const struct gather_note *note)
{
	const struct trust *trust = asking->question->trust;
	struct note parsed;
	const char *why;
	uint64_t time_s;

	if (note_parse(&parsed, note->text, note->len, &why) != 0)
		return;
	for (unsigned i = 0; i < trust->witnesses; i++) {
		struct anchor_claim *claim = &asking->answer->claim[i];

		if (note_verify(&parsed, &trust->witness[i], &time_s) !=
		    NOTE_GOOD || !plausible(asking, (int64_t)time_s))
			continue;
		if (note->at.size > claim->size) {
			claim->size = note->at.size;
			claim->time_s = claim->seen_s = (int64_t)time_s;
		} else if (note->at.size == claim->size) {
			claim->time_s = earlier(claim->time_s, (int64_t)time_s);
			claim->seen_s = -earlier(-claim->seen_s, -(int64_t)time_s);
		}
	}
}

/* The stamped bytes: the note with the log's signature alone. */
static void
take_stamp(struct asking *asking, const struct gather_note *note,
    const struct gather_stamp *stamp, const struct trust_authority *authority,
    struct anchor_claim *claim)
{
	const struct anchor_question *q = asking->question;
	uint8_t digest[STAMP_DIGEST_LEN], *der;
	char plain[COSIGN_PLAIN_MAX + 1], why[160];
	const char *rule;
	struct stamp out;
	struct note parsed;
	size_t len;
	int n;

	if (note_parse(&parsed, note->text, note->len, &rule) != 0 ||
	    (n = cosign_plain(&parsed, epochs_key(q->epochs, note->at.size),
	    plain, sizeof(plain))) < 0 ||
	    (der = gather_stamp(q->others, q->dirfd, stamp, &len)) == NULL)
		return;
	stamp_digest(plain, (size_t)n, digest);
	if (stamp_check(der, len, digest, NULL, authority->ca_file, &out, why,
	    sizeof(why)) == 0 && plausible(asking, out.time_s)) {
		claim->size = note->at.size;
		claim->time_s = out.time_s + out.accuracy_s;
		claim->seen_s = out.time_s - out.accuracy_s;
		memcpy(claim->signer, out.signer, sizeof(claim->signer));
	}
	free(der);
}

/* The latest good stamp of each authority, from the largest size down.  Of one size
 * once: what the log signed of it has the same bytes in each note. */
static void
take_stamps(struct asking *asking, const struct gather_note *note)
{
	const struct trust *trust = asking->question->trust;

	if (asking->stamped == note->at.size)
		return;
	asking->stamped = note->at.size;
	for (unsigned k = 0; k < asking->question->others->stamps; k++) {
		const struct gather_stamp *stamp = &asking->question->others->stamp[k];

		for (unsigned i = 0; stamp->size == note->at.size &&
		    i < trust->authorities; i++) {
			struct anchor_claim *claim = &asking->answer->claim[
			    trust->witnesses + i];

			if (claim->size < note->at.size && strcmp(stamp->who,
			    trust->authority[i].name) == 0)
				take_stamp(asking, note, stamp,
				    &trust->authority[i], claim);
		}
	}
}

/* Somebody counts once, by whatever name: of two authorities for whom one key
 * has signed, the one that says more. */
static void
drop_doubles(struct anchor_answer *answer)
{
	struct anchor_claim *a, *b;

	for (unsigned i = 0; i < answer->claims; i++) {
		a = &answer->claim[i];
		for (unsigned k = i + 1; k < answer->claims; k++) {
			b = &answer->claim[k];
			if (!a->witness && !b->witness && a->size > 0 &&
			    b->size > 0 && memcmp(a->signer, b->signer,
			    sizeof(a->signer)) == 0)
				(b->size > a->size ? a : b)->size = 0;
		}
	}
}

static void
name_claims(struct anchor_answer *answer, const struct trust *trust)
{
	for (unsigned i = 0; i < trust->witnesses; i++)
		answer->claim[answer->claims++] = (struct anchor_claim){
		    .name = trust->witness[i].name, .witness = true };
	for (unsigned i = 0; i < trust->authorities; i++)
		answer->claim[answer->claims++] = (struct anchor_claim){
		    .name = trust->authority[i].name };
}

static void
contradict(struct asking *asking, const struct gather_note *note,
    const char *code)
{
	struct anchor_answer *answer = asking->answer;

	if (answer->code != NULL)
		return;
	answer->code = code;
	answer->contradiction = note->at.size;
}

/* Could it say more than is known of somebody whom the policy names? */
static bool
is_wanted(const struct asking *asking, const struct gather_note *note)
{
	for (unsigned i = 0; i < asking->answer->claims; i++) {
		if (asking->answer->claim[i].size <= note->at.size)
			return true;
	}
	return false;
}

/* Largest first: so signatures are checked for a few, and the rest are only
 * compared. */
static void
take_note(struct asking *asking, const struct gather_note *note)
{
	bool wanted = asking->question->trust != NULL && is_wanted(asking, note);
	enum relation relation = relate(asking->question, note, wanted);

	if ((relation == BELONGS && !wanted) || relation == UNKNOWN_RELATION ||
	    relation == NOT_THE_LOGS ||
	    !signed_by_log(asking->question, note))
		return;
	switch (relation) {
	case BELONGS:
		take_cosignatures(asking, note);
		take_stamps(asking, note);
		break;
	case FORKS:
		contradict(asking, note, "fork");
		break;
	case BEYOND:
		contradict(asking, note, "rollback");
		break;
	case UNKNOWN_RELATION:
	case NOT_THE_LOGS:
		break;
	}
}

/* ---- whether it is enough ---- */

static int
larger_first(const void *a, const void *b)
{
	const struct anchor_claim *const *x = a, *const *y = b;

	return ((*x)->size < (*y)->size) - ((*x)->size > (*y)->size);
}

/* The size that so many of those from first on vouch for, and since when. */
static uint64_t
reached_by(const struct anchor_answer *answer, unsigned first, unsigned count,
    unsigned wanted, int64_t *time_s)
{
	const struct anchor_claim *sorted[TRUST_WITNESSES_MAX];

	*time_s = 0;
	if (wanted == 0 || wanted > count || count > TRUST_WITNESSES_MAX)
		return 0;
	for (unsigned i = 0; i < count; i++)
		sorted[i] = &answer->claim[first + i];
	qsort(sorted, count, sizeof(*sorted), larger_first);
	if (sorted[wanted - 1]->size == 0)
		return 0;
	for (unsigned i = 0; i < wanted; i++) {
		if (sorted[i]->time_s > *time_s)
			*time_s = sorted[i]->time_s;
	}
	return sorted[wanted - 1]->size;
}

static void
append(char *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void
append(char *text, const char *format, ...)
{
	size_t at = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + at, ANCHOR_TEXT_MAX - at, format, args);
	va_end(args);
}

static void
append_time(char *text, int64_t time_s)
{
	time_t at = (time_t)time_s;
	struct tm utc;
	char buf[32];

	if (gmtime_r(&at, &utc) != NULL &&
	    strftime(buf, sizeof(buf), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
		append(text, "%s", buf);
}

/* "w1, w2": those of one kind who vouch for at least that much. */
static void
append_names(struct anchor_answer *answer, bool witness, uint64_t size)
{
	bool first = true;

	for (unsigned i = 0; i < answer->claims; i++) {
		const struct anchor_claim *claim = &answer->claim[i];

		if (claim->witness != witness || claim->size < size ||
		    claim->size == 0)
			continue;
		append(answer->text, "%s%.60s", first ? "" : ", ",
		    claim->name);
		first = false;
	}
}

static unsigned
vouching(const struct anchor_answer *answer, bool witness, uint64_t size)
{
	unsigned n = 0;

	for (unsigned i = 0; i < answer->claims; i++)
		n += answer->claim[i].witness == witness &&
		    answer->claim[i].size >= size && answer->claim[i].size > 0;
	return n;
}

/* Have so many of them said so lately?  Each by himself: of two who are wanted
 * one may have seen what came since, and does not say so again. */
static bool
is_fresh(const struct asking *asking, bool witness, unsigned wanted)
{
	const struct anchor_question *q = asking->question;
	const struct anchor_answer *answer = asking->answer;
	const uint64_t size = answer->size < q->at.size ? answer->size : q->at.size;
	unsigned n = 0;

	for (unsigned i = 0; i < answer->claims; i++) {
		const struct anchor_claim *claim = &answer->claim[i];

		n += claim->witness == witness && claim->size >= size && (claim->seen_s >= q->now_s ||
		    (uint64_t)(q->now_s - claim->seen_s) <= q->trust->max_age_s);
	}
	return n >= wanted;
}

/* The demand that is met least decides; 0: one is not met at all. */
static void
weigh(struct asking *asking)
{
	const struct trust *trust = asking->question->trust;
	struct anchor_answer *answer = asking->answer;
	int64_t by_witnesses = 0, by_stamps = 0;
	uint64_t witnessed = reached_by(answer, 0, trust->witnesses,
	    trust->quorum, &by_witnesses);
	uint64_t stamped = reached_by(answer, trust->witnesses,
	    trust->authorities, trust->stamps, &by_stamps);

	answer->size = trust->quorum == 0 ? stamped :
	    trust->stamps == 0 || witnessed < stamped ? witnessed : stamped;
	answer->time_s = trust->quorum == 0 ? by_stamps :
	    trust->stamps == 0 || by_witnesses > by_stamps ? by_witnesses :
	    by_stamps;
	if (answer->size == 0)
		answer->time_s = 0;
}

static void
say_who(struct asking *asking)
{
	const struct trust *trust = asking->question->trust;
	struct anchor_answer *answer = asking->answer;
	unsigned witnesses = vouching(answer, true, answer->size);
	unsigned authorities = vouching(answer, false, answer->size);

	if (trust->quorum > 0) {
		append(answer->text, " by %u of %u witnesses (", witnesses,
		    trust->quorum);
		append_names(answer, true, answer->size);
		append(answer->text, ")");
	}
	if (trust->stamps > 0) {
		append(answer->text, "%s stamped by %u of %u (",
		    trust->quorum > 0 ? "," : "", authorities, trust->stamps);
		append_names(answer, false, answer->size);
		append(answer->text, ")");
	}
	append(answer->text, " at ");
	append_time(answer->text, answer->time_s);
}

static void
say_short(struct asking *asking)
{
	const struct trust *trust = asking->question->trust;
	struct anchor_answer *answer = asking->answer;

	append(answer->text, "the policy wants ");
	if (trust->quorum > 0)
		append(answer->text, "%u of %u witnesses, %u vouch for any of "
		    "it", trust->quorum, trust->witnesses,
		    vouching(answer, true, 1));
	if (trust->stamps > 0)
		append(answer->text, "%s%u of %u authorities, %u stamped any "
		    "of it", trust->quorum > 0 ? "; " : "", trust->stamps,
		    trust->authorities, vouching(answer, false, 1));
	append(answer->text, ": whoever holds the log key could have signed "
	    "another history");
	if (asking->question->bundle && faccessat(asking->question->dirfd,
	    "ledger/" ANCHORS_DIR, F_OK, AT_SYMLINK_NOFOLLOW) != 0)
		append(answer->text, " (no anchors are in it: `countersign "
		    "bundle` takes along what the ledger has by now)");
}

static void
conclude(struct asking *asking)
{
	const struct anchor_question *q = asking->question;
	struct anchor_answer *answer = asking->answer;

	answer->demanded = q->trust->quorum + q->trust->stamps > 0;
	if (!answer->demanded) {
		append(answer->text, "the policy wants no witness and no time "
		    "stamp");
		return;
	}
	weigh(asking);
	if (answer->size == 0) {
		say_short(asking);
		return;
	}
	append(answer->text, "anchored up to %" PRIu64 " of %" PRIu64,
	    answer->size < q->at.size ? answer->size : q->at.size, q->at.size);
	say_who(asking);
	if (q->trust->max_age_s > 0 && !(is_fresh(asking, true, q->trust->quorum) &&
	    is_fresh(asking, false, q->trust->stamps)))
		append(answer->text, "; for too many of them that is longer ago than "
		    "the %" PRIu64 " s of the policy", q->trust->max_age_s);
	else if (answer->size >= q->at.size)
		answer->verdict = ANCHOR_ESTABLISHED;
	else
		append(answer->text, "; nobody vouches for what follows");
}

/* What the log's own key signed: it needs nobody's trust. */
static void
refute(struct asking *asking)
{
	struct anchor_answer *answer = asking->answer;

	answer->verdict = ANCHOR_REFUTED;
	answer->text[0] = '\0';
	if (strcmp(answer->code, "rollback") == 0)
		append(answer->text, "a checkpoint kept with others' signatures "
		    "signs %" PRIu64 " records, %" PRIu64 " are there",
		    answer->contradiction, asking->question->records);
	else
		append(answer->text, "the log's key signed another history: a "
		    "checkpoint kept with others' signatures has another root "
		    "for size %" PRIu64, answer->contradiction);
}

static void
say_nobody(struct asking *asking)
{
	struct anchor_answer *answer = asking->answer;
	unsigned n = asking->question->others->notes + asking->question->others->stamps;

	if (n == 0)
		append(answer->text, "no witness and no time stamp vouches for "
		    "this head: whoever holds the log key could have signed "
		    "another history");
	else
		append(answer->text, "there are checkpoints with others' "
		    "signatures or time stamps, but no policy (--trust) says "
		    "whom to believe");
}

/* A stamp is kept behind the checkpoint that was stamped.  Where that one is gone
 * the token does not tell what it was of, so its size is no more than a name. */
static uint64_t
lone_stamp(const struct asking *asking)
{
	const struct anchor_question *q = asking->question;
	const struct gather *gather = q->others;
	uint64_t size = gather->stamps > 0 ? gather->stamp[gather->stamps - 1].size : 0;

	if (q->bundle || size <= q->records)
		return 0;
	for (unsigned i = gather->notes; i > 0; i--)
		if (gather->note[i - 1].at.size == size)
			return 0;
	return size;
}

void
anchor_ask(const struct anchor_question *question,
    struct anchor_answer *answer)
{
	struct asking asking = { .question = question, .answer = answer };
	const struct gather *others = question->others;

	memset(answer, 0, sizeof(*answer));
	answer->verdict = ANCHOR_NOT_ESTABLISHED;
	if (question->trust != NULL)
		name_claims(answer, question->trust);
	for (unsigned i = others->notes; i > 0; i--)
		take_note(&asking, &others->note[i - 1]);
	drop_doubles(answer);
	answer->lone = lone_stamp(&asking);
	if (answer->code != NULL)
		refute(&asking);
	else if (question->trust != NULL)
		conclude(&asking);
	else
		say_nobody(&asking);
}
