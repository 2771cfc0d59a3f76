/* Runs that were opened below another, and their processes. */
#include "gate/process.h"
#include "gate/run.h"

bool
run_below_p(const struct run *run, const struct run *above)
{
	for (run = run->parent; run != NULL; run = run->parent)
		if (run == above)
			return true;
	return false;
}

void
run_below_add(struct run *run)
{
	struct run *at = run->root.pid > 0 ? run->parent : NULL;

	for (; at != NULL; at = at->parent) {
		pthread_mutex_lock(&at->lock);
		if (at->n_below < RUN_BELOW_MAX)
			at->below[at->n_below++] = run->root;
		pthread_mutex_unlock(&at->lock);
	}
}

static void
below_forget(struct run *at, const struct process_id *root)
{
	pthread_mutex_lock(&at->lock);
	for (unsigned i = 0; i < at->n_below; i++) {
		if (at->below[i].pid != root->pid ||
		    at->below[i].start_time != root->start_time)
			continue;
		at->below[i] = at->below[--at->n_below];
		break;
	}
	pthread_mutex_unlock(&at->lock);
}

void
run_below_remove(struct run *run)
{
	struct run *at = run->root.pid > 0 ? run->parent : NULL;

	for (; at != NULL; at = at->parent)
		below_forget(at, &run->root);
}

bool
run_below_has(struct run *run, int64_t pid)
{
	struct process_id below[RUN_BELOW_MAX];
	struct process line[PROCESS_DEPTH_MAX];
	unsigned n, n_below;

	pthread_mutex_lock(&run->lock);
	n_below = run->n_below;
	memcpy(below, run->below, n_below * sizeof(*below));
	pthread_mutex_unlock(&run->lock);
	n = n_below == 0 ? 0 : process_line(pid, line, PROCESS_DEPTH_MAX);
	for (unsigned i = 0; i < n; i++)
		for (unsigned k = 0; k < n_below; k++)
			if (below[k].pid == line[i].pid &&
			    below[k].start_time == line[i].start_time)
				return true;
	return false;
}
