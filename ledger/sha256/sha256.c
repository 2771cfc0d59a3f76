/* OpenSSL's function for one block has no other name than the deprecated one. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include <openssl/sha.h>

#include "ledger/sha256/engine.h"
#include "ledger/sha256/sha256.h"

#define TAIL_BLOCKS 2	/* of a message's end and the padding, at most */
#define PADDING 9	/* a bit, and the length */
#define AT_A_TIME 1024	/* messages that are sorted by their lengths */
#define BLOCKS_SORTED 128	/* longer ones are taken as equally long */

_Alignas(64) const uint32_t sha256_k[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
	0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
	0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
	0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
	0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
	0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
	0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
	0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static const uint32_t initial[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
	0x1f83d9ab, 0x5be0cd19
};

/* ---- engines ---- */

/* One lane's blocks through OpenSSL. */
static void
plain_blocks(struct sha256_state *state, unsigned lane, const uint8_t *data,
    size_t count)
{
	SHA256_CTX sha = { .md_len = SHA256_LEN };
	unsigned i;

	for (i = 0; i < 8; i++)
		sha.h[i] = state->word[i][lane];
	for (; count > 0; count--, data += SHA256_BLOCK)
		SHA256_Transform(&sha, data);
	for (i = 0; i < 8; i++)
		state->word[i][lane] = sha.h[i];
}

static void
openssl_blocks(struct sha256_state *state,
    const uint8_t *const data[SHA256_LANES_MAX], size_t count)
{
	plain_blocks(state, 0, data[0], count);
}

static bool
always(void)
{
	return true;
}

static const struct sha256_engine openssl = {
	"openssl", 1, 1, always, openssl_blocks, NULL
};

/* Best first; the last one is always there. */
static const struct sha256_engine *const engines[] = {
	&sha256_avx512, &sha256_ni, &openssl
};
#define ENGINES (sizeof(engines) / sizeof(engines[0]))

static _Atomic(const struct sha256_engine *) chosen;

static const struct sha256_engine *
best(void)
{
	size_t i;

	for (i = 0; i + 1 < ENGINES; i++)
		if (engines[i]->available())
			return engines[i];
	return &openssl;
}

/* Threads that come here first together choose the same. */
static const struct sha256_engine *
engine(void)
{
	const struct sha256_engine *e = atomic_load_explicit(&chosen, memory_order_relaxed);

	if (e == NULL) {
		e = best();
		atomic_store_explicit(&chosen, e, memory_order_relaxed);
	}
	return e;
}

const char *
sha256_engine(void)
{
	return engine()->name;
}

bool
sha256_use(const char *name)
{
	size_t i;

	for (i = 0; i < ENGINES; i++) {
		if (name != NULL && strcmp(engines[i]->name, name) != 0)
			continue;
		if (engines[i]->available()) {
			atomic_store_explicit(&chosen, engines[i], memory_order_relaxed);
			return true;
		}
	}
	return false;
}

/* ---- messages ---- */

/* A message on its way through a lane: its whole blocks where they lie, then
 * what is left of it with the padding, laid out in the room. */
struct lane {
	const struct sha256_job *job;
	size_t blocks;		/* of this stretch, not compressed yet */
	size_t tail;		/* blocks in the room, while they are still to come */
	uint8_t room[TAIL_BLOCKS * SHA256_BLOCK];
};

struct lanes {
	const struct sha256_engine *engine;
	unsigned active;
	struct sha256_state state;
	const uint8_t *data[SHA256_LANES_MAX];
	uint8_t *out[SHA256_LANES_MAX];	/* where a digest goes */
	uint8_t unwanted[SHA256_LEN];	/* of a lane whose message goes on */
	struct lane lane[SHA256_LANES_MAX];
};

static void
put_be64(uint8_t out[8], uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	memcpy(out, &value, sizeof(value));
}

static size_t
blocks_of(const struct sha256_job *job)
{
	return (job->len + PADDING + SHA256_BLOCK - 1) / SHA256_BLOCK;
}

static void
lay_out_tail(struct lane *lane)
{
	const struct sha256_job *job = lane->job;
	const size_t n = job->len % SHA256_BLOCK;
	uint8_t *end = lane->room + lane->tail * SHA256_BLOCK;

	/* two whole blocks are quicker than as many bytes as it takes */
	memset(lane->room, 0, SHA256_BLOCK);
	memset(end - SHA256_BLOCK, 0, SHA256_BLOCK);
	if (n > 0)
		memcpy(lane->room, (const uint8_t *)job->data + job->len - n, n);
	lane->room[n] = 0x80;
	put_be64(end - 8, 8 * (uint64_t)job->len);
}

/* The room comes next, or the message is over: false. */
static bool
to_tail(struct lanes *lanes, unsigned j)
{
	struct lane *lane = &lanes->lane[j];

	lane->blocks = lane->tail;
	lane->tail = 0;
	lanes->data[j] = lane->room;
	return lane->blocks > 0;
}

static void
begin(struct lanes *lanes, unsigned j, const struct sha256_job *job)
{
	struct lane *lane = &lanes->lane[j];

	lane->job = job;
	lane->blocks = job->len / SHA256_BLOCK;
	lane->tail = blocks_of(job) - lane->blocks;
	lay_out_tail(lane);
	lanes->data[j] = job->data;
	if (lane->blocks == 0)
		(void)to_tail(lanes, j);
}

static void
write_digest(const struct sha256_state *state, unsigned j, uint8_t *out)
{
	uint32_t word;
	unsigned i;

	for (i = 0; i < 8; i++) {
		word = state->word[i][j];
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		word = __builtin_bswap32(word);
#endif
		memcpy(out + 4 * i, &word, sizeof(word));
	}
}

/* Count blocks of the lane are done.  True where its message is. */
static bool
advance(struct lanes *lanes, unsigned j, size_t count)
{
	struct lane *lane = &lanes->lane[j];

	lane->blocks -= count;
	lanes->data[j] += count * SHA256_BLOCK;
	if (lane->blocks > 0 || to_tail(lanes, j))
		return false;
	lanes->out[j] = lane->job->out;
	lane->job = NULL;
	lanes->active--;
	return true;
}

/* The digests of the lanes whose messages have ended. */
static void
write_digests(struct lanes *lanes, unsigned n)
{
	unsigned j;

	if (lanes->engine->digests != NULL) {
		lanes->engine->digests(&lanes->state, lanes->out);
		return;
	}
	for (j = 0; j < n; j++)
		if (lanes->out[j] != lanes->unwanted)
			write_digest(&lanes->state, j, lanes->out[j]);
}

/* As many blocks of every lane as the shortest stretch has.  A lane without a
 * message takes along what the last one has, which is the longest. */
static void
step(struct lanes *lanes, unsigned n)
{
	size_t count = lanes->lane[n - 1].blocks;
	bool any = false;
	unsigned j;

	for (j = 0; j < n; j++)
		if (lanes->lane[j].job != NULL && lanes->lane[j].blocks < count)
			count = lanes->lane[j].blocks;
	for (j = 0; j < lanes->engine->lanes; j++)
		if (j >= n || lanes->lane[j].job == NULL)
			lanes->data[j] = lanes->data[n - 1];
	lanes->engine->blocks(&lanes->state, lanes->data, count);
	for (j = 0; j < lanes->engine->lanes; j++) {
		lanes->out[j] = lanes->unwanted;
		if (j < n && lanes->lane[j].job != NULL)
			any |= advance(lanes, j, count);
	}
	if (any)
		write_digests(lanes, n);
}

/* Few messages, or few that go on: one by one. */
static void
alone(struct lanes *lanes, unsigned n)
{
	struct lane *lane;
	unsigned j;

	for (j = 0; j < n; j++) {
		lane = &lanes->lane[j];
		while (lane->job != NULL) {
			plain_blocks(&lanes->state, j, lanes->data[j], lane->blocks);
			if (advance(lanes, j, lane->blocks))
				write_digest(&lanes->state, j, lanes->out[j]);
		}
	}
}

/* N messages side by side, the longest one last. */
static void
together(struct lanes *lanes, const struct sha256_job *jobs, const uint16_t *order,
    unsigned n)
{
	unsigned i, j;

	for (i = 0; i < 8; i++)
		for (j = 0; j < SHA256_LANES_MAX; j++)
			lanes->state.word[i][j] = initial[i];
	for (j = 0; j < n; j++)
		begin(lanes, j, &jobs[order[j]]);
	lanes->active = n;
	while (lanes->active >= lanes->engine->worth)
		step(lanes, n);
	alone(lanes, n);
}

/*
 * Messages of as many blocks stand side by side: then no lane waits.  A count
 * for each number of blocks, which becomes the place where the next message of
 * so many goes.
 */
static void
sort_by_blocks(const struct sha256_job *jobs, size_t count, uint16_t *order)
{
	uint16_t place[BLOCKS_SORTED + 1] = { 0 }, key[AT_A_TIME], n, at = 0;
	size_t i, blocks;

	for (i = 0; i < count; i++) {
		blocks = blocks_of(&jobs[i]);
		key[i] = (uint16_t)(blocks < BLOCKS_SORTED ? blocks : BLOCKS_SORTED);
		place[key[i]]++;
	}
	for (i = 0; i <= BLOCKS_SORTED; i++) {
		n = place[i];
		place[i] = at;
		at = (uint16_t)(at + n);
	}
	for (i = 0; i < count; i++)
		order[place[key[i]]++] = (uint16_t)i;
}

/* All of as many blocks, as the nodes of a tree are, stay as they are. */
static void
sort(const struct sha256_job *jobs, size_t count, uint16_t *order)
{
	const size_t blocks = blocks_of(&jobs[0]);
	size_t i;

	for (i = 0; i < count && blocks_of(&jobs[i]) == blocks; i++)
		order[i] = (uint16_t)i;
	if (i < count)
		sort_by_blocks(jobs, count, order);
}

/* The longest one last; those beyond what is sorted are in any order. */
static void
longest_last(const struct sha256_job *jobs, uint16_t *order, unsigned n)
{
	uint16_t swap;
	unsigned j;

	for (j = 0; j + 1 < n; j++) {
		if (jobs[order[j]].len <= jobs[order[n - 1]].len)
			continue;
		swap = order[j];
		order[j] = order[n - 1];
		order[n - 1] = swap;
	}
}

void
sha256_jobs(const struct sha256_job *jobs, size_t count)
{
	uint16_t order[AT_A_TIME];
	struct lanes lanes;
	size_t some, at, n;

	lanes.engine = engine();
	assert(lanes.engine->lanes <= SHA256_LANES_MAX);
	for (; count > 0; jobs += some, count -= some) {
		some = count < AT_A_TIME ? count : AT_A_TIME;
		sort(jobs, some, order);
		for (at = 0; at < some; at += n) {
			n = some - at < lanes.engine->lanes ? some - at : lanes.engine->lanes;
			longest_last(jobs, order + at, (unsigned)n);
			together(&lanes, jobs, order + at, (unsigned)n);
		}
	}
}
