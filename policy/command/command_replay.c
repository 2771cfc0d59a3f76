/*
 * Recorded decisions, decided again: by the pack that each names, by another
 * one, by two packs or by two engines.  What the gate refused by a rule of its
 * own is not the policy's to repeat, nor what was refused since an engine gave
 * no answer; of two packs, though, both can say what they would have.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/command/command.h"
#include "policy/command/digests.h"
#include "policy/command/recorded_packs.h"
#include "policy/command/tally.h"
#include "policy/opa/opa.h"

#define RULE_KEPT 127	/* bytes of a rule that a record holds */

struct replay {
	struct arena arena;
	struct tally tally;
	const struct policy_pack *pack, *other;	/* pack NULL: the recorded one */
	struct opa_link *opa;		/* compare: decides in the place of other */
	unsigned deadline_ms;
	struct recorded_packs packs;
};

/* --- deciding ----------------------------------------------------------- */

/* False where it came to no decision, after saying so. */
static bool
decide(struct replay *r, const struct policy_pack *pack,
    const struct record *record, struct digests *digests,
    struct policy_decision *out)
{
	struct eval eval = { .arena = &r->arena, .plan = pack->plan,
	    .input = record->input, .data = pack->data, .facts = pack->facts,
	    .facts_of = pack->data, .strict = true };
	const struct value *now = value_member(record->input, "now_ns");

	if (now != NULL && now->kind == VALUE_NUMBER && now->is_int)
		eval.now_ns = now->num.i;
	if (digests != NULL)
		digests_watch(digests, &eval);
	r->arena.steps = 0;
	if (pack->entry == NULL) {
		tally_undecided(&r->tally, record, "the pack has no entry "
		    "point " PACK_ENTRY);
		return false;
	}
	if (decision_run(&eval, pack->entry, out) != EVAL_LIMIT)
		return true;
	tally_undecided(&r->tally, record, out->reason);
	return false;
}

static bool
ask_opa(struct replay *r, const struct record *record,
    struct policy_decision *out)
{
	struct buf text = { .arena = &r->arena };

	value_to_json(&text, record->input, 0);
	opa_decide_json(r->opa, text.p, text.n, r->deadline_ms, out);
	if (!out->failed)
		return true;
	tally_undecided(&r->tally, record, out->reason);
	return false;
}

/* --- comparing ---------------------------------------------------------- */

/* A denial without a rule is recorded as policy/deny, a question by the rule
 * of whoever could be asked. */
static bool
same_rule(const struct value *was, const char *is)
{
	size_t n;

	if (is[0] == '\0' && value_is_text(was, "policy/deny"))
		return true;
	n = strnlen(is, RULE_KEPT);
	if (was == NULL || was->kind != VALUE_STRING)
		return n == 0;
	return was->str.n == n && memcmp(was->str.p, is, n) == 0;
}

static const char *
text_of(struct arena *arena, const struct value *v)
{
	struct buf text = { .arena = arena };

	if (v != NULL && v->kind == VALUE_STRING)
		buf_put(&text, v->str.p, v->str.n);
	buf_putc(&text, '\0');
	return text.p;
}

static void
compare_recorded(struct replay *r, const struct policy_pack *pack,
    const struct record *record)
{
	const struct tally_side was = { "recorded", record->decision,
	    text_of(&r->arena, record->rule), text_of(&r->arena,
	    value_member(record->body, "reason")), NULL };
	struct policy_decision now;
	struct digests digests;
	struct tally_side is = { "now", NULL, now.rule, now.reason, &now };

	digests_find(&digests, record->input);
	if (!decide(r, pack, record, &digests, &now))
		return;
	is.decision = tally_word(now.verdict);
	if (strcmp(record->decision, is.decision) == 0 &&
	    (now.verdict == POLICY_ASK || same_rule(record->rule, now.rule)))
		r->tally.same++;
	else if (digests.seen)
		tally_undecided(&r->tally, record, "it comes out differently, "
		    "but by a part of the input that the record has only a "
		    "digest of");
	else
		tally_differ(&r->tally, record, &was, &is);
}

static bool
same_obligations(const struct policy_decision *a,
    const struct policy_decision *b)
{
	return a->redact == b->redact && a->max_bytes == b->max_bytes &&
	    a->cost == b->cost && a->ttl_s == b->ttl_s && a->uses == b->uses;
}

/* Of two engines everything must be the same, of two packs what is done. */
static void
compare_both(struct replay *r, const struct policy_pack *pack,
    const struct record *record)
{
	struct policy_decision a, b;
	struct tally_side x = { r->opa != NULL ? "builtin" : "old", NULL,
	    a.rule, a.reason, &a };
	struct tally_side y = { r->opa != NULL ? "opa" : "new", NULL, b.rule,
	    b.reason, &b };

	if (!decide(r, pack, record, NULL, &a) || !(r->opa != NULL ?
	    ask_opa(r, record, &b) :
	    decide(r, r->other, record, NULL, &b)))
		return;
	x.decision = tally_word(a.verdict);
	y.decision = tally_word(b.verdict);
	if (a.verdict == b.verdict && same_obligations(&a, &b) &&
	    (r->opa == NULL || (strcmp(a.rule, b.rule) == 0 &&
	    strcmp(a.reason, b.reason) == 0)))
		r->tally.same++;
	else
		tally_differ(&r->tally, record, &x, &y);
}

