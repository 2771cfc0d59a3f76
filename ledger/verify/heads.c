#include <string.h>

#include <sodium.h>

#include "ledger/verify/heads.h"

int
heads_open(struct heads *heads, struct record_slice body)
{
	*heads = (struct heads){ .root = json_loadb(body.ptr, body.len,
	    JSON_REJECT_DUPLICATES, NULL) };
	heads->table = json_object_get(heads->root, "streams");
	heads->bad = !json_is_array(heads->table) || json_object_size(heads->root) != 1;
	return heads->bad ? -1 : 0;
}

void
heads_close(struct heads *heads)
{
	json_decref(heads->root);
	heads->root = heads->table = NULL;
}

static bool
read_entry(json_t *from, struct heads_entry *entry)
{
	const char *name = NULL, *last = NULL;
	json_int_t next = 0;
	int open = 0;
	size_t len;

	if (json_object_size(from) != 4 || json_unpack(from, "{s:s, s:I, s:s, s:b}",
	    "stream", &name, "next_seq", &next, "last", &last, "open", &open) != 0)
		return false;
	entry->name = (struct record_slice){ name, strlen(name) };
	entry->next_seq = (uint64_t)next;
	entry->open = open != 0;
	return record_name_valid(name, entry->name.len) && next > 0 &&
	    strlen(last) == 2 * RECORD_HASH_LEN &&
	    sodium_hex2bin(entry->last, sizeof(entry->last), last, strlen(last), NULL,
	    &len, NULL) == 0 && len == sizeof(entry->last);
}

bool
heads_next(struct heads *heads, struct heads_entry *entry)
{
	if (heads->bad || heads->at >= json_array_size(heads->table))
		return false;
	heads->bad = !read_entry(json_array_get(heads->table, heads->at++), entry);
	return !heads->bad;
}
