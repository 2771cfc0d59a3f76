/* Networks in CIDR notation.  Nothing here asks anybody. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/plan/builtin.h"

__extension__ typedef unsigned __int128 u128;

#define MAPPED ((u128)0xffff << 32)	/* ::ffff:0:0, where IPv4 lives */

/* An address of either family as 128 bits. */
struct net {
	bool v4;
	u128 first, last;
	unsigned prefix;	/* in bits of the family */
	u128 shown;		/* the address that is printed */
};

static u128
from_bytes(const uint8_t *p, size_t n)
{
	u128 x = 0;
	size_t i;

	for (i = 0; i < n; i++)
		x = x << 8 | p[i];
	return x;
}

static bool
parse_address(const char *text, struct net *out)
{
	uint8_t bytes[16];

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, bytes) == 1) {
		out->v4 = true;
		out->first = MAPPED | from_bytes(bytes, 4);
	} else if (inet_pton(AF_INET6, text, bytes) == 1) {
		out->first = from_bytes(bytes, 16);
		out->v4 = out->first >> 32 == 0xffff;
	} else {
		return false;
	}
	out->last = out->shown = out->first;
	out->prefix = out->v4 ? 32 : 128;
	return true;
}

static u128
low_bits(unsigned n)
{
	return n >= 128 ? ~(u128)0 : ((u128)1 << n) - 1;
}

static void
widen(struct net *net, unsigned host_bits)
{
	net->first &= ~low_bits(host_bits);
	net->last = net->first | low_bits(host_bits);
}

static bool
copy_text(const struct value *v, char *out, size_t size)
{
	if (v->str.n >= size || memchr(v->str.p, '\0', v->str.n) != NULL)
		return false;
	memcpy(out, v->str.p, v->str.n);
	out[v->str.n] = '\0';
	return true;
}

static bool
parse_cidr(const struct value *v, struct net *out)
{
	char text[80], *slash;
	bool written_v6;
	int64_t bits;

	if (!copy_text(v, text, sizeof(text)) ||
	    (slash = strchr(text, '/')) == NULL)
		return false;
	*slash++ = '\0';
	written_v6 = strchr(text, ':') != NULL;
	while (slash[0] == '0' && slash[1] != '\0')
		slash++;	/* as Go reads it */
	if (!num_text_int64(slash, strlen(slash), &bits) || *slash == '-' ||
	    bits > (written_v6 ? 128 : 32) || !parse_address(text, out))
		return false;
	widen(out, (unsigned)((written_v6 ? 128 : 32) - bits));
	/* A mapped prefix counts in the bits of IPv4. */
	out->v4 = out->first >> 32 == 0xffff;
	out->prefix = (unsigned)(!out->v4 || !written_v6 ? bits :
	    bits > 96 ? bits - 96 : 0);
	out->shown = out->first;
	return true;
}

static bool
want_cidr(struct eval *eval, const struct value *const *args, unsigned i,
    struct net *out)
{
	if (!builtin_want(eval, args, i, VALUE_STRING))
		return false;
	if (parse_cidr(args[i], out))
		return true;
	eval_error(eval, "invalid CIDR address");
	return false;
}

static bool
contains(const struct net *a, const struct net *b)
{
	return a->v4 == b->v4 && a->first <= b->first && b->last <= a->last;
}

static const struct value *
call_intersects(struct eval *eval, const struct value *const *args)
{
	struct net a, b;

	if (!want_cidr(eval, args, 0, &a) || !want_cidr(eval, args, 1, &b))
		return NULL;
	return value_bool(a.v4 == b.v4 && a.first <= b.last &&
	    b.first <= a.last);
}

/* b is an address or a network. */
static const struct value *
cidr_contains(struct eval *eval, const struct value *const *args)
{
	struct net a, b;
	char text[80];

	if (!want_cidr(eval, args, 0, &a) ||
	    !builtin_want(eval, args, 1, VALUE_STRING))
		return NULL;
	if (!(copy_text(args[1], text, sizeof(text)) &&
	    parse_address(text, &b)) && !parse_cidr(args[1], &b))
		return eval_error(eval, "not a valid textual representation "
		    "of an IP address or CIDR");
	return value_bool(contains(&a, &b));
}

