/* What is read as JSON and written again reads as the same value. */
#include <stdlib.h>
#include <string.h>

#include "policy/value/value.h"

#define FUZZ_STEPS 1000000
#include "fuzz_arena.h"
#include "fuzz_json.h"
#include "rego_term.h"

static void
run(struct arena *arena, const char *text, size_t len)
{
	struct buf out = { .arena = arena }, term = { .arena = arena };
	const struct value *v, *again;
	char err[200] = "";

	v = value_from_json(arena, text, len, &value_json_strict, err,
	    sizeof(err));
	if (v == NULL) {
		if (err[0] == '\0')
			abort();
		err[0] = '\0';
		rego_term_parse(arena, text, len, err, sizeof(err));
		return;
	}
	value_to_json(&out, v, VALUE_JSON_HTML);
	again = value_from_json(arena, out.p, out.n, &value_json_strict, err,
	    sizeof(err));
	if (again == NULL || value_compare(arena, v, again) != 0 ||
	    value_hash(arena, v) != value_hash(arena, again))
		abort();
	value_to_json(&term, v, VALUE_JSON_REGO);
	again = rego_term_parse(arena, term.p, term.n, err, sizeof(err));
	if (again == NULL || value_compare(arena, v, again) != 0)
		abort();
}
