/*
 * Secrets in a KV version 2 engine of HashiCorp Vault or OpenBao, over HTTPS by
 * libcurl.  A secret is the object MOUNT/PREFIX/NAME, its value one string
 * field of it, its versions the engine's: stored with check-and-set, so two
 * writers never overwrite each other; revoked by `destroy`, which erases.
 *
 * The token is read from its file with every call, so an agent may renew it.
 * Redirects are not followed, the certificate is verified, a call takes at most
 * ten seconds.  A value that is no UTF-8 text cannot be stored (JSON).
 *
 * What passes through libcurl's and the parser's memory is not locked; our own
 * copies of it are wiped.
 */
#ifndef BROKER_VAULT_KV_H
#define BROKER_VAULT_KV_H

#include "conf/conf.h"
#include "vault/vault.h"

/* Asks the server once whether the token is good for anything.  conf is
 * copied. */
enum vault_status vault_kv_open(const struct conf_kv *conf, struct vault **out,
    struct vault_error *err);

#endif