/* The network that an element names: itself, or its first element. */
static const struct value *
match_term(struct eval *eval, unsigned operand, const struct value *v)
{
	if (v->kind == VALUE_STRING)
		return v;
	if (v->kind == VALUE_ARRAY && v->col.n > 0)
		return v->col.items[0];
	return eval_error(eval, "operand %u: element must be string or "
	    "non-empty array", operand);
}

struct matcher {
	struct eval *eval;
	struct value *out;
	const struct value *index, *cidr;	/* of the first operand */
};

static bool
match_second(struct matcher *m, const struct value *index,
    const struct value *cidr)
{
	const struct value *args[2] = { m->cidr, cidr }, *hit;
	struct value *pair;

	if ((hit = cidr_contains(m->eval, args)) == NULL)
		return false;
	if (hit->truth) {
		pair = value_array(m->eval->arena, 2);
		value_append(m->eval->arena, pair, m->index);
		value_append(m->eval->arena, pair, index);
		value_add(m->eval->arena, m->out, pair);
	}
	return true;
}

/* Each element of v, with its index as the result names it. */
static bool
each(struct matcher *m, unsigned operand, const struct value *v,
    const struct value *other)
{
	const struct value *term, *index;
	uint32_t i, n = v->kind == VALUE_STRING ? 1 :
	    value_is_collection(v) ? v->col.n : 0;

	if (value_is_collection(v))
		value_sort(m->eval->arena, v);
	for (i = 0; i < n; i++) {
		arena_step(m->eval->arena, 4);
		term = v->kind == VALUE_STRING ? v :
		    match_term(m->eval, operand, value_at(v, i));
		if (term == NULL)
			return false;
		index = v->kind == VALUE_STRING ? v :
		    v->kind == VALUE_ARRAY ? value_int(m->eval->arena, i) :
		    value_key_at(v, i);
		if (other == NULL) {
			if (!match_second(m, index, term))
				return false;
			continue;
		}
		m->index = index;
		m->cidr = term;
		if (!each(m, 2, other, NULL))
			return false;
	}
	return true;
}

static const struct value *
call_contains_matches(struct eval *eval, const struct value *const *args)
{
	struct matcher m = { eval, value_set(eval->arena, 0), NULL, NULL };

	return each(&m, 1, args[0], args[1]) ? m.out : NULL;
}

