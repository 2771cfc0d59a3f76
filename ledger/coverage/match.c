#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/match.h"

#define NONE SIZE_MAX
#define STATUSES 64	/* of one key; as many are in use */

/* One call: both sides sorted by key and time. */
struct match {
	const struct match_slot *record, *seen;
	size_t records, count;
	size_t *of_record, *of_seen;	/* whom it is paired with, or NONE */
	size_t *from;			/* of each record: by whom a search came to it */
	bool *visited;			/* of each record, by this search or one that failed */
	size_t *queue, *trail;		/* seen to look at; records that were visited */
	int64_t *latest;		/* end of any record of its key up to each */
	struct heap {
		size_t *at;		/* records that have begun: that ends first on top */
		size_t n;
	} heap;
	uint64_t steps;
	bool last;			/* such records are in it now */
};

/* All of one key. */
struct group {
	size_t record, records, seen, count;	/* first and behind the last of each */
};

/* ---- in order of time ---- */

static int64_t
end_of(const struct match *m, size_t i)
{
	return m->record[m->heap.at[i]].to_us;
}

static void
swap(struct heap *h, size_t a, size_t b)
{
	const size_t x = h->at[a];

	h->at[a] = h->at[b];
	h->at[b] = x;
}

static void
push(struct match *m, size_t record)
{
	size_t i = m->heap.n++;

	m->heap.at[i] = record;
	for (; i > 0 && end_of(m, i) < end_of(m, (i - 1) / 2); i = (i - 1) / 2)
		swap(&m->heap, i, (i - 1) / 2);
}

static void
pop(struct match *m)
{
	struct heap *h = &m->heap;
	size_t i = 0, least;

	h->at[0] = h->at[--h->n];
	for (;; i = least) {
		least = i;
		for (size_t k = 2 * i + 1; k <= 2 * i + 2 && k < h->n; k++)
			if (end_of(m, k) < end_of(m, least))
				least = k;
		if (least == i)
			return;
		swap(h, i, least);
	}
}

static bool
is_free(const struct match *m, size_t record, int status)
{
	return m->of_record[record] == NONE && m->record[record].last == m->last &&
	    (status == 0 || m->record[record].status == status || m->record[record].status == 0);
}

/* Those of that status (0: who take any) in order of time. */
static void
take_in_order(struct match *m, const struct group *g, int status)
{
	size_t next = g->record;

	m->heap.n = 0;
	for (size_t i = g->seen; i < g->count; i++) {
		if (m->of_seen[i] != NONE || m->seen[i].status != status)
			continue;
		for (; next < g->records && m->record[next].from_us <= m->seen[i].to_us; next++)
			if (is_free(m, next, status))
				push(m, next);
		while (m->heap.n > 0 && end_of(m, 0) < m->seen[i].from_us)
			pop(m);
		if (m->heap.n == 0)
			continue;
		m->of_seen[i] = m->heap.at[0];
		m->of_record[m->heap.at[0]] = i;
		pop(m);
	}
}

/* ---- by changing pairs ---- */

static bool
may_pair(const struct match *m, size_t record, size_t seen)
{
	const struct match_slot *r = &m->record[record], *s = &m->seen[seen];

	return r->from_us <= s->to_us && r->to_us >= s->from_us && (m->last || !r->last) &&
	    (r->status == s->status || r->status == 0 || s->status == 0);
}

