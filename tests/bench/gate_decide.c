/*
 * How long one decision takes, record worded, with the default pack: percentiles
 * in microseconds, for one binding and for many.
 *
 *   gate_decide [ROUNDS [BINDINGS...]]
 */
#include "fake_vault.h"

#include "gate/admin.h"
#include "ledger/recorder/append.h"

#include <limits.h>
#include <sodium.h>
#include <time.h>
#include <unistd.h>

#define LINES "Authorization: Bearer %s\r\nUser-Agent: bench/1\r\nAccept: */*\r\n" \
	"Accept-Language: en\r\nX-Request-Id: 0123456789abcdef\r\nContent-Type: application/json\r\n"

static char placeholder[256];

static int64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void
die(const char *what)
{
	fprintf(stderr, "gate_decide: %s\n", what);
	exit(1);
}

static void
write_data(const char *pack, unsigned bindings)
{
	char path[PATH_MAX + 16];
	FILE *file;

	snprintf(path, sizeof(path), "%s/data.json", pack);
	file = fopen(path, "w");
	if (file == NULL)
		die("the pack cannot be written");
	fputs("{\"bindings\":{", file);
	for (unsigned i = 0; i < bindings; i++)
		fprintf(file, "%s\"b%u\":{\"secret\":\"one\",\"hosts\":[\"api%u.example.com\"],"
		    "\"allow\":[\"GET /repos/**\",\"POST /repos/o/r/issues\"],"
		    "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}",
		    i > 0 ? "," : "", i, i);
	fputs("},\"egress\":{\"allow\":[],\"private\":[]},\"dns\":{\"allow\":[]},"
	    "\"files\":{\"read\":[],\"write\":[]},\"grant\":{\"ttl_s\":300,\"uses\":1},"
	    "\"limits\":{\"requests\":1000000000},\"tools\":{\"deny\":[],\"ask\":[]}}", file);
	if (fclose(file) != 0)
		die("the pack cannot be written");
}

static void
keep(void *arg, const struct binding *binding, const char *text)
{
	if (strcmp(binding->id, "b0") == 0)
		snprintf(placeholder, sizeof(placeholder), "%s", text);
}

static int
by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void
measure(struct gate *gate, struct run *run, unsigned bindings, size_t rounds)
{
	static const char url[] = "https://api0.example.com/repos/o/r/issues/12345/comments?per_page=100";
	struct gate_thread *thread = gate_thread_new(gate);
	struct gate_verdict *verdict = malloc(sizeof(*verdict));
	struct gate_request request = { .kind = GATE_HTTP, .run = run,
	    .route = "absolute", .peer = { -1, -1, 0 } };
	int64_t *took = calloc(rounds, sizeof(*took)), began;
	static struct head head;
	struct target target;
	struct head_error error;
	char text[4096], space[4096], lines[1024];
	size_t used;

	snprintf(lines, sizeof(lines), LINES, placeholder);
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: api0.example.com\r\n%s\r\n", url, lines);
	if (thread == NULL || verdict == NULL || took == NULL ||
	    target_from_absolute(slice_of(url), space, sizeof(space), &target) != NULL ||
	    head_parse_request(text, strlen(text), &head, &used, &error) != HEAD_DONE)
		die("the request is no good");
	request.method = head.method;
	request.target = &target;
	request.head = &head;
	for (size_t i = 0; i < rounds; i++) {
		began = now_ns();
		gate_decide(gate, thread, &request, verdict);
		took[i] = now_ns() - began;
		if (!verdict->allow)
			die(verdict->reason);
		gate_verdict_release(verdict);
	}
	qsort(took, rounds, sizeof(*took), by_time);
	printf("gate_decide, %u binding%s: p50 %.1f us, p95 %.1f us, p99 %.1f us, max %.0f us (%zu decisions, record of %zu bytes)\n",
	    bindings, bindings == 1 ? "" : "s", (double)took[rounds / 2] / 1e3,
	    (double)took[rounds * 95 / 100] / 1e3,
	    (double)took[rounds * 99 / 100] / 1e3,
	    (double)took[rounds - 1] / 1e3, rounds, verdict->record_len);
	free(took);
	free(verdict);
	gate_thread_free(thread);
}

static void
bench(const char *dir, struct ledger_port *port, unsigned bindings,
    size_t rounds)
{
	struct gate_options options = { .vault = fake_vault_new() };
	struct gate_run_options of_run = { .pid = -1, .uid = -1,
	    .limits = { -1, -1, -1, -1 } };
	char pack[PATH_MAX], err[512], token[GATE_TOKEN_MAX];
	struct vault_error error;
	struct gate_problem why;
	struct rules *rules;
	struct gate *gate;
	struct run *run;
	uint32_t version;

	snprintf(pack, sizeof(pack), "%s/pack%u", dir, bindings);
	if (policy_default_pack_write(pack, err, sizeof(err)) != 0)
		die(err);
	write_data(pack, bindings);
	vault_put(options.vault, "one", "ghp_MadeUpSecretForTheBenchmark012345678", 40,
	    false, &version, &error);
	options.pack_path = pack;
	gate = gate_new(&options, err, sizeof(err));
	if (gate == NULL)
		die(err);
	run = gate_run_open(gate, port, &of_run, token, &why);
	if (run == NULL)
		die(why.detail);
	rules = gate_rules(gate);
	gate_run_placeholders(run, rules, keep, NULL);
	rules_unref(rules);
	measure(gate, run, bindings, rounds);
	run_unref(run);
	gate_free(gate);
	vault_close(options.vault);
}

int
main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	char dir[] = "/tmp/cs-bench-XXXXXX", ledger_dir[64], err[512], clean[96];
	uint8_t seed[32] = { 1 };
	struct ledger_options options = { .dir = ledger_dir, .seed = seed,
	    .stream = "broker", .sync = LEDGER_SYNC_NONE,
	    .place = LEDGER_IN_THREAD, .ports = 1, .checkpoint_ms = 60000,
	    .policy = "sha256:0000000000000000000000000000000000000000000000000000000000000000" };
	struct ledger *ledger;

	if (sodium_init() == -1 || mkdtemp(dir) == NULL || rounds == 0)
		return 1;
	snprintf(ledger_dir, sizeof(ledger_dir), "%s/ledger", dir);
	if (ledger_create(ledger_dir, "example.com/bench", seed, err, sizeof(err)) != 0)
		die(err);
	ledger = ledger_open(&options, err, sizeof(err));
	if (ledger == NULL)
		die(err);
	if (argc <= 2)
		bench(dir, ledger_port(ledger, 0), 1, rounds);
	for (int i = 2; i < argc; i++)
		bench(dir, ledger_port(ledger, 0),
		    (unsigned)strtoul(argv[i], NULL, 10), rounds);
	if (argc <= 2)
		bench(dir, ledger_port(ledger, 0), 1000, rounds);
	ledger_close(ledger);
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) == 0 ? 0 : 1;
}
