#include "policy/plan/recall.h"

#include <stdlib.h>
#include <string.h>

#include "policy/value/hash.h"

#define ROOM ((size_t)64 * 1024)	/* for keys and values; then all is forgotten */
#define SLOTS 256		/* a power of two */
#define SLOTS_USED_MAX 160
#define KEY_MAX 2048		/* longer ones are not worth it */
#define WORTH_STEPS 48		/* rules that take fewer are as fast run again */
#define TRIES 24		/* so many in a row for nothing, or a rule that is */
#define HABITS 1024		/* functions of a plan that are looked at */
#define REST 4096		/* not worth it: so many calls without trying */
#define WAYS 4			/* so many of one key: other numbers, other values */

struct known {
	const struct plan_func *func;
	const char *key;
	size_t key_len;
	uint64_t hash;
	const struct moving_range *ranges;	/* of func->reads.moving */
	const struct value *result;
	uint64_t steps;
};

/* Whether a function is worth a look. */
struct habit {
	uint16_t misses, rest;
};

struct recall {
	struct arena arena;	/* ROOM bytes: keys and values */
	uint64_t pack;		/* 0: none */
	const struct policy_input *input;
	uint64_t fields;	/* that the input has */
	uint32_t sections;
	struct moving moving;
	struct habit habits[HABITS];	/* by function of the plan */
	uint32_t n_habits;
	uint32_t n_known;
	uint32_t turn;		/* whose place is taken next */
	bool full;
	struct known known[SLOTS];
};

struct recall *
recall_new(void)
{
	struct recall *recall = calloc(1, sizeof(*recall));

	if (recall != NULL && arena_init(&recall->arena, ROOM, ROOM,
	    UINT64_MAX) != 0) {
		free(recall);
		return NULL;
	}
	return recall;
}

void
recall_free(struct recall *recall)
{
	if (recall == NULL)
		return;
	arena_release(&recall->arena);
	free(recall);
}

static void
forget(struct recall *recall)
{
	arena_reset(&recall->arena);
	memset(recall->known, 0, sizeof(recall->known));
	recall->n_known = 0;
	recall->full = false;
}

/* Another pack: other functions, other data. */
static void
start_over(struct recall *recall, const struct plan *plan, uint64_t pack)
{
	uint64_t n = (uint64_t)plan->n_funcs + plan->n_plans;

	forget(recall);
	memset(recall->habits, 0, sizeof(recall->habits));
	recall->n_habits = n < HABITS ? (uint32_t)n : HABITS;
	recall->pack = pack;
}

void
recall_begin(struct recall *recall, const struct plan *plan, uint64_t pack,
    const struct policy_input *input, uint64_t fields)
{
	if (recall->pack != pack)
		start_over(recall, plan, pack);
	else if (recall->full)
		forget(recall);
	recall->input = input;
	recall->fields = fields;
	recall->sections = input_sections(fields);
	moving_begin(&recall->moving, input);
}

struct moving *
recall_moving(struct recall *recall)
{
	return &recall->moving;
}

/* --- keys ------------------------------------------------------------- */

struct key {
	char *p;
	size_t n;
	bool too_long;
};

static void
add(struct key *key, const void *bytes, size_t len)
{
	if (len > KEY_MAX - key->n) {
		key->too_long = true;
		return;
	}
	memcpy(key->p + key->n, bytes, len);
	key->n += len;
}

/* Lengths stand before texts, so that no two keys read the same. */
static void
add_text(struct key *key, const char *p, size_t n)
{
	add(key, &n, sizeof(n));
	add(key, p, n);
}

static void
add_field(struct key *key, const struct input_field *field,
    const struct policy_input *input)
{
	const struct policy_str *text;
	int64_t i;

	if (field->type == INPUT_INTEGER) {
		i = input_integer_of(field, input);
		add(key, &i, sizeof(i));
		return;
	}
	text = input_text_of(field, input);
	add_text(key, text->p, text->n);
}

/* All that the value depends on, but the data and the ranges of numbers that
 * move; false where that is not said in so many bytes. */
static bool
make_key(const struct recall *recall, const struct plan_func *func,
    const struct value *const *args, struct key *key)
{
	uint32_t sections = recall->sections & func->reads.sections;
	uint64_t fields = recall->fields & func->reads.fields;

	add(key, &sections, sizeof(sections));
	add(key, &fields, sizeof(fields));
	for (fields &= func->reads.still; fields != 0; fields &= fields - 1)
		add_field(key, &input_fields[__builtin_ctzll(fields)],
		    recall->input);
	for (uint32_t i = 2; i < func->n_params; i++) {
		if (args[i] == NULL || args[i]->kind != VALUE_STRING)
			return false;
		add_text(key, args[i]->str.p, args[i]->str.n);
	}
	return !key->too_long;
}

