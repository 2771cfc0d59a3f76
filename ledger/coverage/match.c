#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/match.h"

/* Records that have begun and are not paired: the one that ends first on top. */
struct heap {
	const struct match_slot **at;
	size_t n;
};

static void
swap(struct heap *h, size_t a, size_t b)
{
	const struct match_slot *x = h->at[a];

	h->at[a] = h->at[b];
	h->at[b] = x;
}

static void
push(struct heap *h, const struct match_slot *slot)
{
	size_t i = h->n++;

	h->at[i] = slot;
	for (; i > 0 && h->at[i]->to_us < h->at[(i - 1) / 2]->to_us; i = (i - 1) / 2)
		swap(h, i, (i - 1) / 2);
}

static void
pop(struct heap *h)
{
	size_t i = 0, least;

	h->at[0] = h->at[--h->n];
	for (;; i = least) {
		least = i;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < h->n; k++)
			if (h->at[k]->to_us < h->at[least]->to_us)
				least = k;
		if (least == i)
			return;
		swap(h, i, least);
	}
}

static int
by_key_and_time(const void *a, const void *b)
{
	const struct match_slot *x = a, *y = b;
	const int order = strcmp(x->key, y->key);

	if (order != 0)
		return order;
	if (x->from_us != y->from_us)
		return x->from_us < y->from_us ? -1 : 1;
	return (x->of > y->of) - (x->of < y->of);
}

static void
sort(struct match_slot *slot, size_t n)
{
	if (n > 1)
		qsort(slot, n, sizeof(*slot), by_key_and_time);
}

int
match_run(struct match_slot *record, size_t records, struct match_slot *seen,
    size_t count, void (*pair)(void *context, size_t record, size_t seen),
    void *context)
{
	struct heap heap = { calloc(records + 1, sizeof(*heap.at)), 0 };
	size_t next = 0;
	int order;

	if (heap.at == NULL)
		return -1;
	sort(record, records);
	sort(seen, count);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(seen[i].key, seen[i - 1].key) != 0)
			heap.n = 0;
		for (; next < records; next++) {
			order = strcmp(record[next].key, seen[i].key);
			if (order > 0 || (order == 0 && record[next].from_us > seen[i].to_us))
				break;
			if (order == 0)
				push(&heap, &record[next]);
		}
		while (heap.n > 0 && heap.at[0]->to_us < seen[i].from_us)
			pop(&heap);
		if (heap.n == 0)
			continue;
		pair(context, heap.at[0]->of, seen[i].of);
		pop(&heap);
	}
	free(heap.at);
	return 0;
}
