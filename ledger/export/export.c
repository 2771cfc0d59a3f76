#include <string.h>

#include "ledger/export/export.h"

static uint64_t *
due(struct export_seqs *seqs, const char *stream)
{
	unsigned i;

	for (i = 0; i < seqs->count; i++)
		if (strcmp(seqs->stream[i].name, stream) == 0)
			return &seqs->stream[i].next;
	if (i == EXPORT_STREAMS_MAX)
		return NULL;
	memcpy(seqs->stream[i].name, stream, strlen(stream) + 1);
	seqs->stream[i].next = UINT64_MAX;
	seqs->count++;
	return &seqs->stream[i].next;
}

static bool
declares(const struct facts *f, uint64_t from)
{
	const json_t *value = json_object_get(f->body, "from");

	return strcmp(f->type, "drop") == 0 && json_is_integer(value) &&
	    (uint64_t)json_integer_value(value) == from;
}

void
export_item_init(struct export_item *item, const struct reader_line *line,
    const struct facts *facts, struct export_seqs *seqs)
{
	uint64_t *next;

	memset(item, 0, sizeof(*item));
	item->index = line->index;
	item->broken = line->rule;
	tree_leaf(line->text, line->len, item->leaf);
	if (line->rule != NULL)
		return;
	item->facts = facts;
	memcpy(item->prev, line->record.prev.ptr, 64);
	if ((next = due(seqs, facts->stream)) == NULL)
		return;
	if (*next != UINT64_MAX && facts->seq > *next && !declares(facts, *next)) {
		item->missing_from = *next;
		item->missing = facts->seq - *next;
	}
	*next = facts->seq + 1;
}
