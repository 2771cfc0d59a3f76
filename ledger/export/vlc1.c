#define OPENSSL_SUPPRESS_DEPRECATED
#include <inttypes.h>
#include <string.h>

#include <openssl/sha.h>

#include "ledger/export/canonical.h"
#include "ledger/export/vlc1.h"

#define LINE_MAX 8192
#define HEX 64

static void
hex_of(const uint8_t hash[TREE_HASH_LEN], char hex[HEX + 1])
{
	unsigned i;

	for (i = 0; i < TREE_HASH_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", hash[i]);
}

/* head = SHA-256(head in hex || the object without its hash). */
static void
link_on(struct vlc1 *j, const char *object, size_t len)
{
	char hex[HEX + 1];
	SHA256_CTX sha;

	hex_of(j->head, hex);
	SHA256_Init(&sha);
	SHA256_Update(&sha, hex, HEX);
	SHA256_Update(&sha, object, len);
	SHA256_Final(j->head, &sha);
}

/* The members are written twice: without `hash` to be hashed, and with it, in
 * its place, to be read. */
struct line {
	struct canonical bare, full;
	char bare_buf[LINE_MAX], full_buf[LINE_MAX];
	size_t gap;		/* of full: where `hash` belongs */
	bool placed;
};

static void
line_begin(struct line *l)
{
	canonical_begin(&l->bare, l->bare_buf, sizeof(l->bare_buf), true);
	canonical_begin(&l->full, l->full_buf, sizeof(l->full_buf), true);
	l->placed = false;
	canonical_object(&l->bare, NULL);
	canonical_object(&l->full, NULL);
}

/* Before the first member whose name is behind "hash". */
static void
place(struct line *l, const char *key)
{
	static const char zeros[] =
	    "0000000000000000000000000000000000000000000000000000000000000000";

	if (l->placed || (key != NULL && strcmp(key, "hash") < 0))
		return;
	canonical_text(&l->full, "hash", zeros);
	l->gap = l->full.len - HEX - 1;
	l->placed = true;
}

static void
text(struct line *l, const char *key, const char *value)
{
	place(l, key);
	canonical_text(&l->bare, key, value);
	canonical_text(&l->full, key, value);
}

static void
number(struct line *l, const char *key, uint64_t value)
{
	place(l, key);
	canonical_number(&l->bare, key, value);
	canonical_number(&l->full, key, value);
}

/* root: the line is the first, and its hash is the chain's root. */
static int
line_end(struct vlc1 *j, struct line *l, bool root)
{
	char hex[HEX + 1];
	int n;

	place(l, NULL);
	canonical_object_end(&l->bare);
	canonical_object_end(&l->full);
	n = canonical_end(&l->bare);
	if (n < 0 || canonical_end(&l->full) < 0) {
		j->failed = true;
		return -1;
	}
	if (!root)
		link_on(j, l->bare_buf, (size_t)n);
	hex_of(j->head, hex);
	memcpy(l->full_buf + l->gap, hex, HEX);
	fprintf(j->out, "%s\n", l->full_buf);
	j->failed = j->failed || ferror(j->out);
	return j->failed ? -1 : 0;
}

void
vlc1_begin(struct vlc1 *j, const char *stream, FILE *out)
{
	memset(j, 0, sizeof(*j));
	j->out = out;
	snprintf(j->stream, sizeof(j->stream), "%s", stream);
}

static int
put_start(struct vlc1 *j, const struct facts *f)
{
	const char *digest = f->policy + 7;	/* "sha256:" */
	struct line l;

	SHA256((const uint8_t *)digest, strlen(digest), j->head);
	line_begin(&l);
	text(&l, "class", "EPOCH_START");
	number(&l, "first_seq", f->seq);
	text(&l, "on_full", "drop_counted");
	text(&l, "policy_digest", digest);
	text(&l, "producer", "countersign " COUNTERSIGN_VERSION);
	text(&l, "stream", j->stream);
	return line_end(j, &l, true);
}

/* "records 3, 4" of the manifests in force. */
static void
basis(const struct vlc1_sights *s, char *buf, size_t cap)
{
	size_t len = (size_t)snprintf(buf, cap, "what the adapters say of themselves, in record%s",
	    s->n == 1 ? "" : "s");

	for (unsigned i = 0; i < s->n && len < cap; i++)
		len += (size_t)snprintf(buf + len, cap - len, "%s %" PRIu64, i > 0 ? "," : "",
		    s->one[i].index);
	if (s->n == 0)
		snprintf(buf, cap, "no adapter says what it sees");
}

static int
put_coverage(struct vlc1 *j)
{
	char list[VLC1_LISTS][VLC1_LIST_MAX], why[VLC1_SIGHTS_MAX * 24 + 64];
	struct line l;

	for (int i = 0; i < VLC1_LISTS; i++)
		vlc1_sights_list(&j->sights, i, list[i]);
	basis(&j->sights, why, sizeof(why));
	line_begin(&l);
	text(&l, "attached", list[VLC1_SEES]);
	text(&l, "basis", why);
	text(&l, "class", "COVERAGE");
	text(&l, "excluded_by_design", list[VLC1_CANNOT_SEE]);
	text(&l, "unattached_here", list[VLC1_LEAVES_OUT]);
	return line_end(j, &l, false);
}

void
vlc1_published(struct vlc1 *j, const struct facts *f, uint64_t index)
{
	(void)vlc1_sights_take(&j->sights, f->body, index, true);
}

static uint64_t
member(const struct facts *f, const char *name)
{
	const json_t *value = json_object_get(f->body, name);

	return json_is_integer(value) && json_integer_value(value) > 0 ?
	    (uint64_t)json_integer_value(value) : 0;
}

static int
put_drop(struct vlc1 *j, const struct export_item *item)
{
	const struct facts *f = item->facts;
	char leaf[HEX + 1];
	struct line l;

	hex_of(item->leaf, leaf);
	line_begin(&l);
	text(&l, "class", "DROP");
	number(&l, "from_seq", member(f, "from"));
	number(&l, "index", item->index);
	text(&l, "leaf", leaf);
	number(&l, "lost", f->count);
	number(&l, "seq", f->seq);
	text(&l, "t", f->time);
	number(&l, "to_seq", member(f, "to"));
	j->lost += f->count;
	j->others++;
	return line_end(j, &l, false);
}

static int
put_policy(struct vlc1 *j, const struct export_item *item)
{
	const struct facts *f = item->facts;
	const char *before = json_string_value(json_object_get(f->body, "before"));
	const char *after = json_string_value(json_object_get(f->body, "after"));
	char leaf[HEX + 1];
	struct line l;

	/* One that was refused leaves everything as it was. */
	if (after == NULL)
		after = before;
	hex_of(item->leaf, leaf);
	line_begin(&l);
	text(&l, "after", after != NULL ? after : "");
	text(&l, "before", before != NULL ? before : "");
	text(&l, "class", "POLICY");
	number(&l, "index", item->index);
	text(&l, "leaf", leaf);
	number(&l, "seq", f->seq);
	text(&l, "t", f->time);
	j->others++;
	return line_end(j, &l, false);
}

static int
put_event(struct vlc1 *j, const struct export_item *item)
{
	const struct facts *f = item->facts;
	char leaf[HEX + 1];
	struct line l;

	hex_of(item->leaf, leaf);
	line_begin(&l);
	text(&l, "class", f->type);
	number(&l, "index", item->index);
	text(&l, "leaf", leaf);
	text(&l, "policy_digest", f->policy + 7);
	text(&l, "run", f->run);
	number(&l, "seq", f->seq);
	text(&l, "t", f->time);
	text(&l, "verdict", f->decision);
	return line_end(j, &l, false);
}

int
vlc1_add(struct vlc1 *j, const struct export_item *item)
{
	const struct facts *f = item->facts;

	if (item->broken != NULL || strcmp(f->stream, j->stream) != 0)
		return 0;
	if (!j->begun) {
		j->begun = true;
		j->first_seq = f->seq;
		if (put_start(j, f) != 0 || put_coverage(j) != 0)
			return -1;
	}
	j->next_seq = f->seq + 1;
	if (strcmp(f->type, "coverage") == 0 && vlc1_sights_take(&j->sights, f->body, item->index,
	    false) && put_coverage(j) != 0)
		return -1;
	if (strcmp(f->type, "drop") == 0)
		return put_drop(j, item);
	if (strcmp(f->type, "policy") == 0)
		return put_policy(j, item);
	return put_event(j, item);
}

int
vlc1_end(struct vlc1 *j)
{
	const uint64_t produced = j->next_seq - j->first_seq, apart = j->lost + j->others;
	char head[HEX + 1];
	struct line l;

	if (!j->begun || j->failed)
		return -1;
	hex_of(j->head, head);
	line_begin(&l);
	text(&l, "class", "END");
	text(&l, "head", head);
	number(&l, "lost_total", j->lost);
	number(&l, "records", produced > apart ? produced - apart : 0);
	return line_end(j, &l, false);
}
