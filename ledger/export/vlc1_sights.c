#include <stdio.h>
#include <string.h>

#include "ledger/coverage/claim.h"
#include "ledger/export/vlc1_sights.h"

static const char *const suffixes[VLC1_LISTS] = { "", ":left-out", ":beyond" };

/* Room is kept for the last name of a list, which says that there are more. */
static void
add_name(char *list, size_t cap, const char *name, const char *more)
{
	const size_t len = strlen(list), more_len = strlen(more), left = cap - len;

	if (len >= more_len && strcmp(list + len - more_len, more) == 0 &&
	    (len == more_len || list[len - more_len - 1] == ','))
		return;		/* full */
	snprintf(list + len, left, "%s%s", len > 0 ? "," : "",
	    strlen(name) + more_len + 3 <= left ? name : more);
}

/* The kinds of a scope, each once. */
static void
put_list(struct vlc1_sight *sight, enum vlc1_list which, const struct scope *scope)
{
	char name[256], more[256];

	snprintf(more, sizeof(more), "%s:more%s", sight->who, suffixes[which]);
	for (size_t i = 0; i < scope->n; i++) {
		const char *kind = scope->one[i].kind;
		size_t k = 0;

		while (k < i && strcmp(scope->one[k].kind, kind) != 0)
			k++;
		snprintf(name, sizeof(name), "%s:%s%s", sight->who,
		    strcmp(kind, "*") == 0 ? "all-else" : kind, suffixes[which]);
		if (k == i)
			add_name(sight->list[which], sizeof(sight->list[which]), name, more);
	}
}

static void
read_sight(struct vlc1_sight *sight, const struct claim *claim, uint64_t index)
{
	memset(sight, 0, sizeof(*sight));
	snprintf(sight->who, sizeof(sight->who), "%s%s%s", claim->adapter,
	    claim->instance[0] != '\0' ? "@" : "", claim->instance);
	sight->index = index;
	put_list(sight, VLC1_SEES, &claim->sees);
	put_list(sight, VLC1_LEAVES_OUT, &claim->leaves_out);
	put_list(sight, VLC1_CANNOT_SEE, &claim->cannot_see);
}

static bool
put_sight(struct vlc1_sights *s, const struct vlc1_sight *sight, bool first_only)
{
	unsigned i = 0;

	while (i < s->n && strcmp(s->one[i].who, sight->who) != 0)
		i++;
	if (i == VLC1_SIGHTS_MAX || (i < s->n && (first_only ||
	    memcmp(s->one[i].list, sight->list, sizeof(sight->list)) == 0)))
		return false;
	s->one[i] = *sight;
	s->n += i == s->n;
	return true;
}

bool
vlc1_sights_take(struct vlc1_sights *s, json_t *body, uint64_t index, bool first_only)
{
	struct vlc1_sight sight;
	struct claim claim;
	char err[160];
	const bool good = claim_read(&claim, body, err, sizeof(err)) == 0;

	if (good)
		read_sight(&sight, &claim, index);
	claim_free(&claim);
	return good && put_sight(s, &sight, first_only);
}

void
vlc1_sights_list(const struct vlc1_sights *s, enum vlc1_list which, char out[VLC1_LIST_MAX])
{
	char more[32];

	snprintf(more, sizeof(more), "more%s", suffixes[which]);
	out[0] = '\0';
	for (unsigned i = 0; i < s->n; i++)
		if (s->one[i].list[which][0] != '\0')
			add_name(out, VLC1_LIST_MAX, s->one[i].list[which], more);
}
