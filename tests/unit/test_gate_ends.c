/* Each run whose opening is in the ledger gets its last records, once, whatever
 * comes between. */
#include "gate_scene.h"

#include "gate/impl.h"

#define MANY 1100

static struct gate *meanwhile_gate;
static enum ledger_status then;
static const char *then_type;

static void
has_its_end(const char *run)
{
	assert_int_equal(fake_count("run", run), 2);
	assert_int_equal(fake_count("teardown", run), 1);
}

/* All places are taken while the opening is written. */
static void
crowd(const struct ledger_record *record)
{
	if (strstr(record->body, "\"state\":\"open\"") != NULL)
		meanwhile_gate->n_open += RUNS_OPEN_MAX;
}

/* From behind a record of that type on the ledger answers otherwise. */
static void
turn(const struct ledger_record *record)
{
	if (strcmp(record->type, then_type) == 0)
		fake_status = then;
}

static struct run *under_way;

/* A worker hands over the outcome of a request once the run's closing is written. */
static void
hand_over(const struct ledger_record *record)
{
	if (under_way != NULL && strstr(record->body, "\"state\":\"closed\"") != NULL) {
		gate_outcome_done(under_way);
		under_way = NULL;
	}
}

static void
start(struct scene *s)
{
	fake_meanwhile = NULL;
	begin(s, DATA(""));
}

static void
test_not_let_in(void **state)
{
	struct scene s;
	char token[GATE_TOKEN_MAX], id[64], parent[80];
	unsigned i;

	start(&s);
	meanwhile_gate = s.gate;
	fake_meanwhile = crowd;
	assert_null(gate_run_open(s.gate, &fake_port, &plain_run, token, &why));
	fake_meanwhile = NULL;
	s.gate->n_open -= RUNS_OPEN_MAX;
	assert_string_equal(why.rule, "run/too-many");
	assert_string_equal(token, "");
	assert_non_null(fake_last("teardown"));
	snprintf(id, sizeof(id), "%s", fake_records[fake_n_records - 1].run);
	assert_string_not_equal(id, run_id(s.run));
	has_its_end(id);
	assert_non_null(strstr(fake_recent("run", 0), "\"by\":\"broker\",\"reason\":\"not let in\""));
	/* its opening is record 1: the fake's leaf is of twos */
	for (i = 0; i < 64; i++)
		parent[i] = "02"[i % 2];
	parent[64] = '\0';
	assert_non_null(strstr(fake_recent("run", 0), parent));
	assert_non_null(strstr(fake_last("teardown"), parent));
	assert_non_null(strstr(fake_last("teardown"), "\"first_index\":1,\"last_index\":2"));
	assert_true(fake_records[fake_n_records - 1].seal);
	end(&s);
}

/* What can be seen before is refused without a record. */
static void
test_no_room(void **state)
{
	struct scene s;
	char token[GATE_TOKEN_MAX];

	start(&s);
	s.gate->n_open += RUNS_OPEN_MAX;
	assert_null(gate_run_open(s.gate, &fake_port, &plain_run, token, &why));
	s.gate->n_open -= RUNS_OPEN_MAX;
	assert_string_equal(why.rule, "run/too-many");
	assert_int_equal(fake_n_records, 1);
	end(&s);
}

/* At each of the last records the disk is full; with the next run there is room. */
static void
test_full(void **state)
{
	static const char *const last[] = { NULL, "run" };
	struct gate_run_summary summary;
	char token[GATE_TOKEN_MAX];
	struct run *run, *another;
	struct scene s;

	for (unsigned i = 0; i < 2; i++) {
		for (unsigned closing = 0; closing < 2; closing++) {
			start(&s);
			run = open_run(&s, &plain_run, token);
			then = LEDGER_FULL;
			then_type = last[i];
			fake_status = last[i] == NULL ? LEDGER_FULL : LEDGER_DURABLE;
			fake_meanwhile = last[i] != NULL ? turn : NULL;
			assert_int_equal(gate_run_close(s.gate, &fake_port, run, &closer,
			    &summary, &why), -1);
			assert_string_equal(why.rule, "ledger/full");
			assert_int_equal(fake_count("teardown", run_id(run)), 0);
			assert_int_equal(gate_ends_pay(s.gate, &fake_port, &why), 1);
			fake_meanwhile = NULL;
			fake_status = LEDGER_DURABLE;
			if (closing)
				assert_int_equal(gate_run_close(s.gate, &fake_port, s.run,
				    &closer, &summary, &why), 0);
			else
				run_unref(open_run(&s, &plain_run, token));
			has_its_end(run_id(run));
			assert_int_equal(gate_ends_pay(s.gate, &fake_port, &why), 0);
			has_its_end(run_id(run));
			run_unref(run);
			end(&s);
		}
	}
}

