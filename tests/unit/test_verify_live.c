/* Verification of what the recorder writes: while it writes, after a close,
 * after a crash; and a run's bundle, cut while it goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger/bundle/bundle.h"
#include "ledger/evidence/evidence.h"
#include "ledger/verify/packs.h"
#include "ledger/verify/verify.h"
#include "ledger_maker.h"
#include "scratch_ledger.h"

static struct verify_result result;
static char policy[72] = SCRATCH_POLICY;	/* of what producers append */
static char err[512];

static struct note_key
key_of(const struct scratch *s)
{
	struct note_key key;
	char *text;
	size_t len;

	text = read_file(s->dir, "log.vkey", &len);
	assert_int_equal(note_key_parse(&key, text, len - 1), 0);
	free(text);
	return key;
}

static enum verify_verdict
verify(const struct scratch *s, const char *path)
{
	struct note_key key = key_of(s);
	struct verify_options options = { .path = path, .key = &key, .threads = 2 };

	verify_free(&result);
	assert_int_equal(verify_run(&options, &result, err, sizeof(err)), 0);
	return result.verdict;
}

static void
say(void)
{
	unsigned i;

	for (i = 0; i < result.findings; i++)
		print_error("%s index %d: %s\n", result.finding[i].code,
		    (int)result.finding[i].index, result.finding[i].what);
}

static void
append_body(struct ledger_port *port, const char *type, const char *run, const char *body,
    bool seal)
{
	struct ledger_record record = { .type = type, .run = run, .policy = policy,
	    .body = body, .body_len = strlen(body), .seal = seal };
	struct ledger_receipt receipt;

	assert_int_equal(ledger_append_wait(port, &record, &receipt), LEDGER_DURABLE);
}

static void
append(struct ledger_port *port, const char *type, const char *run, bool seal)
{
	append_body(port, type, run, "{\"a\":1}", seal);
}

static void
open_and_closed(void **state)
{
	struct scratch s;
	struct ledger *ledger;
	int i;

	scratch_init(&s, NULL);
	assert_non_null(ledger = scratch_open(&s));
	for (i = 0; i < 100; i++)
		append(ledger_port(ledger, 0), "coverage", NULL, i == 50);
	assert_int_equal(verify(&s, s.dir), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
	assert_true(result.sealed >= 51);
	assert_int_equal(ledger_close(ledger), 0);
	if (verify(&s, s.dir) != VERIFY_COMPLETE)
		say();
	assert_int_equal(result.verdict, VERIFY_COMPLETE);
	assert_int_equal(result.size, 102);
	/* a second session goes on */
	assert_non_null(ledger = scratch_open(&s));
	append(ledger_port(ledger, 0), "coverage", NULL, false);
	assert_int_equal(ledger_close(ledger), 0);
	assert_int_equal(verify(&s, s.dir), VERIFY_COMPLETE);
	assert_int_equal(result.size, 105);
	scratch_remove(&s);
}

/* A writer that dies in the middle leaves a session without a close. */
static void
after_a_crash(void **state)
{
	struct scratch s;
	struct ledger *ledger;
	pid_t pid;
	int status;

	scratch_init(&s, NULL);
	if ((pid = fork()) == 0) {
		s.options.place = LEDGER_IN_THREAD;
		if ((ledger = scratch_open(&s)) == NULL)
			_exit(1);
		append(ledger_port(ledger, 0), "coverage", NULL, true);
		append(ledger_port(ledger, 0), "coverage", NULL, false);
		kill(getpid(), SIGKILL);
	}
	waitpid(pid, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(verify(&s, s.dir), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(result.size, 3);
	assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
	assert_non_null(ledger = scratch_open(&s));
	assert_int_equal(ledger_close(ledger), 0);
	assert_int_equal(verify(&s, s.dir), VERIFY_NOT_ESTABLISHED);
	assert_string_equal(result.finding[0].code, "no_close");
	scratch_remove(&s);
}

/* A pack for the records to name, so that a bundle can be whole. */
static void
make_pack(const char *dir)
{
	char hex[65];
	int fd;

	assert_int_equal(mkdir(dir, 0700), 0);
	write_file(dir, "main.rego", "package x\n", 10);
	assert_true((fd = evidence_dir(dir)) >= 0);
	assert_int_equal(packs_digest(fd, hex), 0);
	close(fd);
	snprintf(policy, sizeof(policy), "sha256:%s", hex);
}

static atomic_bool stop;

static void *
writer(void *arg)
{
	int i;

	for (i = 0; i < 5000 && !stop; i++) {
		append(arg, "coverage", "run_other", false);
		usleep(300);
	}
	return NULL;
}

/* Verified and bundled again and again while another thread appends. */
static void
while_it_grows(void **state)
{
	struct bundle_options options = { .run = "run_x" };
	struct scratch s;
	struct ledger *ledger;
	pthread_t thread;
	char out[300], dir[300];
	struct bundle_pack pack = { policy, dir };
	int i;

	scratch_init(&s, NULL);
	snprintf(dir, sizeof(dir), "%s/pack", s.parent);
	make_pack(dir);
	options.packs = &pack;
	options.pack_count = 1;
	s.options.policy = policy;
	s.options.ports = 2;
	s.options.checkpoint_ms = 5;
	assert_non_null(ledger = scratch_open(&s));
	stop = false;
	assert_int_equal(pthread_create(&thread, NULL, writer, ledger_port(ledger, 1)), 0);
	append_body(ledger_port(ledger, 0), "run", "run_x", "{\"state\":\"open\"}", false);
	for (i = 0; i < 20; i++) {
		append(ledger_port(ledger, 0), "secret", "run_x", i % 5 == 0);
		if (verify(&s, s.dir) != VERIFY_NOT_ESTABLISHED)
			say();
		assert_int_equal(result.verdict, VERIFY_NOT_ESTABLISHED);
		assert_int_equal(result.integrity.verdict, VERIFY_COMPLETE);
	}
	append_body(ledger_port(ledger, 0), "run", "run_x", "{\"state\":\"closed\"}", false);
	append(ledger_port(ledger, 0), "teardown", "run_x", true);
	snprintf(out, sizeof(out), "%s/bundle", s.parent);
	options.ledger = s.dir;
	options.out = out;
	if (bundle_write(&options, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	if (verify(&s, out) != VERIFY_COMPLETE)
		say();
	assert_int_equal(result.verdict, VERIFY_COMPLETE);
	assert_true(result.size > result.first + 21);
	stop = true;
	pthread_join(thread, NULL);
	assert_int_equal(ledger_close(ledger), 0);
	assert_int_equal(verify(&s, s.dir), VERIFY_COMPLETE);
	scratch_remove(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_and_closed),
		cmocka_unit_test(after_a_crash),
		cmocka_unit_test(while_it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
