#include "daemon/daemon_impl.h"

#include "daemon/notify.h"
#include "gate/put_back.h"
#include "log.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* From an API thread. */
static void
on_shutdown(void *arg)
{
	struct daemon *daemon = arg;
	uint64_t one = 1;

	(void)!write(daemon->wake, &one, sizeof(one));
}

static int
start_plane(struct daemon *daemon, char *err, size_t err_len)
{
	struct plane_options options = { .conf = daemon->conf,
	    .gate = daemon->gate, .ca = daemon->ca, .ledger = daemon->ledger,
	    .first_port = 0 };

	daemon->plane = plane_start(&options, err, err_len);
	return daemon->plane != NULL ? 0 : -1;
}

static void
close_fd(int fd)
{
	if (fd != -1)
		close(fd);
}

static int
listen_api(const struct sockaddr_in *tcp, const char *operator_path,
    const char *agent_path, struct api_options *options, char *err, size_t err_len)
{
	char why[256] = "";

	if ((options->operator_fd = api_listen_unix(operator_path, err, err_len)) == -1 ||
	    (options->agent_fd = api_listen_unix(agent_path, err, err_len)) == -1)
		return -1;
	options->tcp_fd = api_listen_tcp(tcp, &options->api_port, why, sizeof(why));
	if (options->tcp_fd != -1)
		return 0;
	snprintf(err, err_len, "api, port %u: %s", ntohs(tcp->sin_port), why);
	return -1;
}

/* The sockets belong to the API once it runs. */
static int
start_api(struct daemon *daemon, struct notify_daemon *ports, char *err,
    size_t err_len)
{
	char operator_path[PATH_MAX], agent_path[PATH_MAX], cert[PATH_MAX],
	    bundle[PATH_MAX], checkpoint[PATH_MAX], ledger[PATH_MAX];
	struct api_options options = { .gate = daemon->gate,
	    .ledger = daemon->ledger, .first_port = daemon->conf->workers,
	    .plane = daemon->plane, .operator_fd = -1, .agent_fd = -1,
	    .tcp_fd = -1, .proxy_host = ports->proxy_host,
	    .api_host = ports->api_host, .proxy_port = plane_port(daemon->plane),
	    .agent_socket = agent_path, .ca_cert = cert, .ca_bundle = bundle,
	    .checkpoint_path = checkpoint, .ledger_dir = ledger,
	    .anchorer = daemon->anchorer, .hosts = &daemon->conf->hosts,
	    .conf_changed = &daemon->conf_changed,
	    .shutdown = on_shutdown,
	    .arg = daemon };

	inet_ntop(AF_INET, &daemon->conf->listen.sin_addr, ports->proxy_host,
	    sizeof(ports->proxy_host));
	inet_ntop(AF_INET, &daemon->conf->api.sin_addr, ports->api_host,
	    sizeof(ports->api_host));
	if (daemon_path("run/operator.sock", operator_path, err, err_len) != 0 ||
	    daemon_path("run/agent.sock", agent_path, err, err_len) != 0 ||
	    daemon_path("ca/ca.pem", cert, err, err_len) != 0 ||
	    daemon_path("ca/bundle.pem", bundle, err, err_len) != 0 ||
	    daemon_path("ledger/checkpoint", checkpoint, err, err_len) != 0 ||
	    daemon_path("ledger", ledger, err, err_len) != 0)
		return -1;
	if (listen_api(&daemon->conf->api, operator_path, agent_path, &options,
	    err, err_len) == 0)
		daemon->api = api_start(&options, err, err_len);
	if (daemon->api == NULL) {
		close_fd(options.operator_fd);
		close_fd(options.agent_fd);
		close_fd(options.tcp_fd);
		return -1;
	}
	ports->proxy_port = options.proxy_port;
	ports->api_port = options.api_port;
	plane_name_api(daemon->plane, options.api_port);
	return 0;
}

/* Before anybody is served: is it the vault that the ledger knows? */
static int
look_at_vault(struct daemon *daemon, char *err, size_t err_len)
{
	struct gate_problem why = { .status = 0 };
	struct put_back found;

	if (gate_vault_look(daemon->gate, daemon->port, &found, &why) != 0) {
		snprintf(err, err_len, "vault: %s; %s", why.detail, why.remedy);
		return -1;
	}
	if (!found.found && found.revoked > 0)
		log_event(LOG_WARNING, "revoked_again", "%u versions that the "
		    "store had not heard to be revoked are revoked now",
		    found.revoked);
	if (!found.found)
		return 0;
	log_event(LOG_ERROR, "vault_put_back", "the vault is an older copy: the "
	    "ledger knows generation %" PRIu64 ", this is %" PRIu64 "; %u versions "
	    "that had been revoked since are revoked again", found.known,
	    found.now, found.revoked);
	if (found.lost > 0)
		log_event(LOG_ERROR, "vault_versions_lost", "of %s, and %u other "
		    "names, the ledger knows a newer version than the vault has: "
		    "store it again with countersign secret rotate", found.name,
		    found.lost - 1);
	return 0;
}

static int
start_discover(struct daemon *daemon, char *err, size_t err_len)
{
	struct ledger_port *port = ledger_port(daemon->ledger,
	    daemon_port(daemon->conf, PORT_DISCOVER));

	if (daemon->discover == NULL || discover_start(daemon->discover,
	    daemon->gate, port) == 0)
		return 0;
	snprintf(err, err_len, "cannot start a thread for the policy's source");
	return -1;
}

/* Before anybody opens a run, which waits for its first token. */
static int
start_minter(struct daemon *daemon, char *err, size_t err_len)
{
	struct ledger_port *port = ledger_port(daemon->ledger,
	    daemon_port(daemon->conf, PORT_MINTER));

	if (gate_mint(daemon->gate, port) == 0)
		return 0;
	snprintf(err, err_len, "cannot start a thread that gets tokens");
	return -1;
}

int
daemon_start(struct daemon *daemon, char *err, size_t err_len)
{
	struct notify_daemon ports = { .build = daemon->build };
	char json[PATH_MAX];

	if (daemon_path("run/daemon.json", json, err, err_len) != 0)
		return -1;
	if (look_at_vault(daemon, err, err_len) != 0 ||
	    start_minter(daemon, err, err_len) != 0 ||
	    start_plane(daemon, err, err_len) != 0 ||
	    start_api(daemon, &ports, err, err_len) != 0 ||
	    start_discover(daemon, err, err_len) != 0 ||
	    notify_daemon_file(json, &ports, err, err_len) != 0)
		return -1;
	snprintf(daemon->json_path, sizeof(daemon->json_path), "%s", json);
	log_event(LOG_INFO, "started", "version %s, pid %ld, proxy at %s:%u, "
	    "api at %s:%u, policy %s", COUNTERSIGN_VERSION, (long)getpid(),
	    ports.proxy_host, ports.proxy_port, ports.api_host, ports.api_port,
	    daemon->policy);
	if (daemon->opa != NULL)
		log_event(LOG_INFO, "engine", "OPA at %s decides, within %u ms",
		    daemon->conf->policy.opa,
		    daemon->conf->policy.deadline_ms);
	return 0;
}
