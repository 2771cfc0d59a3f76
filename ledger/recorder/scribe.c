#include "ledger/recorder/scribe.h"
#include "ledger/record/json_out.h"
#include "ledger/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOTE_BODY_MAX 256

static struct record_slice
slice(const char *text)
{
	return (struct record_slice){ text, strlen(text) };
}

int
scribe_init(struct scribe *scribe, struct store *store, const char *stream,
    const char *policy, const struct replay *replay)
{
	const struct replay_stream *known = replay_find(replay, stream);
	size_t len = replay->n_streams * sizeof(*scribe->streams);

	if (!record_name_valid(stream, strlen(stream)) ||
	    !record_policy_valid(policy, strlen(policy)))
		return -1;
	memset(scribe, 0, sizeof(*scribe));
	scribe->store = store;
	scribe->text_us = -1;
	scribe->stream_len = strlen(stream);
	memcpy(scribe->stream, stream, scribe->stream_len + 1);
	memcpy(scribe->policy, policy, RECORD_POLICY_LEN);
	if (known != NULL) {
		scribe->seq = scribe->first_seq = known->next_seq;
		memcpy(scribe->prev, known->last, sizeof(scribe->prev));
		scribe->time_us = known->time_us;
	}
	scribe->streams = malloc(len + 1);
	if (scribe->streams == NULL)
		return -1;
	memcpy(scribe->streams, replay->streams, len);
	scribe->n_streams = replay->n_streams;
	return 0;
}

void
scribe_free(struct scribe *scribe)
{
	free(scribe->streams);
	scribe->streams = NULL;
}

/* Mostly the one of the record before, of the same turn; and a date is worked
 * out once a second. */
static const char *
time_text(struct scribe *scribe, int64_t time_us)
{
	if (time_us == scribe->text_us)
		return scribe->text;
	if (scribe->text_us >= 0 &&
	    time_us / 1000000 == scribe->text_us / 1000000)
		record_time_micros(scribe->text, time_us);
	else
		record_time_format(scribe->text, time_us);
	scribe->text_us = time_us;
	return scribe->text;
}

/* Line up one record at the next seq.  The matter is valid. */
static enum store_status
put_line(struct scribe *scribe, const struct scribe_matter *matter, int64_t time_us,
    bool control)
{
	struct record_parts parts = { .prev = scribe->prev,
	    .stream = { scribe->stream, scribe->stream_len }, .type = matter->type,
	    .run = matter->run, .policy = matter->policy,
	    .body = matter->body, .seq = scribe->seq, .time_us = time_us,
	    .time = time_text(scribe, time_us) };
	enum store_status status;
	char *line;
	size_t len;

	status = store_room(scribe->store, control, &line);
	if (status != STORE_OK)
		return status;
	len = record_compose(line, RECORD_LINE_MAX, &parts);
	if (len == 0 || store_add(scribe->store, len, scribe->prev) != 0)
		return STORE_FAILED;
	scribe->seq++;
	scribe->time_us = time_us;
	return STORE_OK;
}

static void
put_head(struct json_out *out, const char *name, uint64_t next_seq,
    const uint8_t *last, bool open)
{
	json_out_object(out, NULL);
	json_out_str(out, "stream", name);
	json_out_uint(out, "next_seq", next_seq);
	json_out_hex(out, "last", last, RECORD_HASH_LEN);
	json_out_bool(out, "open", open);
	json_out_object_end(out);
}

/* Where every stream stands before this record. */
static enum store_status
put_heads(struct scribe *scribe, const struct scribe_matter *matter,
    int64_t time_us)
{
	struct scribe_matter heads = *matter;
	struct json_out out;
	int len;

	json_out_begin(&out, scribe->heads, sizeof(scribe->heads));
	json_out_object(&out, NULL);
	json_out_array(&out, "streams");
	put_head(&out, scribe->stream, scribe->seq, scribe->prev, true);
	for (unsigned i = 0; i < scribe->n_streams; i++) {
		const struct replay_stream *other = &scribe->streams[i];

		if (strcmp(other->name, scribe->stream) != 0)
			put_head(&out, other->name, other->next_seq,
			    other->last, other->open);
	}
	json_out_array_end(&out);
	json_out_object_end(&out);
	len = json_out_end(&out);
	if (len < 0)
		return STORE_FAILED;
	heads.type = slice("heads");
	heads.run = (struct record_slice){ NULL, 0 };
	heads.body = (struct record_slice){ scribe->heads, (size_t)len };
	return put_line(scribe, &heads, time_us, true);
}

