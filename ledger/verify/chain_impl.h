/* What the parts of chain share.  Private to chain. */
#ifndef LEDGER_VERIFY_CHAIN_IMPL_H
#define LEDGER_VERIFY_CHAIN_IMPL_H

#include <string.h>

#include "ledger/verify/chain.h"

/* One line while it is looked at. */
struct chain_here {
	const struct walk_line *line;
	uint64_t index, number;
	unsigned segment;
};

/* An event; stream may be NULL. */
void chain_note(struct chain *chain, enum chain_kind kind, const struct chain_here *here,
    struct chain_stream *stream, uint64_t expected);

/* The stream of that name; NULL: there is none. */
struct chain_stream *chain_find(struct chain *chain, struct record_slice name);

/* ---- what records of few types say of their stream ---- */

/* A drop names exactly the hole that it stands behind. */
bool chain_declares(const struct chain_stream *stream, const struct record_line *record);

/* Does a drop name some hole that ends right before it?  Its first seq, or its own
 * where it does not. */
uint64_t chain_spans(const struct record_line *record);

/* An open or a close; or anything at all of a stream that is not open. */
void chain_take_state(struct chain *chain, const struct chain_here *here,
    struct chain_stream *stream);

/* A `policy` record brings another pack into force, in place of its own. */
void chain_take_pack(struct chain *chain, const struct chain_here *here,
    struct chain_stream *stream);

/* Was the pack that the record names brought into force in the stream's session? */
void chain_look_pack(struct chain *chain, const struct chain_here *here,
    struct chain_stream *stream);

/* Does the table of heads say how the streams stand, now?  Of all of them,
 * unless the chain is one of a part. */
bool chain_heads_fit(struct chain *chain, const struct record_line *heads);

#endif
