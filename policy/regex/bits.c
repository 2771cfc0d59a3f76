#include <string.h>

#include "policy/regex/bits.h"

#define PROG_FEW 256	/* instructions of a program that is looked at */

#define BIT(i) (UINT64_C(1) << (i))

/* Work left: an instruction, and whether only the end of the text leads there. */
struct todo {
	uint16_t pc;
	bool end;
};

struct maker {
	const struct prog *prog;
	uint8_t position[PROG_FEW];	/* of an instruction that takes a character */
	bool seen[PROG_FEW][2];
	struct todo todo[4 * PROG_FEW + 1];
};

/* Where one gets from an instruction without taking a character. */
struct reach {
	uint64_t positions;
	bool match, at_end;	/* for at_end: were the text to end here */
};

static bool
takes_character(const struct prog_inst *in)
{
	return in->op == PROG_RUNE || in->op == PROG_CLASS;
}

static bool
supported(const struct prog *prog)
{
	uint32_t i, n = 0;

	if (prog->n > PROG_FEW)
		return false;
	for (i = 0; i < prog->n; i++) {
		n += takes_character(&prog->inst[i]);
		if (prog->inst[i].op == PROG_ASSERT &&
		    prog->inst[i].x != ASSERT_TEXT_START &&
		    prog->inst[i].x != ASSERT_TEXT_END)
			return false;
	}
	return n <= BITS_POSITIONS;
}

static bool
passes(const struct prog_inst *in, bool at_start, bool *end)
{
	if (in->x == ASSERT_TEXT_END)
		*end = true;
	return in->x == ASSERT_TEXT_END || at_start;
}

static struct reach
reach_from(struct maker *m, uint32_t pc, bool at_start)
{
	struct reach reach = { .positions = 0 };
	struct todo *todo = m->todo;
	size_t n = 0;

	memset(m->seen, 0, sizeof(m->seen));
	todo[n++] = (struct todo){ (uint16_t)pc, false };
	while (n > 0) {
		struct todo t = todo[--n];
		const struct prog_inst *in = &m->prog->inst[t.pc];

		if (m->seen[t.pc][t.end])
			continue;
		m->seen[t.pc][t.end] = true;
		if (in->op == PROG_MATCH) {
			reach.at_end = true;
			reach.match |= !t.end;
		} else if (takes_character(in)) {
			if (!t.end)
				reach.positions |= BIT(m->position[t.pc]);
		} else if (in->op == PROG_SPLIT || in->op == PROG_JUMP) {
			todo[n++] = (struct todo){ (uint16_t)in->x, t.end };
			if (in->op == PROG_SPLIT)
				todo[n++] = (struct todo){ (uint16_t)in->y,
				    t.end };
		} else if (in->op == PROG_SAVE ||
		    passes(in, at_start, &t.end)) {
			todo[n++] = (struct todo){ (uint16_t)(t.pc + 1),
			    t.end };
		}
	}
	return reach;
}

static void
take_characters(struct bits *bits, const struct prog *prog,
    const struct prog_inst *in, uint64_t bit)
{
	const struct rune_range *r;
	uint32_t i, c;

	if (in->op == PROG_RUNE) {
		if (in->x < BITS_CHARS)
			bits->takes[in->x] |= bit;
		return;
	}
	if (in->y == 0)
		return;
	r = &prog->ranges[in->x];
	for (i = 0; i < in->y && r[i].low < BITS_CHARS; i++)
		for (c = r[i].low; c <= r[i].high && c < BITS_CHARS; c++)
			bits->takes[c] |= bit;
}

static void
set_starts(struct bits *bits, struct maker *m)
{
	struct reach first = reach_from(m, 0, true);
	struct reach again = reach_from(m, 0, false);

	bits->first = first.positions;
	bits->empty = first.match;
	bits->empty_at_end = first.at_end;
	bits->again = again.positions;
	bits->again_at_end = again.at_end;
}

bool
bits_make(struct bits *bits, const struct prog *prog)
{
	struct maker m = { .prog = prog };
	uint32_t i, n = 0;

	if (!supported(prog))
		return false;
	memset(bits, 0, sizeof(*bits));
	for (i = 0; i < prog->n; i++)
		if (takes_character(&prog->inst[i]))
			m.position[i] = (uint8_t)n++;
	set_starts(bits, &m);
	for (i = 0; i < prog->n; i++) {
		const struct prog_inst *in = &prog->inst[i];
		struct reach reach;

		if (!takes_character(in))
			continue;
		take_characters(bits, prog, in, BIT(m.position[i]));
		reach = reach_from(&m, i + 1, false);
		bits->after[m.position[i]] = reach.positions;
		if (reach.match)
			bits->done |= BIT(m.position[i]);
		if (reach.at_end)
			bits->done_at_end |= BIT(m.position[i]);
	}
	return true;
}

/* All that may come behind these positions. */
static uint64_t
step(const struct bits *bits, uint64_t hits)
{
	uint64_t next = bits->again;

	for (; hits != 0; hits &= hits - 1)
		next |= bits->after[__builtin_ctzll(hits)];
	return next;
}

int
bits_match(const struct bits *bits, const char *text, size_t len)
{
	uint64_t now = bits->first, hits = 0;
	size_t i;

	if (bits->empty)
		return 1;
	for (i = 0; i < len && (now != 0 || bits->again_at_end); i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= BITS_CHARS)
			return -1;
		hits = now & bits->takes[c];
		if ((hits & bits->done) != 0)
			return 1;
		now = step(bits, hits);
	}
	if (i < len)
		return 0;	/* nothing can match any more */
	return len == 0 ? bits->empty_at_end :
	    bits->again_at_end || (hits & bits->done_at_end) != 0;
}
