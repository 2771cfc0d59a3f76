/* The libraries that unpack. */
#include <stdlib.h>

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "ledger/scan/view/packed_impl.h"

#define WINDOW_LOG_MAX 25	/* 32 MB of memory for one zstd stream */
#define LZMA_MEMORY (72u << 20)	/* for one of xz: as much as `xz -9` needs */

/* ---- gzip, zlib, deflate ---- */

static void *
inflate_open(void)
{
	z_stream *z = calloc(1, sizeof(*z));

	if (z != NULL && inflateInit(z) == Z_OK)
		return z;
	free(z);
	return NULL;
}

static bool
inflate_begin(void *state, enum scan_packing how)
{
	return inflateReset2(state, how == SCAN_GZIP ? MAX_WBITS + 16 :
	    how == SCAN_ZLIB ? MAX_WBITS : -MAX_WBITS) == Z_OK;
}

static enum scan_packed_state
inflate_step(void *state, struct scan_step *step)
{
	z_stream *z = state;
	int result;

	z->next_in = (z_const Bytef *)step->in;
	z->avail_in = (uInt)step->in_len;
	z->next_out = step->out;
	z->avail_out = (uInt)step->out_len;
	result = inflate(z, Z_NO_FLUSH);
	step->used = step->in_len - z->avail_in;
	step->made = step->out_len - z->avail_out;
	return result == Z_STREAM_END ? SCAN_PACKED_END :
	    result == Z_OK || result == Z_BUF_ERROR ? SCAN_PACKED_MORE : SCAN_PACKED_BROKEN;
}

static void
inflate_close(void *state)
{
	if (state != NULL)
		inflateEnd(state);
	free(state);
}

/* ---- zstd ---- */

static void *
zstd_open(void)
{
	ZSTD_DCtx *zstd = ZSTD_createDCtx();

	if (zstd != NULL && !ZSTD_isError(ZSTD_DCtx_setParameter(zstd, ZSTD_d_windowLogMax,
	    WINDOW_LOG_MAX)))
		return zstd;
	ZSTD_freeDCtx(zstd);
	return NULL;
}

static bool
zstd_begin(void *state, enum scan_packing how)
{
	(void)how;
	return !ZSTD_isError(ZSTD_DCtx_reset(state, ZSTD_reset_session_only));
}

static enum scan_packed_state
zstd_step(void *state, struct scan_step *step)
{
	ZSTD_inBuffer in = { step->in, step->in_len, 0 };
	ZSTD_outBuffer out = { step->out, step->out_len, 0 };
	size_t left = ZSTD_decompressStream(state, &out, &in);

	step->used = in.pos;
	step->made = out.pos;
	if (ZSTD_isError(left))
		return ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge ?
		    SCAN_PACKED_HUGE : SCAN_PACKED_BROKEN;
	return left == 0 ? SCAN_PACKED_END : SCAN_PACKED_MORE;
}

static void
zstd_close(void *state)
{
	ZSTD_freeDCtx(state);
}

/* ---- bzip2 ---- */

static void *
bzip2_open(void)
{
	return calloc(1, sizeof(bz_stream));
}

/* It cannot be reset. */
static bool
bzip2_begin(void *state, enum scan_packing how)
{
	bz_stream *bz = state;

	(void)how;
	if (bz->state != NULL)
		BZ2_bzDecompressEnd(bz);
	*bz = (bz_stream){ .state = NULL };
	return BZ2_bzDecompressInit(bz, 0, 0) == BZ_OK;
}

static enum scan_packed_state
bzip2_step(void *state, struct scan_step *step)
{
	bz_stream *bz = state;
	int result;

	bz->next_in = (char *)(uintptr_t)step->in;
	bz->avail_in = (unsigned)step->in_len;
	bz->next_out = (char *)step->out;
	bz->avail_out = (unsigned)step->out_len;
	result = BZ2_bzDecompress(bz);
	step->used = step->in_len - bz->avail_in;
	step->made = step->out_len - bz->avail_out;
	return result == BZ_STREAM_END ? SCAN_PACKED_END : result == BZ_OK ? SCAN_PACKED_MORE :
	    result == BZ_MEM_ERROR ? SCAN_PACKED_HUGE : SCAN_PACKED_BROKEN;
}

static void
bzip2_close(void *state)
{
	bz_stream *bz = state;

	if (bz != NULL && bz->state != NULL)
		BZ2_bzDecompressEnd(bz);
	free(bz);
}

/* ---- xz, lzma ---- */

static void *
xz_open(void)
{
	lzma_stream *xz = malloc(sizeof(*xz));

	if (xz != NULL)
		*xz = (lzma_stream)LZMA_STREAM_INIT;
	return xz;
}

static bool
xz_begin(void *state, enum scan_packing how)
{
	return (how == SCAN_LZMA ? lzma_alone_decoder(state, LZMA_MEMORY) :
	    lzma_stream_decoder(state, LZMA_MEMORY, 0)) == LZMA_OK;
}

static enum scan_packed_state
xz_step(void *state, struct scan_step *step)
{
	lzma_stream *xz = state;
	lzma_ret result;

	xz->next_in = step->in;
	xz->avail_in = step->in_len;
	xz->next_out = step->out;
	xz->avail_out = step->out_len;
	result = lzma_code(xz, LZMA_RUN);
	step->used = step->in_len - xz->avail_in;
	step->made = step->out_len - xz->avail_out;
	return result == LZMA_STREAM_END ? SCAN_PACKED_END :
	    result == LZMA_OK || result == LZMA_BUF_ERROR ? SCAN_PACKED_MORE :
	    result == LZMA_MEM_ERROR || result == LZMA_MEMLIMIT_ERROR ? SCAN_PACKED_HUGE :
	    SCAN_PACKED_BROKEN;
}

static void
xz_close(void *state)
{
	if (state != NULL)
		lzma_end(state);
	free(state);
}

/* ---- lz4 ---- */

static void *
lz4_open(void)
{
	LZ4F_dctx *lz4 = NULL;

	return LZ4F_isError(LZ4F_createDecompressionContext(&lz4, LZ4F_VERSION)) ? NULL : lz4;
}

static bool
lz4_begin(void *state, enum scan_packing how)
{
	(void)how;
	LZ4F_resetDecompressionContext(state);
	return true;
}

static enum scan_packed_state
lz4_step(void *state, struct scan_step *step)
{
	size_t left;

	step->used = step->in_len;
	step->made = step->out_len;
	left = LZ4F_decompress(state, step->out, &step->made, step->in, &step->used, NULL);
	if (!LZ4F_isError(left))
		return left == 0 ? SCAN_PACKED_END : SCAN_PACKED_MORE;
	step->used = step->made = 0;
	return SCAN_PACKED_BROKEN;
}

static void
lz4_close(void *state)
{
	LZ4F_freeDecompressionContext(state);
}

const struct scan_codec scan_codecs[SCAN_CODECS] = {
	{ inflate_open, inflate_begin, inflate_step, inflate_close },
	{ zstd_open, zstd_begin, zstd_step, zstd_close },
	{ bzip2_open, bzip2_begin, bzip2_step, bzip2_close },
	{ xz_open, xz_begin, xz_step, xz_close },
	{ lz4_open, lz4_begin, lz4_step, lz4_close },
};

unsigned
scan_codec_of(enum scan_packing how)
{
	return how <= SCAN_DEFLATE ? 0 : how <= SCAN_BZIP2 ? (unsigned)how - SCAN_ZSTD + 1 :
	    how == SCAN_LZ4 ? 4 : 3;
}
