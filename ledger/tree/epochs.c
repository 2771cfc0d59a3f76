#include "ledger/record/json_out.h"
#include "ledger/tree/epochs.h"
#include "ledger/tree/proof.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>


static int
add(struct epochs *epochs, const struct note_key *key, uint64_t time_us)
{
	struct epoch *more = realloc(epochs->epoch,
	    (epochs->count + 1) * sizeof(*more));

	if (more == NULL)
		return -1;
	epochs->epoch = more;
	more[epochs->count++] = (struct epoch){ .key = *key,
	    .until = UINT64_MAX, .time_us = time_us };
	return 0;
}

int
epochs_pin(struct epochs *epochs, const struct note_key *key)
{
	*epochs = (struct epochs){ .count = 0 };
	return add(epochs, key, 0);
}

void
epochs_free(struct epochs *epochs)
{
	free(epochs->epoch);
	*epochs = (struct epochs){ .count = 0 };
}

const struct note_key *
epochs_key(const struct epochs *epochs, uint64_t size)
{
	unsigned low = 0, high = epochs->count - 1;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (size <= epochs->epoch[middle].until)
			high = middle;
		else
			low = middle + 1;
	}
	return &epochs->epoch[low].key;
}

int
epochs_find(const struct epochs *epochs, const uint8_t id[NOTE_ID_LEN])
{
	for (unsigned i = 0; i < epochs->count; i++) {
		if (memcmp(epochs->epoch[i].key.id, id, NOTE_ID_LEN) == 0)
			return (int)i;
	}
	return -1;
}

/* ---- the record ---- */

int
epochs_body(uint64_t epoch, const struct note_key *key,
    const struct note_key *before, const char *reason, char *out, size_t cap)
{
	char vkey[NOTE_VKEY_MAX + 1], old[NOTE_VKEY_MAX + 1];
	struct json_out json;

	if (note_key_format(key, vkey, sizeof(vkey)) < 0 ||
	    note_key_format(before, old, sizeof(old)) < 0)
		return -1;
	json_out_begin(&json, out, cap);
	json_out_object(&json, NULL);
	json_out_uint(&json, "epoch", epoch);
	json_out_str(&json, "key", vkey);
	json_out_str(&json, "before", old);
	json_out_str(&json, "reason", reason);
	json_out_object_end(&json);
	return json_out_end(&json);
}

static int
read_key(const json_t *body, const char *name, struct note_key *key)
{
	const char *text = json_string_value(json_object_get(body, name));

	return text != NULL && note_key_parse(key, text, strlen(text)) == 0 &&
	    key->type == NOTE_ED25519 ? 0 : -1;
}

int
epochs_read_body(struct record_slice body, uint64_t *epoch,
    struct note_key *key, struct note_key *before)
{
	json_t *json = json_loadb(body.ptr, body.len, JSON_REJECT_DUPLICATES,
	    NULL);
	json_int_t number = json_integer_value(json_object_get(json, "epoch"));
	int status = number > 0 && read_key(json, "key", key) == 0 &&
	    read_key(json, "before", before) == 0 ? 0 : -1;

	*epoch = status == 0 ? (uint64_t)number : 0;
	json_decref(json);
	return status;
}

/* ---- the file ---- */

/* Behind the empty line that ends the proof; NULL: it does not end. */
static const char *
proof_end(const char *p, const char *end)
{
	const char *blank = memmem(p, (size_t)(end - p), "\n\n", 2);

	if (blank == NULL)
		return NULL;
	blank = memmem(blank + 2, (size_t)(end - blank) - 2, "\n\n", 2);
	if (blank == NULL)
		return NULL;
	p = note_signatures_end(blank + 2, end);
	return p != NULL && p < end && *p == '\n' ? p + 1 : NULL;
}

size_t
epochs_entry_len(const char *text, size_t len)
{
	const char *lf = memchr(text, '\n', len);
	const char *end = lf != NULL ? proof_end(lf + 1, text + len) : NULL;

	return end != NULL ? (size_t)(end - text) : 0;
}

size_t
epochs_whole(const char *text, size_t len)
{
	size_t at = 0, n;

	while ((n = epochs_entry_len(text + at, len - at)) > 0)
		at += n;
	return at;
}

/* What comes back was never erased, or is in somebody's hands. */
static bool
was_in_force(const struct epochs *epochs, const struct note_key *key)
{
	for (unsigned i = 0; i < epochs->count; i++)
		if (memcmp(epochs->epoch[i].key.pk, key->pk, NOTE_PK_LEN) == 0)
			return true;
	return false;
}

static const char *
check_record(const struct epochs *epochs, const char *line, size_t len,
    struct note_key *next, uint64_t *time_us)
{
	const struct note_key *last = &epochs->epoch[epochs->count - 1].key;
	struct record_line record;
	struct note_key before;
	uint64_t number;

	if (record_parse(line, len, &record) != NULL ||
	    !record_slice_is(record.type, "key") ||
	    epochs_read_body(record.body, &number, next, &before) != 0)
		return "an entry without a key record";
	if (number != epochs->count)
		return "epochs are not numbered without a hole";
	if (memcmp(before.pk, last->pk, NOTE_PK_LEN) != 0 ||
	    strcmp(next->name, last->name) != 0)
		return "a key record that does not continue the key before";
	if (was_in_force(epochs, next))
		return "a key that was in force before: it was to be erased";
	*time_us = (uint64_t)record.time_us;
	return NULL;
}

/* One whole entry. */
static const char *
follow_one(struct epochs *epochs, const char *entry, size_t len)
{
	const char *lf = memchr(entry, '\n', len), *why = "";
	struct epoch *last = &epochs->epoch[epochs->count - 1];
	uint8_t leaf[TREE_HASH_LEN];
	struct checkpoint seal;
	struct note_key next;
	uint64_t index, time_us = 0;

	if (epochs->count == EPOCHS_MAX)
		return "more epochs than are followed";
	why = check_record(epochs, entry, (size_t)(lf - entry), &next,
	    &time_us);
	if (why != NULL)
		return why;
	tree_leaf(entry, (size_t)(lf - entry), leaf);
	if (proof_check(lf + 1, len - (size_t)(lf - entry) - 2, leaf,
	    &last->key, &index, &seal, &why) != 0)
		return "a key record that the key before did not sign";
	if (seal.size != index + 1)
		return "an epoch's last checkpoint does not end with its key record";
	if (epochs->count > 1 &&
	    seal.size <= epochs->epoch[epochs->count - 2].until)
		return "epochs that overlap";
	if (add(epochs, &next, time_us) != 0)
		return "out of memory";
	epochs->epoch[epochs->count - 2].until = seal.size;
	return NULL;
}

int
epochs_follow(struct epochs *epochs, const char *text, size_t len,
    const char **why)
{
	size_t at = 0, n;

	while ((n = epochs_entry_len(text + at, len - at)) > 0) {
		*why = follow_one(epochs, text + at, n);
		if (*why != NULL)
			return -1;
		at += n;
	}
	return 0;
}
