/* A decision allocates nothing outside its scratch, which was allocated before:
 * every malloc of the process is counted while decisions are made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/pack.h"

static unsigned long allocations;

#ifdef __SANITIZE_ADDRESS__
/* sanitizer/allocator_interface.h, which not every gcc brings. */
int __sanitizer_install_malloc_and_free_hooks(
    void (*on_malloc)(const volatile void *, size_t),
    void (*on_free)(const volatile void *));

static void
on_malloc(const volatile void *p, size_t n)
{
	allocations++;
}

static void
on_free(const volatile void *p)
{
}

static void
count_allocations(void)
{
	assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc,
	    on_free) > 0);
}
#else
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *
malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *
calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *
realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}

static void
count_allocations(void)
{
}
#endif

#define S(text) { (text), sizeof(text) - 1 }

static const char *const kinds[] = { "http", "connect", "credential", "tool",
    "file", "dns", "egress", "budget", "dance" };

static struct policy_input
input_of(unsigned i)
{
	static char host[32], binding[16], secret[16];
	const char *kind = kinds[i % 9];
	unsigned at = i * 7919 % 1000;
	struct policy_input in = {
		.now_ns = 1767225600000000000 + i,
		.run = { S("run-0123456789abcdef"), S("alice@example.com"),
		    { NULL, 0 }, 1767225500000000000 },
		.caller = { 1000, 4242, { NULL, 0 }, { NULL, 0 } },
		.action = { .kind = { kind, strlen(kind) }, .verb = S("POST"),
		    .args = S("{\"command\": \"ls -l\", \"deep\": [1, {}]}") },
		.target = { S("https"), { NULL, 0 },
		    S("/repos/owner/project/issues"), S("a=b"), { NULL, 0 }, 443 },
		.secret = { { NULL, 0 }, { NULL, 0 }, 3 },
		.grant = { { NULL, 0 }, -1 },
		.budget = { i, 4096, 0, 2500 },
		.limits = { 100000, -1, -1, -1 },
		.delegation = S("{\"chain\": [{\"principal\": \"a\", \"scopes\": "
		    "[\"*\"]}], \"scopes\": [\"*\"], \"expires\": 1900000000}"),
		.adapter = S("proxy"),
	};

	snprintf(host, sizeof(host), "h%u.example.com", at);
	snprintf(binding, sizeof(binding), "b%u", at);
	snprintf(secret, sizeof(secret), "s%u", i % 3 == 0 ? at : 0);
	in.target.host = (struct policy_str){ host, strlen(host) };
	in.secret.binding = (struct policy_str){ binding, strlen(binding) };
	in.secret.name = (struct policy_str){ secret, strlen(secret) };
	return in;
}

static void
write_data(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs("{\"bindings\": {", f);
	for (unsigned i = 0; i < 1000; i++)
		fprintf(f, "%s\"b%u\": {\"secret\": \"s%u\", \"hosts\": "
		    "[\"h%u.example.com\"], \"placement\": {\"kind\": \"query\", "
		    "\"name\": \"k\"}, \"cost\": 2, \"allow\": [\"GET /repos/**\", "
		    "\"POST /repos/*/*/issues\"]}", i > 0 ? "," : "", i, i, i);
	fputs("}, \"egress\": {\"allow\": [\"*.example.org:443\"]}, \"tools\": "
	    "{\"deny\": [\"Bash(rm *)\"], \"ask\": []}, \"files\": {\"write\": "
	    "[\"/w/**\"], \"read\": []}, \"dns\": {\"allow\": []}, \"limits\": "
	    "{\"requests\": 1000000}}", f);
	assert_int_equal(fclose(f), 0);
}

static void
decisions(void **state)
{
	char dir[] = "/tmp/test_alloc.XXXXXX", path[64], err[300] = "";
	static const char *const names[] = { ".manifest", "data.json",
	    "plan.json", "countersign.rego", "countersign_test.rego" };
	struct policy_scratch *scratch;
	struct policy_pack *pack;
	struct policy_decision out;
	unsigned long before, verdicts[3] = { 0 };

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pack", dir);
	assert_int_equal(policy_default_pack_write(path, err, sizeof(err)), 0);
	snprintf(path, sizeof(path), "%s/pack/data.json", dir);
	write_data(path);
	snprintf(path, sizeof(path), "%s/pack", dir);
	if ((pack = policy_pack_load(path, err, sizeof(err))) == NULL)
		fail_msg("%s", err);
	assert_non_null(scratch = policy_scratch_new());

	before = allocations;
	for (unsigned i = 0; i < 5000; i++) {
		struct policy_input in = input_of(i);

		policy_decide(pack, scratch, &in, &out);
		verdicts[out.verdict]++;
	}
	assert_int_equal(allocations - before, 0);
	assert_true(verdicts[POLICY_ALLOW] > 500);
	assert_true(verdicts[POLICY_DENY] > 500);

	policy_scratch_free(scratch);
	policy_pack_unref(pack);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/pack/%s", dir, names[i]);
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/pack", dir);
	rmdir(path);
	rmdir(dir);
	(void)state;
}

/* Regular expressions, globs, sets, sprintf: the policy that is measured. */
static void
every_builtin_of_a_policy(void **state)
{
	static const char text[] = "{\"action\": {\"verb\": \"POST\"}, \"now_ns\": "
	    "1767225600000000000, \"target\": {\"host\": \"api.example.com\", "
	    "\"path\": \"/repos/o/r/issues\"}, \"secret\": {\"name\": \"github\", "
	    "\"binding\": \"github\"}, \"grant\": {\"ids\": [\"g-1\", \"g-2\"]}, "
	    "\"budget\": {\"requests\": 1, \"bytes_out\": 2}, \"delegation\": "
	    "{\"scopes\": [\"github:post\"], \"expires\": 1800000000}}";
	struct policy_decision out = { .verdict = POLICY_DENY };
	struct policy_pack *pack;
	struct arena arena;
	char err[300] = "";
	unsigned long before;
	jmp_buf here;

	pack = policy_pack_load("tests/bench/policy80", err, sizeof(err));
	if (pack == NULL)
		fail_msg("%s", err);
	assert_int_equal(arena_init(&arena, DECISION_ARENA_FIRST,
	    DECISION_ARENA_MAX, DECISION_STEPS_MAX), 0);
	before = allocations;
	for (unsigned i = 0; i < 100; i++) {
		struct eval eval = { .arena = &arena, .plan = pack->plan,
		    .data = pack->data, .facts = pack->facts,
		    .facts_of = pack->data, .strict = true };

		arena_reset(&arena);
		if (setjmp(here) != 0)
			fail_msg("%s", arena.message);
		arena.armed = &here;
		eval.input = value_from_json(&arena, text, sizeof(text) - 1,
		    &value_json_strict, err, sizeof(err));
		decision_run(&eval, pack->entry, &out);
		arena.armed = NULL;
	}
	assert_int_equal(allocations - before, 0);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	arena_release(&arena);
	policy_pack_unref(pack);
	(void)state;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(every_builtin_of_a_policy),
	};

	count_allocations();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
