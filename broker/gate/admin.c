/* Life of the gate, its rules and its secrets. */
#include "gate/admin.h"

#include "gate/anchored.h"
#include "gate/impl.h"
#include "ledger/record/record.h"
#include "mint/source.h"
#include "gate/run.h"
#include "ledger/record/json_out.h"
#include "reserve.h"

#include <stdio.h>
#include <stdlib.h>


/* --- small things ---------------------------------------------------- */

void
gate_text_copy(char *out, size_t cap, const char *text)
{
	size_t n = strlen(text);

	if (n >= cap) {
		n = cap - 1;
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	}
	memcpy(out, text, n);
	out[n] = '\0';
}

void
gate_problem_set(struct gate_problem *why, unsigned status, const char *rule,
    const char *detail, const char *remedy)
{
	why->status = status;
	gate_text_copy(why->rule, sizeof(why->rule), rule);
	gate_text_copy(why->detail, sizeof(why->detail), detail);
	gate_text_copy(why->remedy, sizeof(why->remedy), remedy);
}

static int
appended(enum ledger_status status, struct gate_problem *why)
{
	if (status == LEDGER_DURABLE)
		return 0;
	if (status == LEDGER_SILENT)
		gate_problem_set(why, 503, "ledger/silent", "the recorder does "
		    "not answer: whether this was recorded is not known",
		    "see `countersign status`; ask again when it answers");
	else
		gate_problem_set(why, 503, status == LEDGER_FULL ? "ledger/full" :
	    "ledger/failed", "the record could not be made durable, so nothing was done",
	    status == LEDGER_FULL ? "free space where the ledger is" :
	    "see the daemon's log; restart it once the cause is gone");
	return -1;
}

static int
append_by(enum ledger_status (*append)(struct ledger_port *port,
    const struct ledger_record *record, struct ledger_receipt *out),
    struct ledger_port *port, const char *type, const char *run,
    const char *policy, const char *body, int len, bool seal,
    struct ledger_receipt *receipt, struct gate_problem *why)
{
	struct ledger_record record = { .type = type, .run = run,
	    .policy = policy, .body = body, .body_len = (size_t)len,
	    .seal = seal };

	return appended(len < 0 ? LEDGER_REJECTED :
	    append(port, &record, receipt), why);
}

int
gate_append(struct ledger_port *port, const char *type, const char *run,
    const char *policy, const char *body, int len, bool seal,
    struct ledger_receipt *receipt, struct gate_problem *why)
{
	return append_by(ledger_append_soon, port, type, run, policy, body, len, seal,
	    receipt, why);
}

int
gate_append_patient(struct ledger_port *port, const char *type, const char *run,
    const char *policy, const char *body, int len, bool seal,
    struct ledger_receipt *receipt, struct gate_problem *why)
{
	return append_by(ledger_append_wait, port, type, run, policy, body, len, seal,
	    receipt, why);
}

/* --- life ------------------------------------------------------------ */

static int
locks_init(struct gate *gate, struct minter *minter)
{
	if (pthread_mutex_init(&gate->admin, NULL) != 0 ||
	    pthread_rwlock_init(&gate->lock, NULL) != 0 ||
	    pthread_mutex_init(&gate->rules_lock, NULL) != 0 ||
	    pthread_mutex_init(&gate->place_lock, NULL) != 0 ||
	    pthread_mutex_init(&gate->refusals_lock, NULL) != 0 ||
	    approvals_init(&gate->approvals) != 0 ||
	    secrets_init(&gate->secrets, minter) == -1)
		return -1;
	return 0;
}

