#include "raw_recorder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH 2048
#define TURN 32
#define ROOM (1024 * 1024)

struct server {
	struct channel *channel;
	unsigned ports;
	int fd;
	enum raw_file file;
	uint64_t ready;
	const char *envelope;
	size_t envelope_len;
	uint64_t size, records;
	size_t len, n;		/* of this batch: bytes, records */
	unsigned port[BATCH];
	struct ledger_receipt receipt[BATCH];
	struct channel_submission submission;
	char line[ROOM];
};

static void
fail(const char *what)
{
	perror(what);
	exit(2);
}

static void
add(struct server *server, unsigned port)
{
	const struct channel_submission *in = &server->submission;
	char *at = server->line + server->len;

	memcpy(at, server->envelope, server->envelope_len);
	at += server->envelope_len;
	memcpy(at, in->body, in->body_len);
	at[in->body_len] = '}';
	at[in->body_len + 1] = '\n';
	server->len += server->envelope_len + in->body_len + 2;
	server->port[server->n] = port;
	server->receipt[server->n++] = (struct ledger_receipt){
	    .ticket = in->ticket, .status = LEDGER_DURABLE,
	    .index = server->records, .seq = server->records };
	server->records++;
}

static bool
has_room(const struct server *server)
{
	return server->n < BATCH && ROOM - server->len >
	    LEDGER_BODY_MAX + server->envelope_len + 2;
}

static bool
collect(struct server *server)
{
	size_t before;

	server->n = server->len = 0;
	do {
		before = server->n;
		for (unsigned i = 0; i < server->ports; i++) {
			for (unsigned k = 0; k < TURN && has_room(server) &&
			    channel_take(server->channel, i,
			    &server->submission) == CHANNEL_TAKEN; k++)
				add(server, i);
		}
	} while (server->n != before);
	return server->n > 0;
}

static void
answer(struct server *server)
{
	for (size_t i = 0; i < server->n; i++)
		channel_answer(server->channel, server->port[i],
		    &server->receipt[i]);
	for (unsigned i = 0; i < server->ports; i++)
		channel_ring_port(server->channel, i);
}

static void
take_space(int fd, enum raw_file file, uint64_t *ready)
{
	static const char zeros[1024 * 1024];
	const off_t from = (off_t)*ready, len = sizeof(zeros);

	if (file == RAW_ALLOCATED ? fallocate(fd, 0, from, len) != 0 :
	    pwrite(fd, zeros, sizeof(zeros), from) != (ssize_t)len)
		fail("raw recorder");
	*ready += sizeof(zeros);
}

void
raw_write(int fd, enum raw_file file, const char *bytes, size_t len,
    uint64_t *at, uint64_t *ready)
{
	if (file != RAW_GROWING && *at + len > *ready)
		take_space(fd, file, ready);
	if (pwrite(fd, bytes, len, (off_t)*at) != (ssize_t)len ||
	    fdatasync(fd) != 0)
		fail("raw recorder");
	*at += len;
}

static _Noreturn void
serve(struct server *server)
{
	for (;;) {
		if (!collect(server)) {
			if (channel_stopping(server->channel))
				_exit(0);
			channel_sleep(server->channel, -1, -1);
			continue;
		}
		raw_write(server->fd, server->file, server->line, server->len,
		    &server->size, &server->ready);
		answer(server);
	}
}

void
raw_start(struct raw_recorder *raw, const char *dir, unsigned ports,
    const char *envelope, enum raw_file file)
{
	char path[300];
	struct server *server = calloc(1, sizeof(*server));

	raw->channel = channel_new(ports);
	snprintf(path, sizeof(path), "%s/bench-raw-%d", dir, (int)getpid());
	if (server == NULL || raw->channel == NULL)
		fail("raw recorder");
	*server = (struct server){ .channel = raw->channel, .ports = ports,
	    .file = file, .envelope = envelope,
	    .envelope_len = strlen(envelope) };
	server->fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (server->fd < 0 || unlink(path) != 0)
		fail(path);
	raw->pid = fork();
	if (raw->pid < 0)
		fail("raw recorder");
	if (raw->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(server);
	}
	close(server->fd);
	free(server);
}

void
raw_stop(struct raw_recorder *raw)
{
	channel_stop(raw->channel);
	if (waitpid(raw->pid, NULL, 0) < 0)
		fail("raw recorder");
	channel_free(raw->channel);
	raw->channel = NULL;
}
