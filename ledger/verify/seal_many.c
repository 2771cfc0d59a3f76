#include <pthread.h>
#include <stdatomic.h>

#include "ledger/verify/seal_many.h"

#define WORTH 8		/* signatures for each thread, or it costs more than it gives */

/* Each thread takes the next one. */
struct crew {
	struct seal_task *task;
	unsigned count;
	const struct epochs *epochs;
	atomic_uint next;
};

static void *
work(void *arg)
{
	struct crew *crew = arg;
	struct seal_task *task;
	unsigned i;

	while ((i = atomic_fetch_add(&crew->next, 1)) < crew->count) {
		task = &crew->task[i];
		if (task->text != NULL)
			seal_read(&task->seal, task->text, task->len, crew->epochs, NULL);
	}
	return NULL;
}

void
seal_many(struct seal_task *task, unsigned count, const struct epochs *epochs,
    unsigned threads)
{
	struct crew crew = { .task = task, .count = count, .epochs = epochs };
	pthread_t thread[SEAL_MANY_THREADS];
	unsigned started = 0;

	if (threads > SEAL_MANY_THREADS)
		threads = SEAL_MANY_THREADS;
	if (threads > count / WORTH)
		threads = count / WORTH;
	while (started + 1 < threads &&
	    pthread_create(&thread[started], NULL, work, &crew) == 0)
		started++;
	work(&crew);
	while (started > 0)
		pthread_join(thread[--started], NULL);
}