/* A segment begins with `heads`, unless a session begins with it, or a hole is
 * to be declared first. */
static bool
heads_due(const struct scribe *scribe, const struct scribe_matter *matter)
{
	uint64_t size = scribe->store->grow.size;

	return size > 0 && size % SEGMENT_RECORDS == 0 &&
	    scribe->drop.count == 0 && !record_slice_is(matter->type, "open");
}

static enum store_status
put(struct scribe *scribe, const struct scribe_matter *matter, int64_t time_us,
    bool control)
{
	enum store_status status = STORE_OK;

	if (heads_due(scribe, matter))
		status = put_heads(scribe, matter, time_us);
	return status != STORE_OK ? status :
	    put_line(scribe, matter, time_us, control);
}

static enum store_status
put_note(struct scribe *scribe, const char *type, const char *body,
    size_t len, int64_t time_us)
{
	struct scribe_matter matter = { .type = slice(type),
	    .policy = { scribe->policy, RECORD_POLICY_LEN },
	    .body = { body, len } };

	return put(scribe, &matter, time_us, true);
}

static enum store_status
say_set_back(struct scribe *scribe, int64_t before, int64_t now)
{
	char body[NOTE_BODY_MAX], time[RECORD_TIME_LEN];
	struct json_out out;
	int len;

	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	record_time_format(time, before);
	json_out_strn(&out, "before", time, sizeof(time));
	record_time_format(time, now);
	json_out_strn(&out, "after", time, sizeof(time));
	json_out_object_end(&out);
	len = json_out_end(&out);
	return put_note(scribe, "clock", body, (size_t)len, now);
}

/* A wall clock that was set back is no error, but it is said. */
static enum store_status
follow_clock(struct scribe *scribe, int64_t now)
{
	return now >= scribe->time_us ? STORE_OK :
	    say_set_back(scribe, scribe->time_us, now);
}

static enum store_status
say_dropped(struct scribe *scribe, int64_t now)
{
	const struct scribe_drop *drop = &scribe->drop;
	enum store_status status;
	char body[NOTE_BODY_MAX];
	struct json_out out;
	int len;

	json_out_begin(&out, body, sizeof(body));
	json_out_object(&out, NULL);
	json_out_uint(&out, "from", drop->from);
	json_out_uint(&out, "to", scribe->seq - 1);
	json_out_uint(&out, "count", drop->count);
	json_out_str(&out, "reason", drop->reason);
	json_out_int(&out, "interval_ms", drop->until_ms - drop->since_ms);
	json_out_object_end(&out);
	len = json_out_end(&out);
	/* Nothing may stand between the hole and this: if the clock was set back
	 * meanwhile, that is for the record behind it to be told. */
	status = put_note(scribe, "drop", body, (size_t)len,
	    now > scribe->time_us ? now : scribe->time_us);
	if (status == STORE_OK)
		scribe->drop = (struct scribe_drop){ .count = 0 };
	return status;
}

static enum store_status
declare_drop(struct scribe *scribe, int64_t now)
{
	return scribe->drop.count == 0 ? STORE_OK : say_dropped(scribe, now);
}

enum store_status
scribe_note(struct scribe *scribe, const char *type, const char *body,
    size_t body_len)
{
	int64_t now = clock_wall_us();
	enum store_status status = declare_drop(scribe, now);

	if (status == STORE_OK)
		status = follow_clock(scribe, now);
	if (status == STORE_OK)
		status = put_note(scribe, type, body, body_len, now);
	return status;
}

enum store_status
scribe_open(struct scribe *scribe, const char *body, size_t body_len)
{
	const int64_t before = scribe->time_us, now = clock_wall_us();
	enum store_status status = put_note(scribe, "open", body, body_len, now);

	if (status == STORE_OK && now < before)
		status = say_set_back(scribe, before, now);
	return status;
}

