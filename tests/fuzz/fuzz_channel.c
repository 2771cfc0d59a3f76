/*
 * The recorder's end of a port whose shared memory a hostile producer filled:
 * eight bytes of position, then the ring.  Nothing is read past the mapping,
 * nothing too long is handed on, and a broken port stays quiet.
 */
#include "ledger/recorder/channel.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static struct channel_submission taken;

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
check_taken(void)
{
	require(taken.type_len <= CHANNEL_TYPE_MAX);
	require(taken.run_len <= LEDGER_RUN_MAX);
	require(taken.body_len <= LEDGER_BODY_MAX);
	require(taken.type >= taken.text && taken.body + taken.body_len <=
	    taken.text + sizeof(taken.text));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct channel *channel;
	struct shared_port *port;
	uint64_t head, start;
	unsigned n = 0;

	if (len < sizeof(head))
		return 0;
	channel = channel_new(1);
	require(channel != NULL);
	port = &channel->shared->port[0];
	/* start where the ring is about to wrap round */
	start = CHANNEL_RING - 100;
	channel->port[0].recorder.in.at = start;
	channel->port[0].recorder.in.other = start;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	len -= sizeof(head);
	/* positions near the end of what was written are the telling ones */
	atomic_store(&port->submissions.head, start +
	    (head > UINT32_MAX ? head : len + (head & 3)));
	for (size_t i = 0; i < len && i < CHANNEL_RING; i++)
		port->submitted[(start + i) % CHANNEL_RING] = data[i];
	while (channel_take(channel, 0, &taken) == CHANNEL_TAKEN && n++ < 1000)
		check_taken();
	require(channel_take(channel, 0, &taken) == CHANNEL_EMPTY || n >= 1000);
	channel_free(channel);
	return 0;
}
