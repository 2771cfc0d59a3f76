/*
 * Where secrets live.  One interface, several stores (an encrypted file now).
 *
 * A secret has a name and versions 1, 2, ...; the newest is the current one and
 * used by the next request.  A new one supersedes it for good: requests in
 * flight keep the version they took, and revoking the current one brings no
 * older one back.  All functions may be called from any thread; a failed call
 * changes nothing, save that what was to be revoked is withheld.
 */
#ifndef BROKER_VAULT_H
#define BROKER_VAULT_H

#include "secret.h"

#include <stdint.h>

#define VAULT_NAME_MAX 64	/* [a-z0-9][a-z0-9._-]* */
#define VAULT_ERR_MAX 256

struct vault;

enum vault_status {
	VAULT_OK,
	VAULT_WRONG_KEY,	/* the passphrase does not open it */
	VAULT_DAMAGED,		/* altered or cut; the message says where */
	VAULT_MISSING,		/* no such secret, or no vault here */
	VAULT_REVOKED,
	VAULT_EXISTS,
	VAULT_INVALID,		/* bad name or bytes, a file of another format version,
				 * or one that others may touch; the message says why */
	VAULT_IO,		/* the message has the system's word */
	VAULT_LATER		/* of vault_get_now alone */
};

struct vault_error {
	enum vault_status status;
	char text[VAULT_ERR_MAX];	/* never a byte of a secret */
};

/* Fills *err (NULL-safe) and returns status. */
enum vault_status vault_fail(struct vault_error *err, enum vault_status status,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The same for a file that could not be read or made: "path: why". */
enum vault_status vault_fail_file(struct vault_error *err, const char *path,
    int error);

/* What is to be done about it: "; restore it from a copy" and the like, or "". */
const char *vault_remedy(enum vault_status status);

/* What a revocation came to: how many versions there were of those meant, and how
 * many of them it revoked. */
enum vault_status vault_revoked(struct vault_error *err, const char *name,
    size_t there, size_t done);

/* Says that the current version is revoked: VAULT_REVOKED. */
enum vault_status vault_current_revoked(struct vault_error *err,
    const char *name, uint32_t version);

/* Which vault it is, and how often it was written.  A copy of it that is put back has
 * a lower generation. */
struct vault_edition {
	uint8_t vault[16];
	uint64_t generation;
};

/*
 * What a store does; the context is its own.  vault.c calls these one at a
 * time, with names and bytes already checked, and keeps the cache.
 */
struct vault_ops {
	const char *backend;	/* "file", "secretservice", "kv": for records and logs */
	enum vault_status (*put)(void *ctx, const char *name, const void *bytes,
	    size_t len, bool rotate, uint32_t *version, struct vault_error *err);
	enum vault_status (*get)(void *ctx, const char *name, uint32_t version,
	    struct secret **out, uint32_t *got, struct vault_error *err);
	enum vault_status (*revoke)(void *ctx, const char *name,
	    uint32_t version, struct vault_error *err);
	enum vault_status (*list)(void *ctx,
	    void (*each)(void *arg, const char *name, uint32_t version,
	    int64_t created_s, int64_t revoked_s), void *arg,
	    struct vault_error *err);
	/* Asked about once a second: has somebody else changed the store since
	 * the last call of any operation?  Then the cache is dropped.  NULL:
	 * nobody else can. */
	bool (*changed)(void *ctx);
	void (*close)(void *ctx);
	/* NULL where the store has no generations: see vault_edition, vault_raise. */
	void (*edition)(void *ctx, struct vault_edition *out);
	enum vault_status (*raise)(void *ctx, uint64_t above,
	    struct vault_error *err);
	bool waits;	/* for another process or machine, which may take long */
};

/* Takes over ctx; NULL where out of memory (ctx stays the caller's). */
struct vault *vault_new(const struct vault_ops *ops, void *ctx);
void vault_close(struct vault *vault);
const char *vault_backend(const struct vault *vault);

/* Store a new version (1 for a new name): secret_check has been applied here.
 * put refuses an existing name with VAULT_EXISTS unless rotate is true, and
 * rotate refuses an unknown one with VAULT_MISSING. */
enum vault_status vault_put(struct vault *vault, const char *name,
    const void *bytes, size_t len, bool rotate, uint32_t *version,
    struct vault_error *err);

/* The given version, or the current one (the newest) for version 0; the caller
 * owns the reference.  VAULT_REVOKED where that version is.
 * Cached in locked memory: cheap enough for every request.  What another
 * process stores or revokes is seen after at most about a second. */
enum vault_status vault_get(struct vault *vault, const char *name,
    uint32_t version, struct secret **out, uint32_t *got,
    struct vault_error *err);

/* The same for threads that must not wait: VAULT_LATER where the store would have
 * to be asked and may take long, see vault_waits. */
enum vault_status vault_get_now(struct vault *vault, const char *name,
    uint32_t version, struct secret **out, uint32_t *got,
    struct vault_error *err);
bool vault_waits(const struct vault *vault);

/* From now on vault_get and vault_list call that version revoked, or for 0 all
 * that there are, whatever the store says: it is not asked.  Ends with the store's
 * vault_revoke, or with the process.  Quick. */
enum vault_status vault_withhold(struct vault *vault, const char *name,
    uint32_t version, struct vault_error *err);

/* Revoke one version, or all of them for version 0; its bytes are erased.
 * Revoking what is revoked already is VAULT_REVOKED.  Where the store cannot do it
 * (no space, no answer) the status says so and the secret stays withheld. */
enum vault_status vault_revoke(struct vault *vault, const char *name,
    uint32_t version, struct vault_error *err);

struct vault_entry {
	const char *name;
	uint32_t version;
	int64_t created_s;	/* Unix seconds */
	int64_t revoked_s;	/* 0 while active */
};
enum vault_status vault_list(struct vault *vault,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    struct vault_error *err);

/* The same, without waiting for whoever waits for a store that has no answer.
 * VAULT_LATER: it gave none (err says why), and these are what it said last, with what
 * was stored and revoked here since. */
enum vault_status vault_list_known(struct vault *vault,
    void (*each)(void *arg, const struct vault_entry *entry), void *arg,
    struct vault_error *err);

/* False where the store knows no such thing. */
bool vault_edition(struct vault *vault, struct vault_edition *out);
/* Write it once more, with a generation above that. */
enum vault_status vault_raise(struct vault *vault, uint64_t above,
    struct vault_error *err);

bool vault_name_ok(const char *name);

#endif
