#include "policy/command/tally.h"

#include <stdio.h>
#include <string.h>

#include "policy/command/command.h"

const char *
tally_word(enum policy_verdict verdict)
{
	return verdict == POLICY_ALLOW ? "allow" :
	    verdict == POLICY_ASK ? "ask" : "deny";
}

/* --- as JSON ----------------------------------------------------------- */

static void
put(struct tally *tally, struct value *object, const char *name,
    const struct value *v)
{
	value_put(tally->arena, object, value_text(tally->arena, name), v);
}

static void
put_text(struct tally *tally, struct value *object, const char *name,
    const char *text)
{
	put(tally, object, name, value_text(tally->arena, text));
}

static void
put_count(struct tally *tally, struct value *object, const char *name,
    int64_t n)
{
	if (n >= 0)
		put(tally, object, name, value_int(tally->arena, n));
}

static void
print(struct tally *tally, const struct value *object)
{
	struct buf out = { .arena = tally->arena };

	value_to_json(&out, object, 0);
	printf("%.*s\n", (int)out.n, out.p);
}

static struct value *
located(struct tally *tally, const struct record *record, const char *result)
{
	struct value *object = value_object(tally->arena, 8);

	put_text(tally, object, "result", result);
	put_text(tally, object, "file", record->file);
	put_count(tally, object, "line", (int64_t)record->line);
	return object;
}

static const struct value *
side(struct tally *tally, const struct tally_side *s)
{
	struct value *object = value_object(tally->arena, 8);
	const struct policy_decision *d = s->full;

	put_text(tally, object, "who", s->who);
	put_text(tally, object, "decision", s->decision);
	put_text(tally, object, "rule", s->rule);
	put_text(tally, object, "reason", s->reason);
	if (d == NULL)
		return object;
	if (!d->redact)
		put(tally, object, "redact", value_bool(false));
	put_count(tally, object, "max_bytes", d->max_bytes);
	put_count(tally, object, "cost", d->cost);
	put_count(tally, object, "ttl_s", d->ttl_s);
	put_count(tally, object, "uses", d->uses);
	return object;
}

/* --- as text ----------------------------------------------------------- */

static void
obligation(const char *name, int64_t n)
{
	if (n >= 0)
		printf(", %s %lld", name, (long long)n);
}

static void
print_side(const struct tally_side *s)
{
	const struct policy_decision *d = s->full;

	const char *rule = s->rule[0] != '\0' ? s->rule : "no rule";

	printf("  %s: %s by ", s->who, s->decision);
	command_put(rule, strlen(rule));
	fputs(": ", stdout);
	command_put(s->reason, strlen(s->reason));
	if (d != NULL) {
		if (!d->redact)
			printf(", redact false");
		obligation("max_bytes", d->max_bytes);
		obligation("cost", d->cost);
		obligation("ttl_s", d->ttl_s);
		obligation("uses", d->uses);
	}
	putchar('\n');
}

void
tally_differ(struct tally *tally, const struct record *record,
    const struct tally_side *a, const struct tally_side *b)
{
	struct value *object;

	tally->differ++;
	if (!tally->json) {
		printf("%s:%lu: differs\n", record->file, record->line);
		print_side(a);
		print_side(b);
		return;
	}
	object = located(tally, record, "differ");
	put(tally, object, "a", side(tally, a));
	put(tally, object, "b", side(tally, b));
	print(tally, object);
}

void
tally_undecided(struct tally *tally, const struct record *record,
    const char *why)
{
	struct value *object;

	tally->undecided++;
	if (!tally->json) {
		printf("%s:%lu: could not be decided: %s\n", record->file,
		    record->line, why);
		return;
	}
	object = located(tally, record, "undecided");
	put_text(tally, object, "reason", why);
	print(tally, object);
}

static void
print_counts(struct tally *tally)
{
	struct value *object = value_object(tally->arena, 8);

	put_text(tally, object, "result", "summary");
	put_count(tally, object, "decisions", (int64_t)tally->seen);
	put_count(tally, object, "same", (int64_t)tally->same);
	put_count(tally, object, "differ", (int64_t)tally->differ);
	put_count(tally, object, "undecided", (int64_t)tally->undecided);
	put_count(tally, object, "gate", (int64_t)tally->gate);
	put_count(tally, object, "engine", (int64_t)tally->engine);
	put_count(tally, object, "other_pack", (int64_t)tally->other);
	print(tally, object);
}

int
tally_end(struct tally *tally)
{
	jmp_buf here;

	if (tally->json && setjmp(here) == 0) {
		arena_reset(tally->arena);
		tally->arena->armed = &here;
		print_counts(tally);
	} else {
		printf("%lu decisions: %lu the same, %lu differ, %lu could "
		    "not be decided, %lu by the gate's own rules\n",
		    tally->seen, tally->same, tally->differ,
		    tally->undecided, tally->gate);
		if (tally->engine > 0)
			printf("%lu were no decisions: the engine gave none "
			    "then\n", tally->engine);
		if (tally->other > 0)
			printf("%lu were decided under another pack then\n",
			    tally->other);
	}
	tally->arena->armed = NULL;
	if (tally->differ > 0)
		return COMMAND_NO;
	return tally->undecided > 0 || tally->seen == 0 ? COMMAND_UNSURE :
	    COMMAND_YES;
}
