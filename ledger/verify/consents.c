#include "ledger/verify/consents.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/record/record_memo.h"
#include "ledger/verify/load.h"
#include "ledger/verify/member.h"

#define KEPT 1024		/* answers and grants; a broker has 256 questions at once */
#define HASH_LEN crypto_generichash_BYTES_MIN

/* An answer, or a grant that a person agreed to. */
struct entry {
	uint8_t leaf[TREE_HASH_LEN];
	uint8_t question[HASH_LEN];	/* of an answer: its id */
	uint8_t what[HASH_LEN];		/* what was asked: action and target */
	enum { CONSENT, DENIAL, GRANT } kind;
};

struct consents {
	uint64_t count;			/* from KEPT on the oldest is overwritten */
	struct fault {
		uint64_t count, first, first_seq;
	} misplaced, other, again, unasked;
	uint32_t tag[KEPT];		/* the leaves' first bytes */
	struct entry entry[KEPT];
};

struct consents *
consents_new(void)
{
	return calloc(1, sizeof(struct consents));
}

void
consents_free(struct consents *consents)
{
	free(consents);
}

static void
fault(struct fault *f, const struct record_line *r, uint64_t index)
{
	if (f->count++ > 0)
		return;
	f->first = index;
	f->first_seq = r->seq;
}

static unsigned
kept(const struct consents *c)
{
	return c->count < KEPT ? (unsigned)c->count : KEPT;
}

static void
hash(uint8_t out[HASH_LEN], struct record_slice a, struct record_slice b)
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, HASH_LEN);
	(void)crypto_generichash_update(&state, (const uint8_t *)a.ptr, a.len);
	(void)crypto_generichash_update(&state, (const uint8_t *)b.ptr, b.len);
	(void)crypto_generichash_final(&state, out, HASH_LEN);
}

/* False: it does not say, since it could not be written. */
static bool
what_of(const struct record_line *r, uint8_t out[HASH_LEN])
{
	struct record_slice input, action, target = { "", 0 };

	if (!member_find(r->body, "input", &input) || !member_find(input, "action", &action))
		return false;
	(void)member_find(input, "target", &target);
	hash(out, action, target);
	return true;
}

static const struct entry *
parent_of(const struct consents *c, const struct record_line *r)
{
	uint8_t leaf[TREE_HASH_LEN];
	uint32_t tag;
	unsigned i;

	if (c->count == 0 || r->parent.ptr == NULL || r->parent.len != 2 * TREE_HASH_LEN + 2 ||
	    !record_hash_decode(r->parent.ptr + 1, leaf))
		return NULL;
	memcpy(&tag, leaf, sizeof(tag));
	for (i = kept(c); i-- > 0;)
		if (c->tag[i] == tag && memcmp(c->entry[i].leaf, leaf, TREE_HASH_LEN) == 0)
			return &c->entry[i];
	return NULL;
}

static struct entry *
keep(struct consents *c, const uint8_t *leaf)
{
	struct entry *e = &c->entry[c->count % KEPT];

	memset(e, 0, sizeof(*e));
	memcpy(&c->tag[c->count++ % KEPT], leaf, sizeof(c->tag[0]));
	memcpy(e->leaf, leaf, TREE_HASH_LEN);
	return e;
}

/* An answer is of the run's, by a person, and says one thing. */
static void
take_answer(struct consents *c, const struct record_line *r, struct record_slice approval,
    const uint8_t *leaf, uint64_t index)
{
	const bool allow = member_is(r->body, "decision", "allow");
	const struct record_slice none = { "", 0 };
	struct record_slice id, value;
	struct entry *e;
	unsigned i;

	if (!record_slice_is(r->type, allow ? "decision" : "refusal") ||
	    (!allow && !member_is(r->body, "decision", "deny")) ||
	    !member_is(r->body, "by", "person") || !member_is(r->body, "kind", "action") ||
	    !member_find(approval, "id", &id) || parent_of(c, r) != NULL ||
	    member_find(approval, "for", &value) != allow)
		fault(&c->misplaced, r, index);
	if (!member_find(approval, "id", &id))
		return;
	e = keep(c, leaf);
	e->kind = allow ? CONSENT : DENIAL;
	hash(e->question, id, none);
	(void)what_of(r, e->what);
	for (i = 0; i < kept(c); i++)
		if (&c->entry[i] != e && c->entry[i].kind != GRANT &&
		    memcmp(c->entry[i].question, e->question, HASH_LEN) == 0)
			break;
	if (i < kept(c))
		fault(&c->again, r, index);
}

/* What a person refused was denied before; who answered once is not asked again. */
static bool
was_denied(const struct consents *c, const struct record_line *r)
{
	uint8_t what[HASH_LEN];
	const bool says = what_of(r, what);
	unsigned i;

	for (i = 0; i < kept(c); i++)
		if (c->entry[i].kind == DENIAL &&
		    (!says || memcmp(c->entry[i].what, what, HASH_LEN) == 0))
			return true;
	return c->count > KEPT;
}

/* It stands under the answer to what it is, or under a grant that somebody agreed to. */
static void
take_allowed(struct consents *c, const struct record_line *r, bool grant,
    const uint8_t *leaf, uint64_t index)
{
	const struct entry *parent = parent_of(c, r);
	const bool person = member_is(r->body, "by", "person");
	uint8_t what[HASH_LEN];

	if (person && grant)
		keep(c, leaf)->kind = GRANT;
	if (parent == NULL || parent->kind == DENIAL) {
		if (person && c->count <= KEPT)
			fault(&c->unasked, r, index);
	} else if (parent->kind == CONSENT && what_of(r, what) &&
	    memcmp(parent->what, what, HASH_LEN) != 0) {
		fault(&c->other, r, index);
	}
}

void
consents_take(struct consents *c, const struct record_line *r,
    const uint8_t leaf[TREE_HASH_LEN], uint64_t index)
{
	const bool grant = record_slice_is(r->type, "grant");
	struct record_slice approval;

	if (member_find(r->body, "approval", &approval) && approval.ptr[0] == '{')
		take_answer(c, r, approval, leaf, index);
	else if (record_slice_is(r->type, "use") || record_slice_is(r->type, "decision") ||
	    (grant && !member_is(r->body, "state", "revoked")))
		take_allowed(c, r, grant, leaf, index);
	else if (member_is(r->body, "rule", "ask/denied") && member_is(r->body, "by", "person") &&
	    record_slice_is(r->type, "refusal") && !was_denied(c, r))
		fault(&c->unasked, r, index);
}

static void
judge(const struct fault *fault, const char *code, const char *why,
    struct verify_result *result)
{
	struct verify_finding *f;

	if (fault->count == 0)
		return;
	f = verify_find(result, VERIFY_GAP, code, "%s; %" PRIu64 " in all", why, fault->count);
	f->has_index = f->has_seq = true;
	f->index = fault->first;
	f->seq = fault->first_seq;
}

void
consents_judge(const struct consents *c, struct verify_result *result)
{
	judge(&c->misplaced, "consent", "a person's answer that does not say who decided what, or "
	    "stands where none can", result);
	judge(&c->unasked, "consent", "it says that a person decided, and no answer of theirs is "
	    "what it stands under", result);
	judge(&c->other, "consent", "a person agreed, and to something else than this", result);
	judge(&c->again, "twice", "a second answer to one question", result);
}
