#include "vault/withheld.h"

#include <stdio.h>
#include <stdlib.h>

/* Versions first to last; asked is what was asked for, 0 for all. */
struct withheld {
	struct withheld *next;
	char name[VAULT_NAME_MAX + 1];
	uint32_t asked, first, last;
	int64_t since_s;
};

bool
withheld_add(struct withheld **list, const char *name, uint32_t version,
    int64_t now_s)
{
	struct withheld *one;

	withheld_lift(list, name, version);
	if ((one = calloc(1, sizeof(*one))) == NULL)
		return false;
	snprintf(one->name, sizeof(one->name), "%s", name);
	one->asked = version;
	one->first = version == 0 ? 1 : version;
	one->last = version == 0 ? UINT32_MAX : version;
	one->since_s = now_s;
	one->next = *list;
	*list = one;
	return true;
}

int64_t
withheld_since(const struct withheld *list, const char *name,
    uint32_t version)
{
	for (; list != NULL; list = list->next)
		if (version >= list->first && version <= list->last &&
		    strcmp(list->name, name) == 0)
			return list->since_s;
	return 0;
}

void
withheld_lift(struct withheld **list, const char *name, uint32_t version)
{
	struct withheld *one;

	while ((one = *list) != NULL) {
		if (strcmp(one->name, name) != 0 ||
		    (version != 0 && one->asked != version)) {
			list = &one->next;
			continue;
		}
		*list = one->next;
		free(one);
	}
}

void
withheld_made(struct withheld **list, const char *name, uint32_t version)
{
	withheld_lift(list, name, version);
	for (struct withheld *one = *list; one != NULL; one = one->next)
		if (one->asked == 0 && one->last >= version &&
		    strcmp(one->name, name) == 0)
			one->last = version - 1;
}

void
withheld_clear(struct withheld **list)
{
	struct withheld *one;

	while ((one = *list) != NULL) {
		*list = one->next;
		free(one);
	}
}
