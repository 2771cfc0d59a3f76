#include "ledger/clock.h"
#include "ledger/recorder/recorder.h"
#include "ledger/io.h"
#include "ledger/record/json_out.h"
#include "ledger/recorder/rekey.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

#define PORT_TURN 32		/* records taken from one port before the next */
#define OPEN_BODY_MAX 4096
#define IDLE_MS 50		/* quiet for so long: take space ahead */
#define PREPARE_AGAIN_MS 1000
#define ROTATE_AGAIN_MS 1000	/* at the earliest, whoever asks */

struct answer {
	unsigned port;
	bool seal;
	struct ledger_receipt receipt;
};

struct recorder {
	struct recorder_setup setup;
	unsigned ports, turn;
	uint64_t read_from;	/* index of the first record read at the start */
	struct store store;
	struct scribe scribe;
	bool broken;		/* a write failed: nothing is written any more */
	bool distrust;		/* a port broke the protocol: no more is taken */
	int64_t checkpoint_at;	/* monotonic ms: when the next one is due */
	int64_t prepare_at;
	int64_t rotate_at;	/* not before: the last change, or attempt */
	bool rotate;		/* asked for */
	struct ledger_counts counts;
	struct channel_submission submission;
	struct answer answers[RECORDER_BATCH];
	size_t n_answers, n_taken;
	bool seal;		/* somebody in this batch waits for a checkpoint */
};

static void
break_down(struct recorder *recorder)
{
	recorder->broken = true;
	channel_mark_failed(recorder->setup.channel);
}

static int
commit(struct recorder *recorder)
{
	uint64_t before = recorder->store.committed;

	if (recorder->broken || store_commit(&recorder->store) != 0) {
		break_down(recorder);
		return -1;
	}
	if (recorder->store.committed != before)
		recorder->counts.batches++;
	recorder->counts.records += recorder->store.committed - before;
	return 0;
}

static int
checkpoint(struct recorder *recorder)
{
	bool news = recorder->store.signed_size != recorder->store.committed;

	if (recorder->broken || store_checkpoint(&recorder->store) != 0) {
		break_down(recorder);
		return -1;
	}
	recorder->counts.checkpoints += news;
	recorder->counts.signed_size = recorder->store.signed_size;
	channel_count(recorder->setup.channel, &recorder->counts);
	recorder->checkpoint_at = clock_ms() + recorder->setup.checkpoint_ms;
	return 0;
}

static bool
checkpoint_due(const struct recorder *recorder)
{
	return recorder->store.signed_size != recorder->store.committed &&
	    clock_ms() >= recorder->checkpoint_at;
}

/* A ledger that follows another names its last checkpoint in its first record. */
static void
name_before(struct recorder *recorder, struct json_out *out)
{
	char note[CHECKPOINT_NOTE_MAX];
	ssize_t len = recorder->store.grow.size == 0 ?
	    io_read_file(recorder->store.dirfd, "continues", note,
	    sizeof(note)) : -1;

	if (len > 0)
		json_out_strn(out, "continues", note, (size_t)len);
}

/* What the stream's new beginning says about this ledger and its writer. */
static enum store_status
write_open(struct recorder *recorder, const struct replay_stream *known)
{
	const struct recorder_setup *setup = &recorder->setup;
	char body[OPEN_BODY_MAX];
	struct json_out out;
	int len;

	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_str(&out, "origin", recorder->store.key.name);
	json_out_str(&out, "version", COUNTERSIGN_VERSION);
	json_out_uint(&out, "size", recorder->store.grow.size);
	json_out_str(&out, "recorder", setup->place);
	json_out_str(&out, "confined", setup->confined);
	json_out_bool(&out, "key_locked", setup->key_locked);
	json_out_bool(&out, "synced", setup->sync);
	json_out_uint(&out, "read_from", recorder->read_from);
	json_out_bool(&out, "after_crash", known != NULL && known->open);
	if (known != NULL)
		json_out_uint(&out, "last_seq", known->next_seq - 1);
	name_before(recorder, &out);
	json_out_object_end(&out);
	len = json_out_end(&out);
	if (len < 0)
		return STORE_FAILED;
	return scribe_open(&recorder->scribe, body, (size_t)len);
}

