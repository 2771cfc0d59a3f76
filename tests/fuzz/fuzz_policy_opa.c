/* An answer of a policy server: status, new line, body.  Whatever it is, there
 * is a decision, and what is no allow says why. */
#include <stdlib.h>
#include <string.h>

#include "policy/opa/answer.h"

#define FUZZ_STEPS 200000
#include "fuzz_arena.h"
#include "fuzz_json.h"

static void
run(struct arena *arena, const char *p, size_t len)
{
	const char *body = len > 0 ? memchr(p, '\n', len) : NULL;
	struct policy_decision out;

	if (body == NULL)
		return;
	memset(&out, 0xff, sizeof(out));
	opa_answer(arena, body - p == 3 && memcmp(p, "200", 3) == 0 ? 200 :
	    500, body + 1, len - (size_t)(body + 1 - p), &out);
	if (out.verdict != POLICY_DENY && out.verdict != POLICY_ALLOW &&
	    out.verdict != POLICY_ASK)
		abort();
	if (out.verdict != POLICY_DENY && (out.failed || memcmp(p, "200", 3) != 0))
		abort();
	if (strnlen(out.id, sizeof(out.id)) == sizeof(out.id) ||
	    strnlen(out.reason, sizeof(out.reason)) == sizeof(out.reason) ||
	    strnlen(out.rule, sizeof(out.rule)) == sizeof(out.rule))
		abort();
}