struct gate *
gate_new(const struct gate_options *options, char *err, size_t err_len)
{
	struct gate *gate = calloc(1, sizeof(*gate));

	if (gate == NULL || locks_init(gate, options->minter) == -1) {
		snprintf(err, err_len, "out of memory");
		free(gate);
		return NULL;
	}
	gate->vault = options->vault;
	gate->opa = options->opa;
	gate->pack_path = strdup(options->pack_path);
	if (options->packs_dir != NULL)
		gate->packs_dir = strdup(options->packs_dir);
	if (options->ledger_dir != NULL && options->tags_dir != NULL) {
		gate->ledger_dir = strdup(options->ledger_dir);
		gate->tags_dir = strdup(options->tags_dir);
	}
	gate->anchored = anchored_new(options->anchors, options->ledger_dir);
	gate->keyed = keyed_new(options->pseudonym_key);
	if (gate->pack_path == NULL || gate->keyed == NULL ||
	    (options->packs_dir != NULL && gate->packs_dir == NULL) ||
	    (options->ledger_dir != NULL && options->tags_dir != NULL &&
	    (gate->ledger_dir == NULL || gate->tags_dir == NULL))) {
		snprintf(err, err_len, "out of (locked) memory");
		goto fail;
	}
	if (gate->packs_dir != NULL)
		policy_packs_tidy(gate->packs_dir);
	if (gate->tags_dir != NULL)
		gate_tags_tidy(gate, time(NULL));
	gate->rules = rules_load(gate->pack_path, err, err_len);
	if (gate->rules == NULL ||
	    rules_keep(gate, gate->rules, err, err_len) == -1)
		goto fail;
	if (secrets_refresh(&gate->secrets, gate->vault, gate->rules) == -1) {
		secrets_lack(&gate->secrets, err, err_len);
		goto fail;
	}
	return gate;
fail:
	gate_free(gate);
	return NULL;
}

void
gate_free(struct gate *gate)
{
	if (gate == NULL)
		return;
	approvals_free(&gate->approvals);
	refusals_forget(gate);
	run_ends_forget(gate);
	while (gate->first_run != NULL) {
		atomic_store(&gate->first_run->open, false);
		run_drop_locked(gate, gate->first_run);
	}
	table_clear(&gate->tokens);
	table_clear(&gate->ids);
	table_clear(&gate->credentials);
	table_clear(&gate->grants);
	secrets_clear(&gate->secrets);
	anchored_free(gate->anchored);
	rules_unref(gate->rules);
	keyed_free(gate->keyed);
	free(gate->pack_path);
	free(gate->packs_dir);
	free(gate->ledger_dir);
	free(gate->tags_dir);
	pthread_mutex_destroy(&gate->admin);
	pthread_rwlock_destroy(&gate->lock);
	pthread_mutex_destroy(&gate->rules_lock);
	pthread_mutex_destroy(&gate->place_lock);
	pthread_mutex_destroy(&gate->refusals_lock);
	free(gate);
}

/* --- cutting streams ------------------------------------------------- */

void
gate_cut(struct gate *gate, const struct gate_cut *what)
{
	void (*call)(void *, const struct gate_cut *);
	void *arg;

	pthread_rwlock_rdlock(&gate->lock);
	call = gate->cut;
	arg = gate->cut_arg;
	pthread_rwlock_unlock(&gate->lock);
	if (call != NULL)
		call(arg, what);
}

#define TOKEN_MS 10000	/* that who may wait waits for a first token */
#define TAKE_TRIES 8

/* --- secrets --------------------------------------------------------- */

enum secrets_result
gate_secret_take(struct gate *gate, struct rules *rules,
    const struct binding *binding, bool now, struct secret **secret,
    struct redact_needles **needles, uint32_t *version)
{
	struct secrets *secrets = &gate->secrets;
	enum secrets_result result = secrets_take(secrets, gate->vault, binding, now,
	    secret, needles, version);
	bool may_wait = !now && secrets->minter != NULL;