static enum store_status
write_recover(struct recorder *recorder, const struct replay_torn *torn)
{
	char body[OPEN_BODY_MAX];
	struct json_out out;
	int len;

	if (torn->len == 0)
		return STORE_OK;
	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_uint(&out, "bytes", torn->len);
	json_out_hex(&out, "sha256", torn->sha256, sizeof(torn->sha256));
	json_out_str(&out, "file", torn->file);
	json_out_object_end(&out);
	len = json_out_end(&out);
	return scribe_note(&recorder->scribe, "recover", body, (size_t)len);
}

static enum store_status
write_close(struct recorder *recorder)
{
	struct scribe *scribe = &recorder->scribe;
	enum store_status status;
	char body[OPEN_BODY_MAX];
	struct json_out out;
	int len;

	status = scribe_settle(scribe, true);
	if (status != STORE_OK)
		return status;
	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_uint(&out, "first_seq", scribe->first_seq);
	json_out_uint(&out, "last_seq", scribe->seq);
	json_out_object_end(&out);
	len = json_out_end(&out);
	return scribe_note(scribe, "close", body, (size_t)len);
}

/* Looked at here, where a disk that hangs keeps nobody else. */
static void
measure_space(struct recorder *recorder)
{
	struct statvfs is;

	if (fstatvfs(recorder->store.dirfd, &is) != 0 || __builtin_mul_overflow(
	    is.f_bavail, is.f_frsize, &recorder->counts.space))
		recorder->counts.space = -1;
	channel_count(recorder->setup.channel, &recorder->counts);
}

static int
begin(struct recorder *recorder, const struct replay *replay,
    const struct replay_torn *torn, struct problem *problem)
{
	const struct recorder_setup *setup = &recorder->setup;
	const struct replay_stream *known = replay_find(replay, setup->stream);

	if (scribe_init(&recorder->scribe, &recorder->store, setup->stream,
	    setup->policy, replay) != 0)
		return problem_set(problem, "the stream must be a plain name, "
		    "the policy a sha256 digest");
	if (rekey_resume(&recorder->store, replay, setup->keeper,
	    problem) != 0)
		return -1;
	recorder->counts.epoch = recorder->store.epochs.count - 1;
	if (write_open(recorder, known) != STORE_OK ||
	    write_recover(recorder, torn) != STORE_OK ||
	    commit(recorder) != 0 || checkpoint(recorder) != 0)
		return problem_errno(problem, "cannot append to the ledger");
	measure_space(recorder);
	return 0;
}

struct recorder *
recorder_start(const struct recorder_setup *setup, unsigned ports,
    struct problem *problem)
{
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	struct replay_torn torn;
	struct replay replay;

	if (recorder == NULL) {
		problem_set(problem, "out of memory");
		return NULL;
	}
	recorder->setup = *setup;
	recorder->ports = ports;
	if (store_open(&recorder->store, setup->dir, setup->sk, setup->keeper,
	    setup->sync, setup->check_all, setup->reserve_bytes, &replay, &torn,
	    problem) != 0) {
		free(recorder);
		return NULL;
	}
	recorder->read_from = replay.first_read;
	if (begin(recorder, &replay, &torn, problem) != 0) {
		store_abandon(&recorder->store);
		scribe_free(&recorder->scribe);
		free(recorder);
		recorder = NULL;
	}
	replay_free(&replay);
	return recorder;
}

/* Write one submission and note the answer it will get. */
static void
take(struct recorder *recorder, unsigned port)
{
	const struct channel_submission *in = &recorder->submission;
	struct scribe_matter matter = { .type = { in->type, in->type_len },
	    .run = { in->has_run ? in->run : NULL, in->run_len },
	    .policy = { in->policy, sizeof(in->policy) },
	    .body = { in->body, in->body_len } };
	struct ledger_receipt receipt = { .ticket = in->ticket,
	    .status = LEDGER_FAILED };

	if (!recorder->broken && !recorder->distrust) {
		scribe_write(&recorder->scribe, &matter, &receipt);
		if (receipt.status == LEDGER_FAILED)
			break_down(recorder);
	}
	if (receipt.status == LEDGER_DURABLE)
		recorder->counts.bytes += in->body_len;
	else
		recorder->counts.refused++;
	recorder->counts.full = receipt.status == LEDGER_FULL;
	recorder->n_taken++;
	if (in->ticket == LEDGER_NO_RECEIPT)
		return;
	recorder->seal |= in->seal;
	recorder->answers[recorder->n_answers++] = (struct answer){
	    .port = port, .seal = in->seal, .receipt = receipt };
}

