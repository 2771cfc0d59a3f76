/*
 * A witness over HTTP (libmicrohttpd): what ledger/anchor/witness.h decides.
 *
 *   POST /add-checkpoint     c2sp.org/tlog-witness
 *   POST /epochs             how a log's later keys follow (ours)
 *   GET  /checkpoint/<id>    the latest checkpoint cosigned of one log, for
 *                            monitors; id as in the state file's name
 *   GET  /healthz
 *
 * Submissions are served by one thread, one after the other: looking at a size
 * and replacing it are one step.  Plain HTTP: cosignatures prove themselves; put
 * a TLS server in front where that is wanted.
 */
#ifndef BROKER_WITNESS_SERVE_H
#define BROKER_WITNESS_SERVE_H

#include "ledger/anchor/witness.h"

#include <netinet/in.h>

struct witness_server;

/* Listen and serve; *port gets the port as bound.  NULL with a message.  The
 * witness belongs to the server's thread until witness_server_stop. */
struct witness_server *witness_server_start(struct witness *witness,
    const struct sockaddr_in *address, uint16_t *port, char *err,
    size_t err_len);
void witness_server_stop(struct witness_server *server);

#endif
