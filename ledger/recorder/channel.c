#include "ledger/recorder/channel.h"
#include "ledger/recorder/ring.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/* What stands before type, run and body in the ring of submissions. */
struct wire_submission {
	uint32_t len;			/* of all four together */
	uint32_t body_len;
	uint64_t ticket;
	uint8_t type_len, run_len, seal, has_run;
	char policy[LEDGER_POLICY_LEN];
	char pad[5];
};
_Static_assert(sizeof(struct wire_submission) == 96, "no hidden padding");

struct wire_receipt {
	uint64_t ticket, index, seq, status;
	uint8_t leaf[LEDGER_LEAF_LEN];
};
_Static_assert(sizeof(struct wire_receipt) == 64, "one line a receipt");

struct shared_port {
	struct ring_shared submissions, receipts;
	_Alignas(64) _Atomic uint32_t waits;	/* the producer wants its bell */
	_Alignas(64) uint8_t submitted[CHANNEL_RING];
	_Alignas(64) uint8_t answered[CHANNEL_RECEIPTS *
	    sizeof(struct wire_receipt)];
};

struct shared {
	_Alignas(64) _Atomic uint32_t sleeps;	/* the recorder wants its bell */
	_Atomic uint32_t stop, failed, gone, rotate;
	_Atomic uint32_t life_asked, life_given;
	_Alignas(64) _Atomic uint64_t records, batches, checkpoints, refused,
	    bytes, epoch, full, signed_size;
	_Atomic int64_t space;
	struct shared_port port[];
};

/* Both sides' private ends; after a fork each process uses its own half. */
struct end {
	struct ring out, in;
};

struct port {
	struct end producer, recorder;
	int bell;
	uint64_t owed;		/* producer: receipts asked for and not taken */
	bool late_bell;		/* producer: a ring may still be on its way */
	bool broken;		/* recorder: not believed any more */
};

struct channel {
	struct shared *shared;
	size_t shared_len;
	unsigned ports;
	int bell;
	_Atomic bool gone;	/* as this side knows it */
	struct port port[CHANNEL_PORTS_MAX];
};

static void
init_port(struct channel *channel, unsigned i)
{
	struct shared_port *shared = &channel->shared->port[i];
	struct port *port = &channel->port[i];
	uint64_t receipts = sizeof(shared->answered);

	ring_init(&port->producer.out, &shared->submissions, shared->submitted,
	    CHANNEL_RING);
	ring_init(&port->recorder.in, &shared->submissions, shared->submitted,
	    CHANNEL_RING);
	ring_init(&port->recorder.out, &shared->receipts, shared->answered,
	    receipts);
	ring_init(&port->producer.in, &shared->receipts, shared->answered,
	    receipts);
	atomic_store(&shared->waits, 1);
}

static int
open_bells(struct channel *channel)
{
	channel->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (channel->bell < 0)
		return -1;
	for (unsigned i = 0; i < channel->ports; i++) {
		channel->port[i].bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (channel->port[i].bell < 0)
			return -1;
	}
	return 0;
}

