#define OPENSSL_SUPPRESS_DEPRECATED
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>
#include <sodium.h>

#include "ledger/export/canonical.h"
#include "ledger/export/val.h"

#define DETAILS_MAX 16384
#define HEX 64

/* An assignment: the record, and its row. */
struct parent {
	uint8_t leaf[TREE_HASH_LEN];
	char chain_hash[HEX + 1];
	bool grant;
};

struct val {
	FILE *out;
	char scope[256];
	char last[HEX + 1];	/* "" before the first row */
	uint64_t rows, orphans;
	struct parent *parent;
	size_t parents;
	uint8_t (*withdrawn)[TREE_HASH_LEN];	/* sorted with the first row */
	size_t withdrawals;
	bool sorted;
	char row[4 * DETAILS_MAX];
};

struct val *
val_begin(const char *scope_key, FILE *out)
{
	struct val *v = calloc(1, sizeof(*v));

	if (v == NULL)
		return NULL;
	v->out = out;
	snprintf(v->scope, sizeof(v->scope), "%s", scope_key);
	return v;
}

uint64_t
val_orphans(const struct val *v)
{
	return v->orphans;
}

void
val_free(struct val *v)
{
	if (v == NULL)
		return;
	free(v->parent);
	free(v->withdrawn);
	free(v);
}

