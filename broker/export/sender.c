#include "export/sender.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <sodium.h>

#define WAIT_MAX_MS 30000

void
sender_wait(const struct sender_options *options, unsigned n, long least_s, const char *err)
{
	uint64_t ms = options->wait_ms > 0 ? options->wait_ms : 1;
	struct timespec pause;

	if (n <= 1)
		return;
	if (n == 2)
		fprintf(stderr, "countersign: a batch was not taken: %s; trying again\n", err);
	for (; n > 2 && ms < WAIT_MAX_MS; n--)
		ms *= 2;
	if (ms > WAIT_MAX_MS)
		ms = WAIT_MAX_MS;
	/* half of it, and up to as much again: many exporters do not come at once */
	ms = ms / 2 + randombytes_uniform((uint32_t)(ms / 2) + 1);
	if (least_s > 0 && ms < (uint64_t)least_s * 1000)
		ms = (uint64_t)(least_s > 300 ? 300 : least_s) * 1000;
	pause.tv_sec = (time_t)(ms / 1000);
	pause.tv_nsec = (long)(ms % 1000) * 1000000;
	nanosleep(&pause, NULL);
}
