/*
 * A login that is revoked here is told to the service that gave it, where the secret says at
 * which address (revocation_url; RFC 7009).  Only with the current version: an older one may
 * be of the login that the current one goes on with.
 *
 * The caller takes the login before it revokes, and tells afterwards: nothing here can keep the
 * revocation from holding.
 */
#ifndef BROKER_GATE_WITHDRAW_H
#define BROKER_GATE_WITHDRAW_H

#include "gate/admin.h"

struct gate_login;

/* Quick.  NULL: there is nobody to be told. */
struct gate_login *gate_login_take(struct gate *gate, const char *name, uint32_t version);

/* Its revocation is recorded.  Told once this is recorded too; waits for the answer, some seconds.
 * host: who; why: "", or why that failed. */
void gate_login_withdraw(struct gate *gate, struct ledger_port *port,
    const struct gate_login *login, char host[GATE_NAME_MAX], char why[GATE_WHY_MAX]);

void gate_login_free(struct gate_login *login);	/* wiped; NULL-safe */

#endif
