#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/bundle.h"
#include "policy/pack.h"

/* Loading needs more room than the text: small values of 32 bytes each. */
#define LOAD_FACTOR 48
#define LOAD_FLOOR ((size_t)16 * 1024 * 1024)
#define LOAD_STEPS ((uint64_t)1 << 40)

static atomic_uint_fast64_t packs_made;

static const struct value_json_limits manifest_limits = { .depth = 64 };

static const struct value *
parse(struct policy_pack *pack, const struct pack_file *file,
    const struct value_json_limits *limits, char *err, size_t err_len)
{
	char why[200] = "";
	const struct value *v;

	v = value_from_json(&pack->arena, file->bytes, file->len, limits, why,
	    sizeof(why));
	if (v == NULL)
		snprintf(err, err_len, "%s: %s", file->path, why);
	else if (v->kind != VALUE_OBJECT) {
		snprintf(err, err_len, "%s: not a JSON object", file->path);
		v = NULL;
	}
	return v;
}

static bool
is_data(const char *path)
{
	const char *name = strrchr(path, '/');

	return strcmp(name != NULL ? name + 1 : path, "data.json") == 0;
}

/* Put a/b/data.json under a.b of the document; no two may say the same. */
static bool
graft(struct policy_pack *pack, struct value *at, const char *path,
    const struct value *tree, char *err, size_t err_len)
{
	struct arena *arena = &pack->arena;
	const char *slash = strchr(path, '/');
	const struct value *key, *inner;
	struct value *fresh;
	uint32_t i;

	if (slash != NULL) {
		key = value_string_copy(arena, path, (size_t)(slash - path));
		inner = value_get(arena, at, key);
		if (inner == NULL) {
			fresh = value_object(arena, 1);
			value_put(arena, at, key, fresh);
			inner = fresh;
		}
		if (inner->kind == VALUE_OBJECT)
			return graft(pack, (struct value *)(uintptr_t)inner,
			    slash + 1, tree, err, err_len);
		snprintf(err, err_len, "%s: conflicts with another data.json",
		    path);
		return false;
	}
	for (i = 0; i < tree->col.n; i++) {
		key = value_key_at(tree, i);
		if (value_get(arena, at, key) != NULL) {
			snprintf(err, err_len, "%s: %.*s stands in another "
			    "data.json, too", path, (int)(key->str.n < 80 ?
			    key->str.n : 80), key->str.p);
			return false;
		}
		value_put(arena, at, key, value_at(tree, i));
	}
	return true;
}

static bool
load_data(struct policy_pack *pack, char *err, size_t err_len)
{
	struct value *root = value_object(&pack->arena, 0);
	struct buf text = { .arena = &pack->arena };
	const struct value *tree;
	size_t i;

	for (i = 0; i < pack->files.n; i++) {
		const struct pack_file *file = &pack->files.file[i];

		if (!is_data(file->path))
			continue;
		tree = parse(pack, file, &value_json_strict, err, err_len);
		if (tree == NULL)
			return false;
		value_sort(&pack->arena, tree);
		if (!graft(pack, root, file->path, tree, err, err_len))
			return false;
	}
	value_freeze(&pack->arena, root);
	pack->data = root;
	value_to_json(&text, root, 0);
	buf_putc(&text, '\0');
	pack->data_text = text.p;
	pack->data_len = text.n - 1;
	return true;
}

static bool
load_plan(struct policy_pack *pack, char *err, size_t err_len)
{
	const struct pack_file *file = pack_files_find(&pack->files,
	    "plan.json");
	char why[300] = "";

	if (file == NULL) {
		snprintf(err, err_len, "plan.json: missing; make it with "
		    "`countersign policy build`, that is "
		    "`opa build -t plan -e %s`", PACK_ENTRY);
		return false;
	}
	pack->plan = plan_load(&pack->arena, file->bytes, file->len, why,
	    sizeof(why));
	if (pack->plan == NULL) {
		snprintf(err, err_len, "plan.json: %s", why);
		return false;
	}
	pack->entry = plan_entry(pack->plan, PACK_ENTRY);
	return true;
}

static void
release_arena(void *arena)
{
	arena_release(arena);
}

/*
 * Rules that depend on data alone, once.  Each is evaluated in room of its own
 * and its value copied, so that what it needed on the way is given back.  One
 * that fails stays unknown: the decision that needs it will say why.
 */
