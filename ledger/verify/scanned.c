#include "ledger/verify/scanned.h"

#include <string.h>

#include <jansson.h>

#include "ledger/verify/member.h"

static const char no_verdict[] = "a scan with a verdict that is none";

/* Not told is -1, which is less than all. */
static json_int_t
count(const json_t *body, const char *name)
{
	const json_t *value = json_object_get(body, name);

	return json_is_integer(value) ? json_integer_value(value) : -1;
}

static const char *
misfit_verdict(const json_t *body, const char *verdict)
{
	const json_int_t found = count(body, "found");
	const bool clean = strcmp(verdict, "clean") == 0, yes = strcmp(verdict, "found") == 0;

	if (!clean && !yes && strcmp(verdict, "incomplete") != 0)
		return no_verdict;
	if (found > 0 && !yes)
		return "a scan that found something, and does not say so";
	if (found == 0 && yes)
		return "a scan that says it found something, and nothing that it found";
	if (clean && count(body, "bytes") == 0)
		return "a scan that is clean of nothing: it looked at no bytes";
	if (clean && json_object_get(body, "why") != NULL)
		return "a scan that is clean, and says why it is not";
	return NULL;
}

static const char *
misfit_number(const json_t *body)
{
	static const char *const names[] = { "found", "first_index", "last_index", "bytes",
	    "secrets", "tagged", "weak" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (json_object_get(body, names[i]) != NULL && count(body, names[i]) < 0)
			return "a scan that counts what is no number from 0 on";
	return NULL;
}

/* Of the weak ones the first are named. */
static const char *
misfit_weak(const json_t *body)
{
	const json_int_t weak = count(body, "weak"), secrets = count(body, "secrets");
	const json_t *list = json_object_get(body, "weak_secrets");
	const json_int_t tagged = count(body, "tagged"), named = (json_int_t)json_array_size(list);

	if (weak >= 0 && list != NULL && (named > weak || (named == 0 && weak > 0)))
		return "a scan that names other weak secrets than it counts";
	if (weak >= 0 && tagged >= 0 && secrets >= 0 && (weak > secrets || tagged > secrets - weak))
		return "a scan that counts more weak and tagged secrets than it looked for";
	return NULL;
}

const char *
scanned_misfit(const struct record_line *record)
{
	json_t *body = json_loadb(record->body.ptr, record->body.len, JSON_ALLOW_NUL, NULL);
	const char *verdict = json_string_value(json_object_get(body, "verdict"));
	const char *why = verdict != NULL ? misfit_verdict(body, verdict) :
	    json_object_get(body, "verdict") != NULL ? no_verdict : NULL;

	if (why == NULL)
		why = misfit_number(body);
	if (why == NULL)
		why = misfit_weak(body);
	json_decref(body);
	return why;
}

bool
scanned_found(const struct record_line *record)
{
	uint64_t found = 0;

	return member_is(record->body, "verdict", "found") ||
	    (member_number(record->body, "found", &found) && found > 0);
}
