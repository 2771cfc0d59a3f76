/* Runs that end with a process: also where a number has passed to another one, and
 * where there is no descriptor to wait with. */
#include "gate_scene.h"

#include "api/watch.h"

#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static sem_t told;
static struct run *last;

static void
ended(void *arg, struct run *run)
{
	last = run;
	sem_post(&told);
}

static bool
due(void *arg)
{
	return false;
}

static struct scene scene;
static struct api_watch *watch;

static int
set_up(void **state)
{
	last = NULL;
	begin(&scene, DATA(""));
	watch = api_watch_new(ended, due, NULL);
	return watch != NULL && sem_init(&told, 0, 0) == 0 ? 0 : -1;
}

static int
tear_down(void **state)
{
	api_watch_free(watch);
	sem_destroy(&told);
	end(&scene);
	return 0;
}

static pid_t
sleeper(uint64_t *start_time)
{
	struct process process;
	pid_t pid = fork();

	if (pid == 0) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_true(process_look(pid, &process));
	*start_time = process.start_time;
	return pid;
}

static void
end_of(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* It lives on, but it is not the one that the run was opened with. */
static void
another(void **state)
{
	uint64_t start_time;
	pid_t pid = sleeper(&start_time);

	assert_int_equal(api_watch_add(watch, scene.run, pid, start_time - 1), 0);
	sem_wait(&told);
	assert_ptr_equal(last, scene.run);
	end_of(pid);
}

/* Nobody waits for it, and it is looked at. */
static void
looked_at(void **state)
{
	struct rlimit was, none;
	uint64_t start_time;
	siginfo_t info;
	pid_t pid = sleeper(&start_time);

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){ 0, was.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(api_watch_add(watch, scene.run, pid, start_time), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(sem_trywait(&told), -1);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	sem_wait(&told);
	assert_ptr_equal(last, scene.run);
	end_of(pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(looked_at, set_up, tear_down),
	};

	return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
