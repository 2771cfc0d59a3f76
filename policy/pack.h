/*
 * Packs inside policy/: what policy.h keeps opaque.  Files belong to the one thread that
 * reads them; a pack made of them is constant, and shared by counting references; a
 * scratch belongs to one thread.
 *
 * What returns int gives 0, or -1 with a message in err.
 */
#ifndef POLICY_PACK_H
#define POLICY_PACK_H

#include <stdatomic.h>

#include "policy/input.h"
#include "policy/plan/eval.h"
#include "policy/plan/plan.h"
#include "policy/plan/recall.h"
#include "policy/policy.h"
#include "policy/regex/pattern.h"

#define PACK_ENTRY "countersign/decision"

#define PACK_FILE_MAX ((size_t)256 * 1024 * 1024)
#define PACK_FILES_MAX 4096
#define PACK_PATH_MAX 512
#define PACK_DEPTH_MAX 16

struct pack_file {
	char *path;		/* relative, '/' between parts, no leading one */
	char *bytes;		/* len bytes and a 0 */
	size_t len;
};

/* The files of a pack as they were read.  Begins zeroed; for pack_files_free after
 * failures too. */
struct pack_files {
	struct pack_file *file;
	size_t n, cap;
	size_t total;		/* bytes */
};

struct policy_pack {
	atomic_uint references;
	uint64_t number;	/* from 1; no two packs of a process have the same */
	struct arena arena;	/* plan and data */
	struct pack_files files;
	const struct plan *plan;
	const struct plan_func *entry;	/* of decisions; NULL: none */
	const struct value *data, *manifest;
	struct eval_fact *facts;	/* by function of the plan */
	char *data_text;	/* the document as JSON */
	size_t data_len;
	char digest[POLICY_DIGEST_LEN + 1];
	char revision[POLICY_REVISION_MAX + 1];
};

/* Are the members that OPA knows of its types?  Null is none. */
bool pack_manifest_check(const struct value *manifest, char *err, size_t err_len);

/* A directory's files, not sorted. */
int pack_files_read_dir(struct pack_files *files, const char *dir, char *err,
    size_t err_len);
/* A directory or a tar.gz, sorted by path. */
int pack_files_read(struct pack_files *files, const char *path, char *err,
    size_t err_len);
/* Takes the bytes over (malloc), also on failure. */
int pack_files_add(struct pack_files *files, const char *path, char *bytes,
    size_t len, char *err, size_t err_len);
void pack_files_sort(struct pack_files *files);
/* NULL: none.  Valid until files are added or sorted. */
const struct pack_file *pack_files_find(const struct pack_files *files,
    const char *path);
void pack_files_digest(const struct pack_files *files,
    char digest[POLICY_DIGEST_LEN + 1]);
void pack_files_free(struct pack_files *files);

/* From files that were read (and verified) before; takes them over. */
struct policy_pack *pack_from_files(struct pack_files *files, char *err,
    size_t err_len);

struct policy_scratch {
	struct arena arena;
	struct recall *recall;	/* NULL: without memory for it */
	struct patterns *patterns;	/* the same */
};

/* Run an entry of a prepared evaluation; out says what went wrong, too. */
enum eval_status decision_run(struct eval *eval, const struct plan_func *entry,
    struct policy_decision *out);

/* Limits of one decision. */
#define DECISION_ARENA_FIRST ((size_t)256 * 1024)
#define DECISION_ARENA_MAX ((size_t)32 * 1024 * 1024)
#define DECISION_STEPS_MAX 1000000

/* A denial without obligations; and that with rule and reason. */
void decision_clear(struct policy_decision *out);
void decision_deny(struct policy_decision *out, const char *rule,
    const char *reason);
/* The evaluator's decision as a text in arena, for recall to keep; and back. */
const struct value *decision_in_short(struct arena *arena,
    const struct policy_decision *decision);
void decision_from_short(const struct value *text, struct policy_decision *out);
/* What the policy answered, taken apart; everything odd is a denial. */
void decision_from_value(struct arena *arena, const struct value *result,
    struct policy_decision *out);

#endif