struct channel *
channel_new(unsigned ports)
{
	struct channel *channel;

	if (ports < 1 || ports > CHANNEL_PORTS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	channel = calloc(1, sizeof(*channel));
	if (channel == NULL)
		return NULL;
	channel->ports = ports;
	channel->bell = -1;
	for (unsigned i = 0; i < ports; i++)
		channel->port[i].bell = -1;
	channel->shared_len = sizeof(struct shared) +
	    ports * sizeof(struct shared_port);
	channel->shared = mmap(NULL, channel->shared_len,
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (channel->shared == MAP_FAILED) {
		channel->shared = NULL;
		goto fail;
	}
	if (open_bells(channel) != 0)
		goto fail;
	for (unsigned i = 0; i < ports; i++)
		init_port(channel, i);
	return channel;
fail:
	channel_free(channel);
	return NULL;
}

void
channel_free(struct channel *channel)
{
	if (channel == NULL)
		return;
	if (channel->bell >= 0)
		close(channel->bell);
	for (unsigned i = 0; i < channel->ports; i++) {
		if (channel->port[i].bell >= 0)
			close(channel->port[i].bell);
	}
	if (channel->shared != NULL)
		munmap(channel->shared, channel->shared_len);
	free(channel);
}

size_t
channel_fds(const struct channel *channel, int *fds)
{
	fds[0] = channel->bell;
	for (unsigned i = 0; i < channel->ports; i++)
		fds[i + 1] = channel->port[i].bell;
	return channel->ports + 1;
}

static void
ring_bell(int fd)
{
	uint64_t one = 1;

	/* It fails only where the bell rings already. */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static bool
drain_bell(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count);
}

/* After something was published for the recorder. */
void
channel_flush(struct channel *channel)
{
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&channel->shared->sleeps,
	    memory_order_relaxed) != 0 &&
	    atomic_exchange(&channel->shared->sleeps, 0) != 0)
		ring_bell(channel->bell);
}

static uint32_t
submission_len(size_t type_len, size_t run_len, size_t body_len)
{
	return (uint32_t)(sizeof(struct wire_submission) + type_len + run_len +
	    body_len);
}

bool
channel_record_fits(const struct ledger_record *record)
{
	return strlen(record->type) <= CHANNEL_TYPE_MAX &&
	    (record->run == NULL || strlen(record->run) <= LEDGER_RUN_MAX) &&
	    strlen(record->policy) == LEDGER_POLICY_LEN &&
	    record->body_len <= LEDGER_BODY_MAX;
}

int
channel_submit(struct channel *channel, unsigned i,
    const struct ledger_record *record, uint64_t ticket)
{
	struct port *port = &channel->port[i];
	struct ring *out = &port->producer.out;
	size_t type_len = strlen(record->type);
	size_t run_len = record->run != NULL ? strlen(record->run) : 0;
	bool answer = ticket != LEDGER_NO_RECEIPT;
	struct wire_submission head = { .ticket = ticket,
	    .seal = record->seal, .has_run = record->run != NULL };

	if (!channel_record_fits(record) || channel_gone(channel) ||
	    (answer && port->owed == CHANNEL_RECEIPTS))
		return -1;
	head.type_len = (uint8_t)type_len;
	head.run_len = (uint8_t)run_len;
	head.body_len = (uint32_t)record->body_len;
	head.len = submission_len(type_len, run_len, record->body_len);
	memcpy(head.policy, record->policy, LEDGER_POLICY_LEN);
	if (!ring_has_room(out, head.len))
		return -1;
	ring_put(out, &head, sizeof(head));
	ring_put(out, record->type, type_len);
	ring_put(out, record->run, run_len);
	ring_put(out, record->body, record->body_len);
	ring_publish(out);
	port->owed += answer;
	return 0;
}

static bool
take_receipt(struct port *port, struct ledger_receipt *out)
{
	struct wire_receipt wire;
	uint64_t filled;

	if (!ring_filled(&port->producer.in, &filled) || filled < sizeof(wire))
		return false;
	ring_take(&port->producer.in, &wire, sizeof(wire));
	ring_release(&port->producer.in);
	*out = (struct ledger_receipt){ .ticket = wire.ticket,
	    .status = (enum ledger_status)wire.status, .index = wire.index,
	    .seq = wire.seq };
	memcpy(out->leaf, wire.leaf, sizeof(out->leaf));
	if (port->owed > 0)
		port->owed--;
	return true;
}

/*
 * The recorder clears `waits` before it rings.  Seen cleared, but with nothing
 * to drain, the ring is still on its way and would make the descriptor readable
 * for nothing, and for ever: late_bell has it drained at the next opportunity.
 */
