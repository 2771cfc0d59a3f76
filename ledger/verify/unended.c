#include "ledger/verify/unended.h"

#include <stdlib.h>
#include <string.h>

#define LISTS 1024

struct entry {
	struct unended_run run;
	uint16_t next;	/* place + 1 of the list's next; 0: none */
};

struct unended {
	struct entry *entry;
	unsigned count, room;
	bool lost;
	uint16_t list[LISTS];	/* place + 1; 0: empty */
};

struct unended *
unended_new(void)
{
	return calloc(1, sizeof(struct unended));
}

void
unended_free(struct unended *unended)
{
	if (unended == NULL)
		return;
	free(unended->entry);
	free(unended);
}

static uint16_t *
list_of(struct unended *unended, uint64_t number)
{
	return &unended->list[(number >> 32) % LISTS];
}

/* What points to the one at that place. */
static uint16_t *
link_to(struct unended *unended, unsigned at)
{
	uint16_t *link = list_of(unended, unended->entry[at].run.number);

	while (*link != at + 1)
		link = &unended->entry[*link - 1].next;
	return link;
}

/* The array doubles. */
static bool
has_room(struct unended *unended)
{
	const unsigned room = unended->room == 0 ? 16 : 2 * unended->room;
	struct entry *more;

	if (unended->count < unended->room)
		return true;
	if (unended->count == UNENDED_MAX ||
	    (more = realloc(unended->entry, room * sizeof(*more))) == NULL)
		return false;
	unended->entry = more;
	unended->room = room;
	return true;
}

void
unended_add(struct unended *unended, const struct unended_run *run)
{
	uint16_t *list = list_of(unended, run->number);

	if (!has_room(unended)) {
		unended->lost = true;
		return;
	}
	unended->entry[unended->count] = (struct entry){ *run, *list };
	*list = (uint16_t)++unended->count;
}

/* The last one takes its place. */
static void
drop(struct unended *unended, unsigned at)
{
	const unsigned last = unended->count - 1;

	*link_to(unended, at) = unended->entry[at].next;
	if (at != last) {
		*link_to(unended, last) = (uint16_t)(at + 1);
		unended->entry[at] = unended->entry[last];
	}
	unended->count--;
}

struct unended_run *
unended_find(struct unended *unended, uint64_t number)
{
	unsigned at = *list_of(unended, number);

	while (at != 0 && unended->entry[at - 1].run.number != number)
		at = unended->entry[at - 1].next;
	return at != 0 ? &unended->entry[at - 1].run : NULL;
}

void
unended_remove(struct unended *unended, uint64_t number)
{
	const struct unended_run *run = unended_find(unended, number);

	if (run != NULL)
		drop(unended, (unsigned)((const struct entry *)run - unended->entry));
}

bool
unended_take(struct unended *unended, struct record_slice stream, struct unended_run *run)
{
	unsigned i;

	for (i = 0; i < unended->count; i++) {
		*run = unended->entry[i].run;
		if (strlen(run->stream) != stream.len ||
		    memcmp(run->stream, stream.ptr, stream.len) != 0)
			continue;
		drop(unended, i);
		return true;
	}
	return false;
}

bool
unended_lost(const struct unended *unended)
{
	return unended->lost;
}
