#include <stdio.h>
#include <string.h>

#include "ledger/coverage/claim.h"
#include "ledger/record/record.h"

const char *
claim_read_name(const json_t *value, char to[CLAIM_NAME_MAX + 1])
{
	const char *text = json_string_value(value);

	if (text == NULL || !record_name_valid(text, json_string_length(value)))
		return "a name of 1 to 64 letters, digits and -._:/@+";
	memcpy(to, text, strlen(text) + 1);
	return NULL;
}

static int
read_scopes(struct claim *claim, json_t *object, char *err, size_t err_len)
{
	const struct { const char *name; struct scope *to; bool why; } all[] = {
		{ "sees", &claim->sees, false }, { "cannot_see", &claim->cannot_see, true },
		{ "leaves_out", &claim->leaves_out, true },
	};

	for (size_t i = 0; i < 3; i++) {
		json_t *array = json_object_get(object, all[i].name);

		if (array == NULL) {
			snprintf(err, err_len, "%s: it is not there", all[i].name);
			return -1;
		}
		if (scope_read(all[i].to, array, all[i].name, err, err_len) != 0)
			return -1;
		for (size_t k = 0; all[i].why && k < all[i].to->n; k++)
			if (all[i].to->one[k].what[0] == '\0') {
				snprintf(err, err_len, "%s[%zu]: what says why", all[i].name, k);
				return -1;
			}
	}
	return 0;
}

static const char *
read_member(struct claim *claim, const char *name, json_t *value)
{
	if (strcmp(name, "v") == 0)
		return json_integer_value(value) == CLAIM_VERSION ? NULL : "1 is known";
	if (strcmp(name, "kind") == 0)
		return json_is_string(value) && strcmp(json_string_value(value),
		    CLAIM_KIND) == 0 ? NULL : "it is \"" CLAIM_KIND "\"";
	if (strcmp(name, "adapter") == 0)
		return claim_read_name(value, claim->adapter);
	if (strcmp(name, "instance") == 0)
		return claim_read_name(value, claim->instance);
	if (strcmp(name, "version") == 0)
		return claim_read_name(value, claim->version);
	if (strcmp(name, "sees") == 0 || strcmp(name, "cannot_see") == 0 ||
	    strcmp(name, "leaves_out") == 0 || strcmp(name, "parent") == 0)
		return NULL;
	return "there is no such member";
}

int
claim_read(struct claim *claim, json_t *object, char *err, size_t err_len)
{
	const char *name, *why;
	json_t *value;

	memset(claim, 0, sizeof(*claim));
	if (!json_is_object(object)) {
		snprintf(err, err_len, "a manifest is one JSON object");
		return -1;
	}
	json_object_foreach(object, name, value) {
		if ((why = read_member(claim, name, value)) != NULL) {
			snprintf(err, err_len, "%.32s: %s", act_kind_valid(name) ? name :
			    "a member", why);
			return -1;
		}
	}
	if (claim->adapter[0] == '\0' || claim->version[0] == '\0' ||
	    json_object_get(object, "v") == NULL || json_object_get(object, "kind") == NULL) {
		snprintf(err, err_len, "v, kind, adapter and version must be there");
		return -1;
	}
	return read_scopes(claim, object, err, err_len);
}

int
claim_parse(struct claim *claim, const char *text, size_t len, char *err,
    size_t err_len)
{
	json_t *object;
	int result;

	memset(claim, 0, sizeof(*claim));
	object = len > CLAIM_BYTES_MAX ? NULL :
	    json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	if (object == NULL) {
		snprintf(err, err_len, len > CLAIM_BYTES_MAX ?
		    "longer than 49152 bytes" : "not JSON, or a member twice");
		return -1;
	}
	result = claim_read(claim, object, err, err_len);
	json_decref(object);
	return result;
}

void
claim_free(struct claim *claim)
{
	scope_free(&claim->sees);
	scope_free(&claim->cannot_see);
	scope_free(&claim->leaves_out);
}

bool
claim_covers(const struct claim *claim, const struct act *act, uint64_t *looks)
{
	return scope_find(&claim->sees, act, looks) != NULL &&
	    scope_find(&claim->leaves_out, act, looks) == NULL;
}

const char *
claim_excuse(const struct claim *claim, const struct act *act, uint64_t *looks)
{
	const struct scope_entry *entry = scope_find(&claim->leaves_out, act, looks);

	if (entry == NULL)
		entry = scope_find(&claim->cannot_see, act, looks);
	return entry != NULL ? entry->what : "";
}