/* The opening may have become durable: nobody knows its leaf. */
static void
test_silent(void **state)
{
	char token[GATE_TOKEN_MAX];
	const char *closed;
	struct scene s;

	start(&s);
	fake_status = LEDGER_SILENT;
	assert_null(gate_run_open(s.gate, &fake_port, &plain_run, token, &why));
	assert_string_equal(why.rule, "ledger/silent");
	fake_status = LEDGER_DURABLE;
	assert_int_equal(fake_n_records, 1);
	assert_int_equal(gate_ends_pay(s.gate, &fake_port, &why), 0);
	assert_int_equal(fake_n_records, 3);
	assert_string_not_equal(fake_records[2].run, run_id(s.run));
	assert_string_equal(fake_records[1].run, fake_records[2].run);
	closed = fake_recent("run", 0);
	assert_non_null(strstr(closed, "\"reason\":\"recorder silent\""));
	assert_null(strstr(closed, "parent"));
	assert_null(strstr(fake_last("teardown"), "parent"));
	assert_null(strstr(fake_last("teardown"), "first_"));
	assert_non_null(strstr(fake_last("teardown"), "\"last_seq\":1,\"last_index\":1"));
	end(&s);
}

/* Refused for good: nothing is written, and nothing is left behind in memory. */
static void
test_failed(void **state)
{
	struct gate_run_summary summary;
	struct scene s;

	start(&s);
	fake_status = LEDGER_FAILED;
	assert_int_equal(gate_run_close(s.gate, &fake_port, s.run, &closer, &summary,
	    &why), -1);
	assert_int_equal(gate_ends_pay(s.gate, &fake_port, &why), 1);
	assert_string_equal(why.rule, "ledger/failed");
	end(&s);
}

/* A daemon that stops closes all that are open, and what was owed before. */
static void
test_stop(void **state)
{
	const struct gate_closer stop = { "broker", "daemon stopped", { -1, -1, 0 } };
	struct gate_run_summary summary;
	char token[GATE_TOKEN_MAX];
	struct run *owed;
	struct scene s;
	unsigned ends = 0;

	start(&s);
	owed = open_run(&s, &plain_run, token);
	fake_status = LEDGER_FULL;
	assert_int_equal(gate_run_close(s.gate, &fake_port, owed, &closer, &summary,
	    &why), -1);
	assert_int_equal(gate_runs_close(s.gate, &fake_port, &stop, &why), 2);
	fake_status = LEDGER_DURABLE;
	for (unsigned i = 0; i < MANY; i++)
		run_unref(open_run(&s, &plain_run, token));
	assert_int_equal(gate_runs_close(s.gate, &fake_port, &stop, &why), 0);
	for (size_t i = 0; i < fake_n_records; i++)
		ends += strcmp(fake_records[i].type, "teardown") == 0;
	assert_int_equal(ends, MANY + 2);
	has_its_end(run_id(owed));
	has_its_end(run_id(s.run));
	run_unref(owed);
	end(&s);
}

/* Which of two threads' records comes first the recorder decides: what was under way
 * when the run's end began is counted as that, even if it is handed over before. */
static void
test_under_way(void **state)
{
	struct gate_run_summary summary;
	char token[GATE_TOKEN_MAX];
	struct scene s;
	struct run *run;

	start(&s);
	under_way = run = open_run(&s, &plain_run, token);
	gate_run_hold(under_way);
	fake_meanwhile = hand_over;
	assert_int_equal(gate_run_close(s.gate, &fake_port, run, &closer, &summary, &why), 0);
	fake_meanwhile = NULL;
	assert_null(under_way);
	assert_non_null(strstr(fake_last("teardown"), "\"unfinished\":1"));
	run_unref(run);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_let_in),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_under_way),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
