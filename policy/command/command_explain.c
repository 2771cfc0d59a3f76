/* Why a recorded decision came out as it did: decided once more by the pack
 * that it names, each step shown. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/command/command.h"
#include "policy/command/digests.h"
#include "policy/command/recorded_packs.h"
#include "policy/command/records.h"

struct explain {
	struct arena arena;
	struct recorded_packs packs;
	const struct policy_pack *pack;	/* NULL: the recorded one */
	int64_t seq;			/* -1: the last one of the policy's */
	bool found, looking;		/* looking: for which one it is */
	int64_t at;			/* its seq */
	int result;
};

static void
say(const char *what, const struct value *v)
{
	if (v == NULL || v->kind != VALUE_STRING)
		return;
	fputs(what, stdout);
	command_put(v->str.p, v->str.n);
}

static bool
by_gate(const struct record *record)
{
	return value_is_text(value_member(record->body, "by"), "gate") &&
	    strcmp(record->decision, "allow") != 0;
}

/* What came of it is the person's answer: what was recorded, not what was asked. */
static const char *
came_out(const struct record *record)
{
	const struct value *said = value_member(record->body, "decision");

	if (!value_is_text(value_member(record->body, "by"), "person"))
		return record->decision;
	return said == NULL || value_is_text(said, "allow") ? "allow" : "deny";
}

static void
decide(struct explain *x, const struct policy_pack *pack,
    const struct record *record)
{
	struct command_tracer tracer = { pack, &x->arena };
	struct eval eval = { .arena = &x->arena, .plan = pack->plan,
	    .input = record->input, .data = pack->data, .facts = pack->facts,
	    .facts_of = pack->data, .strict = true };
	const struct value *now = value_member(record->input, "now_ns");
	struct policy_decision out;
	struct digests digests;
	struct buf text = { .arena = &x->arena };

	if (now != NULL && now->kind == VALUE_NUMBER && now->is_int)
		eval.now_ns = now->num.i;
	value_to_json(&text, record->input, 0);
	printf("input: %.*s\n", (int)text.n, text.p);
	digests_find(&digests, record->input);
	if (digests.n > 0)
		printf("note: \"hmac:...\" stands for what is not written "
		    "down; a rule that looks at it may come out differently\n");
	command_trace(&tracer, &eval);
	decision_run(&eval, pack->entry, &out);
	printf("now: %s by ", out.verdict == POLICY_ALLOW ? "allow" :
	    out.verdict == POLICY_ASK ? "ask" : "deny");
	command_put(out.rule, strlen(out.rule));
	fputs(": ", stdout);
	command_put(out.reason, strlen(out.reason));
	putchar('\n');
	x->result = COMMAND_YES;
}

static void
explain(struct explain *x, const struct record *record)
{
	const struct policy_pack *pack = x->pack != NULL ? x->pack :
	    recorded_pack(&x->packs, record->policy);

	printf("record %lld: %s", (long long)record->seq, came_out(record));
	say(" by ", record->rule);
	say(": ", value_member(record->body, "reason"));
	putchar('\n');
	if (value_is_text(value_member(record->body, "by"), "person"))
		puts("The policy asked, and a person answered. What the pack makes of it:");
	if (by_gate(record)) {
		puts("This is a rule of the gate's own: the policy was not "
		    "asked, or said yes (see RECORDS.md).");
		x->result = COMMAND_YES;
	} else if (record->input == NULL) {
		command_fail("record %lld holds no input", (long long)record->seq);
	} else if (pack == NULL || pack->entry == NULL) {
		command_fail("the recorded pack is not there; name one with "
		    "--pack");
	} else {
		if (record_engine_failed(record))
			puts("Nothing was decided then: the engine gave no "
			    "answer. What the pack makes of it:");
		decide(x, pack, record);
	}
}

static void
one_record(void *arg, const struct record *record)
{
	struct explain *x = arg;

	if (record->decision == NULL ||
	    (record->why == NULL && record->body == NULL))
		return;
	if (x->looking) {
		if (x->seq >= 0 ? record->seq == x->seq :
		    record->why == NULL && !by_gate(record) &&
		    !record_engine_failed(record)) {
			x->found = true;
			x->at = record->seq;
		}
	} else if (record->seq == x->at) {
		if (record->why != NULL)
			command_fail("%s", record->why);
		else
			explain(x, record);
	}
}

static int
run(struct explain *x, const char *path)
{
	x->looking = true;
	if (records_read(&x->arena, path, x->packs.dir, sizeof(x->packs.dir),
	    one_record, x) != 0)
		return COMMAND_FAILED;
	if (!x->found) {
		command_fail("no such decision in %s", path);
		return COMMAND_UNSURE;
	}
	x->looking = false;
	x->result = COMMAND_UNSURE;
	x->arena.max_steps = UINT64_MAX / 2;	/* the trace costs some, too */
	records_read(&x->arena, path, x->packs.dir, sizeof(x->packs.dir),
	    one_record, x);
	return x->result;
}

int
command_explain(const struct command_args *args)
{
	struct explain *x = calloc(1, sizeof(*x));
	struct policy_pack *pack = NULL;
	char *end = NULL;
	int result = COMMAND_FAILED;

	if (x == NULL || arena_init(&x->arena, DECISION_ARENA_FIRST,
	    DECISION_ARENA_MAX, DECISION_STEPS_MAX) != 0) {
		free(x);
		return command_fail("out of memory");
	}
	x->seq = -1;
	errno = 0;
	if (args->seq != NULL)
		x->seq = strtoll(args->seq, &end, 10);
	if (args->seq != NULL && (*end != '\0' || end == args->seq ||
	    errno != 0 || x->seq < 0))
		command_fail("--seq wants a record's number");
	else if (args->pack == NULL ||
	    (pack = command_pack(args, args->pack)) != NULL) {
		x->pack = pack;
		result = run(x, args->operand[0]);
	}
	recorded_packs_free(&x->packs);
	arena_release(&x->arena);
	policy_pack_unref(pack);
	free(x);
	return result;
}
