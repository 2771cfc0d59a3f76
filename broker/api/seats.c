#include "api/seats.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct seat {
	struct seat *prev, *next;
	struct seat_holder who;
	int fd;
	bool busy, leaving;
};

void
seats_init(struct seats *seats, unsigned max)
{
	memset(seats, 0, sizeof(*seats));
	seats->max = max;
	pthread_mutex_init(&seats->lock, NULL);
}

void
seats_destroy(struct seats *seats)
{
	pthread_mutex_destroy(&seats->lock);
}

static void
append(struct seats *seats, struct seat *seat)
{
	seat->prev = seats->last;
	seat->next = NULL;
	if (seat->prev != NULL)
		seat->prev->next = seat;
	else
		seats->first = seat;
	seats->last = seat;
}

static void
take_out(struct seats *seats, struct seat *seat)
{
	if (seat->prev != NULL)
		seat->prev->next = seat->next;
	else
		seats->first = seat->next;
	if (seat->next != NULL)
		seat->next->prev = seat->prev;
	else
		seats->last = seat->prev;
}

static bool
same(const struct seat_holder *a, const struct seat_holder *b)
{
	return a->run == b->run && (a->run != NULL || a->uid == b->uid);
}

static unsigned
held_by(const struct seats *seats, const struct seat_holder *who)
{
	unsigned n = 0;

	for (const struct seat *at = seats->first; at != NULL; at = at->next)
		n += !at->leaving && same(&at->who, who);
	return n;
}

/* Of all that wait, the first of whoever holds most. */
static struct seat *
who_goes(struct seats *seats)
{
	struct seat *goes = NULL;
	unsigned most = 0, n;

	for (struct seat *at = seats->first; at != NULL; at = at->next) {
		if (at->busy || at->leaving ||
		    (goes != NULL && same(&at->who, &goes->who)))
			continue;
		n = held_by(seats, &at->who);
		if (n > most) {
			most = n;
			goes = at;
		}
	}
	return goes;
}

struct seat *
seats_take(struct seats *seats, int fd, struct seat_holder who)
{
	struct seat *seat = calloc(1, sizeof(*seat)), *goes;

	if (seat == NULL)
		return NULL;
	seat->fd = fd;
	seat->who = who;
	pthread_mutex_lock(&seats->lock);
	append(seats, seat);
	seats->n++;
	if (seats->n > seats->max && (goes = who_goes(seats)) != NULL) {
		goes->leaving = true;
		seats->n--;
		shutdown(goes->fd, SHUT_RDWR);
	}
	pthread_mutex_unlock(&seats->lock);
	return seat;
}

void
seats_leave(struct seats *seats, struct seat *seat)
{
	if (seat == NULL)
		return;
	pthread_mutex_lock(&seats->lock);
	take_out(seats, seat);
	seats->n -= !seat->leaving;
	pthread_mutex_unlock(&seats->lock);
	free(seat);
}

void
seats_busy(struct seats *seats, struct seat *seat, const struct seat_holder *who)
{
	if (seat == NULL)
		return;
	pthread_mutex_lock(&seats->lock);
	seat->who = *who;
	seat->busy = true;
	pthread_mutex_unlock(&seats->lock);
}

void
seats_wait(struct seats *seats, struct seat *seat)
{
	if (seat == NULL)
		return;
	pthread_mutex_lock(&seats->lock);
	seat->busy = false;
	take_out(seats, seat);
	append(seats, seat);
	pthread_mutex_unlock(&seats->lock);
}
