/*
 * Whose socket is at the other end of a loopback TCP connection?  The kernel
 * tells the user (sock_diag(7)).  It would tell the process only to somebody
 * who may look into that process's descriptors, which a broker confined by
 * Landlock may not; so pid stays -1, and processes of one user are told apart
 * on Unix sockets only.
 */
#ifndef BROKER_GATE_TCP_PEER_H
#define BROKER_GATE_TCP_PEER_H

#include "gate/gate.h"

/* uid of the peer, or -1 where the kernel does not say.  About 10 us; once a
 * connection is enough. */
struct peer tcp_peer(int fd);

#endif
