/* countersign: the command people use.  The table of its commands. */
#include "adapters/credential/git.h"
#include "cli/cli.h"
#include "cli/cmd.h"
#include "cli/data.h"
#include "cli/unpacked.h"
#include "ledger/input.h"
#include "policy/policy.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <curl/curl.h>
#include <sodium.h>

static const struct cli_command *top;

static const struct opt json_opt[] = {
	{ "json", 0, NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

static int
help(const struct opts *opts)
{
	static char name[] = "countersign", flag[] = "--help";
	char *argv[4] = { name };
	int n;

	if (opts->n_rest == 0) {
		cli_help(stdout, top, NULL, "");
		return CLI_OK;
	}
	if (opts->n_rest > 2)
		return cli_usage("help wants a command");
	for (n = 0; n < opts->n_rest; n++)
		argv[n + 1] = opts->rest[n];
	argv[n + 1] = flag;
	return cli_again(top, n + 2, argv);
}

static int
version(const struct opts *opts)
{
	if (opt_flag(opts, "json"))
		printf("{\"version\":\"%s\"}\n", COUNTERSIGN_VERSION);
	else
		puts("countersign " COUNTERSIGN_VERSION);
	return CLI_OK;
}

static const struct cli_command credential_table[] = {
	{ .name = "git", .operands = "get|store|erase", .raw = true,
	  .summary = "git's credential helper", .run_raw = credential_git },
	{ .name = NULL }
};

static const struct cli_command policy_table[] = {
	{ .name = "check", .operands = "PACK", .raw = true,
	  .summary = "Load a pack; say what it is and what is odd",
	  .run_raw = cmd_policy },
	{ .name = "eval", .operands = "PACK INPUT.json|-", .raw = true,
	  .summary = "Decide one input; --trace says why",
	  .run_raw = cmd_policy },
	{ .name = "test", .operands = "PACK", .raw = true,
	  .summary = "Run the test_ rules of a pack",
	  .run_raw = cmd_policy },
	{ .name = "build", .operands = "PACK", .raw = true,
	  .summary = "Compile a pack's plan (needs opa)",
	  .run_raw = cmd_policy },
	{ .name = "explain", .operands = "[--seq N] [RECORDS]", .raw = true,
	  .summary = "Why a recorded decision came out so",
	  .run_raw = cmd_policy_on_records },
	{ .name = "replay", .operands = "[--pack PACK] [RECORDS...]", .raw = true,
	  .summary = "Decide recorded inputs again",
	  .run_raw = cmd_policy_on_records },
	{ .name = "diff", .operands = "OLD NEW [RECORDS...]", .raw = true,
	  .summary = "What another pack would have decided",
	  .run_raw = cmd_policy_on_records },
	{ .name = "compare", .operands = "--opa ADDRESS [RECORDS...]",
	  .raw = true, .run_raw = cmd_policy_on_records,
	  .summary = "The evaluator beside an OPA server, on recorded inputs" },
	{ .name = "reload", .operands = "", .run = cmd_reload,
	  .summary = "Make a running daemon read the pack again" },
	{ .name = "renew", .operands = "", .run = cmd_policy_renew,
	  .details = cmd_policy_renew_details,
	  .summary = "Take this version's default rules, and keep the data" },
	{ .name = NULL }
};

static const struct cli_command table[] = {
	{ .name = "init", .operands = "", .opts = cmd_init_opts, .run = cmd_init,
	  .summary = "Make a home: vault, ledger key, local CA, policy" },
	{ .name = "secret", .sub = cmd_secret_table,
	  .summary = "Store, rotate, revoke and list secrets" },
	{ .name = "bind", .operands = "SECRET", .opts = cmd_bind_opts,
	  .run = cmd_bind, .summary = "Say where a secret may go",
	  .details = "Examples:\n  countersign bind anthropic --service anthropic\n"
	  "  countersign bind anthropic --add --allow 'POST /v1/files'\n"
	  "  countersign bind github --host api.github.com "
	  "--header 'Authorization: Bearer {}' \\\n      --allow 'GET /repos/**' "
	  "--allow 'POST /repos/o/r/issues'" },
	{ .name = "unbind", .operands = "ID", .run = cmd_unbind,
	  .summary = "Remove a binding" },
	{ .name = "bindings", .operands = "", .opts = cmd_bindings_opts,
	  .run = cmd_bindings, .summary = "Show the bindings" },
	{ .name = "egress", .sub = cmd_egress_table,
	  .summary = "Hosts that may be reached without a secret" },
	{ .name = "run", .operands = "-- COMMAND [ARG...]", .opts = cmd_run_opts,
	  .run = cmd_run, .stop_at_operand = true, .details = cmd_run_details,
	  .summary = "Run an agent with placeholders, through the broker" },
	{ .name = "grant", .operands = "ACTION TARGET", .opts = cmd_grant_opts,
	  .run = cmd_grant, .summary = "Ask for leave to do one thing (inside a run)",
	  .details = "Prints the grant's token, to be sent where the credential would go.\n"
	  "ACTION is http:METHOD, git:fetch or git:push; TARGET an absolute URL." },
	{ .name = "approve", .operands = "[ID...]", .opts = cmd_approve_opts,
	  .run = cmd_approve, .details = cmd_approve_details,
	  .summary = "Answer requests that want a person's consent" },
	{ .name = "policy", .sub = policy_table, .summary = "Work on the policy" },
	{ .name = "bundle", .operands = "[RUN]", .opts = cmd_bundle_opts,
	  .run = cmd_bundle, .details = cmd_bundle_details,
	  .summary = "Write a run's evidence into one file" },
	{ .name = "verify", .operands = "[BUNDLE|RUN]", .raw = true,
	  .run_raw = cmd_verify, .opts = cmd_verify_opts,
	  .summary = "Verify a run's evidence, by default the last one's" },
	{ .name = "scan", .operands = "PATH...", .raw = true, .run_raw = cmd_scan,
	  .opts = cmd_scan_opts,
	  .summary = "Look for secrets in files, encoded ones too" },
	{ .name = "coverage", .sub = cmd_coverage_table,
	  .summary = "What is seen, held against what others saw" },
	{ .name = "ledger", .operands = "[COMMAND]", .opts = cmd_ledger_opts,
	  .run = cmd_ledger, .sub = cmd_ledger_table,
	  .summary = "Show the last records, and more" },
	{ .name = "ca", .sub = cmd_ca_table,
	  .summary = "The local authority that runs trust" },
	{ .name = "passphrase", .operands = "", .opts = cmd_passphrase_opts,
	  .run = cmd_passphrase, .details = cmd_passphrase_details,
	  .summary = "Change the passphrase" },
	{ .name = "witness", .sub = cmd_witness_table,
	  .summary = "Be a witness to other people's ledgers" },
	{ .name = "start", .operands = "", .run = cmd_start,
	  .summary = "Start the daemon if none runs" },
	{ .name = "status", .operands = "", .opts = cmd_status_opts,
	  .run = cmd_status, .summary = "Is the daemon there, and well?" },
	{ .name = "stop", .operands = "", .run = cmd_stop,
	  .summary = "Stop the daemon in order" },
	{ .name = "credential", .sub = credential_table,
	  .summary = "Helpers that programs call for a credential" },
	{ .name = "completion", .operands = "bash|zsh|fish|names KIND", .run = cmd_completion,
	  .summary = "Print a shell's completion",
	  .details = "KIND is secrets, bindings, runs, approvals, packs or services: the names that there are, as far as\n"
	  "the home or a running daemon tell at once; what the completions ask for." },
	{ .name = "version", .operands = "", .opts = json_opt, .run = version,
	  .summary = "Print the version" },
	{ .name = "help", .operands = "[COMMAND]", .run = help,
	  .summary = "Show help" },
	{ .name = NULL }
};

int
main(int argc, char **argv)
{
	static char version_word[] = "version";
	int rc;

	signal(SIGPIPE, SIG_IGN);
	if (sodium_init() < 0 || curl_global_init(CURL_GLOBAL_DEFAULT) != 0) {
		cli_err("a library failed to start");
		return CLI_USAGE;
	}
	top = table;
	cmd_completion_table(table);
	policy_command_reader(data_pack_readable);
	policy_command_opener(input_open, input_why);
	policy_command_records(cli_home_ledger);
	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		argv[1] = version_word;
	rc = cli_dispatch(table, argc, argv);
	/* Output that did not arrive is not a success. */
	if ((fflush(stdout) != 0 || ferror(stdout)) && rc == CLI_OK) {
		cli_err("standard output: %s", strerror(errno));
		rc = CLI_USAGE;
	}
	curl_global_cleanup();
	return rc;
}
