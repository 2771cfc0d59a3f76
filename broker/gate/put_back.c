#include "gate/put_back.h"

#include "gate/impl.h"
#include "ledger/evidence/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#define NEAR 32768u		/* records: a generation told within them is found soon */
#define NAMES_MAX 65536u

static const struct secret_event opened = { .event = "opened" };

/* What the ledger says of one name. */
struct told {
	char name[VAULT_NAME_MAX + 1];
	uint32_t newest;		/* version stored last */
	uint32_t all_below;		/* these versions and all below are revoked */
	uint32_t *revoked;		/* and these */
	size_t n_revoked;
};

struct look {
	struct vault_edition now;
	char vault[2 * sizeof(((struct vault_edition *)0)->vault) + 1];
	uint64_t known;			/* generation told last of this vault; 0: none */
	uint64_t at, end;		/* index of that record; of the last one read */
	bool any;			/* there was a secret record */
	bool unerased;			/* and one of a revocation that the store did not hear of */
	bool keep;			/* what is told of names */
	struct told *told;
	size_t n;
	bool no_memory;
};

/* --- reading the ledger ------------------------------------------------ */

static struct told *
told_of(struct look *look, const char *name)
{
	struct told *more;

	for (size_t i = 0; i < look->n; i++)
		if (strcmp(look->told[i].name, name) == 0)
			return &look->told[i];
	if (look->n == NAMES_MAX || (more = reallocarray(look->told, look->n + 1,
	    sizeof(*more))) == NULL) {
		look->no_memory = true;
		return NULL;
	}
	look->told = more;
	more = &look->told[look->n++];
	*more = (struct told){ .newest = 0 };
	snprintf(more->name, sizeof(more->name), "%s", name);
	return more;
}

static void
take_revoked(struct look *look, struct told *told, uint32_t version)
{
	uint32_t *more;

	if (version == 0) {
		told->all_below = told->newest;
		return;
	}
	more = reallocarray(told->revoked, told->n_revoked + 1, sizeof(*more));
	if (more == NULL) {
		look->no_memory = true;
		return;
	}
	told->revoked = more;
	told->revoked[told->n_revoked++] = version;
}

static void
take_name(struct look *look, const json_t *body, const char *event)
{
	const char *name = json_string_value(json_object_get(body, "name"));
	const json_int_t version = json_integer_value(json_object_get(body,
	    "version"));
	struct told *told;

	if (name == NULL || version < 0 || version > UINT32_MAX ||
	    (told = told_of(look, name)) == NULL)
		return;
	if (strcmp(event, "revoked") == 0)
		take_revoked(look, told, (uint32_t)version);
	else if (version > told->newest)
		told->newest = (uint32_t)version;
}

static void
take_record(struct look *look, const struct reader_line *line)
{
	json_t *body = json_loadb(line->record.body.ptr, line->record.body.len, 0,
	    NULL);
	const char *event = json_string_value(json_object_get(body, "event"));
	const char *vault = json_string_value(json_object_get(body, "vault"));
	const json_int_t generation = json_integer_value(json_object_get(body,
	    "generation"));

	look->any = true;
	if (event != NULL && strcmp(event, "opened") == 0)
		look->unerased = false;		/* put right since */
	else if (json_is_false(json_object_get(body, "erased")))
		look->unerased = true;
	if (vault != NULL && strcmp(vault, look->vault) == 0 && generation > 0) {
		look->known = (uint64_t)generation;
		look->at = line->index;
	}
	if (look->keep && event != NULL)
		take_name(look, body, event);
	json_decref(body);
}

static bool
is_secret(const struct record_line *record)
{
	return record_slice_is(record->type, "secret");
}

/* The last records, n or more of them; all for 0. */
static int
read_last(struct look *look, const char *dir, uint64_t n, bool *all, char *err,
    size_t err_len)
{
	struct reader *reader = reader_open(dir, err, err_len);
	struct reader_line line;
	uint64_t first = UINT64_MAX;
	int rv = -1;

	if (reader == NULL)
		return -1;
	if (n == 0 || reader_seek_tail(reader, n, err, err_len) == 0)
		while ((rv = reader_next(reader, &line, err, err_len)) == 1) {
			first = first == UINT64_MAX ? line.index : first;
			look->end = line.index;
			if (line.rule == NULL && is_secret(&line.record))
				take_record(look, &line);
		}
	*all = first == UINT64_MAX || first <= reader_first(reader);
	reader_close(reader);
	return rv;
}

/* Further back each time, until a generation is told. */
static int
read_known(struct look *look, const char *dir, char *err, size_t err_len)
{
	bool all = false;

	for (uint64_t n = NEAR; look->known == 0 && !all; n *= 16)
		if (read_last(look, dir, n, &all, err, err_len) != 0)
			return -1;
	return 0;
}

/* --- putting it right -------------------------------------------------- */

static bool
is_revoked(const struct told *told, uint32_t version)
{
	if (version <= told->all_below)
		return true;
	for (size_t i = 0; i < told->n_revoked; i++)
		if (told->revoked[i] == version)
			return true;
	return false;
}