static void
arm_port(struct channel *channel, unsigned i)
{
	struct port *port = &channel->port[i];
	_Atomic uint32_t *waits = &channel->shared->port[i].waits;

	if (channel_gone(channel))
		return;		/* the descriptor stays readable */
	if (atomic_load_explicit(waits, memory_order_relaxed) != 0 &&
	    !port->late_bell)
		return;
	port->late_bell = !drain_bell(port->bell);
	atomic_store(waits, 1);
	atomic_thread_fence(memory_order_seq_cst);
	/* Marked between look and drain: the ring that said so was drained. */
	if (channel_gone(channel))
		ring_bell(port->bell);
}

bool
channel_receipt(struct channel *channel, unsigned i,
    struct ledger_receipt *out)
{
	struct port *port = &channel->port[i];

	if (take_receipt(port, out))
		return true;
	arm_port(channel, i);
	return take_receipt(port, out);
}

int
channel_port_fd(const struct channel *channel, unsigned port)
{
	return channel->port[port].bell;
}

void
channel_mark_gone(struct channel *channel)
{
	atomic_store(&channel->gone, true);
	atomic_store(&channel->shared->gone, 1);
	for (unsigned i = 0; i < channel->ports; i++)
		ring_bell(channel->port[i].bell);
}

void
channel_mark_failed(struct channel *channel)
{
	atomic_store(&channel->shared->failed, 1);
}

bool
channel_failed(const struct channel *channel)
{
	return atomic_load(&channel->shared->failed) != 0;
}

bool
channel_gone(const struct channel *channel)
{
	return atomic_load(&channel->gone) ||
	    atomic_load(&channel->shared->gone) != 0;
}

void
channel_stop(struct channel *channel)
{
	atomic_store(&channel->shared->stop, 1);
	ring_bell(channel->bell);
}

bool
channel_stopping(const struct channel *channel)
{
	return atomic_load(&channel->shared->stop) != 0;
}

void
channel_want_rotation(struct channel *channel)
{
	atomic_store(&channel->shared->rotate, 1);
	ring_bell(channel->bell);
}

bool
channel_take_rotation(struct channel *channel)
{
	return atomic_load_explicit(&channel->shared->rotate,
	    memory_order_relaxed) != 0 &&
	    atomic_exchange(&channel->shared->rotate, 0) != 0;
}

void
channel_ask_life(struct channel *channel)
{
	atomic_fetch_add(&channel->shared->life_asked, 1);
	channel_flush(channel);
}

bool
channel_lives(const struct channel *channel)
{
	return atomic_load(&channel->shared->life_asked) ==
	    atomic_load(&channel->shared->life_given);
}

bool
channel_give_life(struct channel *channel)
{
	struct shared *shared = channel->shared;
	uint32_t asked = atomic_load_explicit(&shared->life_asked,
	    memory_order_relaxed);

	if (asked == atomic_load_explicit(&shared->life_given,
	    memory_order_relaxed))
		return false;
	atomic_store(&shared->life_given, asked);
	return true;
}

static bool
lengths_fit(const struct wire_submission *head, uint64_t filled)
{
	return head->type_len <= CHANNEL_TYPE_MAX &&
	    head->run_len <= LEDGER_RUN_MAX &&
	    head->body_len <= LEDGER_BODY_MAX && head->seal <= 1 &&
	    head->has_run <= 1 && head->len <= filled &&
	    head->len == submission_len(head->type_len, head->run_len,
	    head->body_len);
}

enum channel_taken
channel_take(struct channel *channel, unsigned i,
    struct channel_submission *out)
{
	struct port *port = &channel->port[i];
	struct ring *in = &port->recorder.in;
	struct wire_submission head = { .len = 0 };
	uint64_t filled = 0;

	if (port->broken || (ring_filled(in, &filled) && filled == 0))
		return CHANNEL_EMPTY;
	if (filled >= sizeof(head) && filled <= in->cap)
		ring_take(in, &head, sizeof(head));
	if (filled > in->cap || !lengths_fit(&head, filled)) {
		port->broken = true;
		return CHANNEL_BROKEN;
	}
	out->ticket = head.ticket;
	out->type_len = head.type_len;
	out->run_len = head.run_len;
	out->body_len = head.body_len;
	out->seal = head.seal != 0;
	out->has_run = head.has_run != 0;
	memcpy(out->policy, head.policy, sizeof(out->policy));
	out->type = out->text;
	out->run = out->type + out->type_len;
	out->body = out->run + out->run_len;
	ring_take(in, out->text, out->type_len + out->run_len + out->body_len);
	ring_release(in);
	return CHANNEL_TAKEN;
}

