/*
 * An older copy of the vault was put back while no broker ran: secrets that were
 * revoked since would be there again, and nothing inside the file can tell.  The
 * ledger can: each `secret` record says which generation of which vault it left.
 *
 * A vault of a lower generation than the last of them is an older one.  Then all of
 * the ledger is read, each version is revoked again that a record says is revoked,
 * the vault is brought above the generation known, and all of it recorded.  The same
 * is done where the store had not heard of a revocation (`"erased":false`).
 *
 * Called once, before anybody is served.  Stores that have no generations (a key
 * ring, a server) are not looked at.
 */
#ifndef BROKER_GATE_PUT_BACK_H
#define BROKER_GATE_PUT_BACK_H

#include "gate/admin.h"

struct put_back {
	bool found;			/* an older copy */
	uint64_t known, now;		/* generations */
	unsigned revoked;		/* versions, again */
	unsigned lost;			/* names of which the ledger knows a newer version */
	char name[VAULT_NAME_MAX + 1];	/* one of them */
};

/* 0, or -1 with a problem: the ledger or the vault could not be read, or the
 * records not written; nobody may be served then. */
int gate_vault_look(struct gate *gate, struct ledger_port *port,
    struct put_back *out, struct gate_problem *why);

#endif
