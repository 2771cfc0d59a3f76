/*
 * A hash table whose keys are keyed digests: uniform already, so their first
 * bytes are the hash, and the time of a comparison tells nothing about what was
 * digested.  Nodes lie inside the caller's structs.  No locks of its own.
 */
#ifndef BROKER_GATE_TABLE_H
#define BROKER_GATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_KEY_LEN 16

struct table_node {
	uint8_t key[TABLE_KEY_LEN];
	struct table_node *next;
};

struct table {
	struct table_node **buckets;
	size_t n_buckets, n;	/* n_buckets is a power of two, or 0 */
};

/* False where out of memory or the key is there already. */
bool table_add(struct table *table, struct table_node *node);
struct table_node *table_find(const struct table *table,
    const uint8_t key[TABLE_KEY_LEN]);
void table_remove(struct table *table, struct table_node *node);
void table_clear(struct table *table);	/* forgets the nodes, frees the buckets */

#endif
