#include "policy/command/recorded_packs.h"

#include <stdio.h>
#include <string.h>

static const struct policy_pack *
load(struct recorded_packs *packs, const char *digest)
{
	char path[PATH_MAX], err[512];
	struct policy_pack *pack;

	if (packs->dir[0] == '\0' || packs->n == RECORDED_PACKS_MAX ||
	    snprintf(path, sizeof(path), "%s/%s", packs->dir, digest + 7) >=
	    (int)sizeof(path))
		return NULL;
	pack = policy_pack_load(path, err, sizeof(err));
	if (pack == NULL || strcmp(policy_pack_digest(pack), digest) != 0) {
		policy_pack_unref(pack);
		return NULL;
	}
	packs->loaded[packs->n++] = pack;
	return pack;
}

const struct policy_pack *
recorded_pack(struct recorded_packs *packs, const struct value *digest)
{
	char text[POLICY_DIGEST_LEN + 1];
	size_t i;

	if (digest == NULL || digest->kind != VALUE_STRING ||
	    digest->str.n != POLICY_DIGEST_LEN ||
	    memcmp(digest->str.p, "sha256:", 7) != 0 ||
	    memchr(digest->str.p, '/', digest->str.n) != NULL)
		return NULL;
	memcpy(text, digest->str.p, POLICY_DIGEST_LEN);
	text[POLICY_DIGEST_LEN] = '\0';
	for (i = 0; i < packs->n; i++)
		if (strcmp(policy_pack_digest(packs->loaded[i]), text) == 0)
			return packs->loaded[i];
	return load(packs, text);
}

void
recorded_packs_free(struct recorded_packs *packs)
{
	while (packs->n > 0)
		policy_pack_unref(packs->loaded[--packs->n]);
}
