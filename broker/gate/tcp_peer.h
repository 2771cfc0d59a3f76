/*
 * Whose socket is at the other end of a loopback TCP connection?  The kernel
 * tells the user (sock_diag(7)), who made the socket.  The process it does not
 * tell, and it cannot be found soundly:
 *
 * - The socket's inode leads to a process by a search through every /proc/PID/fd.
 *   That takes leave to trace each of them, which Landlock refuses a confined
 *   broker, and which a process can refuse everybody (PR_SET_DUMPABLE).  A helper
 *   outside of Landlock could read any process of the user; it would be worth
 *   more to an attacker than what it finds.
 * - A socket has as many processes as hold it: it is inherited, and passed over
 *   Unix sockets.  The one found need not be the one that wrote the request.
 * - Between connecting and looking it may have ended, and its number be another's.
 *
 * So pid stays -1, records say "not established", the run's token decides, and
 * processes of one user are told apart on Unix sockets only.
 */
#ifndef BROKER_GATE_TCP_PEER_H
#define BROKER_GATE_TCP_PEER_H

#include "gate/gate.h"

/* uid of the peer, or -1 where the kernel does not say.  About 10 us; once a
 * connection is enough. */
struct peer tcp_peer(int fd);

/* Does a process still hold the peer's socket?  A peer that ended its half of the
 * connection (shutdown(2)) looks like one that left (close(2)) but for that. */
bool tcp_peer_held(int fd);

#endif
