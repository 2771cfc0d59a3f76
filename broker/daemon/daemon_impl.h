/*
 * What the daemon consists of.  Its parts: daemon_open.c (all that must hold before
 * anybody is served), daemon_start.c (serving), daemon.c (until the end).
 */
#ifndef BROKER_DAEMON_IMPL_H
#define BROKER_DAEMON_IMPL_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "anchor/anchorer.h"
#include "api/api.h"
#include "conf/conf.h"
#include "daemon/daemon.h"
#include "daemon/engine.h"
#include "daemon/keeper.h"
#include "daemon/keys.h"
#include "daemon/vault_look.h"
#include "build_digest.h"
#include "discover/discover.h"
#include "gate/admin.h"
#include "mint/minter.h"
#include "ledger/recorder/append.h"
#include "plane/plane.h"
#include "policy/opa/opa.h"
#include "tls/ca.h"
#include "vault/vault.h"

/* Of the ledger's ports: the workers', the API's, and of these threads one each. */
enum { PORT_MAIN, PORT_DISCOVER, PORT_MINTER, PORTS_OWN };
_Static_assert(CONF_WORKERS_MAX + API_LEDGER_PORTS + PORTS_OWN <= 64, "one each");

static inline unsigned
daemon_port(const struct conf *conf, unsigned own)
{
	return conf->workers + API_LEDGER_PORTS + own;
}

struct daemon {
	const struct conf *conf;
	int lock, signals, wake;
	atomic_bool conf_changed;
	char policy[POLICY_DIGEST_LEN + 1];
	char build[BUILD_DIGEST_LEN + 1];
	struct anchorer *anchorer;	/* NULL: nobody is asked */
	struct keeper *keeper;		/* the recorder's own copy works */
	struct keys *keys;
	struct ledger *ledger;
	struct ledger_port *port;	/* the main thread's */
	struct vault *vault;
	struct ca *ca;
	struct discover *discover;	/* NULL: no newer packs are looked for */
	struct opa *opa;		/* NULL: the evaluator decides */
	struct engine_token engine_token;
	struct minter *minter;
	struct gate *gate;
	struct plane *plane;
	struct api *api;
	uint64_t pack_looks;		/* in a row that found another pack */
	struct vault_look vault_look;
	uint64_t unread;		/* connections closed unread that the log tells of */
	int64_t unread_ms;		/* when it told */
	bool sick;			/* the ledger's failure was logged */
	bool silent;			/* and that its recorder does not answer */
	char json_path[PATH_MAX];	/* "" while daemon.json is not ours */
};

/* A path within the home, of PATH_MAX bytes.  0, or -1 with a message. */
int daemon_path(const char *name, char *buf, char *err, size_t err_len);

#endif
