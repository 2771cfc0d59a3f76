/* countersign witness: a small witness for teams; the protocol is
 * c2sp.org/tlog-witness, the rules ledger/anchor/witness.h. */
#include "cli/cmd.h"
#include "daemon/harden.h"
#include "ledger/anchor/witness.h"
#include "ledger/confine.h"
#include "log.h"
#include "witness/serve.h"
#include "ledger/input.h"
#include "ledger/output/shown.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

static const struct opt init_opts[] = {
	{ "name", 0, "NAME", false, "what cosignatures call it, like witness.example.com/team" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt serve_opts[] = {
	{ "listen", 0, "ADDRESS:PORT", false, "default 127.0.0.1:7380; port 0 takes any" },
	{ NULL, 0, NULL, false, NULL }
};

/* As it is for whoever reads a pipe; whoever made the key chose its name. */
static int
print_vkey(const struct note_key *key)
{
	char vkey[NOTE_VKEY_MAX + 1];

	if (note_key_format(key, vkey, sizeof(vkey)) < 0)
		return CLI_USAGE;
	if (isatty(STDOUT_FILENO))
		shown_put(stdout, vkey, sizeof(vkey));
	else
		fputs(vkey, stdout);
	putchar('\n');
	return CLI_OK;
}

static int
init(const struct opts *opts)
{
	const char *name = opt_value(opts, "name");
	struct problem problem = { .text = "" };
	struct note_key key;

	if (opts->n_rest != 1 || name == NULL)
		return cli_usage("witness init wants a directory and --name");
	if (witness_create(opts->rest[0], name, &key, &problem) != 0) {
		cli_err("%s", problem.text);
		return CLI_USAGE;
	}
	return print_vkey(&key);
}

/* A vkey as such, or a file that holds it. */
static int
read_vkey(const char *given, struct note_key *key)
{
	char text[NOTE_VKEY_MAX + 3] = "";
	FILE *in;
	size_t len;

	if (note_key_parse(key, given, strlen(given)) == 0)
		return 0;
	if ((in = input_open(given)) == NULL)
		return -1;
	len = fread(text, 1, sizeof(text) - 1, in);
	fclose(in);
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	return note_key_parse(key, text, len);
}

static int
add(const struct opts *opts)
{
	struct problem problem = { .text = "" };
	struct note_key key;
	int status;

	if (opts->n_rest != 2)
		return cli_usage("witness add wants a directory and a log's vkey");
	if (sodium_init() < 0 || read_vkey(opts->rest[1], &key) != 0 ||
	    key.type != NOTE_ED25519) {
		cli_err("%s: neither a log's vkey nor a file that holds one",
		    cli_clean(opts->rest[1]));
		return CLI_USAGE;
	}
	if ((status = witness_add_log(opts->rest[0], &key, &problem)) < 0) {
		cli_err("%s", problem.text);
		return CLI_USAGE;
	}
	printf(status == 1 ? "%s: this key is there already; nothing was changed\n" :
	    "%s is watched when the witness starts next\n", cli_clean(key.name));
	return CLI_OK;
}

static void
print_log(void *context, const struct note_key *log, const struct checkpoint *at)
{
	(void)context;
	printf("watches ");
	(void)print_vkey(log);
	if (at != NULL)
		printf("  cosigned up to size %" PRIu64 "\n", at->size);
	else
		puts("  nothing cosigned yet");
}

/* The vkey alone comes first: `witness show DIR | head -n 1`. */
static int
show(const struct opts *opts)
{
	struct problem problem = { .text = "" };
	struct note_key key;

	if (opts->n_rest != 1)
		return cli_usage("witness show wants its directory");
	if (sodium_init() < 0 || witness_look(opts->rest[0], &key, NULL, NULL,
	    &problem) != 0 || print_vkey(&key) != CLI_OK ||
	    witness_look(opts->rest[0], &key, print_log, NULL, &problem) != 0) {
		cli_err("%s", problem.text);
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int
read_address(const char *text, struct sockaddr_in *out)
{
	const char *colon = strrchr(text, ':');
	char host[INET_ADDRSTRLEN], *end = NULL;
	unsigned long port;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(host) ||
	    colon[1] < '0' || colon[1] > '9')
		return -1;
	memcpy(host, text, (size_t)(colon - text));
	host[colon - text] = '\0';
	port = strtoul(colon + 1, &end, 10);
	*out = (struct sockaddr_in){ .sin_family = AF_INET };
	out->sin_port = htons((uint16_t)port);
	return *end == '\0' && port <= 65535 &&
	    inet_pton(AF_INET, host, &out->sin_addr) == 1 ? 0 : -1;
}

/* It reads nothing but its own directory, and starts nothing. */
static int
confine(const char *dir, char *err, size_t err_len)
{
	const struct confine_path paths[] = { { dir, CONFINE_WRITE } };
	const struct confine_options options = { .paths = paths, .n_paths = 1,
	    .network = true };
	struct confine_report report;

	if (confine_self(&options, &report) != 0) {
		snprintf(err, err_len, "cannot confine the witness: %s",
		    strerror(errno));
		return -1;
	}
	log_event(LOG_INFO, "confined", "%s", report.text);
	return 0;
}

static int
serve_until_told(struct witness *witness, const struct sockaddr_in *address,
    char *err, size_t err_len)
{
	struct witness_server *server;
	char host[INET_ADDRSTRLEN] = "";
	unsigned origins = witness_origins(witness);
	uint16_t port = 0;
	sigset_t set;
	int got = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	server = witness_server_start(witness, address, &port, err, err_len);
	if (server == NULL)
		return -1;
	inet_ntop(AF_INET, &address->sin_addr, host, sizeof(host));
	printf("listening on %s:%u as %s, watching %u log%s\n", host, port,
	    witness_key(witness)->name, origins, origins == 1 ? "" : "s");
	fflush(stdout);
	while (sigwait(&set, &got) != 0)
		;
	witness_server_stop(server);
	return 0;
}

static int
serve(const struct opts *opts)
{
	const char *listen = opt_value(opts, "listen");
	struct problem problem = { .text = "" };
	struct sockaddr_in address;
	struct witness *witness = NULL;
	char err[CLI_ERR_MAX] = "", dir[PATH_MAX];
	int status = -1;

	if (opts->n_rest != 1)
		return cli_usage("witness serve wants its directory");
	if (read_address(listen != NULL ? listen : "127.0.0.1:7380",
	    &address) != 0)
		return cli_usage("--listen wants an IPv4 address and a port");
	if (realpath(opts->rest[0], dir) == NULL)
		snprintf(err, sizeof(err), "%s: %s", opts->rest[0],
		    strerror(errno));
	else if (harden_process(err, sizeof(err)) == 0 &&
	    confine(dir, err, sizeof(err)) == 0 &&
	    (witness = witness_open(dir, &problem)) == NULL)
		snprintf(err, sizeof(err), "%s", problem.text);
	if (witness != NULL)
		status = serve_until_told(witness, &address, err, sizeof(err));
	witness_close(witness);
	if (status != 0)
		cli_err("%s", err);
	return status == 0 ? CLI_OK : CLI_USAGE;
}

const struct cli_command cmd_witness_table[] = {
	{ .name = "init", .operands = "DIR", .opts = init_opts, .run = init,
	  .summary = "Make a witness's key; print its vkey" },
	{ .name = "add", .operands = "DIR VKEY|FILE", .run = add,
	  .summary = "Watch a log" },
	{ .name = "show", .operands = "DIR", .run = show,
	  .summary = "Print the witness's vkey, and what it watches" },
	{ .name = "serve", .operands = "DIR", .opts = serve_opts, .run = serve,
	  .summary = "Cosign consistent checkpoints, over HTTP" },
	{ .name = NULL }
};
