/*
 * What is said about secrets before a run's evidence is sealed.  Only the
 * broker knows their values: it looks for them itself, and gives an auditor
 * tags to do it again, for those that are strong enough to be tagged.
 */
#include "gate/impl.h"
#include "gate/versions.h"
#include "ledger/record/json_out.h"
#include "private_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RECORDS_MAX (256u * 1024 * 1024)	/* bytes looked at before a close */
#define WEAK_NAMED 64			/* the others are counted only */

struct seal {
	struct scanner *scanner;
	struct scan_tags_writer *tags;
	struct scan_result result;
	uint64_t secrets, tagged, weak;
	struct { char name[VAULT_NAME_MAX + 1]; uint32_t version; } named[WEAK_NAMED];
	char commitment[SCAN_TAGS_COMMITMENT_MAX];	/* "": no tags */
	char why[256];		/* first reason why not all is as it should be */
};

static void
note(struct seal *seal, const char *why)
{
	if (seal->why[0] == '\0')
		snprintf(seal->why, sizeof(seal->why), "%s", why);
}

static void
take(void *arg, const char *name, uint32_t version, struct secret *given)
{
	struct slice secret = secret_bytes(given);
	struct seal *seal = arg;
	const uint8_t *bytes = (const uint8_t *)secret.p;

	seal->secrets++;
	if (scanner_add_secret(seal->scanner, name, bytes, secret.n) != 0)
		note(seal, "out of memory");
	switch (scan_tags_add(seal->tags, bytes, secret.n)) {
	case SCAN_TAGGED:
		seal->tagged++;
		break;
	case SCAN_WEAK:
		if (seal->weak < WEAK_NAMED) {
			snprintf(seal->named[seal->weak].name, VAULT_NAME_MAX + 1, "%s", name);
			seal->named[seal->weak].version = version;
		}
		seal->weak++;
		break;
	case SCAN_NO_MEMORY:
		note(seal, "out of memory");
		break;
	}
}

/* The file stands before its commitment does. */
static void
write_tags(struct gate *gate, const struct run *run, struct seal *seal)
{
	char path[PATH_MAX], commitment[SCAN_TAGS_COMMITMENT_MAX];
	size_t len;
	char *text = scan_tags_write(seal->tags, &len, commitment);

	snprintf(path, sizeof(path), "%s/%s.tags", gate->tags_dir, run->id);
	if (text != NULL && private_file_replace(path, text, len) == 0)
		memcpy(seal->commitment, commitment, sizeof(commitment));
	else
		note(seal, "the tags could not be written");
	free(text);
}

static void
weak_out(struct json_out *out, const struct seal *seal)
{
	json_out_uint(out, "weak", seal->weak);
	json_out_array(out, "weak_secrets");
	for (uint64_t i = 0; i < seal->weak && i < WEAK_NAMED; i++) {
		json_out_object(out, NULL);
		json_out_str(out, "name", seal->named[i].name);
		json_out_uint(out, "version", seal->named[i].version);
		json_out_object_end(out);
	}
	json_out_array_end(out);
}

static int
word(const struct run *run, const struct seal *seal, uint64_t last, char *buf,
    size_t cap)
{
	static const char *const verdict[] = { "clean", "found", "incomplete" };
	const struct scan_result *r = &seal->result;
	enum scan_verdict v = r->finding_count > 0 ? SCAN_FOUND :
	    seal->why[0] != '\0' || r->incomplete_count > 0 ? SCAN_INCOMPLETE : SCAN_CLEAN;
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_hex(&out, "parent", run->receipt.leaf, LEDGER_LEAF_LEN);
	json_out_str(&out, "verdict", verdict[v]);
	json_out_uint(&out, "found", r->finding_count);
	json_out_uint(&out, "first_index", run->receipt.index);
	json_out_uint(&out, "last_index", last);
	json_out_uint(&out, "bytes", r->bytes);
	json_out_uint(&out, "secrets", seal->secrets);
	json_out_uint(&out, "tagged", seal->tagged);
	weak_out(&out, seal);
	if (seal->commitment[0] != '\0')
		json_out_str(&out, "tags", seal->commitment);
	if (v == SCAN_INCOMPLETE)
		json_out_str(&out, "why", seal->why[0] != '\0' ? seal->why : r->incomplete);
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* Of a later record than the one that is kept. */
static void
keep_place(struct gate *gate, const struct scan_place *place)
{
	pthread_mutex_lock(&gate->place_lock);
	if (place->index > gate->place.index)
		gate->place = *place;
	pthread_mutex_unlock(&gate->place_lock);
}

static struct scan_place
kept_place(struct gate *gate)
{
	struct scan_place place;

	pthread_mutex_lock(&gate->place_lock);
	place = gate->place;
	pthread_mutex_unlock(&gate->place_lock);
	return place;
}

int
gate_seal_scan(struct gate *gate, const struct run *run, uint64_t last,
    char *buf, size_t cap)
{
	struct scan_place place = kept_place(gate);
	struct seal *seal;
	char err[256];
	int len = 0;

	if (gate->ledger_dir == NULL)
		return 0;
	seal = calloc(1, sizeof(*seal));
	if (seal == NULL)
		return 0;
	seal->scanner = scanner_with(NULL);
	seal->tags = scan_tags_writer_new();
	if (seal->scanner == NULL || seal->tags == NULL)
		goto out;
	if (!versions_each(gate->vault, take, seal, NULL))
		note(seal, "not every secret could be had from the store");
	if (gate->secrets.minter != NULL)
		minter_each(gate->secrets.minter, take, seal);
	gate_tags_tidy(gate, time(NULL));
	write_tags(gate, run, seal);
	if (scanner_scan_records(seal->scanner, gate->ledger_dir, run->receipt.index,
	    last, RECORDS_MAX, &place, &seal->result, err, sizeof(err)) != 0)
		note(seal, err);
	keep_place(gate, &place);
	len = word(run, seal, last, buf, cap);
out:
	scanner_free(seal->scanner);
	scan_tags_writer_free(seal->tags);
	free(seal);
	return len > 0 ? len : 0;
}
