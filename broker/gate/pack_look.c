/*
 * Is the pack that lies there still the one in force?  Somebody may have edited or
 * removed what only a reload or the next start would read.
 */
#include "gate/impl.h"

#include <fts.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

/* What would be another if a file were: names, sizes, times. */
static void
add_entry(crypto_generichash_state *state, const FTSENT *at)
{
	const struct stat *st = at->fts_statp;
	const int64_t what[] = { (int64_t)st->st_ino, (int64_t)st->st_size,
	    (int64_t)st->st_mtim.tv_sec, (int64_t)st->st_mtim.tv_nsec,
	    (int64_t)st->st_ctim.tv_sec, (int64_t)st->st_ctim.tv_nsec };

	crypto_generichash_update(state, (const uint8_t *)at->fts_path,
	    at->fts_pathlen + 1u);
	if (at->fts_info == FTS_F || at->fts_info == FTS_DEFAULT)
		crypto_generichash_update(state, (const uint8_t *)what,
		    sizeof(what));
}

static int
by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* -1 where it cannot be looked at. */
static int
stamp_of(const char *path, uint8_t stamp[PACK_STAMP_LEN])
{
	char *roots[] = { (char *)(uintptr_t)path, NULL };
	crypto_generichash_state state;
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
	    by_name);
	FTSENT *at;

	if (walk == NULL)
		return -1;
	crypto_generichash_init(&state, NULL, 0, PACK_STAMP_LEN);
	while ((at = fts_read(walk)) != NULL)
		if (at->fts_info != FTS_DP)
			add_entry(&state, at);
	fts_close(walk);
	crypto_generichash_final(&state, stamp, PACK_STAMP_LEN);
	return 0;
}

/* Files are read only when they look other than at the last time. */
static void
look_locked(struct gate *gate)
{
	char digest[POLICY_DIGEST_LEN + 1] = "", err[GATE_WHY_MAX];
	const struct rules *rules = atomic_load(&gate->rules);
	uint8_t stamp[PACK_STAMP_LEN] = { 0 };
	const bool seen = stamp_of(gate->pack_path, stamp) == 0;

	if (seen && strcmp(gate->pack_seen, rules->digest) == 0 &&
	    memcmp(stamp, gate->pack_stamp, sizeof(stamp)) == 0)
		return;
	if (policy_pack_digest_at(gate->pack_path, digest, err,
	    sizeof(err)) != 0)
		digest[0] = '\0';
	atomic_store(&gate->pack_differs, strcmp(digest, rules->digest) != 0);
	memcpy(gate->pack_stamp, stamp, sizeof(stamp));
	gate_text_copy(gate->pack_seen, sizeof(gate->pack_seen),
	    seen ? rules->digest : "");
}

/* A reload under way decides by itself: whoever looks does not wait for it. */
void
gate_pack_look(struct gate *gate)
{
	if (pthread_mutex_trylock(&gate->admin) != 0)
		return;
	look_locked(gate);
	pthread_mutex_unlock(&gate->admin);
}

bool
gate_pack_differs(struct gate *gate)
{
	return atomic_load(&gate->pack_differs);
}
