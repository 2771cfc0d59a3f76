/*
 * Record lines.  Whatever is accepted must be accepted by jansson too, with the
 * same values, and must come back from record_compose byte for byte.
 */
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(int condition)
{
	if (!condition)
		abort();
}

static int
hex(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void
compare(json_t *whole, const char *name, struct record_slice slice)
{
	const json_t *value = json_object_get(whole, name);

	require(json_string_length(value) == slice.len);
	require(memcmp(json_string_value(value), slice.ptr, slice.len) == 0);
}

static void
recompose(const char *line, size_t len, const struct record_line *read)
{
	static char again[RECORD_LINE_MAX];
	uint8_t prev[RECORD_HASH_LEN];
	struct record_parts parts = { .prev = prev, .stream = read->stream,
	    .type = read->type, .run = read->run, .policy = read->policy,
	    .body = read->body, .seq = read->seq, .time_us = read->time_us };
	size_t n;

	for (size_t i = 0; i < sizeof(prev); i++)
		prev[i] = (uint8_t)(hex(read->prev.ptr[2 * i]) * 16 +
		    hex(read->prev.ptr[2 * i + 1]));
	n = record_compose(again, sizeof(again), &parts);
	if (n == 0)	/* a shorter envelope left more room for its body */
		require(read->body.len > RECORD_LINE_MAX - RECORD_ENVELOPE_MAX);
	else
		require(n == len && memcmp(again, line, len) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct json_scan scratch;
	const char *line = (const char *)data;
	struct record_line read;
	json_t *whole;

	if (record_check(&scratch, line, len, &read) != NULL)
		return 0;
	whole = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	require(whole != NULL);
	compare(whole, "stream", read.stream);
	compare(whole, "type", read.type);
	compare(whole, "policy", read.policy);
	if (read.run.ptr != NULL)
		compare(whole, "run", read.run);
	require(json_object_size(whole) == (read.run.ptr != NULL ? 9 : 8));
	require(json_integer_value(json_object_get(whole, "seq")) ==
	    (json_int_t)read.seq);
	json_decref(whole);
	recompose(line, len, &read);
	return 0;
}
