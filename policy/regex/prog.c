#include <stdlib.h>
#include <string.h>

#include "policy/regex/prog.h"
#include "policy/value/utf8.h"

uint32_t
prog_emit(struct prog *prog, enum prog_op op, uint32_t x, uint32_t y)
{
	struct prog_inst *inst;

	if (prog->n >= PROG_MAX) {
		prog->overflow = true;
		return 0;
	}
	if (prog->n == prog->cap) {
		prog->cap = prog->cap < 16 ? 16 : prog->cap * 2;
		inst = arena_array(prog->arena, prog->cap, sizeof(*inst));
		if (prog->n > 0)
			memcpy(inst, prog->inst, prog->n * sizeof(*inst));
		prog->inst = inst;
	}
	prog->inst[prog->n] = (struct prog_inst){ (uint8_t)op, x, y };
	return prog->n++;
}

static int
by_low(const void *a, const void *b)
{
	const struct rune_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static void
range_add(struct prog *prog, uint32_t low, uint32_t high)
{
	struct rune_range *ranges;

	if (prog->n_ranges == prog->cap_ranges) {
		prog->cap_ranges = prog->cap_ranges < 16 ? 16 :
		    prog->cap_ranges * 2;
		ranges = arena_array(prog->arena, prog->cap_ranges,
		    sizeof(*ranges));
		if (prog->n_ranges > 0)
			memcpy(ranges, prog->ranges,
			    prog->n_ranges * sizeof(*ranges));
		prog->ranges = ranges;
	}
	prog->ranges[prog->n_ranges++] = (struct rune_range){ low, high };
}

uint32_t
prog_emit_class(struct prog *prog, struct rune_range *ranges, uint32_t n,
    bool inverted)
{
	uint32_t first = prog->n_ranges, i, next = 0;

	if (n > 1)
		qsort(ranges, n, sizeof(*ranges), by_low);
	for (i = 0; i < n; i++) {
		if (inverted) {
			if (ranges[i].low > next)
				range_add(prog, next, ranges[i].low - 1);
			if (ranges[i].high + 1 > next)
				next = ranges[i].high + 1;
		} else if (prog->n_ranges > first &&
		    ranges[i].low <= prog->ranges[prog->n_ranges - 1].high +
		    1) {
			if (ranges[i].high >
			    prog->ranges[prog->n_ranges - 1].high)
				prog->ranges[prog->n_ranges - 1].high =
				    ranges[i].high;
		} else {
			range_add(prog, ranges[i].low, ranges[i].high);
		}
	}
	if (inverted && next <= RUNE_MAX)
		range_add(prog, next, RUNE_MAX);
	return prog_emit(prog, PROG_CLASS, first, prog->n_ranges - first);
}

/* --- running ---------------------------------------------------------- */

/* Threads in order of priority, each program counter once (a sparse set). */
struct threads {
	uint32_t *sparse, *dense, n;
	size_t *slots;		/* n_slots for each entry of dense */
};

/* Work left to do while following jumps: a counter, or a slot to restore. */
struct todo {
	uint32_t pc;
	bool restore;
	size_t value;
};

struct vm {
	struct arena *arena;
	const struct prog *prog;
	const char *text;
	size_t len, n_slots;
	size_t *current;	/* slots of the thread being followed */
	struct todo *todo;
};

static bool
word_rune(uint32_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
holds(const struct vm *vm, enum prog_assert what, size_t at)
{
	bool before = at > 0 && word_rune((unsigned char)vm->text[at - 1]);
	bool after = at < vm->len && word_rune((unsigned char)vm->text[at]);

	switch (what) {
	case ASSERT_TEXT_START:
		return at == 0;
	case ASSERT_TEXT_END:
		return at == vm->len;
	case ASSERT_LINE_START:
		return at == 0 || vm->text[at - 1] == '\n';
	case ASSERT_LINE_END:
		return at == vm->len || vm->text[at] == '\n';
	case ASSERT_WORD:
		return before != after;
	case ASSERT_NOT_WORD:
		return before == after;
	}
	return false;
}

static bool
listed(struct threads *list, uint32_t pc)
{
	uint32_t i = list->sparse[pc];

	if (i < list->n && list->dense[i] == pc)
		return true;
	list->sparse[pc] = list->n;
	list->dense[list->n] = pc;
	list->n++;
	return false;
}

static inline struct todo
go_on_at(uint32_t pc)
{
	return (struct todo){ pc, false, 0 };
}

/* Keep where we are; to be undone once what follows was followed. */
static inline struct todo
save_slot(struct vm *vm, uint32_t slot, size_t at)
{
	const struct todo undo = { slot, true, vm->current[slot] };

	vm->current[slot] = at;
	return undo;
}

/* What the thread that was listed last has saved so far. */
static void
keep_slots(const struct vm *vm, struct threads *list)
{
	if (vm->n_slots > 0)
		memcpy(&list->slots[(list->n - 1) * vm->n_slots], vm->current,
		    vm->n_slots * sizeof(*vm->current));
}

/* Follow everything that needs no input from pc on, in order of priority. */
static void
follow(struct vm *vm, struct threads *list, uint32_t pc, size_t at)
{
	const struct prog_inst *in;
	size_t n = 0;

	vm->todo[n++] = go_on_at(pc);
	while (n > 0) {
		struct todo t = vm->todo[--n];

		if (t.restore) {
			vm->current[t.pc] = t.value;
			continue;
		}
		if (listed(list, t.pc))
			continue;
		in = &vm->prog->inst[t.pc];
		switch ((enum prog_op)in->op) {
		case PROG_JUMP:
			vm->todo[n++] = go_on_at(in->x);
			break;
		case PROG_SPLIT:
			vm->todo[n++] = go_on_at(in->y);
			vm->todo[n++] = go_on_at(in->x);
			break;
		case PROG_SAVE:
			if (in->x < vm->n_slots)
				vm->todo[n++] = save_slot(vm, in->x, at);
			vm->todo[n++] = go_on_at(t.pc + 1);
			break;
		case PROG_ASSERT:
			if (holds(vm, (enum prog_assert)in->x, at))
				vm->todo[n++] = go_on_at(t.pc + 1);
			break;
		case PROG_CLASS:
		case PROG_RUNE:
		case PROG_MATCH:
			keep_slots(vm, list);
			break;
		}
	}
}

static bool
in_class(const struct prog *prog, const struct prog_inst *in, uint32_t rune)
{
	const struct rune_range *r = prog->ranges;	/* NULL where no class has any */
	uint32_t low = in->x, high = in->x + in->y, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (rune > r[middle].high)
			low = middle + 1;
		else if (rune < r[middle].low)
			high = middle;
		else
			return true;
	}
	return false;
}

static void
threads_init(struct vm *vm, struct threads *list)
{
	uint32_t n = vm->prog->n;

	list->sparse = arena_array(vm->arena, n, sizeof(*list->sparse));
	memset(list->sparse, 0, n * sizeof(*list->sparse));
	list->dense = arena_array(vm->arena, n, sizeof(*list->dense));
	list->slots = arena_array(vm->arena, n * vm->n_slots,
	    sizeof(*list->slots));
	list->n = 0;
}

/* One step of all threads over rune; true when a thread matched before it,
 * which cuts off those of lower priority. */
static bool
step(struct vm *vm, const struct threads *now, struct threads *next,
    uint32_t rune, size_t at, size_t after, bool whole, size_t *slots)
{
	uint32_t i;

	next->n = 0;
	for (i = 0; i < now->n; i++) {
		uint32_t pc = now->dense[i];
		const struct prog_inst *in = &vm->prog->inst[pc];

		if (in->op == PROG_MATCH) {
			if (whole && at < vm->len)
				continue;
			if (slots != NULL)
				memcpy(slots, &now->slots[i * vm->n_slots],
				    vm->n_slots * sizeof(*slots));
			return true;
		}
		if (at == vm->len || (in->op != PROG_RUNE &&
		    in->op != PROG_CLASS))
			continue;
		if (in->op == PROG_RUNE ? in->x != rune :
		    !in_class(vm->prog, in, rune))
			continue;
		if (vm->n_slots > 0)
			memcpy(vm->current, &now->slots[i * vm->n_slots],
			    vm->n_slots * sizeof(*vm->current));
		follow(vm, next, pc + 1, after);
	}
	return false;
}

static void
fresh_thread(struct vm *vm, struct threads *list, size_t at)
{
	size_t i;

	for (i = 0; i < vm->n_slots; i++)
		vm->current[i] = SIZE_MAX;
	follow(vm, list, 0, at);
}

static bool
run(struct vm *vm, size_t at, bool whole, size_t *slots)
{
	struct threads a, b, *now = &a, *next = &b, *swap;
	bool matched = false, start = true;
	uint32_t rune;
	size_t used;

	threads_init(vm, &a);
	threads_init(vm, &b);
	for (;;) {
		if (start && !matched)
			fresh_thread(vm, now, at);
		if (vm->prog->anchored || whole)
			start = false;
		arena_step(vm->arena, 1 + now->n / 16);
		used = 0;
		rune = at < vm->len ? utf8_decode(vm->text + at,
		    vm->len - at, &used) : 0;
		if (step(vm, now, next, rune, at, at + used, whole, slots)) {
			matched = true;
			if (slots == NULL)
				return true;
		}
		swap = now;
		now = next;
		next = swap;
		if (at == vm->len || (now->n == 0 && (matched || !start)))
			return matched;
		at += used;
	}
}

bool
prog_run(struct arena *arena, const struct prog *prog, const char *text,
    size_t len, size_t from, bool whole, size_t *slots)
{
	struct vm vm = { .arena = arena, .prog = prog, .text = text,
	    .len = len, .n_slots = slots != NULL ? prog->n_slots : 0 };

	vm.current = arena_array(arena, vm.n_slots, sizeof(*vm.current));
	vm.todo = arena_array(arena, (size_t)prog->n * 2 + 2,
	    sizeof(*vm.todo));
	return run(&vm, from, whole, slots);
}