/* NULL: the recorded one is not to be had. */
static const struct policy_pack *
pack_for(struct replay *r, const struct record *record)
{
	if (r->pack == NULL)
		return recorded_pack(&r->packs, record->policy);
	if (!value_is_text(record->policy, policy_pack_digest(r->pack)))
		r->tally.other++;
	return r->pack;
}

static void
one_record(void *arg, const struct record *record)
{
	struct replay *r = arg;
	const struct policy_pack *pack;

	if (record->why != NULL) {
		tally_undecided(&r->tally, record, record->why);
		return;
	}
	r->tally.seen++;
	if (value_is_text(value_member(record->body, "by"), "gate") &&
	    strcmp(record->decision, "allow") != 0) {
		r->tally.gate++;
		return;
	}
	if (r->other == NULL && r->opa == NULL &&
	    record_engine_failed(record)) {
		r->tally.engine++;
		return;
	}
	if (record->input == NULL) {
		tally_undecided(&r->tally, record, "no input was recorded");
		return;
	}
	pack = pack_for(r, record);
	if (pack == NULL)
		tally_undecided(&r->tally, record, "the recorded pack is not "
		    "there; name one with --pack");
	else if (r->other != NULL || r->opa != NULL)
		compare_both(r, pack, record);
	else
		compare_recorded(r, pack, record);
}

/* --- the commands -------------------------------------------------------- */

static int
run(struct replay *r, const struct command_args *args, int from)
{
	int i, result = 0;

	if (arena_init(&r->arena, DECISION_ARENA_FIRST, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0)
		return command_fail("out of memory");
	r->tally.arena = &r->arena;
	r->tally.json = args->json;
	for (i = from; i < args->n && result == 0; i++)
		result = records_read(&r->arena, args->operand[i],
		    r->packs.dir, sizeof(r->packs.dir), one_record, r);
	result = result == 0 ? tally_end(&r->tally) : COMMAND_FAILED;
	arena_release(&r->arena);
	recorded_packs_free(&r->packs);
	return result;
}

int
command_replay(const struct command_args *args)
{
	struct replay r = { .pack = NULL };
	struct policy_pack *pack = NULL;
	int result;

	if (args->pack != NULL &&
	    (pack = command_pack(args, args->pack)) == NULL)
		return COMMAND_FAILED;
	r.pack = pack;
	result = run(&r, args, 0);
	policy_pack_unref(pack);
	return result;
}

int
command_diff(const struct command_args *args)
{
	struct replay r = { .pack = NULL };
	struct policy_pack *a = command_pack(args, args->operand[0]);
	struct policy_pack *b = a == NULL ? NULL :
	    command_pack(args, args->operand[1]);
	int result = COMMAND_FAILED;

	if (b != NULL) {
		r.pack = a;
		r.other = b;
		result = run(&r, args, 2);
	}
	policy_pack_unref(a);
	policy_pack_unref(b);
	return result;
}

/* One question at a time, and nobody waits: a deadline for people. */
#define COMPARE_MS 5000

/* One line that nobody else may read; the caller wipes and frees it.  NULL
 * after a message. */
static char *
read_token(const char *path)
{
	struct stat st;
	char *text;
	size_t len;

	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (st.st_mode & 077) != 0) {
		command_fail("%s: no file that only its owner may read (chmod "
		    "600 it)", path);
		return NULL;
	}
	if ((text = command_read(path, &len)) != NULL)
		text[strcspn(text, "\r\n")] = '\0';
	return text;
}

static struct opa *
open_opa(const struct command_args *args)
{
	const char *where = args->opa;
	struct opa_options options = { .ca_file = args->ca,
	    .deadline_ms = COMPARE_MS };
	struct opa *opa = NULL;
	char err[256] = "", *token = NULL;

	options.where = strncmp(where, "opa:", 4) == 0 ? where + 4 : where;
	if (args->token != NULL && (token = read_token(args->token)) == NULL)
		return NULL;
	options.token = token;
	if ((opa = opa_new(&options, err, sizeof(err))) == NULL)
		command_fail("%s", err);
	if (token != NULL)
		explicit_bzero(token, strlen(token));
	free(token);
	return opa;
}

int
command_compare(const struct command_args *args)
{
	struct replay r = { .deadline_ms = COMPARE_MS };
	struct policy_pack *pack = NULL;
	struct opa *opa;
	int result = COMMAND_FAILED;

	if (args->opa == NULL)
		return command_fail("compare needs --opa unix:/path, "
		    "--opa https://host:port or --opa http://127.0.0.1:port");
	if ((opa = open_opa(args)) == NULL)
		return COMMAND_FAILED;
	if (args->pack != NULL)
		pack = command_pack(args, args->pack);
	r.pack = pack;
	if ((r.opa = opa_link_new(opa)) == NULL)
		command_fail("out of memory");
	else if (args->pack == NULL || pack != NULL)
		result = run(&r, args, 0);
	opa_link_free(r.opa);
	opa_free(opa);
	policy_pack_unref(pack);
	return result;
}