static const struct value *
print(struct eval *eval, const struct net *net, u128 address, bool prefix)
{
	uint8_t bytes[16];
	char text[INET6_ADDRSTRLEN + 8];
	size_t i, n;

	for (i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(address >> (120 - 8 * i));
	if (inet_ntop(net->v4 ? AF_INET : AF_INET6,
	    net->v4 ? bytes + 12 : bytes, text, INET6_ADDRSTRLEN) == NULL)
		return eval_error(eval, "an address that cannot be printed");
	n = strlen(text);
	if (prefix)
		snprintf(text + n, sizeof(text) - n, "/%u", net->prefix);
	return value_text(eval->arena, text);
}

static const struct value *
call_expand(struct eval *eval, const struct value *const *args)
{
	struct value *out = value_set(eval->arena, 0);
	struct net net;
	u128 at;

	if (!want_cidr(eval, args, 0, &net))
		return NULL;
	for (at = net.first;; at++) {
		arena_step(eval->arena, 4);
		value_add(eval->arena, out, print(eval, &net, at, false));
		if (at == net.last)
			return out;
	}
}

static const struct value *
call_is_valid(struct eval *eval, const struct value *const *args)
{
	struct net net;

	return value_bool(args[0]->kind == VALUE_STRING &&
	    parse_cidr(args[0], &net));
}

/* --- merging ---------------------------------------------------------- */

/* A bare IPv4 address means the network of its class, as in OPA. */
static bool
merge_operand(struct eval *eval, const struct value *v, struct net *out)
{
	unsigned byte;
	char text[80];

	if (v->kind != VALUE_STRING) {
		eval_error(eval, "element must be string");
		return false;
	}
	if (!copy_text(v, text, sizeof(text)) || !parse_address(text, out)) {
		if (parse_cidr(v, out))
			return true;
		eval_error(eval, "invalid CIDR address");
		return false;
	}
	if (!out->v4) {
		eval_error(eval, "IPv6 invalid: needs prefix length");
		return false;
	}
	byte = (unsigned)(out->first >> 24) & 0xff;
	out->prefix = byte < 128 ? 8 : byte < 192 ? 16 : 24;
	widen(out, 32 - out->prefix);
	return true;
}

static int
by_last(const void *a, const void *b)
{
	const struct net *x = a, *y = b;

	if (x->last != y->last)
		return x->last < y->last ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

/* The fewest networks that make up first to last. */
static void
add_range(struct eval *eval, struct value *out, struct net net)
{
	unsigned width = net.v4 ? 32 : 128, bits;
	u128 at = net.first, last = net.last;

	for (;;) {
		arena_step(eval->arena, 4);
		bits = 0;
		while (bits < width && (at & low_bits(bits + 1)) == 0 &&
		    (at | low_bits(bits + 1)) <= last)
			bits++;
		net.prefix = width - bits;
		value_add(eval->arena, out, print(eval, &net, at, true));
		if ((at | low_bits(bits)) >= last)
			return;
		at = (at | low_bits(bits)) + 1;
	}
}

/*
 * Sorted by their last address, from the greatest down: the top of the stack swallows
 * what touches or overlaps it.  The stack is what is left, at the end of nets; merged
 * tells which of them are no network as it was given.  How many they are.
 */
static uint32_t
merge_nets(struct net *nets, bool *merged, uint32_t count)
{
	uint32_t i, n = 0;

	for (i = count; i > 0; i--) {
		struct net *top = n > 0 ? &nets[count - n] : NULL;
		struct net *now = &nets[i - 1];

		if (top != NULL && top->v4 == now->v4 &&
		    (top->first == 0 || top->first - 1 <= now->last)) {
			if (now->first < top->first)
				top->first = now->first;
			merged[count - n] = true;
			continue;
		}
		n++;
		nets[count - n] = *now;
		merged[count - n] = false;
	}
	return n;
}

static const struct value *
call_merge(struct eval *eval, const struct value *const *args)
{
	const struct value *v = args[0];
	struct value *out = value_set(eval->arena, 0);
	struct net *nets;
	bool *merged;
	uint32_t i;

	if (v->kind != VALUE_ARRAY && v->kind != VALUE_SET)
		return eval_error(eval, "operand must be an array");
	nets = arena_array(eval->arena, v->col.n, sizeof(*nets));
	merged = arena_array(eval->arena, v->col.n, sizeof(*merged));
	arena_step(eval->arena, v->col.n * 4);
	for (i = 0; i < v->col.n; i++)
		if (!merge_operand(eval, v->col.items[i], &nets[i]))
			return NULL;
	if (v->col.n > 1)
		qsort(nets, v->col.n, sizeof(*nets), by_last);
	for (i = v->col.n - merge_nets(nets, merged, v->col.n); i < v->col.n; i++) {
		if (merged[i])
			add_range(eval, out, nets[i]);
		else
			value_add(eval->arena, out, print(eval, &nets[i],
			    nets[i].shown, true));
	}
	return out;
}

const struct builtin builtins_net[] = {
	{ "net.cidr_contains", 2, 2, cidr_contains, false },
	{ "net.cidr_overlap", 2, 2, cidr_contains, false },
	{ "net.cidr_intersects", 2, 2, call_intersects, false },
	{ "net.cidr_contains_matches", 2, 2, call_contains_matches, false },
	{ "net.cidr_expand", 1, 1, call_expand, false },
	{ "net.cidr_merge", 1, 1, call_merge, false },
	{ "net.cidr_is_valid", 1, 1, call_is_valid, false },
	{ NULL, 0, 0, NULL, false }
};
