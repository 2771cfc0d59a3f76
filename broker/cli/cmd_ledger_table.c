/* countersign ledger ...: what it has besides showing the last records. */
#include "cli/cmd.h"

const struct cli_command cmd_ledger_table[] = {
	{ .name = "tail", .operands = "", .opts = cmd_ledger_opts,
	  .run = cmd_ledger, .summary = "Show the last records" },
	{ .name = "query", .operands = "", .opts = cmd_query_opts, .run = cmd_query,
	  .details = cmd_query_details, .summary = "Find records" },
	{ .name = "stats", .operands = "", .opts = cmd_stats_opts, .run = cmd_stats,
	  .summary = "Records, rate, size, gaps, the last checkpoint" },
	{ .name = "export", .operands = "FORMAT", .opts = cmd_export_opts,
	  .run = cmd_export, .details = cmd_export_details,
	  .summary = "Records in the forms of others: ocsf, otlp, cef, vlc1, val" },
	{ .name = "publish", .operands = "DIR", .opts = cmd_publish_opts,
	  .run = cmd_publish, .details = cmd_publish_details,
	  .summary = "Write the tree as tiles for a web server" },
	{ .name = "rotate-key", .operands = "", .run = cmd_rotate,
	  .details = cmd_rotate_details,
	  .summary = "Sign with a new key, and erase the old one" },
	{ .name = "restart-origin", .operands = "", .opts = cmd_restart_opts,
	  .run = cmd_restart, .details = cmd_restart_details,
	  .summary = "Keep the ledger as it is, and begin another" },
	{ .name = NULL }
};