/* --- finding and keeping ---------------------------------------------- */

static bool
same_key(const struct known *known, const struct plan_func *func,
    const struct recall_call *call)
{
	return known->hash == call->hash && known->func == func &&
	    known->key_len == call->key_len &&
	    memcmp(known->key, call->key, call->key_len) == 0;
}

/*
 * Where this is known for the numbers of today; or else the place to keep it
 * in: a free one, or one of as many as there may be of a key.
 */
static struct known *
place_of(struct recall *recall, const struct plan_func *func,
    const struct recall_call *call, bool *found)
{
	struct known *same[WAYS], *known;
	uint32_t n = 0;

	*found = true;
	for (size_t slot = call->hash % SLOTS; n < WAYS;
	    slot = (slot + 1) % SLOTS) {
		known = &recall->known[slot];
		if (known->func == NULL) {
			*found = false;
			return known;
		}
		if (!same_key(known, func, call))
			continue;
		if (moving_within(&recall->moving, func->reads.moving,
		    known->ranges))
			return known;
		same[n++] = known;
	}
	*found = false;
	return same[recall->turn % WAYS];
}

/* Some rules are never the same twice: looking for them every time would cost
 * more than it brings. */
static bool
worth_a_look(struct recall *recall, const struct plan_func *func)
{
	struct habit *habit;

	if (func->reads.clock || func->index >= recall->n_habits)
		return false;
	habit = &recall->habits[func->index];
	if (habit->rest == 0)
		return true;
	if (--habit->rest == 0)
		habit->misses = 0;
	return false;
}

bool
recall_find(struct recall *recall, struct arena *arena,
    const struct plan_func *func, const struct value *const *args,
    struct recall_call *call, const struct value **result, uint64_t *steps)
{
	struct key key = { .n = 0 };
	struct known *known;
	struct habit *habit;
	bool found;

	*call = (struct recall_call){ .key = NULL };
	if (!worth_a_look(recall, func))
		return false;
	key.p = arena_alloc(arena, KEY_MAX);
	if (!make_key(recall, func, args, &key))
		return false;
	*call = (struct recall_call){ key.p, key.n,
	    hash_bytes((uintptr_t)func, key.p, key.n) };
	known = place_of(recall, func, call, &found);
	habit = &recall->habits[func->index];
	if (!found) {
		if (++habit->misses >= TRIES)
			habit->rest = REST;
		return false;
	}
	habit->misses = 0;
	moving_narrow(&recall->moving, func->reads.moving, known->ranges);
	*result = known->result;
	*steps = known->steps;
	return true;
}

static void
put(struct recall *recall, const struct plan_func *func,
    const struct recall_call *call, const struct value *result,
    uint64_t steps)
{
	bool found;
	struct known *known = place_of(recall, func, call, &found), now = {
		func, NULL, call->key_len, call->hash, NULL, NULL, steps };
	struct moving_range *ranges;

	if (found)
		return;		/* the rule called itself */
	now.key = known->func != NULL ? known->key :
	    arena_copy(&recall->arena, call->key, call->key_len);
	ranges = arena_array(&recall->arena, INPUT_MOVING, sizeof(*ranges));
	moving_ranges(&recall->moving, func->reads.moving, ranges);
	now.ranges = ranges;
	if (result != NULL)
		now.result = value_copy_frozen(&recall->arena, result);
	if (known->func == NULL && ++recall->n_known >= SLOTS_USED_MAX)
		recall->full = true;
	if (known->func != NULL)
		recall->turn++;
	*known = now;
}

/* What is found no room for is not kept, and the next decision starts anew:
 * values of this one may still be in use. */
static void
keep(struct recall *recall, const struct plan_func *func,
    const struct recall_call *call, const struct value *result, uint64_t steps)
{
	jmp_buf here;

	if (setjmp(here) == 0) {
		recall->arena.armed = &here;
		put(recall, func, call, result, steps);
	} else {
		recall->full = true;
	}
	recall->arena.armed = NULL;
}

void
recall_keep(struct recall *recall, const struct plan_func *func,
    const struct recall_call *call, const struct value *result, uint64_t steps)
{
	if (call->key == NULL || recall->full)
		return;
	if (steps < WORTH_STEPS)
		recall->habits[func->index].rest = REST;
	else
		keep(recall, func, call, result, steps);
}
