/* Which store the settings name: that one, or an error; never another. */
#ifndef BROKER_VAULT_CHOOSE_H
#define BROKER_VAULT_CHOOSE_H

#include "conf/conf.h"
#include "vault/vault.h"

/*
 * path is the file store's file (key opens it), and what tells this home from
 * others in a store that homes share.
 */
enum vault_status vault_choose(const struct conf *conf, const char *path,
    const uint8_t *key, struct vault **out, struct vault_error *err);

#endif
