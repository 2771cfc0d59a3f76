#include "plane/decider.h"
#include "ledger/clock.h"

#include <signal.h>
#include <stdlib.h>

#define THREADS 8	/* questions that a server has at once */

struct decider {
	struct gate *gate;
	pthread_mutex_t lock;
	pthread_cond_t asked;
	struct question *first, **last;
	bool stop;
	pthread_t threads[THREADS];
	struct gate_thread *gates[THREADS];
	unsigned n, started;
};

/* NULL once there is nothing left and it is time to stop. */
static struct question *
take(struct decider *decider)
{
	struct question *question;

	pthread_mutex_lock(&decider->lock);
	while (decider->first == NULL && !decider->stop)
		pthread_cond_wait(&decider->asked, &decider->lock);
	question = decider->first;
	if (question != NULL)
		decider->first = question->next;
	if (decider->first == NULL)
		decider->last = &decider->first;
	pthread_mutex_unlock(&decider->lock);
	return question;
}

struct start {
	struct decider *decider;
	struct gate_thread *gate_thread;
};

static void *
work(void *arg)
{
	struct start start = *(struct start *)arg;
	struct question *question;

	free(arg);
	while ((question = take(start.decider)) != NULL) {
		gate_thread_until(start.gate_thread, question->asked_ms);
		gate_decide(start.decider->gate, start.gate_thread,
		    &question->request, question->verdict);
		worker_post(question->worker, &question->message);
	}
	return NULL;
}

static int
start_one(struct decider *decider)
{
	struct start *start = malloc(sizeof(*start));
	sigset_t all, old;
	int result;

	if (start == NULL)
		return -1;
	*start = (struct start){ decider, decider->gates[decider->started] };
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	result = pthread_create(&decider->threads[decider->started], NULL,
	    work, start);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (result != 0) {
		free(start);
		return -1;
	}
	decider->started++;
	return 0;
}

struct decider *
decider_new(struct gate *gate)
{
	struct decider *decider = calloc(1, sizeof(*decider));

	if (decider == NULL)
		return NULL;
	decider->gate = gate;
	decider->last = &decider->first;
	pthread_mutex_init(&decider->lock, NULL);
	pthread_cond_init(&decider->asked, NULL);
	while (decider->n < THREADS) {
		decider->gates[decider->n] = gate_thread_new(gate);
		if (decider->gates[decider->n] == NULL)
			goto fail;
		decider->n++;
	}
	while (decider->started < THREADS)
		if (start_one(decider) != 0)
			goto fail;
	return decider;
fail:
	decider_free(decider);
	return NULL;
}

void
decider_ask(struct decider *decider, struct question *question)
{
	question->next = NULL;
	question->asked_ms = clock_boot_ms();
	pthread_mutex_lock(&decider->lock);
	*decider->last = question;
	decider->last = &question->next;
	pthread_cond_signal(&decider->asked);
	pthread_mutex_unlock(&decider->lock);
}

void
decider_free(struct decider *decider)
{
	if (decider == NULL)
		return;
	pthread_mutex_lock(&decider->lock);
	decider->stop = true;
	pthread_cond_broadcast(&decider->asked);
	pthread_mutex_unlock(&decider->lock);
	for (unsigned i = 0; i < decider->started; i++)
		pthread_join(decider->threads[i], NULL);
	for (unsigned i = 0; i < decider->n; i++)
		gate_thread_free(decider->gates[i]);
	pthread_mutex_destroy(&decider->lock);
	pthread_cond_destroy(&decider->asked);
	free(decider);
}
