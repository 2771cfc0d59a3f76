/*
 * A ledger for tests: it keeps every record in memory and answers as it is
 * told.  Include it in one source of a test program; it takes the place of
 * libledger's writing end.
 */
#ifndef TESTS_FAKE_LEDGER_H
#define TESTS_FAKE_LEDGER_H

#include "ledger/recorder/append.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FAKE_RECORDS_MAX 4096

struct ledger {
	int nothing;
};

struct ledger_port {
	int nothing;
};

struct fake_record {
	char type[16], run[LEDGER_RUN_MAX + 1], policy[LEDGER_POLICY_LEN + 1];
	char *body;
	bool seal;
};

static struct fake_record fake_records[FAKE_RECORDS_MAX];
static size_t fake_n_records;
static enum ledger_status fake_status;	/* LEDGER_DURABLE is 0 */
static unsigned fake_silent_s;
static struct ledger_port fake_port;
static void (*fake_meanwhile)(const struct ledger_record *record);	/* called behind each append */
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

enum ledger_status
ledger_append_wait(struct ledger_port *port, const struct ledger_record *record,
    struct ledger_receipt *out)
{
	struct fake_record *at;

	pthread_mutex_lock(&fake_lock);
	*out = (struct ledger_receipt){ .status = fake_status,
	    .index = fake_n_records, .seq = fake_n_records };
	if (fake_status == LEDGER_DURABLE) {
		if (fake_n_records == FAKE_RECORDS_MAX)
			abort();
		at = &fake_records[fake_n_records];
		memset(out->leaf, (int)(fake_n_records + 1), sizeof(out->leaf));
		fake_n_records++;
		snprintf(at->type, sizeof(at->type), "%s", record->type);
		snprintf(at->run, sizeof(at->run), "%s",
		    record->run != NULL ? record->run : "");
		snprintf(at->policy, sizeof(at->policy), "%s", record->policy);
		at->body = strndup(record->body, record->body_len);
		at->seal = record->seal;
	}
	pthread_mutex_unlock(&fake_lock);
	if (fake_meanwhile != NULL)
		fake_meanwhile(record);
	return out->status;
}

enum ledger_status
ledger_append_soon(struct ledger_port *port, const struct ledger_record *record,
    struct ledger_receipt *out)
{
	return ledger_append_wait(port, record, out);
}

struct ledger_port *
ledger_port(struct ledger *ledger, unsigned i)
{
	return &fake_port;
}

bool
ledger_healthy(const struct ledger *ledger)
{
	return fake_status == LEDGER_DURABLE;
}

unsigned
ledger_silent_s(const struct ledger *ledger)
{
	return fake_silent_s;
}

pid_t
ledger_recorder_pid(const struct ledger *ledger)
{
	return 0;
}

void
ledger_counts(const struct ledger *ledger, struct ledger_counts *out)
{
	*out = (struct ledger_counts){ .records = fake_n_records };
}

/* The rest of append.h, so that the linker wants nothing of the real one. */
int
ledger_submit(struct ledger_port *port, const struct ledger_record *record,
    uint64_t ticket)
{
	return -1;
}

int
ledger_queue(struct ledger_port *port, const struct ledger_record *record,
    uint64_t ticket)
{
	return -1;
}

void
ledger_flush(struct ledger_port *port)
{
}

int
ledger_port_fd(const struct ledger_port *port)
{
	return -1;
}

bool
ledger_receipt(struct ledger_port *port, struct ledger_receipt *out)
{
	return false;
}

int
ledger_create(const char *dir, const char *origin, const uint8_t *seed,
    char *err, size_t err_len)
{
	return -1;
}

struct ledger *
ledger_open(const struct ledger_options *options, char *err, size_t err_len)
{
	return NULL;
}

int
ledger_rotate(struct ledger *ledger, unsigned timeout_ms)
{
	return -1;
}

int
ledger_close(struct ledger *ledger)
{
	return 0;
}

static inline void
fake_ledger_forget(void)
{
	for (size_t i = 0; i < fake_n_records; i++)
		free(fake_records[i].body);
	fake_n_records = 0;
}

/* The last record's body where it is of that type, else NULL. */
static inline const char *
fake_last(const char *type)
{
	if (fake_n_records == 0 ||
	    strcmp(fake_records[fake_n_records - 1].type, type) != 0)
		return NULL;
	return fake_records[fake_n_records - 1].body;
}

/* Of the records of that type the one that came before `back` others; or NULL. */
static inline const char *
fake_recent(const char *type, unsigned back)
{
	for (size_t i = fake_n_records; i-- > 0;)
		if (strcmp(fake_records[i].type, type) == 0 && back-- == 0)
			return fake_records[i].body;
	return NULL;
}

/* How many records of that type the run has. */
static inline size_t
fake_count(const char *type, const char *run)
{
	size_t n = 0;

	for (size_t i = 0; i < fake_n_records; i++)
		n += strcmp(fake_records[i].type, type) == 0 &&
		    strcmp(fake_records[i].run, run) == 0;
	return n;
}

#endif