/* Up to PORT_TURN records of one port; false where it had none.  They bear the
 * time of this turn, which takes some microseconds: what is between them is told
 * by their order. */
static bool
take_turn(struct recorder *recorder, unsigned port)
{
	for (unsigned n = 0; n < PORT_TURN; n++) {
		if (recorder->n_taken == RECORDER_BATCH)
			return true;
		switch (channel_take(recorder->setup.channel, port,
		    &recorder->submission)) {
		case CHANNEL_TAKEN:
			if (n == 0)
				scribe_turn(&recorder->scribe);
			take(recorder, port);
			break;
		case CHANNEL_EMPTY:
			return n > 0;
		case CHANNEL_BROKEN:
			/* Whoever wrote that is not the program we know. */
			recorder->distrust = true;
			channel_mark_failed(recorder->setup.channel);
			return true;
		}
	}
	return true;
}

/* Everything that waits, in turns, until nothing does or the batch is full. */
static bool
collect(struct recorder *recorder)
{
	bool more = true;

	recorder->n_taken = recorder->n_answers = 0;
	recorder->seal = false;
	while (more && recorder->n_taken < RECORDER_BATCH) {
		more = false;
		for (unsigned i = 0; i < recorder->ports; i++) {
			unsigned port = (recorder->turn + i) % recorder->ports;

			more |= take_turn(recorder, port);
		}
		recorder->turn++;
	}
	return recorder->n_taken > 0;
}

/* Tell those who wait for a checkpoint, or those who do not. */
static void
answer(struct recorder *recorder, bool sealed)
{
	struct channel *channel = recorder->setup.channel;
	bool ring[CHANNEL_PORTS_MAX] = { false };

	for (size_t i = 0; i < recorder->n_answers; i++) {
		struct answer *a = &recorder->answers[i];

		if (a->seal != sealed)
			continue;
		if (recorder->broken)
			a->receipt.status = LEDGER_FAILED;
		ring[a->port] |= channel_answer(channel, a->port, &a->receipt);
	}
	for (unsigned i = 0; i < recorder->ports; i++) {
		if (ring[i])
			channel_ring_port(channel, i);
	}
}

static void
finish_batch(struct recorder *recorder)
{
	if (!recorder->broken &&
	    scribe_settle(&recorder->scribe, false) == STORE_FAILED)
		break_down(recorder);
	commit(recorder);
	channel_count(recorder->setup.channel, &recorder->counts);
	answer(recorder, false);
	if (recorder->seal) {
		checkpoint(recorder);
		answer(recorder, true);
	}
	/* While those who were answered think of something new. */
	store_tidy(&recorder->store);
}

/* Milliseconds until the epoch has lasted long enough; the wall clock, since it
 * goes on over restarts. */
static int64_t
epoch_left_ms(const struct recorder *recorder)
{
	const struct epochs *epochs = &recorder->store.epochs;
	const struct epoch *last = &epochs->epoch[epochs->count - 1];
	int64_t began_us = last->time_us != 0 ? (int64_t)last->time_us :
	    recorder->store.born_s * 1000000;
	int64_t until_us = began_us + (int64_t)recorder->setup.epoch_s * 1000000;

	return (until_us - clock_wall_us()) / 1000;
}

/* Anything but the record that began it? */
static bool
epoch_used(const struct recorder *recorder, uint64_t *records)
{
	const struct epochs *epochs = &recorder->store.epochs;
	uint64_t from = epochs->count < 2 ? 0 :
	    epochs->epoch[epochs->count - 2].until;

	*records = recorder->store.grow.size - from;
	return *records > 0;
}

static const char *
rotation_due(const struct recorder *recorder)
{
	const struct recorder_setup *setup = &recorder->setup;
	uint64_t records;

	if (recorder->broken || recorder->distrust || setup->keeper == NULL ||
	    clock_ms() < recorder->rotate_at)
		return NULL;
	if (recorder->rotate)
		return "command";
	if (!epoch_used(recorder, &records))
		return NULL;
	if (setup->epoch_records != 0 && records >= setup->epoch_records)
		return "size";
	return setup->epoch_s != 0 && epoch_left_ms(recorder) <= 0 ?
	    "interval" : NULL;
}

