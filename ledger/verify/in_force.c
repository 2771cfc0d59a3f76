#include "ledger/verify/in_force.h"

#include <string.h>

/* The one at i, and those before it one back. */
static struct in_force_pack *
to_front(struct in_force *packs, unsigned i)
{
	const struct in_force_pack keep = packs->pack[i];

	memmove(packs->pack + 1, packs->pack, i * sizeof(packs->pack[0]));
	packs->pack[0] = keep;
	return &packs->pack[0];
}

static struct in_force_pack *
find(struct in_force *packs, const char *digest)
{
	unsigned i;

	for (i = 0; i < packs->count; i++)
		if (memcmp(packs->pack[i].digest, digest, RECORD_POLICY_LEN) == 0)
			return to_front(packs, i);
	return NULL;
}

void
in_force_add(struct in_force *packs, const char *digest, uint64_t index)
{
	struct in_force_pack *pack = find(packs, digest);

	if (pack == NULL) {
		if (packs->count < IN_FORCE_MAX)
			packs->count++;
		else if (packs->pack[IN_FORCE_MAX - 1].since >= packs->forgot)
			packs->forgot = packs->pack[IN_FORCE_MAX - 1].since + 1;
		pack = to_front(packs, packs->count - 1);
		memcpy(pack->digest, digest, RECORD_POLICY_LEN);
	}
	pack->since = index;
}

bool
in_force_has(struct in_force *packs, const char *digest, uint64_t since)
{
	const struct in_force_pack *pack = find(packs, digest);

	return pack != NULL && pack->since >= since;
}

bool
in_force_forgot(const struct in_force *packs, uint64_t since)
{
	return packs->forgot > since;
}
