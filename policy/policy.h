/*
 * Decisions by Rego policy, evaluated in this process.
 *
 * A pack is an OPA bundle whose plan (the documented output of
 * `opa build -t plan`) is run by our evaluator; see policy/DESIGN.md.  A loaded
 * pack is immutable and may be used by any number of threads at once, each
 * with its own scratch.  Evaluation never allocates outside the scratch's
 * arena, never blocks, and ends at a limit with a denial.
 *
 * Whatever goes wrong (an undefined result, a wrong type, an unknown
 * obligation, a builtin's error, a limit) is a denial whose reason names it.
 */
#ifndef POLICY_POLICY_H
#define POLICY_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define POLICY_DIGEST_LEN 71	/* "sha256:" and 64 lowercase hex digits */
#define POLICY_REVISION_MAX 128
#define POLICY_TEXT_MAX 512	/* bytes of a reason or rule, cut at a code point */
#define POLICY_ID_MAX 64	/* bytes of an engine's own name for a decision */

struct policy_pack;	/* opaque, counted references */
struct policy_scratch;	/* one thread's arena and limits */

/*
 * Load the pack in path (a directory or a .tar.gz), check it wholly and freeze
 * it.  NULL with a message in err that names the file and the place.
 */
struct policy_pack *policy_pack_load(const char *path, char *err,
    size_t err_len);
/*
 * The same, but only with a signature (.signatures.json, as OPA makes it) that
 * key_text verifies: a PEM public key or certificate, a JWK set, or a shared
 * secret for HS*.  It is checked before anything else is parsed.
 */
struct policy_pack *policy_pack_load_signed(const char *path,
    const char *key_text, size_t key_len, char *err, size_t err_len);
/* The same for a .tar.gz in memory; key_text NULL: no signature is asked for. */
struct policy_pack *policy_pack_from_bundle(const void *bytes, size_t len,
    const char *key_text, size_t key_len, char *err, size_t err_len);
struct policy_pack *policy_pack_ref(struct policy_pack *pack);
void policy_pack_unref(struct policy_pack *pack);

/* "sha256:…" over the sorted path, length and bytes of the pack's files. */
const char *policy_pack_digest(const struct policy_pack *pack);

/* The digest that the pack in path would have, without loading it: is it the one
 * that was loaded?  0, or -1 with a message. */
int policy_pack_digest_at(const char *path, char digest[POLICY_DIGEST_LEN + 1],
    char *err, size_t err_len);

/* Has it a data.json at its top?  Without one it may decide, but about nothing that
 * an operator has said. */
bool policy_pack_has_data(const struct policy_pack *pack);

/* Has it an entry point for decisions?  Without one everything is denied. */
bool policy_pack_decides(const struct policy_pack *pack);

/* The manifest's revision, "" where it has none; valid while the pack is.
 * Cut at POLICY_REVISION_MAX bytes. */
const char *policy_pack_revision(const struct policy_pack *pack);

/* Write the pack's files to dir/<64 hex of its digest>, whole or not at all;
 * where they are already, only their time is renewed.  What the pack that was kept
 * last has too is not stored twice (hard links).  dir is made (0700) if it
 * is not there.  0, or -1 with a message. */
int policy_pack_keep(const struct policy_pack *pack, const char *dir,
    char *err, size_t err_len);

/* Remove from dir what a policy_pack_keep() that was cut off left behind.  Only
 * while nobody else keeps packs there. */
void policy_packs_tidy(const char *dir);

/* The pack's data document as JSON text; valid while the pack is. */
const char *policy_pack_data(const struct policy_pack *pack, size_t *len);

/* Write the default pack (sources, tests, plan, empty data) into dir, which is
 * created 0700 and must not exist.  0, or -1 with a message. */
int policy_default_pack_write(const char *dir, char *err, size_t err_len);

/* Are the rules in dir those of an earlier version's default pack, as they were
 * written?  Data, sources and tests are not looked at: they decide nothing. */
bool policy_default_pack_older(const char *dir);

/* Are the pack's rules this version's default ones? */
bool policy_pack_is_default(const struct policy_pack *pack);

struct policy_scratch *policy_scratch_new(void);
void policy_scratch_free(struct policy_scratch *scratch);

/* Text of the input document; p may be NULL for "not there". */
struct policy_str {
	const char *p;
	size_t n;
};

/*
 * The input document (packs/input.schema.json).  A field that is absent (NULL text, -1
 * number) is absent from the document.  Text must be valid UTF-8; what is not
 * denies.
 */
