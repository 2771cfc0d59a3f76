/* OpenSSL's function for one block has no other name than the deprecated one. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include <openssl/sha.h>

#include "ledger/sha256/engine.h"
#include "ledger/sha256/sha256.h"

#define AT_A_TIME 1024	/* messages that are sorted by their blocks */

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

const uint32_t sha256_initial[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
	0x1f83d9ab, 0x5be0cd19
};

/* ---- engines ---- */

void
sha256_alone(const struct sha256_job *job, const uint32_t state[8], size_t done)
{
	const uint64_t bits = 8 * SHA256_BLOCK * (uint64_t)done;
	SHA256_CTX sha;

	SHA256_Init(&sha);
	if (done > 0) {
		memcpy(sha.h, state, sizeof(sha.h));
		sha.Nl = (SHA_LONG)bits;
		sha.Nh = (SHA_LONG)(bits >> 32);
	}
	SHA256_Update(&sha, (const uint8_t *)job->data + done * SHA256_BLOCK,
	    job->len - done * SHA256_BLOCK);
	SHA256_Final(job->out, &sha);
}

static void
openssl_hash(const struct sha256_job *const job[SHA256_LANES_MAX], unsigned n)
{
	for (unsigned j = 0; j < n; j++)
		sha256_alone(job[j], NULL, 0);
}

static bool
always(void)
{
	return true;
}

static const struct sha256_engine openssl = {
	"openssl", SHA256_LANES_MAX, 1, always, openssl_hash
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

/* N messages side by side, in the order of their blocks. */
static void
together(const struct sha256_engine *engine,
    const struct sha256_job *job[SHA256_LANES_MAX], unsigned n)
{
	unsigned j;

	assert(n > 0);
	if (n < engine->worth || sha256_blocks(job[n - 1]->len) > SHA256_BLOCKS_MAX) {
		openssl_hash(job, n);
		return;
	}
	for (j = n; j < engine->lanes; j++)
		job[j] = job[n - 1];
	engine->hash(job, n);
}

/* All of as many blocks, as the nodes of a tree are. */
static void
alike(const struct sha256_engine *engine, const struct sha256_job *jobs, size_t count)
{
	const struct sha256_job *job[SHA256_LANES_MAX];
	unsigned n;

	for (; count > 0; count -= n, jobs += n) {
		for (n = 0; n < engine->lanes && n < count; n++)
			job[n] = &jobs[n];
		together(engine, job, n);
	}
}

static size_t
key_of(const struct sha256_job *job)
{
	const size_t blocks = sha256_blocks(job->len);

	return blocks <= SHA256_BLOCKS_MAX ? blocks : SHA256_BLOCKS_MAX + 1;
}

/* A count for each number of blocks becomes the place where the next message of
 * so many goes. */
static void
sort(const struct sha256_job *jobs, size_t count, uint16_t order[AT_A_TIME])
{
	uint16_t place[SHA256_BLOCKS_MAX + 2] = { 0 }, at = 0, n;
	size_t i;

	for (i = 0; i < count; i++)
		place[key_of(&jobs[i])]++;
	for (i = 0; i < SHA256_BLOCKS_MAX + 2; i++) {
		n = place[i];
		place[i] = at;
		at = (uint16_t)(at + n);
	}
	for (i = 0; i < count; i++)
		order[place[key_of(&jobs[i])]++] = (uint16_t)i;
}

/* Messages of as many blocks stand side by side: then no lane waits. */
static void
sorted(const struct sha256_engine *engine, const struct sha256_job *jobs, size_t count)
{
	const struct sha256_job *job[SHA256_LANES_MAX];
	uint16_t order[AT_A_TIME];
	size_t at;
	unsigned n;

	sort(jobs, count, order);
	for (at = 0; at < count; at += n) {
		for (n = 0; n < engine->lanes && at + n < count; n++)
			job[n] = &jobs[order[at + n]];
		together(engine, job, n);
	}
}

void
sha256_jobs(const struct sha256_job *jobs, size_t count)
{
	const struct sha256_engine *const e = engine();
	size_t some, i, blocks;

	for (; count > 0; jobs += some, count -= some) {
		some = count < AT_A_TIME ? count : AT_A_TIME;
		blocks = sha256_blocks(jobs[0].len);
		for (i = 1; i < some && sha256_blocks(jobs[i].len) == blocks; i++)
			;
		if (i == some)
			alike(e, jobs, some);
		else
			sorted(e, jobs, some);
	}
}
