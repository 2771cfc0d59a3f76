/*
 * Reads the body of a `heads` record: where every stream stood before it.
 *
 *   {"streams":[{"stream":"<name>","next_seq":N,"last":"<64 hex>","open":b},…]}
 */
#ifndef LEDGER_VERIFY_HEADS_H
#define LEDGER_VERIFY_HEADS_H

#include <jansson.h>

#include "ledger/record/record.h"

struct heads {
	json_t *root, *table;
	size_t at;
	bool bad;		/* an entry was in another form: reading ended there */
};

struct heads_entry {
	struct record_slice name;	/* as long as the table is open */
	uint64_t next_seq;		/* above 0 */
	uint8_t last[RECORD_HASH_LEN];
	bool open;
};

/* 0, or -1 where it is no such body; close it in any case. */
int heads_open(struct heads *heads, struct record_slice body);
void heads_close(struct heads *heads);

/* False behind the last one, or at a bad one. */
bool heads_next(struct heads *heads, struct heads_entry *entry);

#endif
