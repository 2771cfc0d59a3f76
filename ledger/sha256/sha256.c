/* OpenSSL's function for one block has no other name than the deprecated one. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include <openssl/sha.h>

#include "ledger/sha256/engine.h"
#include "ledger/sha256/sha256.h"

#define LANE_BLOCKS 17	/* of a message that are laid out at a time */
#define LANE_ROOM (LANE_BLOCKS * SHA256_BLOCK)
#define PADDING 9	/* a bit, and the length */

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
	"openssl", 1, 1, always, openssl_blocks
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

/* ---- lanes ---- */

/* One message on its way; job NULL: none. */
struct lane {
	const struct sha256_job *job;
	const uint8_t *from;		/* what is not laid out yet */
	size_t left;
	size_t blocks;			/* laid out and not compressed */
	bool last;			/* the padding is among them */
	uint8_t prefix;
	uint8_t room[LANE_ROOM];
};

struct lanes {
	const struct sha256_engine *engine;
	const struct sha256_job *next, *end;
	uint8_t prefix;
	unsigned active;
	struct sha256_state state;
	const uint8_t *data[SHA256_LANES_MAX];
	struct lane lane[SHA256_LANES_MAX];
};

/* What a lane without a message compresses. */
static const uint8_t nothing[LANE_ROOM];

static void
put_be64(uint8_t out[8], uint64_t value)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	memcpy(out, &value, sizeof(value));
}

/* The message's end, all that is left of it, behind the have bytes that are
 * there; and the padding. */
static void
lay_out_end(struct lane *lane, size_t have)
{
	const size_t n = lane->left;
	uint8_t *end;

	lane->blocks = (have + n + PADDING + SHA256_BLOCK - 1) / SHA256_BLOCK;
	end = lane->room + lane->blocks * SHA256_BLOCK;
	/* two whole blocks are quicker than as many bytes as it takes */
	memset(end - SHA256_BLOCK, 0, SHA256_BLOCK);
	if (lane->blocks > 1)
		memset(end - 2 * SHA256_BLOCK, 0, SHA256_BLOCK);
	if (have > 0)
		lane->room[0] = lane->prefix;
	if (n > 0)
		memcpy(lane->room + have, lane->from, n);
	lane->room[have + n] = 0x80;
	put_be64(end - 8, 8 * (1 + (uint64_t)lane->job->len));
	lane->last = true;
}

/* Lay out more of the message: its beginning with the prefix, or what follows.
 * All of it and the padding if they fit; else whole blocks, with more than one
 * left. */
static void
lay_out(struct lane *lane, bool first)
{
	const size_t have = first ? 1 : 0, n = LANE_ROOM - SHA256_BLOCK - have;

	if (have + lane->left + PADDING <= LANE_ROOM) {
		lay_out_end(lane, have);
		return;
	}
	lane->room[0] = lane->prefix;
	memcpy(lane->room + have, lane->from, n);
	lane->from += n;
	lane->left -= n;
	lane->blocks = LANE_BLOCKS - 1;
	lane->last = false;
}

/* Give the lane the next message, or none. */
static void
begin(struct lanes *lanes, unsigned j)
{
	struct lane *lane = &lanes->lane[j];
	unsigned i;

	if (lanes->next == lanes->end) {
		lane->job = NULL;
		lanes->data[j] = nothing;
		return;
	}
	lane->job = lanes->next++;
	lane->from = lane->job->data;
	lane->left = lane->job->len;
	lane->prefix = lanes->prefix;
	lay_out(lane, true);
	lanes->data[j] = lane->room;
	lanes->active++;
	for (i = 0; i < 8; i++)
		lanes->state.word[i][j] = initial[i];
}

static void
finish(struct lanes *lanes, unsigned j)
{
	uint8_t *out = lanes->lane[j].job->out;
	uint32_t word;
	unsigned i;

	for (i = 0; i < 8; i++) {
		word = __builtin_bswap32(lanes->state.word[i][j]);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		word = lanes->state.word[i][j];
#endif
		memcpy(out + 4 * i, &word, sizeof(word));
	}
	lanes->active--;
}

/* Count blocks of the lane are done. */
static void
advance(struct lanes *lanes, unsigned j, size_t count)
{
	struct lane *lane = &lanes->lane[j];

	lane->blocks -= count;
	lanes->data[j] += count * SHA256_BLOCK;
	if (lane->blocks > 0)
		return;
	if (!lane->last) {
		lay_out(lane, false);
		lanes->data[j] = lane->room;
		return;
	}
	finish(lanes, j);
	begin(lanes, j);
}

/* As many blocks of every lane as the shortest one has. */
static void
step(struct lanes *lanes)
{
	size_t count = LANE_BLOCKS;
	unsigned j;

	for (j = 0; j < lanes->engine->lanes; j++)
		if (lanes->lane[j].job != NULL && lanes->lane[j].blocks < count)
			count = lanes->lane[j].blocks;
	lanes->engine->blocks(&lanes->state, lanes->data, count);
	for (j = 0; j < lanes->engine->lanes; j++)
		if (lanes->lane[j].job != NULL)
			advance(lanes, j, count);
}

/* The few messages at the end, one by one. */
static void
step_alone(struct lanes *lanes)
{
	unsigned j;

	for (j = 0; j < lanes->engine->lanes; j++) {
		if (lanes->lane[j].job == NULL)
			continue;
		plain_blocks(&lanes->state, j, lanes->data[j], lanes->lane[j].blocks);
		advance(lanes, j, lanes->lane[j].blocks);
	}
}

void
sha256_jobs(uint8_t prefix, const struct sha256_job *jobs, size_t count)
{
	struct lanes lanes;
	unsigned j;

	lanes.engine = engine();
	lanes.next = jobs;
	lanes.end = jobs + count;
	lanes.prefix = prefix;
	lanes.active = 0;
	assert(lanes.engine->lanes <= SHA256_LANES_MAX);
	for (j = 0; j < lanes.engine->lanes; j++)
		begin(&lanes, j);
	while (lanes.active >= lanes.engine->worth)
		step(&lanes);
	while (lanes.active > 0)
		step_alone(&lanes);
}
