/* The auditor's program: static, offline, and nothing of the daemon in it. */
#include "ledger/command/coverage_main.h"
#include "ledger/command/proof_main.h"
#include "ledger/command/scan_main.h"
#include "ledger/command/verify_main.h"

#include <string.h>

int
main(int argc, char **argv)
{
	const struct verify_defaults defaults = { .program = "countersign-verify" };

	if (argc > 1 && strcmp(argv[1], "proof") == 0)
		return proof_main(argc - 1, argv + 1, "countersign-verify");
	if (argc > 1 && strcmp(argv[1], "coverage") == 0) {
		const struct coverage_defaults coverage = { .program = "countersign-verify" };

		return coverage_main(argc - 2, argv + 2, &coverage);
	}
	if (argc > 1 && strcmp(argv[1], "scan") == 0) {
		const struct scan_defaults scan = { .program = "countersign-verify scan" };

		return scan_main(argc - 1, argv + 1, &scan);
	}
	return verify_main(argc, argv, &defaults);
}