struct policy_input {
	int64_t now_ns;			/* Unix time of this decision */
	struct {
		struct policy_str id, principal, parent;
		int64_t opened_ns;
	} run;
	struct {
		struct policy_str name, version;
	} agent;
	struct {
		int64_t uid, pid;
		struct policy_str exe, cgroup;
	} caller;
	struct {
		struct policy_str kind;	/* http, connect, credential, tool, file, dns, egress, budget */
		struct policy_str verb;	/* POST, use, Bash, write, query, ... */
		struct policy_str name;
		struct policy_str args;	/* JSON text of the arguments, or NULL */
	} action;
	struct {
		struct policy_str scheme, host, path, query, ip;
		int64_t port;
	} target;
	struct {
		struct policy_str name, binding;
		int64_t version;
	} secret;
	struct {
		struct policy_str id;
		int64_t uses_left;
	} grant;
	/* What the run has used, this request included, and its own limits. */
	struct policy_budget {
		int64_t requests, bytes_out, cost, wall_ms;
	} budget, limits;
	/* JSON text, or NULL: {"chain": [{"principal", "scopes"}], "scopes", "expires"?}:
	 * what narrows the run, and the runs that handed it on from the top. */
	struct policy_str delegation;
	struct policy_str adapter;	/* who asks: "proxy", "api", "claude", ... */
};

enum policy_verdict { POLICY_DENY, POLICY_ALLOW, POLICY_ASK };

struct policy_decision {
	enum policy_verdict verdict;
	char reason[POLICY_TEXT_MAX];
	char rule[POLICY_TEXT_MAX];
	/* Obligations; -1 where the policy set none. */
	bool redact;		/* true unless the policy says {"redact": false} */
	int64_t max_bytes;	/* of the request body, or into a tunnel */
	int64_t cost;
	int64_t ttl_s, uses;	/* of a grant */
	/* Who decided, where it was not the evaluator (policy/opa/opa.h). */
	const char *engine;	/* "opa"; NULL: the evaluator */
	char id[POLICY_ID_MAX + 1];	/* the engine's name for it, or "" */
	bool failed;		/* it gave no answer: a denial, but not a "no" */
};

void policy_decide(const struct policy_pack *pack,
    struct policy_scratch *scratch, const struct policy_input *input,
    struct policy_decision *out);

/* The input as one line of JSON, as records carry it: integers beyond 2^53-1
 * (now_ns, run.opened_ns) as strings, since a ledger holds no others.  The
 * length, or -1 where it does not fit or text is not UTF-8. */
int policy_input_json(const struct policy_input *input, char *buf, size_t cap);

/* The same text, of which most is copied where an input before it had the same
 * members: only those with another value are worded.  Zeroed before the first use;
 * belongs to one thread. */
#define POLICY_KEPT_FIELDS 36
#define POLICY_KEPT_TEXT 2048
struct policy_input_kept {
	uint64_t has, plain;	/* its members; those of plain text: bits */
	size_t len;
	struct {
		uint16_t at, end;	/* where the value stands */
		int64_t number;
	} value[POLICY_KEPT_FIELDS];
	char text[POLICY_KEPT_TEXT];
};
int policy_input_json_again(struct policy_input_kept *kept,
    const struct policy_input *input, char *buf, size_t cap);

/*
 * `countersign policy check|eval|test|build|explain|replay|diff|compare ...`;
 * argv[0] is "policy", or already the command behind it.  The exit status: 0, 1 where
 * the answer is no, 2 where it could not be found out, 3 for wrong usage or
 * files that cannot be read.
 */
int policy_command(int argc, char **argv);

/*
 * For `check`: whoever else reads a pack's data document has a word, too (the
 * broker, which keeps bindings, egress and limits by rules of its own).
 * Returns 0, or -1 with what is wrong.  Set before policy_command, once.
 */
typedef int policy_data_reader(const struct policy_pack *pack, char *err,
    size_t err_len);
void policy_command_reader(policy_data_reader *reader);

/* How files that are named are opened to be read, and what is said of the errno where
 * that fails; fopen and strerror where nobody says.  Set before policy_command. */
void policy_command_opener(FILE *(*open)(const char *path),
    const char *(*why)(int error));

/* Which records are meant where explain, replay, diff or compare name none: a path that
 * stays, or NULL for none.  Set before policy_command. */
void policy_command_records(const char *(*unnamed)(void));

#endif
