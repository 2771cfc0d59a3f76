/*
 * Opening a ledger by its age: seconds until the recorder serves, CPU seconds
 * and peak memory of its process, and how many records it read.
 *
 *   bench_start [directory (/tmp) [records ...]]
 *
 * The ledgers are made by make_ledger, which stands beside this program.  Page
 * caches are as that left them: warm.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ledger/recorder/append.h"
#include "ledger/recorder/segment.h"

#define POLICY "sha256:" \
	"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
make(const char *program, const char *dir, const char *records)
{
	char tool[PATH_MAX], command[3 * PATH_MAX];
	const char *slash = strrchr(program, '/');

	snprintf(tool, sizeof(tool), "%.*s/../tools/make_ledger",
	    slash != NULL ? (int)(slash - program) : 1,
	    slash != NULL ? program : ".");
	snprintf(command, sizeof(command), "'%s' '%s' '%s'", tool, dir,
	    records);
	if (system(command) != 0)
		exit(1);
}

/* A number of /proc/<pid>/status. */
static long
status_of(pid_t pid, const char *name)
{
	char line[256];
	size_t len = strlen(name);
	long value = 0;
	FILE *file;

	snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
	file = fopen(line, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			value = strtol(line + len + 1, NULL, 10);
	}
	if (file != NULL)
		fclose(file);
	return value;
}

static double
cpu_of(pid_t pid)
{
	struct timespec t = { .tv_sec = 0 };
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) == 0)
		clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void
measure(const char *dir, const char *records, bool all)
{
	uint8_t seed[32];
	struct ledger_options options = { .dir = dir, .seed = seed,
	    .stream = "broker", .policy = POLICY, .ports = 1,
	    .checkpoint_ms = 1000000, .check_all = all };
	struct ledger *ledger;
	char error[512];
	double began;
	pid_t pid;

	for (int i = 0; i < 32; i++)
		seed[i] = (uint8_t)i;
	began = now();
	ledger = ledger_open(&options, error, sizeof(error));
	began = now() - began;
	if (ledger == NULL) {
		fprintf(stderr, "%s\n", error);
		exit(1);
	}
	pid = ledger_recorder_pid(ledger);
	printf("%10s records, %s  %6.3f s, cpu %6.3f s, peak %ld kB\n", records,
	    all ? "all read:        " : "last segment read:", began,
	    cpu_of(pid), status_of(pid, "VmHWM"));
	fflush(stdout);
	if (ledger_close(ledger) != 0)
		exit(1);
}

int
main(int argc, char **argv)
{
	static const char *const usual[] = { "60000", "1000000" };
	const char *const *records = usual;
	size_t n = sizeof(usual) / sizeof(*usual);
	char base[PATH_MAX / 2], dir[PATH_MAX], command[PATH_MAX + 16];

	if (argc > 2) {
		records = (const char *const *)argv + 2;
		n = (size_t)argc - 2;
	}
	for (size_t i = 0; i < n; i++) {
		snprintf(base, sizeof(base), "%s/bench-start-XXXXXX",
		    argc > 1 ? argv[1] : "/tmp");
		if (mkdtemp(base) == NULL)
			return 1;
		snprintf(dir, sizeof(dir), "%s/ledger", base);
		make(argv[0], dir, records[i]);
		measure(dir, records[i], false);
		measure(dir, records[i], true);
		snprintf(command, sizeof(command), "rm -rf '%s'", base);
		if (system(command) != 0)
			return 1;
	}
	return 0;
}
