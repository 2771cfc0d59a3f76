/* Many requests and several persons at once: each consent is used by one request at
 * most, each question has one answer. */
#include "gate_scene.h"

#include <sched.h>

#define ISSUES "https://api.example.com/repos/o/r/issues"
#define AGENTS 6
#define PERSONS 3
#define URLS 4
#define USES 150		/* of each agent */

static struct scene s;
static atomic_uint approved, answered_before, used, open_agents;

/* The last one that waits: all persons answer the same. */
static void
look(void *arg, const struct gate_approval_info *info)
{
	if (strcmp(info->state, "waiting") == 0)
		snprintf(arg, GATE_ID_MAX, "%s", info->id);
}

static void
nothing(void *arg, const struct gate_approval_info *info)
{
}

static void *
person(void *arg)
{
	const struct gate_approval_answer yes = { .approve = true, .peer = { 1000, 77, 1 } };
	struct gate_problem problem;
	char id[GATE_ID_MAX];

	while (atomic_load(&open_agents) > 0) {
		id[0] = '\0';
		gate_approvals_each(s.gate, look, id);
		if (id[0] == '\0')
			sched_yield();
		else if (gate_approval_answer(s.gate, &fake_port, slice_of(id), &yes,
		    nothing, NULL, &problem) == 0)
			atomic_fetch_add(&approved, 1);
		else
			atomic_fetch_add(&answered_before, 1);
	}
	return NULL;
}

/* Asks until it was let through so often, as the plane does: held, or not. */
static void *
agent(void *arg)
{
	struct gate_thread *thread = gate_thread_new(s.gate);
	const char *line = bearer(s.hub);
	struct gate_verdict *out = calloc(1, sizeof(*out));
	unsigned turn = (unsigned)(uintptr_t)arg;
	char url[128];

	for (unsigned mine = 0; mine < USES;) {
		snprintf(url, sizeof(url), ISSUES "/%u", turn++ % URLS);
		ask_with(&s, thread, s.run, NULL, "POST", url, line, out);
		if (out->allow) {
			mine++;
			atomic_fetch_add(&used, 1);
			gate_outcome_done(s.run);
		} else if (out->held) {
			if (gate_approval_held(s.gate, out->question, 1))
				sched_yield();
			gate_approval_held(s.gate, out->question, -1);
		}
		gate_verdict_release(out);
	}
	free(out);
	gate_thread_free(thread);
	atomic_fetch_sub(&open_agents, 1);
	return NULL;
}

static void
count(void *arg, const struct gate_approval_info *info)
{
	unsigned *left = arg;

	*left += strcmp(info->state, "approved") == 0;
	assert_int_equal(info->waiting, 0);
}

static void
test_once_is_once(void **state)
{
	pthread_t agents[AGENTS], persons[PERSONS];
	unsigned left = 0;

	begin(&s, DATA(""));
	fake_decide = ask_all;
	atomic_store(&open_agents, AGENTS);
	for (size_t i = 0; i < PERSONS; i++)
		assert_int_equal(pthread_create(&persons[i], NULL, person, NULL), 0);
	for (size_t i = 0; i < AGENTS; i++)
		assert_int_equal(pthread_create(&agents[i], NULL, agent, (void *)i), 0);
	for (size_t i = 0; i < AGENTS; i++)
		pthread_join(agents[i], NULL);
	for (size_t i = 0; i < PERSONS; i++)
		pthread_join(persons[i], NULL);
	gate_approvals_each(s.gate, count, &left);
	assert_int_equal(used, AGENTS * USES);
	assert_int_equal(approved, used + left);
	assert_int_equal(fake_count("decision", run_id(s.run)), approved);
	print_message("%u answers, %u came too late, %u not used\n", approved,
	    answered_before, left);
	end(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_once_is_once) };

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
