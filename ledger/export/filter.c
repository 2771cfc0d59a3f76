#include <ctype.h>
#include <string.h>

#include "ledger/export/filter.h"

#define ABOUT_MAX 2048

void
filter_init(struct filter *f)
{
	*f = (struct filter){ .since_us = INT64_MIN, .until_us = INT64_MAX };
}

/* Nothing is asked for. */
static bool
filter_is_any(const struct filter *f)
{
	return f->run == NULL && f->type == NULL && f->stream == NULL && f->target == NULL &&
	    f->decision == NULL && f->since_us == INT64_MIN && f->until_us == INT64_MAX;
}

static bool
is(struct record_slice slice, const char *text)
{
	return text == NULL || record_slice_is(slice, text);
}

/* Runs are shown by the beginning of their ids. */
static bool
begins(struct record_slice slice, const char *text)
{
	return text == NULL || (slice.ptr != NULL && text[0] != '\0' &&
	    slice.len >= strlen(text) && memcmp(slice.ptr, text, strlen(text)) == 0);
}

static bool
envelope_matches(const struct filter *f, const struct record_line *r)
{
	return begins(r->run, f->run) && is(r->type, f->type) && is(r->stream, f->stream) &&
	    r->time_us >= f->since_us && r->time_us <= f->until_us;
}

static bool
facts_match(const struct filter *f, const struct facts *facts)
{
	char about[ABOUT_MAX];

	if (f->target != NULL &&
	    strcasestr(facts_about(facts, about, sizeof(about)), f->target) == NULL)
		return false;
	if (f->decision == NULL)
		return true;
	if (strcmp(f->decision, "failed") == 0)
		return facts->kind == FACTS_FAILED;
	return strcmp(facts->decision, f->decision) == 0 ||
	    (strcmp(f->decision, "allow") == 0 && facts->kind == FACTS_ALLOWED) ||
	    (strcmp(f->decision, "deny") == 0 && facts->kind == FACTS_REFUSED);
}

bool
filter_match(const struct filter *f, const struct reader_line *line, struct facts *facts)
{
	if (line->rule != NULL)
		return filter_is_any(f);
	if (!envelope_matches(f, &line->record))
		return false;
	facts_read(facts, &line->record);
	if (facts_match(f, facts))
		return true;
	facts_free(facts);
	return false;
}

bool
filter_matches(const struct filter *f, const struct reader_line *line,
    const struct facts *facts)
{
	if (line->rule != NULL)
		return filter_is_any(f);
	return envelope_matches(f, &line->record) && facts_match(f, facts);
}

bool
filter_hits(const struct filter *f, const struct reader_line *line)
{
	struct facts facts;

	if (line->rule == NULL && f->target == NULL && f->decision == NULL)
		return envelope_matches(f, &line->record);
	if (!filter_match(f, line, &facts))
		return false;
	if (line->rule == NULL)
		facts_free(&facts);
	return true;
}

/* ---- moments ---- */

static int
ago(const char *text, int64_t now_us, int64_t *time_us)
{
	static const char units[] = "smhd";
	static const int64_t seconds[] = { 1, 60, 3600, 86400 };
	const char *begin = text, *unit;
	int64_t n = 0;

	for (; isdigit((unsigned char)*text) && n < 1000000; text++)
		n = n * 10 + (*text - '0');
	if (text == begin || *text == '\0' || text[1] != '\0' ||
	    (unit = strchr(units, *text)) == NULL)
		return -1;
	*time_us = now_us - n * seconds[unit - units] * 1000000;
	return 0;
}

/* The same with all that may be left out put in. */
static int
complete(const char *text, char out[RECORD_TIME_LEN])
{
	static const char model[] = "0000-01-01T00:00:00.000000Z";
	const size_t len = strlen(text);
	size_t n = len;

	memcpy(out, model, RECORD_TIME_LEN);
	if (n > 0 && text[n - 1] == 'Z')
		n--;
	if (n != 10 && n != 16 && n != 19 && (n < 21 || n > 26))
		return -1;
	if ((n == 10) != (n == len))
		return -1;	/* a date has no Z, and a time without one is nobody's */
	memcpy(out, text, n);
	return 0;
}

int
filter_time(const char *text, int64_t now_us, int64_t *time_us)
{
	char full[RECORD_TIME_LEN];

	if (ago(text, now_us, time_us) == 0)
		return 0;
	return complete(text, full) == 0 ? record_time_parse(full, time_us) : -1;
}