	if (result == SECRETS_STALE && now && vault_waits(gate->vault))
		return SECRETS_LATER;
	/* Somebody else changed the vault, which he may do again meanwhile, or other rules
	 * came into force; or a first token is on its way, or was let go of and is asked
	 * for again. */
	for (unsigned i = 0; i < TAKE_TRIES && (result == SECRETS_STALE ||
	    (result == SECRETS_NO_TOKEN && may_wait)); i++) {
		if (secrets_refresh(secrets, gate->vault, rules) != 0)
			return SECRETS_NONE;
		if (result == SECRETS_NO_TOKEN) {
			minter_wait(secrets->minter, binding->secret, TOKEN_MS);
			may_wait = false;
			result = SECRETS_STALE;
			continue;
		}
		result = secrets_take(secrets, gate->vault, binding, false, secret,
		    needles, version);
	}
	return result;
}

static int
vault_problem(const struct vault_error *error, struct gate_problem *why)
{
	switch (error->status) {
	case VAULT_EXISTS:
		gate_problem_set(why, 409, "vault/exists", error->text,
		    "use rotate for a new version");
		break;
	case VAULT_MISSING:
		gate_problem_set(why, 404, "vault/missing", error->text,
		    "store it with put");
		break;
	case VAULT_REVOKED:
		gate_problem_set(why, 409, "vault/revoked", error->text,
		    "store a new version with rotate");
		break;
	case VAULT_INVALID:
		gate_problem_set(why, 400, "vault/invalid", error->text,
		    "names are a-z, 0-9, '.', '_' and '-'; secrets hold no CR, LF or NUL");
		break;
	default:
		gate_problem_set(why, 503, "vault/unavailable", error->text,
		    "see the daemon's log");
	}
	return -1;
}

static void
edition_out(struct gate *gate, struct json_out *out)
{
	struct vault_edition edition;

	if (!vault_edition(gate->vault, &edition))
		return;
	json_out_hex(out, "vault", edition.vault, sizeof(edition.vault));
	json_out_uint(out, "generation", edition.generation);
}

int
gate_secret_record(struct gate *gate, struct ledger_port *port,
    const struct secret_event *what, struct gate_problem *why)
{
	struct ledger_receipt receipt;
	struct json_out out;
	char body[1024], time[RECORD_TIME_LEN];

	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_str(&out, "event", what->event);
	if (what->name != NULL)
		json_out_str(&out, "name", what->name);
	if (what->version > 0)
		json_out_uint(&out, "version", what->version);
	json_out_str(&out, "backend", vault_backend(gate->vault));
	if (what->from != NULL)
		json_out_str(&out, "from", what->from);
	if (what->to != NULL)
		json_out_str(&out, "to", what->to);
	if (what->error != NULL)
		json_out_str(&out, "error", what->error);
	if (what->expires_s > 0) {
		record_time_format(time, what->expires_s * 1000000);
		json_out_strn(&out, "expires", time, sizeof(time));
	}
	if (what->known > 0)
		json_out_uint(&out, "known", what->known);
	if (what->unerased)
		json_out_bool(&out, "erased", false);
	edition_out(gate, &out);
	json_out_object_end(&out);
	return gate_append(port, "secret", NULL, gate->rules->digest, body,
	    json_out_end(&out), false, &receipt, why);
}

int
gate_no_memory(struct gate *gate, struct gate_problem *why)
{
	char detail[sizeof(why->detail)];

	secrets_lack(&gate->secrets, detail, sizeof(detail));
	gate_problem_set(why, 503, "gate/memory", detail,
	    "raise the limit of locked memory (ulimit -l, LimitMEMLOCK=) and restart the daemon");
	return -1;
}

bool
gate_secrets_partial(struct gate *gate)
{
	return atomic_load(&gate->secrets.partial);
}

void
gate_secrets_why(struct gate *gate, char *buf, size_t cap)
{
	secrets_lack(&gate->secrets, buf, cap);
}

void
gate_secrets_again(struct gate *gate)
{
	struct rules *rules = gate_rules(gate);

	(void)secrets_refresh(&gate->secrets, gate->vault, rules);
	rules_unref(rules);
}