/* Versions of the vault that are active and should not be. */
struct wrong {
	struct look *look;
	struct { char name[VAULT_NAME_MAX + 1]; uint32_t version; } *all;
	size_t n;
	struct put_back *out;
	char last[VAULT_NAME_MAX + 1];
	uint32_t newest;
};

/* Of the name that was listed last. */
static void
look_at_newest(struct wrong *wrong)
{
	const struct told *told = wrong->last[0] != '\0' ?
	    told_of(wrong->look, wrong->last) : NULL;

	if (told == NULL || told->newest <= wrong->newest)
		return;
	if (wrong->out->lost++ == 0)
		snprintf(wrong->out->name, sizeof(wrong->out->name), "%s",
		    wrong->last);
}

static void
look_at_entry(void *arg, const struct vault_entry *entry)
{
	struct wrong *wrong = arg;
	const struct told *told = told_of(wrong->look, entry->name);
	void *more;

	if (strcmp(wrong->last, entry->name) != 0) {
		look_at_newest(wrong);
		snprintf(wrong->last, sizeof(wrong->last), "%s", entry->name);
	}
	wrong->newest = entry->version;		/* they come in order */
	if (told == NULL || entry->revoked_s != 0 ||
	    !is_revoked(told, entry->version))
		return;
	more = reallocarray(wrong->all, wrong->n + 1, sizeof(*wrong->all));
	if (more == NULL) {
		wrong->look->no_memory = true;
		return;
	}
	wrong->all = more;
	snprintf(wrong->all[wrong->n].name, sizeof(wrong->all->name), "%s",
	    entry->name);
	wrong->all[wrong->n++].version = entry->version;
}

static int
no_memory(struct gate_problem *why)
{
	gate_problem_set(why, 503, "gate/memory", "out of memory",
	    "make room, and start it again");
	return -1;
}

static int
revoke_again(struct gate *gate, struct ledger_port *port,
    const struct wrong *wrong, struct gate_problem *why)
{
	struct vault_error error = { VAULT_IO, "" };

	for (size_t i = 0; i < wrong->n; i++, wrong->out->revoked++)
		if (gate_secret_revoke(gate, port, wrong->all[i].name,
		    wrong->all[i].version, why) == -1)
			return -1;
	/* Above what is known, so that no copy of that time passes for newer. */
	if (vault_raise(gate->vault, wrong->look->known, &error) == VAULT_OK)
		return 0;
	gate_problem_set(why, 503, "vault/unavailable", error.text,
	    "see that the vault can be written");
	return -1;
}

static int
put_right(struct gate *gate, struct ledger_port *port, struct look *look,
    struct put_back *out, struct gate_problem *why)
{
	const struct secret_event found = { .event = "put_back",
	    .known = look->known };
	struct wrong wrong = { .look = look, .out = out };
	int rv = -1;

	if (gate_secret_each(gate, look_at_entry, &wrong, why) == 0) {
		look_at_newest(&wrong);
		if (look->no_memory)
			no_memory(why);
		else if ((!out->found || gate_secret_record(gate, port, &found,
		    why) == 0) && revoke_again(gate, port, &wrong, why) == 0)
			rv = gate_secret_record(gate, port, &opened, why);
	}
	free(wrong.all);
	return rv;
}

/* All of the ledger is read for what is revoked. */
static int
again(struct gate *gate, struct ledger_port *port, struct look *look,
    struct put_back *out, struct gate_problem *why, char *err, size_t err_len)
{
	const uint64_t known = look->known;
	bool all;

	look->keep = true;
	if (read_last(look, gate->ledger_dir, 0, &all, err, err_len) != 0)
		return -1;
	look->known = known;
	*out = (struct put_back){ .found = known > look->now.generation, .known = known,
	    .now = look->now.generation };
	return put_right(gate, port, look, out, why);
}

int
gate_vault_look(struct gate *gate, struct ledger_port *port,
    struct put_back *out, struct gate_problem *why)
{
	struct look look = { .known = 0 };
	char err[GATE_WHY_MAX] = "";
	int rv = -1;

	*out = (struct put_back){ .found = false };
	if (gate->ledger_dir == NULL || !vault_edition(gate->vault, &look.now))
		return 0;
	sodium_bin2hex(look.vault, sizeof(look.vault), look.now.vault,
	    sizeof(look.now.vault));
	gate_problem_set(why, 503, "ledger/unreadable",
	    "what was revoked cannot be read from the ledger",
	    "see that the ledger's files can be read");
	if (read_known(&look, gate->ledger_dir, err, sizeof(err)) != 0)
		gate_problem_set(why, 503, "ledger/unreadable", err,
		    "see that the ledger's files can be read");
	else if (look.known > look.now.generation || look.unerased)
		rv = again(gate, port, &look, out, why, err, sizeof(err));
	else if (look.known > 0 ? look.end - look.at >= NEAR : look.any)
		rv = gate_secret_record(gate, port, &opened, why);
	else
		rv = 0;
	for (size_t i = 0; i < look.n; i++)
		free(look.told[i].revoked);
	free(look.told);
	return rv;
}
