/*
 * What was revoked while the store could not be told: such versions are given to
 * nobody, although the store still has them.  Kept in memory only, by vault.c,
 * which locks it.
 */
#ifndef BROKER_VAULT_WITHHELD_H
#define BROKER_VAULT_WITHHELD_H

#include "vault/vault.h"

struct withheld;	/* a list; NULL is an empty one */

/* One version, or for 0 all that there are.  False where out of memory: nothing
 * was added. */
bool withheld_add(struct withheld **list, const char *name, uint32_t version,
    int64_t now_s);

/* Since when it is withheld, Unix seconds; 0 if it is not. */
int64_t withheld_since(const struct withheld *list, const char *name,
    uint32_t version);

/* The store has done what was asked for with withheld_add(name, version). */
void withheld_lift(struct withheld **list, const char *name, uint32_t version);

/* A version was made: it was not there when others were withheld. */
void withheld_made(struct withheld **list, const char *name, uint32_t version);

void withheld_clear(struct withheld **list);

#endif
