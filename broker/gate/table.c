#include "gate/table.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static size_t
bucket_of(const struct table *table, const uint8_t *key)
{
	uint64_t hash;

	memcpy(&hash, key, sizeof(hash));
	return (size_t)hash & (table->n_buckets - 1);
}

static bool
grow(struct table *table)
{
	struct table bigger = { NULL, 0, table->n };
	struct table_node *node, *next;

	bigger.n_buckets = table->n_buckets > 0 ? table->n_buckets * 2 : 64;
	bigger.buckets = calloc(bigger.n_buckets, sizeof(*bigger.buckets));
	if (bigger.buckets == NULL)
		return false;
	for (size_t i = 0; i < table->n_buckets; i++)
		for (node = table->buckets[i]; node != NULL; node = next) {
			size_t to = bucket_of(&bigger, node->key);

			next = node->next;
			node->next = bigger.buckets[to];
			bigger.buckets[to] = node;
		}
	free(table->buckets);
	*table = bigger;
	return true;
}

bool
table_add(struct table *table, struct table_node *node)
{
	size_t at;

	if (table->n >= table->n_buckets && !grow(table))
		return false;
	if (table_find(table, node->key) != NULL)
		return false;
	at = bucket_of(table, node->key);
	node->next = table->buckets[at];
	table->buckets[at] = node;
	table->n++;
	return true;
}

struct table_node *
table_find(const struct table *table, const uint8_t key[TABLE_KEY_LEN])
{
	struct table_node *node;

	if (table->n_buckets == 0)
		return NULL;
	node = table->buckets[bucket_of(table, key)];
	while (node != NULL &&
	    sodium_memcmp(node->key, key, TABLE_KEY_LEN) != 0)
		node = node->next;
	return node;
}

void
table_remove(struct table *table, struct table_node *node)
{
	struct table_node **at;

	if (table->n_buckets == 0)
		return;
	at = &table->buckets[bucket_of(table, node->key)];
	while (*at != NULL && *at != node)
		at = &(*at)->next;
	if (*at == NULL)
		return;
	*at = node->next;
	node->next = NULL;
	table->n--;
}

void
table_clear(struct table *table)
{
	free(table->buckets);
	*table = (struct table){ NULL, 0, 0 };
}
