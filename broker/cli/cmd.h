/* The commands, one file each (cmd_*.c): entries of countersign.c's table. */
#ifndef BROKER_CLI_CMD_H
#define BROKER_CLI_CMD_H

#include "cli/cli.h"

extern const struct opt cmd_init_opts[];
int cmd_init(const struct opts *opts);

extern const struct cli_command cmd_secret_table[];
extern const struct opt cmd_secret_mint_opts[];
int cmd_secret_mint(const struct opts *opts);
extern const struct cli_command cmd_egress_table[];

extern const struct opt cmd_bind_opts[], cmd_bindings_opts[];
int cmd_bind(const struct opts *opts);
int cmd_unbind(const struct opts *opts);
int cmd_bindings(const struct opts *opts);

extern const struct opt cmd_run_opts[];
extern const char cmd_run_details[];
int cmd_run(const struct opts *opts);

extern const struct opt cmd_grant_opts[];
int cmd_grant(const struct opts *opts);

extern const struct opt cmd_approve_opts[];
extern const char cmd_approve_details[];
int cmd_approve(const struct opts *opts);

extern const struct opt cmd_status_opts[];
int cmd_start(const struct opts *opts);
int cmd_status(const struct opts *opts);
int cmd_stop(const struct opts *opts);
int cmd_reload(const struct opts *opts);

extern const char cmd_policy_renew_details[];
int cmd_policy_renew(const struct opts *opts);

extern const struct opt cmd_ledger_opts[];
int cmd_ledger(const struct opts *opts);
extern const struct cli_command cmd_ledger_table[];

extern const struct opt cmd_passphrase_opts[];
extern const char cmd_passphrase_details[];
int cmd_passphrase(const struct opts *opts);

#define CMD_CA_NAME "countersign local authority"
extern const struct cli_command cmd_ca_table[];

extern const struct opt cmd_restart_opts[];
extern const char cmd_restart_details[];
int cmd_restart(const struct opts *opts);

extern const char cmd_rotate_details[];
int cmd_rotate(const struct opts *opts);

extern const struct opt cmd_publish_opts[];
extern const char cmd_publish_details[];
int cmd_publish(const struct opts *opts);

extern const struct cli_command cmd_witness_table[];

extern const struct opt cmd_query_opts[], cmd_stats_opts[];
extern const char cmd_query_details[];
int cmd_query(const struct opts *opts);
int cmd_stats(const struct opts *opts);

extern const struct opt cmd_export_opts[];
extern const char cmd_export_details[];
int cmd_export(const struct opts *opts);

extern const struct opt cmd_bundle_opts[];
extern const char cmd_bundle_details[];
int cmd_bundle(const struct opts *opts);

extern const struct cli_command cmd_coverage_table[];

int cmd_verify(int argc, char **argv);

/* The vault's secrets for a scanner (verify_main.h); context is not used. */
struct scanner;
int cmd_vault_secrets(void *context, struct scanner *scanner, char *err, size_t err_len);

int cmd_scan(int argc, char **argv);
extern const struct opt cmd_verify_opts[], cmd_scan_opts[];

/* Prints the completion of the table that countersign.c was built with. */
void cmd_completion_table(const struct cli_command *table);
int cmd_completion(const struct opts *opts);

#endif