static void
find_fact(struct policy_pack *pack, const struct plan_func *rule, size_t max)
{
	struct eval eval = { .plan = pack->plan, .data = pack->data,
	    .strict = true, .facts = pack->facts, .facts_of = pack->data };
	const struct value *result;
	struct arena arena;

	if (arena_init(&arena, 256 * 1024, max, LOAD_STEPS) != 0)
		return;
	eval.arena = &arena;
	if (eval_rule(&eval, rule, &result) == EVAL_OK) {
		arena_defer(&pack->arena, release_arena,
		    &arena);
		if (result != NULL)
			result = value_copy_frozen(&pack->arena, result);
		pack->facts[rule->index] = (struct eval_fact){ true, result };
		arena_done(&pack->arena, &arena);
		return;
	}
	arena_release(&arena);
}

static void
find_facts(struct policy_pack *pack)
{
	size_t size = pack->plan->n_funcs * sizeof(*pack->facts);
	uint32_t i;

	pack->facts = arena_alloc(&pack->arena, size);
	memset(pack->facts, 0, size);
	for (i = 0; i < pack->plan->n_funcs; i++)
		if (pack->plan->funcs[i].of_data_only)
			find_fact(pack, &pack->plan->funcs[i],
			    pack->arena.max);
}

/* It goes into records and logs: plain ASCII only. */
static void
note_revision(struct policy_pack *pack)
{
	const struct value *v = value_member(pack->manifest, "revision");
	size_t i;

	if (v == NULL || v->kind == VALUE_NULL)
		return;
	for (i = 0; i < v->str.n && i < POLICY_REVISION_MAX; i++)
		pack->revision[i] = v->str.p[i] < ' ' || v->str.p[i] > '~' ?
		    '?' : v->str.p[i];
}

static bool
load_manifest(struct policy_pack *pack, char *err, size_t err_len)
{
	const struct pack_file *file = pack_files_find(&pack->files,
	    ".manifest");

	if (file == NULL)
		return true;
	pack->manifest = parse(pack, file, &manifest_limits, err, err_len);
	if (pack->manifest == NULL ||
	    !pack_manifest_check(pack->manifest, err, err_len))
		return false;
	value_freeze(&pack->arena, pack->manifest);
	note_revision(pack);
	return true;
}

static bool
load(struct policy_pack *pack, char *err, size_t err_len)
{
	jmp_buf here;
	bool ok = false;

	if (setjmp(here) == 0) {
		pack->arena.armed = &here;
		ok = load_manifest(pack, err, err_len) &&
		    load_plan(pack, err, err_len) &&
		    load_data(pack, err, err_len);
		if (ok)
			find_facts(pack);
	} else {
		snprintf(err, err_len, "loading: %s", pack->arena.message);
		ok = false;
	}
	pack->arena.armed = NULL;
	return ok;
}

struct policy_pack *
pack_from_files(struct pack_files *files, char *err, size_t err_len)
{
	struct policy_pack *pack = calloc(1, sizeof(*pack));
	size_t max = files->total > SIZE_MAX / 2 / LOAD_FACTOR ? SIZE_MAX / 2 :
	    files->total * LOAD_FACTOR + LOAD_FLOOR;

	if (pack == NULL || arena_init(&pack->arena, 64 * 1024, max,
	    LOAD_STEPS) != 0) {
		snprintf(err, err_len, "out of memory");
		pack_files_free(files);
		free(pack);
		return NULL;
	}
	atomic_init(&pack->references, 1);
	pack->number = atomic_fetch_add(&packs_made, 1) + 1;
	pack->files = *files;
	memset(files, 0, sizeof(*files));
	pack_files_sort(&pack->files);
	pack_files_digest(&pack->files, pack->digest);
	if (pack->digest[0] == '\0') {
		snprintf(err, err_len, "cannot compute the digest");
	} else if (load(pack, err, err_len)) {
		return pack;
	}
	policy_pack_unref(pack);
	return NULL;
}