static int
secrets_changed(struct gate *gate, struct gate_problem *why)
{
	atomic_fetch_add(&gate->secrets_changed, 1);
	if (secrets_refresh(&gate->secrets, gate->vault, gate->rules) == 0)
		return 0;
	return gate_no_memory(gate, why);
}

/* What cannot be read is looked for nowhere, which is said to whoever adds to it. */
static bool
all_known(struct gate *gate, uint32_t version, struct gate_problem *why)
{
	char detail[sizeof(why->detail)], lack[sizeof(why->detail)];

	if (!gate_secrets_partial(gate))
		return true;
	secrets_lack(&gate->secrets, lack, sizeof(lack));
	snprintf(detail, sizeof(detail), "it is stored as version %u, but not "
	    "every secret of the vault could be read: those are recognised "
	    "nowhere, and not used: %.350s", version, lack);
	gate_problem_set(why, 503, "secret/not-known", detail,
	    "raise the limit of locked memory (ulimit -l, LimitMEMLOCK), or revoke superseded versions (`countersign secret revoke NAME --superseded`), and restart the daemon");
	return false;
}

/* What redaction and the verifier's scan can look for without crying wolf. */
#define SECRET_LEAST 8

/* What looks like a source of tokens and is none would never be used. */
static bool
source_good(struct slice value, struct gate_problem *why)
{
	struct mint_source source;
	char detail[sizeof(why->detail)];

	if (!mint_source_p(value))
		return true;
	if (mint_source_read(value, &source, detail, sizeof(detail)) == 0) {
		mint_source_free(&source);
		return true;
	}
	gate_problem_set(why, 400, "secret/no-source", detail,
	    "`countersign secret mint` words it");
	return false;
}

int
gate_secret_put(struct gate *gate, struct ledger_port *port, const char *name,
    const void *bytes, size_t len, bool rotate, uint32_t *version,
    struct gate_problem *why)
{
	struct vault_error error = { VAULT_IO, "" };
	size_t trimmed = len;
	int rv = -1;

	if (secret_check(bytes, &trimmed) == NULL && trimmed < SECRET_LEAST) {
		gate_problem_set(why, 400, "secret/too-short",
		    "a secret of fewer than 8 bytes cannot be told from ordinary text when it comes back",
		    "have the service issue a longer one");
		return -1;
	}
	if (!source_good((struct slice){ bytes, trimmed }, why))
		return -1;
	pthread_mutex_lock(&gate->admin);
	if (vault_put(gate->vault, name, bytes, len, rotate, version,
	    &error) != VAULT_OK)
		vault_problem(&error, why);
	else if (gate_secret_record(gate, port, &(struct secret_event){
	    .event = rotate ? "rotated" : "stored", .name = name,
	    .version = *version }, why) == 0)
		rv = secrets_changed(gate, why) == 0 && all_known(gate, *version,
		    why) ? 0 : -1;
	pthread_mutex_unlock(&gate->admin);
	return rv;
}

/* The store could not be told: what the caller has to know, and the record. */
static void
not_erased(struct gate *gate, struct ledger_port *port, const char *name,
    uint32_t version, const struct vault_error *error, struct gate_problem *why)
{
	struct gate_problem unwritten;
	char detail[sizeof(why->detail)];

	snprintf(detail, sizeof(detail), "%s is out of use and its streams are cut, but it is not erased: %s",
	    name, error->text);
	gate_secret_record(gate, port, &(struct secret_event){
	    .event = "revoked", .name = name, .version = version,
	    .unerased = true }, &unwritten);
	gate_problem_set(why, 503, "secret/not-erased", detail,
	    "once the cause is gone revoke it again, or restart the daemon, which does");
}

/* Revoking must work although store and ledger do not: first nothing more goes
 * out, then it is erased, then written down. */
