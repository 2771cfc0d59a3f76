#include "ledger/verify/member.h"

#include <string.h>

/* Behind the string that begins here; a body that was found good has its end. */
static const char *
skip_string(const char *at, const char *end)
{
	for (at++; at < end && *at != '"'; at++)
		at += *at == '\\';
	return at < end ? at + 1 : end;
}

/* Behind the value that begins here. */
static const char *
skip_value(const char *at, const char *end)
{
	unsigned depth = 0;

	while (at < end) {
		if (*at == '"') {
			at = skip_string(at, end);
			continue;
		}
		if (depth == 0 && (*at == ',' || *at == '}'))
			break;
		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		at++;
	}
	return at;
}

bool
member_find(struct record_slice body, const char *name, struct record_slice *value)
{
	const size_t len = strlen(name);
	const char *at = body.ptr + 1, *end = body.ptr + body.len, *key, *behind;

	while (body.len > 2 && at < end && *at == '"') {
		key = at + 1;
		behind = skip_string(at, end);
		if (behind >= end)
			return false;
		at = skip_value(behind + 1, end);
		if ((size_t)(behind - key) == len + 1 && memcmp(key, name, len) == 0) {
			*value = (struct record_slice){ behind + 1, (size_t)(at - behind) - 1 };
			return true;
		}
		at += at < end;
	}
	return false;
}

bool
member_is(struct record_slice body, const char *name, const char *text)
{
	const size_t len = strlen(text);
	struct record_slice value;

	return member_find(body, name, &value) && value.len == len + 2 &&
	    value.ptr[0] == '"' && memcmp(value.ptr + 1, text, len) == 0;
}

bool
member_number(struct record_slice body, const char *name, uint64_t *number)
{
	struct record_slice value;
	uint64_t n = 0;
	size_t i;

	if (!member_find(body, name, &value) || value.len == 0 || value.len > 16)
		return false;
	for (i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return false;
		n = n * 10 + (uint64_t)(value.ptr[i] - '0');
	}
	*number = n;
	return true;
}

bool
member_no_number(struct record_slice body, const char *name)
{
	struct record_slice value;
	uint64_t number;

	return member_find(body, name, &value) && !member_number(body, name, &number);
}