static char *
read_bundle_file(const char *path, size_t *len, char *err, size_t err_len)
{
	/* A FIFO that nobody writes to must not hold up whoever names it. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	FILE *f = fd >= 0 ? fdopen(fd, "rb") : NULL;
	char *bytes = NULL;
	struct stat st;

	if (f == NULL && fd >= 0)
		close(fd);
	if (f == NULL || fstat(fileno(f), &st) != 0) {
		snprintf(err, err_len, "%s: %s", path, strerror(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size < 0 ||
	    (size_t)st.st_size > BUNDLE_COMPRESSED_MAX) {
		snprintf(err, err_len, "%s: not a file, or too large", path);
	} else if ((bytes = malloc((size_t)st.st_size + 1)) == NULL ||
	    fread(bytes, 1, (size_t)st.st_size, f) != (size_t)st.st_size) {
		snprintf(err, err_len, "%s: cannot be read whole", path);
		free(bytes);
		bytes = NULL;
	} else {
		*len = (size_t)st.st_size;
	}
	if (f != NULL)
		fclose(f);
	return bytes;
}

int
pack_files_read(struct pack_files *files, const char *path, char *err,
    size_t err_len)
{
	struct stat st;
	char *bytes;
	size_t len = 0;
	int result;

	if (stat(path, &st) != 0) {
		snprintf(err, err_len, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		result = pack_files_read_dir(files, path, err, err_len);
	} else {
		bytes = read_bundle_file(path, &len, err, err_len);
		if (bytes == NULL)
			return -1;
		result = bundle_read(files, bytes, len, err, err_len);
		free(bytes);
	}
	pack_files_sort(files);
	return result;
}

/* Nothing is parsed before the signature is good. */
static struct policy_pack *
verified(struct pack_files *files, bool read, const char *key_text,
    size_t key_len, char *err, size_t err_len)
{
	if (read && (key_text == NULL || bundle_verify(files, key_text,
	    key_len, err, err_len) == 0))
		return pack_from_files(files, err, err_len);
	pack_files_free(files);
	return NULL;
}

struct policy_pack *
policy_pack_load_signed(const char *path, const char *key_text,
    size_t key_len, char *err, size_t err_len)
{
	struct pack_files files = { 0 };
	bool read = pack_files_read(&files, path, err, err_len) == 0;

	return verified(&files, read, key_text, key_len, err, err_len);
}

struct policy_pack *
policy_pack_from_bundle(const void *bytes, size_t len, const char *key_text,
    size_t key_len, char *err, size_t err_len)
{
	struct pack_files files = { 0 };
	bool read = bundle_read(&files, bytes, len, err, err_len) == 0;

	pack_files_sort(&files);
	return verified(&files, read, key_text, key_len, err, err_len);
}

struct policy_pack *
policy_pack_load(const char *path, char *err, size_t err_len)
{
	return policy_pack_load_signed(path, NULL, 0, err, err_len);
}

struct policy_pack *
policy_pack_ref(struct policy_pack *pack)
{
	if (pack != NULL)
		atomic_fetch_add_explicit(&pack->references, 1,
		    memory_order_relaxed);
	return pack;
}

void
policy_pack_unref(struct policy_pack *pack)
{
	if (pack == NULL || atomic_fetch_sub_explicit(&pack->references, 1,
	    memory_order_acq_rel) != 1)
		return;
	arena_release(&pack->arena);
	pack_files_free(&pack->files);
	free(pack);
}

const char *
policy_pack_digest(const struct policy_pack *pack)
{
	return pack->digest;
}

int
policy_pack_digest_at(const char *path, char digest[POLICY_DIGEST_LEN + 1],
    char *err, size_t err_len)
{
	struct pack_files files = { 0 };
	int result = pack_files_read(&files, path, err, err_len);

	if (result == 0)
		pack_files_digest(&files, digest);
	if (result == 0 && digest[0] == '\0') {
		snprintf(err, err_len, "cannot compute the digest");
		result = -1;
	}
	pack_files_free(&files);
	return result;
}

bool
policy_pack_has_data(const struct policy_pack *pack)
{
	return pack_files_find(&pack->files, "data.json") != NULL;
}

bool
policy_pack_decides(const struct policy_pack *pack)
{
	return pack->entry != NULL;
}

const char *
policy_pack_revision(const struct policy_pack *pack)
{
	return pack->revision;
}

const char *
policy_pack_data(const struct policy_pack *pack, size_t *len)
{
	if (len != NULL)
		*len = pack->data_len;
	return pack->data_text;
}
