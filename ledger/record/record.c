#include "ledger/record/record.h"
#include "ledger/record/json_out.h"

#include <string.h>

#define US_PER_SECOND 1000000
#define SECONDS_PER_DAY 86400

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

#define HEX_LEN 64	/* digits of a hash */

/* Without a branch in the loop, so that the compiler does 16 digits at a time:
 * two hashes stand in every record that is verified. */
static bool
hash_valid(const char text[HEX_LEN])
{
	uint8_t bad = 0;

	for (size_t i = 0; i < HEX_LEN; i++) {
		uint8_t digit = (uint8_t)(text[i] - '0');
		uint8_t letter = (uint8_t)(text[i] - 'a');

		bad |= (digit > 9) & (letter > 5);
	}
	return bad == 0;
}

#define NAME(text) { text, sizeof(text) - 1 }
static const struct record_slice types[] = { NAME("use"), NAME("outcome"),
    NAME("decision"), NAME("grant"), NAME("refusal"), NAME("run"),
    NAME("open"), NAME("close"), NAME("drop"), NAME("heads"), NAME("policy"),
    NAME("coverage"), NAME("loss"), NAME("key"), NAME("recover"), NAME("clock"),
    NAME("secret"), NAME("teardown"), NAME("scan"), NAME("anchor") };

const char *
record_type_at(size_t i)
{
	return i < sizeof(types) / sizeof(*types) ? types[i].ptr : NULL;
}

bool
record_type_known(const char *type, size_t len)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		if (types[i].len == len && memcmp(types[i].ptr, type, len) == 0)
			return true;
	}
	return false;
}

static bool
is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
}