int
gate_secret_revoke(struct gate *gate, struct ledger_port *port,
    const char *name, uint32_t version, struct gate_problem *why)
{
	struct vault_error error = { VAULT_IO, "" };
	enum vault_status status;
	int rv = -1;

	/* Not behind the lock: whoever has it may wait for store or ledger. */
	if (vault_withhold(gate->vault, name, version, &error) == VAULT_OK) {
		gate_cut(gate, &(struct gate_cut){ .secret = name,
		    .version = version });
		if (gate->secrets.minter != NULL)
			minter_forget(gate->secrets.minter, name, version);
	}
	pthread_mutex_lock(&gate->admin);
	status = vault_revoke(gate->vault, name, version, &error);
	if (status == VAULT_IO && gate->tags_dir != NULL &&
	    strcmp(vault_backend(gate->vault), "file") == 0 &&
	    reserve_release(gate->tags_dir))
		status = vault_revoke(gate->vault, name, version, &error);
	if (status == VAULT_OK) {
		rv = secrets_changed(gate, why);
		if (gate_secret_record(gate, port, &(struct secret_event){
		    .event = "revoked", .name = name, .version = version }, why) == -1)
			rv = -1;
	} else if (status == VAULT_REVOKED || status == VAULT_MISSING ||
	    !vault_name_ok(name)) {
		vault_problem(&error, why);
		if (status == VAULT_MISSING)
			gate_text_copy(why->remedy, sizeof(why->remedy),
			    "see `countersign secret list` for what there is");
	} else {
		secrets_changed(gate, why);
		not_erased(gate, port, name, version, &error, why);
	}
	pthread_mutex_unlock(&gate->admin);
	return rv;
}

int
gate_secret_each(struct gate *gate,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    struct gate_problem *why)
{
	struct vault_error error = { VAULT_IO, "" };

	if (vault_list(gate->vault, each, arg, &error) != VAULT_OK)
		return vault_problem(&error, why);
	return 0;
}

int
gate_secret_known(struct gate *gate,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    char *unanswered, size_t cap, struct gate_problem *why)
{
	struct vault_error error = { VAULT_IO, "" };
	enum vault_status status = vault_list_known(gate->vault, each, arg, &error);

	unanswered[0] = '\0';
	if (status == VAULT_LATER)
		gate_text_copy(unanswered, cap, error.text);
	else if (status != VAULT_OK)
		return vault_problem(&error, why);
	return 0;
}

/* --- figures --------------------------------------------------------- */

void
gate_counts(struct gate *gate, struct gate_counts *out)
{
	uint64_t too_many[APPROVAL_LIMITS];

	out->allowed = atomic_load(&gate->allowed);
	out->refused = atomic_load(&gate->refused);
	out->decisions_allow = atomic_load(&gate->decisions[POLICY_ALLOW]);
	out->decisions_deny = atomic_load(&gate->decisions[POLICY_DENY]);
	out->decisions_ask = atomic_load(&gate->decisions[POLICY_ASK]);
	out->grants_issued = atomic_load(&gate->grants_issued);
	out->grants_refused = atomic_load(&gate->grants_refused);
	out->grants_redeemed = atomic_load(&gate->grants_redeemed);
	out->grants_revoked = atomic_load(&gate->grants_revoked);
	out->runs_opened = atomic_load(&gate->runs_opened);
	pthread_rwlock_rdlock(&gate->lock);
	out->runs_open = gate->n_open;
	pthread_rwlock_unlock(&gate->lock);
	out->secrets_changed = atomic_load(&gate->secrets_changed);
	out->reloads = atomic_load(&gate->reloads);
	out->reloads_failed = atomic_load(&gate->reloads_failed);
	out->engine_failed = atomic_load(&gate->engine_failed);
	out->approvals_waiting = approvals_waiting(&gate->approvals);
	approvals_refused(&gate->approvals, too_many);
	out->approvals_of_run = too_many[APPROVAL_OF_RUN];
	out->approvals_of_all = too_many[APPROVAL_OF_ALL];
	out->approvals_of_one = too_many[APPROVAL_OF_ONE];
}
