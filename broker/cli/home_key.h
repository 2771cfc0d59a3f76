/* The home's keys, for commands that work without the daemon. */
#ifndef BROKER_CLI_HOME_KEY_H
#define BROKER_CLI_HOME_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "vault/master.h"

/* A shorter passphrase is not taken for a home. */
#define HOME_PASSPHRASE_MIN 8

/*
 * The passphrase, from where the daemon takes it (file: looked at first, or
 * NULL).  HOME_STORED: nobody is asked for it.  One reference, or NULL with a
 * message.
 */
enum home_asks { HOME_ASK, HOME_STORED };
struct secret *home_passphrase(const char *file, enum home_asks asks, char *err,
    size_t err_len);

/*
 * Asks for the passphrase, opens master.json, and gives the master key (master_free).  passphrase is
 * NULL, or gets one reference to what was given.  0, or -1 with a message.
 */
int home_master(const char *file, struct master **master,
    struct secret **passphrase, char *err, size_t err_len);

/*
 * The same, and the key derived for that purpose (vault/master.h):
 * MASTER_KEY_LEN bytes, which the caller wipes.
 */
int home_key(const char *purpose, uint8_t *key, char *err, size_t err_len);

/* NULL, and passphrase let go with a message, where it is too short. */
struct secret *home_passphrase_long(struct secret *passphrase, char *err,
    size_t err_len);

#endif
