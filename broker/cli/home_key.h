/* A key of the home, for commands that work while no daemon runs. */
#ifndef BROKER_CLI_HOME_KEY_H
#define BROKER_CLI_HOME_KEY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Asks for the passphrase as the daemon does, opens master.json and derives the
 * key for that purpose (vault/master.h): MASTER_KEY_LEN bytes, which the caller
 * wipes.  0, or -1 with a message.
 */
int home_key(const char *purpose, uint8_t *key, char *err, size_t err_len);

#endif