/* - . / are neighbours, as : is of the digits and @ of the letters. */
static bool
is_name_byte(char c)
{
	return (c >= '-' && c <= ':') || (c >= '@' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z') || c == '_' || c == '+';
}

bool
record_name_valid(const char *name, size_t len)
{
	if (len < 1 || len > RECORD_NAME_MAX || !is_letter_or_digit(name[0]))
		return false;
	for (size_t i = 1; i < len; i++) {
		if (!is_name_byte(name[i]))
			return false;
	}
	return true;
}

bool
record_policy_valid(const char *policy, size_t len)
{
	return len == RECORD_POLICY_LEN && memcmp(policy, "sha256:", 7) == 0 &&
	    hash_valid(policy + 7);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar, and back, after
 * the method of eras of 400 years that start on the first of March. */
static int64_t
days_from_date(int64_t year, int64_t month, int64_t day)
{
	int64_t y = month <= 2 ? year - 1 : year;
	int64_t era = y / 400, year_of_era = y % 400;
	int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 +
	    day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 -
	    year_of_era / 100 + day_of_year - 719468;
}

static void
date_from_days(int64_t days, int64_t *year, int64_t *month, int64_t *day)
{
	int64_t z = days + 719468, era = z / 146097, d = z % 146097;
	int64_t year_of_era = (d - d / 1460 + d / 36524 - d / 146096) / 365;
	int64_t day_of_year = d - (365 * year_of_era + year_of_era / 4 -
	    year_of_era / 100);
	int64_t m = (5 * day_of_year + 2) / 153;

	*day = day_of_year - (153 * m + 2) / 5 + 1;
	*month = m < 10 ? m + 3 : m - 9;
	*year = year_of_era + era * 400 + (*month <= 2);
}

static int64_t
days_of_month(int64_t year, int64_t month)
{
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	if (month == 2)
		return leap ? 29 : 28;
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static void
put_digits(char *out, int64_t value, size_t n)
{
	while (n > 0) {
		out[--n] = (char)('0' + value % 10);
		value /= 10;
	}
}

void
record_time_format(char out[RECORD_TIME_LEN], int64_t time_us)
{
	int64_t seconds = time_us / US_PER_SECOND, year, month, day;
	int64_t of_day = seconds % SECONDS_PER_DAY;

	date_from_days(seconds / SECONDS_PER_DAY, &year, &month, &day);
	memcpy(out, "0000-00-00T00:00:00.000000Z", RECORD_TIME_LEN);
	put_digits(out, year, 4);
	put_digits(out + 5, month, 2);
	put_digits(out + 8, day, 2);
	put_digits(out + 11, of_day / 3600, 2);
	put_digits(out + 14, of_day / 60 % 60, 2);
	put_digits(out + 17, of_day % 60, 2);
	record_time_micros(out, time_us);
}

void
record_time_micros(char text[RECORD_TIME_LEN], int64_t time_us)
{
	put_digits(text + 20, time_us % US_PER_SECOND, 6);
}

/* The n digits at text, whose form was checked. */
static int64_t
number(const char *text, size_t n)
{
	int64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value * 10 + (text[i] - '0');
	return value;
}

int
record_time_parse(const char text[RECORD_TIME_LEN], int64_t *time_us)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.ddddddZ";
	int64_t year, month, day, hour, minute, second;

	for (size_t i = 0; i < RECORD_TIME_LEN; i++) {
		if (form[i] == 'd' ? !is_digit(text[i]) : text[i] != form[i])
			return -1;
	}
	year = number(text, 4);
	month = number(text + 5, 2);
	day = number(text + 8, 2);
	hour = number(text + 11, 2);
	minute = number(text + 14, 2);
	second = number(text + 17, 2);
	if (year < 1970 || month < 1 || month > 12 || day < 1 ||
	    day > days_of_month(year, month) || hour > 23 || minute > 59 ||
	    second > 59)
		return -1;
	*time_us = (((days_from_date(year, month, day) * 24 + hour) * 60 +
	    minute) * 60 + second) * US_PER_SECOND + number(text + 20, 6);
	return 0;
}

/* A cursor over the line while its envelope is read. */
struct cursor {
	const char *ptr, *end;
};

static bool
take_literal(struct cursor *c, const char *literal, size_t len)
{
	if ((size_t)(c->end - c->ptr) < len ||
	    memcmp(c->ptr, literal, len) != 0)
		return false;
	c->ptr += len;
	return true;
}
#define TAKE(c, literal) take_literal(c, literal, sizeof(literal) - 1)

/* Exactly len bytes. */
static bool
take_bytes(struct cursor *c, size_t len, struct record_slice *out)
{
	if ((size_t)(c->end - c->ptr) < len)
		return false;
	*out = (struct record_slice){ c->ptr, len };
	c->ptr += len;
	return true;
}

/* Up to the next quote, which must come within RECORD_NAME_MAX bytes. */
static bool
take_name(struct cursor *c, struct record_slice *out)
{
	size_t left = (size_t)(c->end - c->ptr);
	size_t window = left < RECORD_NAME_MAX + 1 ? left : RECORD_NAME_MAX + 1;
	const char *quote = memchr(c->ptr, '"', window);

	if (quote == NULL)
		return false;
	*out = (struct record_slice){ c->ptr, (size_t)(quote - c->ptr) };
	c->ptr = quote;
	return record_name_valid(out->ptr, out->len);
}

static bool
take_seq(struct cursor *c, uint64_t *seq)
{
	const char *start = c->ptr;
	uint64_t value = 0;

	while (c->ptr < c->end && is_digit(*c->ptr) && c->ptr - start < 17)
		value = value * 10 + (uint64_t)(*c->ptr++ - '0');
	*seq = value;
	return c->ptr > start && value <= RECORD_SEQ_MAX &&
	    (*start != '0' || c->ptr - start == 1);
}

static bool
type_valid(struct record_slice type)
{
	for (size_t i = 0; i < type.len; i++) {
		if ((type.ptr[i] < 'a' || type.ptr[i] > 'z') &&
		    type.ptr[i] != '_')
			return false;
	}
	return true;
}

static const char no_version_1[] = "no version 1 record with a prev of 64 hex digits";
const char record_other_version[] = "of another version of the format than 1";

/* `c` stands where the line begins. */
static const char *
no_beginning(struct cursor *c)
{
	const char *digit;

	if (!TAKE(c, "{\"v\":"))
		return no_version_1;
	for (digit = c->ptr; c->ptr < c->end && is_digit(*c->ptr); c->ptr++)
		;
	return c->ptr == digit || c->ptr == c->end || *c->ptr != ',' ||
	    (c->ptr == digit + 1 && *digit == '1') ? no_version_1 : record_other_version;
}

/* From `prev` to `t`. */
static const char *
parse_place(struct cursor *c, struct record_line *out)
{
	if (!TAKE(c, "{\"v\":1,\"prev\":\""))
		return no_beginning(c);
	if (!take_bytes(c, 64, &out->prev) || !hash_valid(out->prev.ptr))
		return no_version_1;
	if (!TAKE(c, "\",\"stream\":\"") || !take_name(c, &out->stream))
		return "malformed stream";
	if (!TAKE(c, "\",\"seq\":") || !take_seq(c, &out->seq))
		return "malformed seq";
	if (!TAKE(c, ",\"t\":\"") ||
	    !take_bytes(c, RECORD_TIME_LEN, &out->t) ||
	    record_time_parse(out->t.ptr, &out->time_us) != 0)
		return "malformed time";
	return NULL;
}

/* From `type` to the end. */
static const char *
parse_matter(struct cursor *c, struct record_line *out)
{
	if (!TAKE(c, "\",\"type\":\"") || !take_name(c, &out->type) ||
	    !type_valid(out->type))
		return "malformed type";
	if (TAKE(c, "\",\"run\":\"") && !take_name(c, &out->run))
		return "malformed run";
	if (!TAKE(c, "\",\"policy\":\"") ||
	    !take_bytes(c, RECORD_POLICY_LEN, &out->policy) ||
	    !record_policy_valid(out->policy.ptr, out->policy.len))
		return "malformed policy digest";
	if (!TAKE(c, "\",\"body\":") || c->end - c->ptr < 3 ||
	    c->ptr[0] != '{' || c->end[-1] != '}' || c->end[-2] != '}')
		return "malformed body";
	out->body = (struct record_slice){ c->ptr,
	    (size_t)(c->end - c->ptr) - 1 };
	return NULL;
}

const char *
record_parse(const char *line, size_t len, struct record_line *out)
{
	struct cursor c = { line, line + len };
	const char *rule;

	*out = (struct record_line){ .seq = 0 };
	if (len > RECORD_LINE_MAX)
		return "line over 65,535 bytes";
	rule = parse_place(&c, out);
	return rule != NULL ? rule : parse_matter(&c, out);
}

const char *
record_check(struct json_scan *scratch, const char *line, size_t len,
    struct record_line *out)
{
	const char *rule = record_parse(line, len, out);

	return rule != NULL ? rule : json_scan_member(scratch, out->body.ptr,
	    out->body.len, "parent", &out->parent.ptr, &out->parent.len);
}

/* A writer that was given enough room beforehand. */
static char *
put(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}
#define PUT(at, literal) put(at, literal, sizeof(literal) - 1)

static char *
put_slice(char *at, struct record_slice slice)
{
	return put(at, slice.ptr, slice.len);
}

static char *
put_uint(char *at, uint64_t value)
{
	char digits[20];
	size_t i = sizeof(digits);

	do {
		digits[--i] = (char)('0' + value % 10);
		value /= 10;
	} while (value != 0);
	return put(at, digits + i, sizeof(digits) - i);
}

size_t
record_compose(char *out, size_t cap, const struct record_parts *parts)
{
	char *at = out;
	size_t room = cap < RECORD_LINE_MAX ? cap : RECORD_LINE_MAX;

	if (room < RECORD_ENVELOPE_MAX ||
	    parts->body.len > room - RECORD_ENVELOPE_MAX)
		return 0;
	at = PUT(at, "{\"v\":1,\"prev\":\"");
	at = json_hex(at, parts->prev, RECORD_HASH_LEN);
	at = PUT(at, "\",\"stream\":\"");
	at = put_slice(at, parts->stream);
	at = PUT(at, "\",\"seq\":");
	at = put_uint(at, parts->seq);
	at = PUT(at, ",\"t\":\"");
	if (parts->time != NULL)
		memcpy(at, parts->time, RECORD_TIME_LEN);
	else
		record_time_format(at, parts->time_us);
	at = PUT(at + RECORD_TIME_LEN, "\",\"type\":\"");
	at = put_slice(at, parts->type);
	if (parts->run.ptr != NULL) {
		at = PUT(at, "\",\"run\":\"");
		at = put_slice(at, parts->run);
	}
	at = PUT(at, "\",\"policy\":\"");
	at = put_slice(at, parts->policy);
	at = PUT(at, "\",\"body\":");
	at = put_slice(at, parts->body);
	at = PUT(at, "}");
	return (size_t)(at - out);
}
