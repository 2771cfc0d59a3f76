/*
 * Secrets in the desktop's keyring: the freedesktop.org Secret Service (GNOME
 * Keyring, KWallet, KeePassXC) over the session bus, by libsecret.
 *
 * One item per version, in the default collection, with the attributes
 *   application "countersign", vault (path), name, version
 * and for a revoked one an item without secret that has `revoked` (Unix
 * seconds) besides: version numbers are never used twice.  Attributes are not
 * secret: whoever may talk to the bus sees names and versions, and while the
 * keyring is unlocked every program of the same user can read the secrets too.
 * The encrypted file (vault_file.h) has neither weakness.
 *
 * A locked keyring, or none, is an error that says so.  Nothing is ever asked
 * through a window, and no other store is taken instead.  One that stands still is
 * waited for KEYRING_WAIT_S (keyring_wait.h) in each operation, and told.
 */
#ifndef BROKER_VAULT_SECRETSERVICE_H
#define BROKER_VAULT_SECRETSERVICE_H

#include "vault/vault.h"

/*
 * path tells this home's secrets from another home's; path.lock is the lock of
 * its writers.  Where the keyring was changed by others is not announced, so a
 * secret is read again after about a second.
 */
enum vault_status vault_secretservice_open(const char *path, struct vault **out,
    struct vault_error *err);

#endif