/* Those types only the recorder can vouch for: what it opened, closed, lost. */
#define NAME(text) { text, sizeof(text) - 1 }
static bool
is_own_type(struct record_slice type)
{
	static const struct record_slice own[] = { NAME("open"), NAME("close"),
	    NAME("drop"), NAME("heads"), NAME("key"), NAME("recover"),
	    NAME("clock") };

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		if (own[i].len == type.len &&
		    memcmp(own[i].ptr, type.ptr, type.len) == 0)
			return true;
	}
	return false;
}

/* Mostly those of the record before, which were valid. */
static bool
policy_valid(const struct scribe *scribe, struct record_slice policy)
{
	return (policy.len == RECORD_POLICY_LEN &&
	    memcmp(policy.ptr, scribe->policy, RECORD_POLICY_LEN) == 0) ||
	    record_policy_valid(policy.ptr, policy.len);
}

static bool
run_valid(struct scribe *scribe, struct record_slice run)
{
	if (run.len == scribe->run_len &&
	    memcmp(run.ptr, scribe->run, run.len) == 0)
		return run.len > 0;
	if (!record_name_valid(run.ptr, run.len))
		return false;
	memcpy(scribe->run, run.ptr, run.len);
	scribe->run_len = run.len;
	return true;
}

static bool
valid(struct scribe *scribe, const struct scribe_matter *matter)
{
	return record_type_known(matter->type.ptr, matter->type.len) &&
	    !is_own_type(matter->type) &&
	    (matter->run.ptr == NULL || run_valid(scribe, matter->run)) &&
	    policy_valid(scribe, matter->policy) &&
	    matter->body.len <= LEDGER_BODY_MAX &&
	    json_memo_object(&scribe->memo, matter->body.ptr,
	    matter->body.len) == NULL;
}

/* The seq is used up, and the loss will be declared.  Where several reasons
 * meet in one range, "full" is what the operator must know. */
static void
refuse(struct scribe *scribe, const char *reason)
{
	struct scribe_drop *drop = &scribe->drop;

	drop->until_ms = clock_ms();
	if (drop->count == 0) {
		drop->from = scribe->seq;
		drop->since_ms = drop->until_ms;
		drop->reason = reason;
	} else if (strcmp(reason, "full") == 0) {
		drop->reason = reason;
	}
	drop->count++;
	scribe->seq++;
}

void
scribe_turn(struct scribe *scribe)
{
	scribe->turn_us = clock_wall_us();
}

/* The turn's, unless a record of our own came behind its beginning. */
static int64_t
turn_time(const struct scribe *scribe)
{
	return scribe->turn_us >= scribe->time_us ? scribe->turn_us :
	    clock_wall_us();
}

/* Ordinary records leave the reserve alone, and what must stand before this
 * one is written only when this one will be. */
static enum store_status
put_ordinary(struct scribe *scribe, const struct scribe_matter *matter)
{
	int64_t now = turn_time(scribe);
	enum store_status status;
	char *line;

	status = store_room(scribe->store, false, &line);
	if (status == STORE_OK)
		status = declare_drop(scribe, now);
	if (status == STORE_OK)
		status = follow_clock(scribe, now);
	if (status == STORE_OK)
		status = put(scribe, matter, now, true);
	return status;
}

void
scribe_write(struct scribe *scribe, const struct scribe_matter *matter,
    struct ledger_receipt *receipt)
{
	enum store_status status = STORE_FULL;
	bool good = valid(scribe, matter);

	if (good)
		status = put_ordinary(scribe, matter);
	if (status == STORE_OK) {
		receipt->status = LEDGER_DURABLE;
		receipt->seq = scribe->seq - 1;
		receipt->index = scribe->store->grow.size - 1;
		memcpy(receipt->leaf, scribe->prev, sizeof(receipt->leaf));
		memcpy(scribe->policy, matter->policy.ptr, RECORD_POLICY_LEN);
		return;
	}
	if (status == STORE_FAILED) {
		receipt->status = LEDGER_FAILED;
		return;
	}
	receipt->status = good ? LEDGER_FULL : LEDGER_REJECTED;
	receipt->seq = scribe->seq;
	refuse(scribe, good ? "full" : "rejected");
}

enum store_status
scribe_settle(struct scribe *scribe, bool closing)
{
	enum store_status status;
	char *line;

	if (scribe->drop.count == 0)
		return STORE_OK;
	status = store_room(scribe->store, closing, &line);
	if (status == STORE_OK)
		status = declare_drop(scribe, clock_wall_us());
	return status;
}
