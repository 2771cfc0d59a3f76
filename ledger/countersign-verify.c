/* The auditor's program: static, offline, and nothing of the daemon in it. */
#include "ledger/verify/verify_main.h"

int
main(int argc, char **argv)
{
	const struct verify_defaults defaults = { .program = "countersign-verify" };

	return verify_main(argc, argv, &defaults);
}
