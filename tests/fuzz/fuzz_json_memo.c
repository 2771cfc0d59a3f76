/*
 * Objects, one a line, each asked of the scanner and of the memory of those
 * before it: they must agree on the rule and on where `parent` stands.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/record/json_memo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
ask(struct json_memo *memo, const char *text, size_t len)
{
	static struct json_scan scratch;
	const char *value, *again;
	size_t value_len, again_len;
	const char *rule = json_scan_member(&scratch, text, len, "parent",
	    &value, &value_len);

	if (json_memo_member(memo, text, len, "parent", &again, &again_len) != rule ||
	    again != value || again_len != value_len)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct json_memo memo;
	const char *text = (const char *)data, *end = text + len, *lf;

	memset(&memo, 0, sizeof(memo));
	for (; text < end; text = lf + 1) {
		lf = memchr(text, '\n', (size_t)(end - text));
		if (lf == NULL)
			lf = end;
		ask(&memo, text, (size_t)(lf - text));
	}
	return 0;
}
