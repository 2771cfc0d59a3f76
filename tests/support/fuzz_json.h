/*
 * Mutations of JSON as JSON: values trade places, are doubled, taken out, or
 * become another of their kind, so that a fuzzer gets past the parser.  Include
 * it in a target's only source; libFuzzer and replay.c find the mutator by its
 * name.  What stands before the first brace is left alone.
 */
#ifndef TESTS_FUZZ_JSON_H
#define TESTS_FUZZ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define FUZZ_SPANS_MAX 20000
#define FUZZ_DEPTH_MAX 200

size_t LLVMFuzzerMutate(uint8_t *data, size_t len, size_t max)
    __attribute__((weak));
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
    unsigned seed);

/* A value at start..end; whole: with its name, as a member. */
struct fuzz_span {
	size_t whole, start, end;
};

static struct {
	const char *p;
	size_t n;
	struct fuzz_span span[FUZZ_SPANS_MAX];
	size_t spans;
	uint64_t random;
} fuzz_json;

static size_t
fuzz_below(size_t n)
{
	fuzz_json.random ^= fuzz_json.random << 13;
	fuzz_json.random ^= fuzz_json.random >> 7;
	fuzz_json.random ^= fuzz_json.random << 17;
	return n == 0 ? 0 : (size_t)(fuzz_json.random % n);
}

static size_t
fuzz_string_end(size_t i)
{
	for (i++; i < fuzz_json.n && fuzz_json.p[i] != '"'; i++)
		i += fuzz_json.p[i] == '\\';
	return i < fuzz_json.n ? i + 1 : fuzz_json.n;
}

/* The end of the value at i; it and what is in it are noted. */
static size_t
fuzz_walk_value(size_t i, size_t whole, unsigned depth)
{
	size_t start = i, name = SIZE_MAX, next;
	const char *p = fuzz_json.p;
	bool open = i < fuzz_json.n && (p[i] == '{' || p[i] == '[');

	if (i < fuzz_json.n && p[i] == '"') {
		i = fuzz_string_end(i);
	} else if (open && depth < FUZZ_DEPTH_MAX) {
		for (i++; i < fuzz_json.n && p[i] != '}' && p[i] != ']';) {
			if (strchr(" \t\r\n,:", p[i]) != NULL) {
				i++;
				continue;
			}
			if (p[start] == '{' && name == SIZE_MAX) {
				name = i;
				i = p[i] == '"' ? fuzz_string_end(i) : i + 1;
				continue;
			}
			next = fuzz_walk_value(i, name != SIZE_MAX ? name : i,
			    depth + 1);
			i = next > i ? next : i + 1;
			name = SIZE_MAX;
		}
		i += i < fuzz_json.n;
	} else {
		while (i < fuzz_json.n && strchr(" \t\r\n,:]}", p[i]) == NULL)
			i++;
	}
	if (fuzz_json.spans < FUZZ_SPANS_MAX)
		fuzz_json.span[fuzz_json.spans++] = (struct fuzz_span){
		    whole, start, i };
	return i;
}

/* What stands at from..to becomes with; the new length. */
static size_t
fuzz_splice(uint8_t *data, size_t len, size_t max, size_t from, size_t to,
    const char *with, size_t n)
{
	static char kept[1 << 20];

	if (n > sizeof(kept) || len - (to - from) + n > max)
		return len;
	memcpy(kept, with, n);
	memmove(data + from + n, data + to, len - to);
	memcpy(data + from, kept, n);
	return len - (to - from) + n;
}

static size_t
fuzz_other_number(char *out, size_t size, const char *p, size_t n)
{
	static const char *const known[] = { "0", "1", "-1", "2", "255",
	    "65535", "4294967295", "9223372036854775808", "1e400", "1.5",
	    "-0", "null", "true", "\"\"", "[]", "{}", "19999", "20000" };
	long x = 0;

	if (fuzz_below(2) == 0)
		return (size_t)snprintf(out, size, "%s",
		    known[fuzz_below(sizeof(known) / sizeof(known[0]))]);
	for (; n > 0 && *p >= '0' && *p <= '9' && x < 1000000000; n--)
		x = x * 10 + (*p++ - '0');
	return (size_t)snprintf(out, size, "%ld",
	    x + (long)fuzz_below(5) - 2);
}

static size_t
fuzz_change(uint8_t *data, size_t len, size_t max)
{
	const struct fuzz_span *a, *b;
	const char *p = (const char *)data;
	char number[64];
	unsigned tries;
	size_t n;

	a = &fuzz_json.span[fuzz_below(fuzz_json.spans)];
	switch (fuzz_below(6)) {
	case 0:		/* out, with the comma behind or before */
		n = a->end;
		if (n < len && p[n] == ',')
			return fuzz_splice(data, len, max, a->whole, n + 1,
			    "", 0);
		return fuzz_splice(data, len, max, a->whole > 0 &&
		    p[a->whole - 1] == ',' ? a->whole - 1 : a->whole, n, "",
		    0);
	case 1:		/* twice */
		n = fuzz_splice(data, len, max, a->end, a->end, p + a->whole,
		    a->end - a->whole);
		return n == len ? n : fuzz_splice(data, n, max, a->end,
		    a->end, ",", 1);
	case 2:
	case 3:		/* another number */
		for (tries = 0; tries < 20 && (p[a->start] < '0' ||
		    p[a->start] > '9'); tries++)
			a = &fuzz_json.span[fuzz_below(fuzz_json.spans)];
		n = fuzz_other_number(number, sizeof(number), p + a->start,
		    a->end - a->start);
		return fuzz_splice(data, len, max, a->start, a->end, number,
		    n);
	default:	/* as that one, mostly of the same kind */
		b = &fuzz_json.span[fuzz_below(fuzz_json.spans)];
		for (tries = 0; tries < 20 && p[a->start] != p[b->start];
		    tries++)
			b = &fuzz_json.span[fuzz_below(fuzz_json.spans)];
		return fuzz_splice(data, len, max, a->start, a->end,
		    p + b->start, b->end - b->start);
	}
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max, unsigned seed)
{
	size_t changes, at;

	fuzz_json.random = ((uint64_t)seed << 20) ^ 0x9e3779b97f4a7c15u;
	if (LLVMFuzzerMutate != NULL && fuzz_below(8) == 0)
		return LLVMFuzzerMutate(data, len, max);
	for (changes = 1 + fuzz_below(3); changes > 0; changes--) {
		for (at = 0; at < len && data[at] != '{' && data[at] != '[';)
			at++;
		fuzz_json.p = (const char *)data;
		fuzz_json.n = len;
		fuzz_json.spans = 0;
		fuzz_walk_value(at, at, 0);
		if (at >= len || fuzz_json.spans == 0)
			return LLVMFuzzerMutate != NULL ?
			    LLVMFuzzerMutate(data, len, max) : len;
		len = fuzz_change(data, len, max);
	}
	return len;
}

#endif