/* Between two batches: what was added is committed. */
static void
rotate(struct recorder *recorder)
{
	const char *reason;
	uint64_t before = recorder->store.committed;

	recorder->rotate |= channel_take_rotation(recorder->setup.channel);
	if ((reason = rotation_due(recorder)) == NULL)
		return;
	recorder->rotate_at = clock_ms() + ROTATE_AGAIN_MS;
	switch (rekey_now(&recorder->store, &recorder->scribe,
	    recorder->setup.keeper, reason)) {
	case REKEY_DONE:
		recorder->rotate = false;
		recorder->counts.checkpoints++;
		recorder->counts.signed_size = recorder->store.signed_size;
		recorder->counts.records += recorder->store.committed - before;
		recorder->counts.epoch = recorder->store.epochs.count - 1;
		recorder->checkpoint_at = clock_ms() +
		    recorder->setup.checkpoint_ms;
		break;
	case REKEY_LATER:
		break;
	case REKEY_FAILED:
		break_down(recorder);
		break;
	}
	channel_count(recorder->setup.channel, &recorder->counts);
}

/* What there is to wait for, of a change of the key. */
static int64_t
rotation_wait_ms(const struct recorder *recorder, int64_t wait)
{
	uint64_t records;
	int64_t left = INT32_MAX, again = recorder->rotate_at - clock_ms();

	if (recorder->setup.keeper == NULL)
		return wait;
	if (recorder->rotate)
		left = 0;
	else if (recorder->setup.epoch_s != 0 && epoch_used(recorder, &records))
		left = epoch_left_ms(recorder);
	if (left < again)
		left = again;
	return left < wait ? left : wait;
}

/* How long nothing may happen before something is to be done; -1: for ever. */
static int
patience_ms(const struct recorder *recorder)
{
	int64_t now = clock_ms(), wait = INT32_MAX;

	if (recorder->broken)
		return -1;
	if (recorder->store.signed_size != recorder->store.committed)
		wait = recorder->checkpoint_at - now;
	if (store_wants_space(&recorder->store)) {
		int64_t idle = recorder->prepare_at > now + IDLE_MS ?
		    recorder->prepare_at - now : IDLE_MS;

		wait = idle < wait ? idle : wait;
	}
	wait = rotation_wait_ms(recorder, wait);
	if (wait == INT32_MAX)
		return -1;
	return wait < 0 ? 0 : (int)wait;
}

/* Space for what comes, while nobody waits for it. */
static void
prepare(struct recorder *recorder)
{
	if (recorder->broken || clock_ms() < recorder->prepare_at ||
	    !store_wants_space(&recorder->store))
		return;
	switch (store_prepare(&recorder->store)) {
	case 0:
		recorder->prepare_at = clock_ms() + PREPARE_AGAIN_MS;
		break;
	case -1:
		break_down(recorder);
		break;
	default:
		break;	/* the next step when it was quiet for as long again */
	}
}

/* Work until told to stop (true), or left alone (false). */
static bool
serve(struct recorder *recorder)
{
	struct channel *channel = recorder->setup.channel;
	bool quiet = false;

	for (;;) {
		bool owner_gone;

		if (channel_give_life(channel))
			measure_space(recorder);
		if (collect(recorder)) {
			finish_batch(recorder);
			quiet = false;
		} else if (channel_stopping(channel)) {
			return true;
		} else if (quiet) {
			prepare(recorder);
		}
		rotate(recorder);
		if (!recorder->broken && checkpoint_due(recorder))
			checkpoint(recorder);
		if (recorder->n_taken > 0)
			continue;
		owner_gone = channel_sleep(channel, recorder->setup.owner_fd,
		    patience_ms(recorder));
		if (owner_gone)
			return false;
		quiet = true;
	}
}

int
recorder_run(struct recorder *recorder)
{
	bool told = serve(recorder);
	int status = -1;

	while (collect(recorder))
		finish_batch(recorder);
	/* Without `close` a stream does not count as complete: rightly so,
	 * where its owner died or could not be trusted. */
	if (!recorder->broken && told && !recorder->distrust &&
	    write_close(recorder) != STORE_OK)
		break_down(recorder);
	if (!recorder->broken && commit(recorder) == 0 &&
	    checkpoint(recorder) == 0 && store_close(&recorder->store) == 0)
		status = recorder->distrust ? -1 : 0;
	else
		store_abandon(&recorder->store);
	channel_count(recorder->setup.channel, &recorder->counts);
	scribe_free(&recorder->scribe);
	free(recorder);
	return status;
}