int
val_withdrawn(struct val *v, const char *hex)
{
	uint8_t (*more)[TREE_HASH_LEN];
	size_t n;

	if ((v->withdrawals & (v->withdrawals + 1)) == 0) {
		more = realloc(v->withdrawn, (2 * v->withdrawals + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		v->withdrawn = more;
	}
	if (strlen(hex) == HEX && sodium_hex2bin(v->withdrawn[v->withdrawals], TREE_HASH_LEN, hex,
	    HEX, NULL, &n, NULL) == 0 && n == TREE_HASH_LEN)
		v->withdrawals++;
	return 0;
}

static int
compare_leaves(const void *a, const void *b)
{
	return memcmp(a, b, TREE_HASH_LEN);
}

static bool
is_withdrawn(struct val *v, const uint8_t leaf[TREE_HASH_LEN])
{
	if (v->withdrawals == 0)
		return false;
	if (!v->sorted)
		qsort(v->withdrawn, v->withdrawals, TREE_HASH_LEN, compare_leaves);
	v->sorted = true;
	return bsearch(leaf, v->withdrawn, v->withdrawals, TREE_HASH_LEN, compare_leaves) != NULL;
}

/* The assignment under which a record of this parent stands: newest first,
 * since most follow soon. */
static const struct parent *
find(const struct val *v, const char *hex)
{
	uint8_t leaf[TREE_HASH_LEN];
	size_t i, n;

	if (strlen(hex) != HEX || sodium_hex2bin(leaf, sizeof(leaf), hex, HEX, NULL, &n, NULL) != 0)
		return NULL;
	for (i = v->parents; i > 0; i--)
		if (memcmp(v->parent[i - 1].leaf, leaf, sizeof(leaf)) == 0)
			return &v->parent[i - 1];
	return NULL;
}

static int
remember(struct val *v, const uint8_t leaf[TREE_HASH_LEN], bool grant)
{
	struct parent *more;

	if (v->parents == VAL_PARENTS_MAX)
		return -1;
	if ((v->parents & (v->parents + 1)) == 0) {
		more = realloc(v->parent, (2 * v->parents + 2) * sizeof(*more));
		if (more == NULL)
			return -1;
		v->parent = more;
	}
	more = &v->parent[v->parents++];
	memcpy(more->leaf, leaf, TREE_HASH_LEN);
	memcpy(more->chain_hash, v->last, sizeof(v->last));
	more->grant = grant;
	return 0;
}

static void
hash_row(struct val *v, const char *type, const char *details)
{
	uint8_t hash[TREE_HASH_LEN];
	char seq[24];
	const char *const parts[] = { v->scope, "|", seq, "|", type, "|", details, "|",
	    v->last[0] != '\0' ? v->last : "GENESIS" };
	SHA256_CTX sha;
	size_t i;

	snprintf(seq, sizeof(seq), "%" PRIu64, v->rows);
	SHA256_Init(&sha);
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		SHA256_Update(&sha, parts[i], strlen(parts[i]));
	SHA256_Final(hash, &sha);
	sodium_bin2hex(v->last, sizeof(v->last), hash, sizeof(hash));
}

static int
put_row(struct val *v, const char *type, const char *details)
{
	char before[HEX + 1];
	struct canonical c;

	memcpy(before, v->last, sizeof(before));
	v->rows++;
	hash_row(v, type, details);
	canonical_begin(&c, v->row, sizeof(v->row), false);
	canonical_object(&c, NULL);
	canonical_text(&c, "canonical_details", details);
	canonical_text(&c, "chain_hash", v->last);
	canonical_text(&c, "event_type", type);
	if (before[0] != '\0')
		canonical_text(&c, "previous_hash", before);
	canonical_text(&c, "scope_key", v->scope);
	canonical_number(&c, "sequence_number", v->rows);
	canonical_object_end(&c);
	if (canonical_end(&c) < 0)
		return -1;
	fprintf(v->out, "%s\n", v->row);
	return ferror(v->out) ? -1 : 0;
}

static void
put_evidence(struct canonical *c, const struct export_item *item)
{
	char leaf[HEX + 1];

	sodium_bin2hex(leaf, sizeof(leaf), item->leaf, TREE_HASH_LEN);
	canonical_object(c, "evidence");
	canonical_number(c, "index", item->index);
	canonical_text(c, "leaf", leaf);
	canonical_text(c, "policy", item->facts->policy);
	canonical_object_end(c);
}

static void
put_resource(struct canonical *c, const struct facts *f)
{
	char id[FACTS_URL_MAX];

	facts_url(f, false, id, sizeof(id));
	canonical_object(c, "res");
	canonical_array(c, "ids");
	if (f->host[0] != '\0')
		canonical_text(c, NULL, id);
	canonical_array_end(c);
	canonical_text(c, "resource_type", f->host[0] != '\0' ? "url" : "run");
	canonical_object_end(c);
}

static uint64_t
limit_of(const struct facts *f)
{
	const json_t *value = json_object_get(f->body, "uses");

	if (value == NULL)
		value = json_object_get(json_object_get(f->body, "limits"), "requests");
	return json_is_integer(value) && json_integer_value(value) > 0 ?
	    (uint64_t)json_integer_value(value) : 0;
}

/* ASSIGNMENT v2: nobody signed it by hand, and it says so. */
static int
add_assignment(struct val *v, const struct export_item *item, const struct parent *under)
{
	const struct facts *f = item->facts;
	const bool grant = strcmp(f->type, "grant") == 0;
	char details[DETAILS_MAX], subject[RECORD_NAME_MAX + 8];
	struct canonical c;

	canonical_begin(&c, details, sizeof(details), false);
	canonical_object(&c, NULL);
	put_evidence(&c, item);
	canonical_object(&c, "human_attestation");
	canonical_text(&c, "attested_at", f->time);
	canonical_text(&c, "method", "none");
	canonical_object_end(&c);
	if (under != NULL)
		canonical_text(&c, "parent_assignment_hash", under->chain_hash);
	canonical_object(&c, "scope");
	canonical_array(&c, "act");
	canonical_text(&c, NULL, grant ? f->verb : "*");
	canonical_array_end(&c);
	canonical_object(&c, "lim");
	if (limit_of(f) > 0)
		canonical_number(&c, "max_count", limit_of(f));
	canonical_object_end(&c);
	put_resource(&c, f);
	canonical_object(&c, "subj");
	snprintf(subject, sizeof(subject), "run:%s", f->run);
	canonical_text(&c, "principal_uri", subject);
	canonical_object_end(&c);
	canonical_object(&c, "win");
	canonical_text(&c, "not_before", f->time);
	canonical_object_end(&c);
	canonical_object_end(&c);
	canonical_number(&c, "v", 2);
	canonical_object_end(&c);
	if (canonical_end(&c) < 0 || put_row(v, "ASSIGNMENT", details) != 0)
		return -1;
	return remember(v, item->leaf, grant);
}

static int
add_access(struct val *v, const struct export_item *item, const struct parent *under)
{
	const struct facts *f = item->facts;
	char details[DETAILS_MAX], id[FACTS_URL_MAX], subject[RECORD_NAME_MAX + 8];
	struct canonical c;

	facts_url(f, false, id, sizeof(id));
	snprintf(subject, sizeof(subject), "run:%s", f->run);
	canonical_begin(&c, details, sizeof(details), false);
	canonical_object(&c, NULL);
	canonical_text(&c, "action", f->verb);
	put_evidence(&c, item);
	canonical_text(&c, "parent_assignment_hash", under->chain_hash);
	canonical_text(&c, "principal", subject);
	canonical_object(&c, "resource");
	canonical_text(&c, "resource_id", f->host[0] != '\0' ? id : f->tool);
	canonical_object_end(&c);
	canonical_object_end(&c);
	return canonical_end(&c) < 0 ? -1 : put_row(v, "ACCESS", details);
}

int
val_add(struct val *v, const struct export_item *item)
{
	const struct facts *f = item->facts;
	const struct parent *under;
	const bool run = item->broken == NULL && strcmp(f->type, "run") == 0 &&
	    strcmp(f->state, "open") == 0;

	if (item->broken != NULL)
		return 0;
	under = find(v, f->parent);
	if (run)
		return add_assignment(v, item, under);
	if (f->kind != FACTS_ALLOWED || is_withdrawn(v, item->leaf))
		return 0;
	if (under == NULL) {
		v->orphans++;
		return 0;
	}
	if (strcmp(f->type, "grant") == 0)
		return add_assignment(v, item, under);
	return add_access(v, item, under);
}