/* The first record of the key that ends late enough, or one before it. */
static size_t
first_for(const struct match *m, const struct group *g, size_t seen)
{
	size_t low = g->record, high = g->records, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (m->latest[middle] < m->seen[seen].from_us)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Everybody on the way back moves on to the record that was found for him. */
static void
move_on(struct match *m, size_t record)
{
	size_t seen, before;

	do {
		seen = m->from[record];
		before = m->of_seen[seen];
		m->of_seen[seen] = record;
		m->of_record[record] = seen;
		record = before;
	} while (record != NONE);
}

/* A record for him, where others can take another in its place.  What a search
 * that fails has visited cannot help any later one: it stays visited. */
static void
search(struct match *m, const struct group *g, size_t seen)
{
	size_t head = 0, tail = 0, visited = 0;

	m->queue[tail++] = seen;
	while (head < tail) {
		const size_t s = m->queue[head++];

		for (size_t r = first_for(m, g, s); r < g->records &&
		    m->record[r].from_us <= m->seen[s].to_us; r++) {
			if (m->steps++ >= MATCH_STEPS_MAX)
				return;
			if (m->visited[r] || !may_pair(m, r, s))
				continue;
			m->visited[r] = true;
			m->from[r] = s;
			m->trail[visited++] = r;
			if (m->of_record[r] != NONE) {
				m->queue[tail++] = m->of_record[r];
				continue;
			}
			move_on(m, r);
			while (visited > 0)
				m->visited[m->trail[--visited]] = false;
			return;
		}
	}
}

static void
search_all(struct match *m, const struct group *g)
{
	memset(m->visited + g->record, 0, (g->records - g->record) * sizeof(*m->visited));
	for (size_t i = g->seen; i < g->count && m->steps < MATCH_STEPS_MAX; i++)
		if (m->of_seen[i] == NONE)
			search(m, g, i);
}

/* ---- one key ---- */

/* No pair shuts another out but by its time: what was taken in order is the most. */
static bool
by_time_alone(const struct match *m, const struct group *g)
{
	const int status = g->seen < g->count ? m->seen[g->seen].status : 0;
	bool alike = true;

	for (size_t i = g->seen; i < g->count; i++)
		alike = alike && m->seen[i].status == status;
	for (size_t i = g->record; i < g->records; i++)
		alike = alike && !m->record[i].last;
	return alike;
}

/* Each status by itself, then whoever takes any.  More than that many are left to the
 * search, which finds the same in the end. */
static void
take_by_status(struct match *m, const struct group *g)
{
	bool done[1000] = { false };
	unsigned n = 0;

	for (size_t i = g->seen; i < g->count && n < STATUSES; i++) {
		const int status = m->seen[i].status;

		if (status <= 0 || status >= 1000 || done[status])
			continue;
		done[status] = true;
		n++;
		take_in_order(m, g, status);
	}
	take_in_order(m, g, 0);
}

static void
match_group(struct match *m, const struct group *g)
{
	m->last = false;
	take_by_status(m, g);
	if (by_time_alone(m, g))
		return;
	search_all(m, g);
	m->last = true;
	take_by_status(m, g);
	search_all(m, g);
}

static void
run(struct match *m)
{
	struct group g = { 0, 0, 0, 0 };

	while (g.count < m->count) {
		const char *key = m->seen[g.count].key;

		g.seen = g.count;
		while (g.count < m->count && strcmp(m->seen[g.count].key, key) == 0)
			g.count++;
		g.record = g.records;
		while (g.record < m->records && strcmp(m->record[g.record].key, key) < 0)
			g.record++;
		for (g.records = g.record; g.records < m->records &&
		    strcmp(m->record[g.records].key, key) == 0; g.records++) {
			m->latest[g.records] = m->record[g.records].to_us;
			if (g.records > g.record && m->latest[g.records - 1] > m->latest[g.records])
				m->latest[g.records] = m->latest[g.records - 1];
		}
		match_group(m, &g);
	}
}

/* ---- the whole ---- */

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

static int
init(struct match *m)
{
	const size_t n = m->records + 1, k = m->count + 1;

	m->of_record = malloc(n * sizeof(*m->of_record));
	m->of_seen = malloc(k * sizeof(*m->of_seen));
	m->from = malloc(n * sizeof(*m->from));
	m->visited = calloc(n, sizeof(*m->visited));
	m->queue = malloc((n + 1) * sizeof(*m->queue));
	m->trail = malloc(n * sizeof(*m->trail));
	m->latest = malloc(n * sizeof(*m->latest));
	m->heap.at = malloc(n * sizeof(*m->heap.at));
	if (m->of_record == NULL || m->of_seen == NULL || m->from == NULL ||
	    m->visited == NULL || m->queue == NULL || m->trail == NULL ||
	    m->latest == NULL || m->heap.at == NULL)
		return -1;
	for (size_t i = 0; i < n; i++)
		m->of_record[i] = NONE;
	for (size_t i = 0; i < k; i++)
		m->of_seen[i] = NONE;
	return 0;
}

int
match_run(struct match_slot *record, size_t records, struct match_slot *seen,
    size_t count, void (*pair)(void *context, size_t record, size_t seen),
    void *context)
{
	struct match m = { .record = record, .records = records, .seen = seen, .count = count };
	int result = -1;

	sort(record, records);
	sort(seen, count);
	if (init(&m) == 0) {
		run(&m);
		for (size_t i = 0; i < count; i++)
			if (m.of_seen[i] != NONE)
				pair(context, record[m.of_seen[i]].of, seen[i].of);
		result = m.steps >= MATCH_STEPS_MAX ? 1 : 0;
	}
	free(m.of_record);
	free(m.of_seen);
	free(m.from);
	free(m.visited);
	free(m.queue);
	free(m.trail);
	free(m.latest);
	free(m.heap.at);
	return result;
}
