/* What a ledger's own scan records say. */
#include <string.h>

#include "ledger/reader.h"
#include "ledger/scan/tags.h"

/* The verdict stands in the body before any name. */
static void
take(const struct record_slice *body, struct scan_words *words)
{
	static const char clean[] = "\"verdict\":\"clean\"", any[] = "\"verdict\":";
	const char *at = memmem(body->ptr, body->len, any, sizeof(any) - 1);
	size_t left = at == NULL ? 0 : (size_t)(body->ptr + body->len - at);

	if (left >= sizeof(clean) - 1 && memcmp(at, clean, sizeof(clean) - 1) == 0)
		words->clean++;
	else
		words->other++;
}

static bool
is_scan(const struct record_slice *type)
{
	return type->len == 4 && memcmp(type->ptr, "scan", 4) == 0;
}

struct scan_words
scan_words_of(const char *dir)
{
	struct scan_words words = { 0, 0 };
	struct reader_line line;
	char err[256];
	struct reader *reader = reader_open(dir, err, sizeof(err));

	while (reader != NULL && reader_next(reader, &line, err, sizeof(err)) == 1)
		if (line.rule == NULL && is_scan(&line.record.type))
			take(&line.record.body, &words);
	reader_close(reader);
	return words;
}
