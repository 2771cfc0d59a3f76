/*
 * The main of every fuzz target in an ordinary test run: each file of the
 * target's corpus as it is, then mutations of it.  TAP on stdout.
 *
 *   fuzz_x                    tests/fuzz/corpus/x
 *   fuzz_x FILE...            just these files, without mutations
 *
 * FUZZ_ROUNDS (mutations of each file, default 2000) and FUZZ_SEED (default 1)
 * make it a small fuzzer; `make fuzz` uses libFuzzer instead.  An input that
 * kills the target is left in BUILD/crash-<target>.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INPUT_MAX (256 * 1024)
#define FILES_MAX 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A target may bring a mutator that knows its format. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t len, size_t max,
    unsigned random) __attribute__((weak));

static uint8_t seed[INPUT_MAX], input[INPUT_MAX];
static size_t input_len;
static char crash_path[4096];
static uint64_t random_state;

/* xorshift64*: what matters is only that a run can be repeated. */
static uint64_t
next_random(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * UINT64_C(2685821657736338717);
}

static size_t
below(size_t n)
{
	return n == 0 ? 0 : (size_t)(next_random() % n);
}

static void
leave_input(int sig)
{
	int fd = open(crash_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd >= 0 && write(fd, input, input_len) >= 0)
		close(fd);
	signal(sig, SIG_DFL);
	raise(sig);
}

/* A copy of the exact size on the heap, so that an overread is seen. */
static void
run_input(void)
{
	uint8_t *copy = malloc(input_len + 1);

	if (copy == NULL)
		abort();
	memcpy(copy + 1, input, input_len);
	LLVMFuzzerTestOneInput(copy + 1, input_len);
	free(copy);
}

static void
set_bytes(void)
{
	static const uint8_t telling[] = { 0x00, 0x01, 0x7f, 0x80, 0xff, '\n',
	    '\r', ' ', '"', '\\', '{', '}', ',', ':', '0', '9', '-', '%', '/' };

	if (below(2) == 0)
		input[below(input_len)] = telling[below(sizeof(telling))];
	else
		input[below(input_len)] ^= (uint8_t)(1U << below(8));
}

static void
delete_bytes(void)
{
	size_t at = below(input_len), n = 1 + below(input_len - at);

	if (n > 16 && below(4) != 0)
		n = 1 + below(16);
	memmove(input + at, input + at + n, input_len - at - n);
	input_len -= n;
}

/* Some bytes of the seed once more, somewhere. */
static void
insert_bytes(size_t seed_len)
{
	size_t at = below(input_len + 1), from = below(seed_len);
	size_t n = 1 + below(seed_len - from);

	if (n > INPUT_MAX - input_len)
		return;
	memmove(input + at + n, input + at, input_len - at);
	memcpy(input + at, seed + from, n);
	input_len += n;
}

static void
mutate(size_t seed_len)
{
	size_t changes = 1 + below(4);

	memcpy(input, seed, seed_len);
	input_len = seed_len;
	if (LLVMFuzzerCustomMutator != NULL && below(4) != 0) {
		input_len = LLVMFuzzerCustomMutator(input, input_len,
		    sizeof(input), (unsigned)next_random());
		return;
	}
	for (size_t i = 0; i < changes; i++) {
		size_t kind = below(8);

		if (input_len > 0 && kind < 5)
			set_bytes();
		else if (input_len > 0 && kind < 7)
			delete_bytes();
		else if (seed_len > 0)
			insert_bytes(seed_len);
	}
}

static int
replay_file(const char *path, unsigned long rounds)
{
	FILE *file = fopen(path, "rb");
	size_t len;

	if (file == NULL)
		return -1;
	len = fread(seed, 1, sizeof(seed), file);
	fclose(file);
	memcpy(input, seed, len);
	input_len = len;
	run_input();
	for (unsigned long i = 0; i < rounds; i++) {
		mutate(len);
		run_input();
	}
	return 0;
}

static unsigned long
setting(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text != NULL && *text != '\0' ? strtoul(text, NULL, 10) :
	    otherwise;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The corpus in a fixed order; the number of paths put in files. */
static size_t
list_corpus(const char *target, char **files)
{
	char dir[1024], path[2048];
	struct dirent *entry;
	size_t n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "tests/fuzz/corpus/%s", target);
	d = opendir(dir);
	while (d != NULL && n < FILES_MAX && (entry = readdir(d)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		files[n] = strdup(path);
		if (files[n] != NULL)
			n++;
	}
	if (d != NULL)
		closedir(d);
	qsort(files, n, sizeof(*files), compare_names);
	return n;
}

static int
report(size_t number, const char *path, unsigned long rounds)
{
	int failed = replay_file(path, rounds) != 0;

	printf("%sok %zu - %s\n", failed ? "not " : "", number, path);
	fflush(stdout);
	return failed;
}

int
main(int argc, char **argv)
{
	static char *files[FILES_MAX];
	const char *slash = strrchr(argv[0], '/'), *build = getenv("BUILD");
	const char *name = slash != NULL ? slash + 1 : argv[0];
	size_t n = 0;
	int failed = 0;

	if (strncmp(name, "fuzz_", 5) == 0)
		name += 5;
	snprintf(crash_path, sizeof(crash_path), "%s/crash-%s",
	    build != NULL ? build : ".", name);
	signal(SIGABRT, leave_input);
	signal(SIGSEGV, leave_input);
	random_state = setting("FUZZ_SEED", 1) | UINT64_C(1) << 63;
	if (argc > 1) {
		printf("1..%d\n", argc - 1);
		for (int i = 1; i < argc; i++)
			failed |= report((size_t)i, argv[i], 0);
		return failed;
	}
	n = list_corpus(name, files);
	printf("1..%zu%s\n", n, n == 0 ? " # SKIP no corpus" : "");
	for (size_t i = 0; i < n; i++) {
		failed |= report(i + 1, files[i],
		    setting("FUZZ_ROUNDS", 2000));
		free(files[i]);
	}
	return failed;
}
