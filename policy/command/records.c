#include "policy/command/records.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/command/command.h"
#include "policy/value/number.h"

struct reading {
	struct arena *arena;
	void (*each)(void *arg, const struct record *record);
	void *arg;
};

/* --- one line --------------------------------------------------------- */

/* Times stand as strings in the ledger; the policy wants its numbers. */
static void
restore_number(struct arena *arena, const struct value *object,
    const char *name)
{
	const struct value *v = value_member(object, name);
	int64_t i;

	if (v != NULL && v->kind == VALUE_STRING &&
	    num_text_int64(v->str.p, v->str.n, &i))
		value_put(arena, (struct value *)(uintptr_t)object,
		    value_text(arena, name), value_int(arena, i));
}

static const struct value *
input_of(struct arena *arena, const struct value *body)
{
	const struct value *input = value_member(body, "input"), *run;

	if (input == NULL || input->kind != VALUE_OBJECT)
		return NULL;
	restore_number(arena, input, "now_ns");
	run = value_member(input, "run");
	if (run != NULL && run->kind == VALUE_OBJECT)
		restore_number(arena, run, "opened_ns");
	return input;
}

/* NULL: it is not about a decision. */
static const char *
decision_of(const struct value *body)
{
	static const char *const words[] = { "allow", "deny", "ask" };
	const struct value *said = value_member(body, "decision");
	size_t i;

	if (value_is_text(value_member(body, "by"), "person"))
		return "ask";	/* and somebody answered */
	if (said == NULL)	/* a grant that was given */
		return value_is_text(value_member(body, "state"),
		    "issued") ? "allow" : NULL;
	for (i = 0; i < 3; i++)
		if (value_is_text(said, words[i]))
			return words[i];
	return "?";
}

static int64_t
seq_of(const struct value *root)
{
	const struct value *seq = value_member(root, "seq");

	return seq != NULL && seq->kind == VALUE_NUMBER && seq->is_int ?
	    seq->num.i : -1;
}

static void
parse(struct reading *r, struct record *out, const char *p, size_t n)
{
	const struct value *root;
	char err[160];

	root = value_from_json(r->arena, p, n, &value_json_strict, err,
	    sizeof(err));
	out->body = value_member(root, "body");
	if (root == NULL || out->body == NULL ||
	    out->body->kind != VALUE_OBJECT) {
		out->why = "not a line of a ledger";
		return;
	}
	out->policy = value_member(root, "policy");
	out->seq = seq_of(root);
	if ((out->decision = decision_of(out->body)) == NULL)
		return;
	out->rule = value_member(out->body, "rule");
	out->input = input_of(r->arena, out->body);
}

/* A limit on the way makes it a record that could not be decided. */
static void
guarded(struct reading *r, struct record *record, const char *p, size_t n)
{
	char why[ARENA_MESSAGE_MAX];
	jmp_buf here;

	arena_reset(r->arena);
	if (setjmp(here) == 0) {
		r->arena->armed = &here;
		parse(r, record, p, n);
		if (record->why != NULL || record->decision != NULL)
			r->each(r->arg, record);
		r->arena->armed = NULL;
		return;
	}
	/* A few words more need to be said, and room for them. */
	memcpy(why, r->arena->message, sizeof(why));
	arena_reset(r->arena);
	if (setjmp(here) == 0) {
		r->arena->armed = &here;
		record->why = why;
		r->each(r->arg, record);
	}
	r->arena->armed = NULL;
}

bool
record_engine_failed(const struct record *record)
{
	static const char own[] = "engine/";
	const struct value *rule = record->rule;

	return value_member(record->body, "engine") != NULL && rule != NULL &&
	    rule->kind == VALUE_STRING && rule->str.n > sizeof(own) - 1 &&
	    memcmp(rule->str.p, own, sizeof(own) - 1) == 0;
}

/* --- files ------------------------------------------------------------ */

static int
read_file(struct reading *r, const char *path)
{
	struct record record;
	unsigned long line = 0;
	const char *p, *end, *stop;
	size_t len = 0;
	char *text = command_read(path, &len);

	if (text == NULL)
		return -1;
	/* A segment that is being written ends with room for more. */
	while (len > 0 && text[len - 1] == '\0')
		len--;
	for (p = text, end = text + len; p < end; p = stop + 1) {
		stop = memchr(p, '\n', (size_t)(end - p));
		if (stop == NULL)
			stop = end;
		record = (struct record){ .file = path, .line = ++line };
		guarded(r, &record, p, (size_t)(stop - p));
	}
	free(text);
	return 0;
}

static int
is_segment(const struct dirent *entry)
{
	size_t n = strlen(entry->d_name);

	return strncmp(entry->d_name, "records-", 8) == 0 && n > 14 &&
	    strcmp(entry->d_name + n - 6, ".jsonl") == 0;
}

static int
read_segments(struct reading *r, const char *dir)
{
	struct dirent **names = NULL;
	char path[PATH_MAX];
	int n = scandir(dir, &names, is_segment, alphasort), i, result = 0;

	if (n <= 0) {
		command_fail("%s: neither a ledger nor a bundle", dir);
		result = -1;
	}
	for (i = 0; i < n; i++) {
		if (result == 0 && snprintf(path, sizeof(path), "%s/%s", dir,
		    names[i]->d_name) < (int)sizeof(path))
			result = read_file(r, path);
		free(names[i]);
	}
	free(names);
	return result;
}

/* dir/packs, or the packs beside dir. */
static void
find_packs(const char *dir, bool beside, char *packs, size_t cap)
{
	struct stat st;

	if (snprintf(packs, cap, "%s/%spacks", dir, beside ? "../" : "") >=
	    (int)cap || stat(packs, &st) != 0 || !S_ISDIR(st.st_mode))
		packs[0] = '\0';
}

int
records_read(struct arena *arena, const char *path, char *packs,
    size_t packs_cap,
    void (*each)(void *arg, const struct record *record), void *arg)
{
	struct reading r = { arena, each, arg };
	char inner[PATH_MAX];
	struct stat st;

	packs[0] = '\0';
	if (strcmp(path, "-") == 0 || stat(path, &st) != 0 ||
	    !S_ISDIR(st.st_mode))
		return read_file(&r, path);
	if (snprintf(inner, sizeof(inner), "%s/ledger/records.jsonl", path) <
	    (int)sizeof(inner) && stat(inner, &st) == 0) {
		find_packs(path, false, packs, packs_cap);
		return read_file(&r, inner);
	}
	find_packs(path, true, packs, packs_cap);
	return read_segments(&r, path);
}