bool
channel_answer(struct channel *channel, unsigned i,
    const struct ledger_receipt *receipt)
{
	struct ring *out = &channel->port[i].recorder.out;
	struct wire_receipt wire = { .ticket = receipt->ticket,
	    .index = receipt->index, .seq = receipt->seq,
	    .status = (uint64_t)receipt->status };

	memcpy(wire.leaf, receipt->leaf, sizeof(wire.leaf));
	if (!ring_has_room(out, sizeof(wire)))
		return false;
	ring_put(out, &wire, sizeof(wire));
	return true;
}

void
channel_ring_port(struct channel *channel, unsigned i)
{
	_Atomic uint32_t *waits = &channel->shared->port[i].waits;

	ring_publish(&channel->port[i].recorder.out);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(waits, memory_order_relaxed) != 0 &&
	    atomic_exchange(waits, 0) != 0)
		ring_bell(channel->port[i].bell);
}

static bool
anything_submitted(struct channel *channel)
{
	for (unsigned i = 0; i < channel->ports; i++) {
		struct port *port = &channel->port[i];
		uint64_t filled;

		if (!port->broken &&
		    (!ring_filled(&port->recorder.in, &filled) || filled != 0))
			return true;
	}
	return false;
}

bool
channel_sleep(struct channel *channel, int extra_fd, int timeout_ms)
{
	struct pollfd fds[2] = {
		{ .fd = channel->bell, .events = POLLIN },
		{ .fd = extra_fd, .events = POLLIN },
	};

	atomic_store(&channel->shared->sleeps, 1);
	atomic_thread_fence(memory_order_seq_cst);
	if (!anything_submitted(channel) && !channel_stopping(channel) &&
	    channel_lives(channel) && poll(fds, 2, timeout_ms) > 0 && fds[0].revents != 0)
		drain_bell(channel->bell);
	atomic_store(&channel->shared->sleeps, 0);
	return fds[1].revents != 0;
}

void
channel_count(struct channel *channel, const struct ledger_counts *counts)
{
	struct shared *shared = channel->shared;

	atomic_store_explicit(&shared->records, counts->records,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->batches, counts->batches,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->checkpoints, counts->checkpoints,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->refused, counts->refused,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->bytes, counts->bytes,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->epoch, counts->epoch,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->full, counts->full,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->signed_size, counts->signed_size,
	    memory_order_relaxed);
	atomic_store_explicit(&shared->space, counts->space,
	    memory_order_relaxed);
}

void
channel_counts(const struct channel *channel, struct ledger_counts *out)
{
	const struct shared *shared = channel->shared;

	out->records = atomic_load_explicit(&shared->records,
	    memory_order_relaxed);
	out->batches = atomic_load_explicit(&shared->batches,
	    memory_order_relaxed);
	out->checkpoints = atomic_load_explicit(&shared->checkpoints,
	    memory_order_relaxed);
	out->refused = atomic_load_explicit(&shared->refused,
	    memory_order_relaxed);
	out->bytes = atomic_load_explicit(&shared->bytes,
	    memory_order_relaxed);
	out->epoch = atomic_load_explicit(&shared->epoch,
	    memory_order_relaxed);
	out->full = atomic_load_explicit(&shared->full,
	    memory_order_relaxed);
	out->signed_size = atomic_load_explicit(&shared->signed_size,
	    memory_order_relaxed);
	out->space = atomic_load_explicit(&shared->space,
	    memory_order_relaxed);
}

_Static_assert(LEDGER_BODY_MAX + 512 < CHANNEL_RING, "a record fits its ring");
