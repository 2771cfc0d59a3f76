#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/anchor/gather.h"
#include "ledger/evidence/evidence.h"
#include "ledger/export/show.h"
#include "ledger/record/json_out.h"
#include "ledger/tree/note.h"

#define ROOM (256 * 1024)

/* Records of each second of the last hour, in a ring. */
struct hour {
	int64_t second[3600];
	uint64_t records[3600];
};

static struct stats_name *
name_of(struct stats_name *names, unsigned *count, bool *more, struct record_slice slice)
{
	unsigned i;

	for (i = 0; i < *count; i++)
		if (strlen(names[i].name) == slice.len &&
		    memcmp(names[i].name, slice.ptr, slice.len) == 0)
			return &names[i];
	if (*count == STATS_NAMES_MAX) {
		*more = true;
		return NULL;
	}
	memcpy(names[i].name, slice.ptr, slice.len);
	names[i].next_seq = UINT64_MAX;
	(*count)++;
	return &names[i];
}

/* What is due in the stream, and what is not there. */
static void
follow(struct stats_name *stream, const struct facts *f)
{
	uint64_t due = stream->next_seq;
	const json_t *from = json_object_get(f->body, "from");

	stream->records++;
	stream->next_seq = f->seq + 1;
	if (due == UINT64_MAX || f->seq <= due)
		return;
	if (strcmp(f->type, "drop") == 0 && json_is_integer(from) &&
	    (uint64_t)json_integer_value(from) == due)
		stream->dropped += f->seq - due;
	else
		stream->holes += f->seq - due;
}

static void
count(struct stats *s, const struct facts *f)
{
	if (s->records - s->unreadable == 1 || f->time_us < s->begin_us)
		s->begin_us = f->time_us;
	if (s->records - s->unreadable == 1 || f->time_us > s->end_us)
		s->end_us = f->time_us;
	s->grants += strcmp(f->type, "grant") == 0 && f->kind == FACTS_ALLOWED;
	s->runs += strcmp(f->type, "run") == 0 && strcmp(f->state, "open") == 0;
	s->allowed += f->kind == FACTS_ALLOWED && strcmp(f->type, "grant") != 0;
	s->refused += f->kind == FACTS_REFUSED ? f->count : 0;
	/* each request once: where a part begins, its decision may lie before it */
	s->allowed -= f->ended != FACTS_CARRIED_OUT && s->allowed > 0;
	s->failed += f->ended == FACTS_UNREACHED;
	s->redactions += f->redactions > 0 ? (uint64_t)f->redactions : 0;
	if (strcmp(f->type, "outcome") == 0) {
		s->bytes_out += f->bytes_out > 0 ? (uint64_t)f->bytes_out : 0;
		s->bytes_in += f->bytes_in > 0 ? (uint64_t)f->bytes_in : 0;
	}
}

static void
count_hour(struct hour *hour, int64_t time_us)
{
	const int64_t second = time_us / 1000000;
	const size_t slot = (size_t)(second % 3600);

	if (hour->second[slot] < second) {
		hour->second[slot] = second;
		hour->records[slot] = 0;
	}
	hour->records[slot] += hour->second[slot] == second;
}

static void
take(struct stats *s, struct hour *hour, const struct reader_line *line)
{
	struct stats_name *name;
	struct facts f;

	s->records++;
	s->bytes += line->len + 1;
	s->next = line->index + 1;
	if (line->rule != NULL) {
		s->unreadable++;
		return;
	}
	facts_read(&f, &line->record);
	name = name_of(s->type, &s->types, &s->more, line->record.type);
	if (name != NULL)
		name->records++;
	name = name_of(s->stream, &s->streams, &s->more, line->record.stream);
	if (name != NULL)
		follow(name, &f);
	count(s, &f);
	count_hour(hour, f.time_us);
	facts_free(&f);
}

static void
read_anchors(struct stats *s, int dirfd, bool bundle)
{
	struct gather gather;

	if (gather_read(&gather, dirfd, bundle) == 0) {
		gather_extent(&gather, &s->cosigned, &s->stamped);
		s->alarms = gather.alarms;
	}
	gather_free(&gather);
}

static void
read_checkpoint(struct stats *s, const char *dir, bool bundle)
{
	const int dirfd = evidence_dir(dir);
	struct checkpoint checkpoint;
	struct note note;
	const char *why;
	size_t len;
	char *text = dirfd < 0 ? NULL : evidence_read(dirfd, bundle ? "ledger/checkpoint" :
	    "checkpoint", NOTE_MAX, &len);

	if (text != NULL && note_parse(&note, text, len, &why) == 0 &&
	    checkpoint_parse(&checkpoint, note.text, note.text_len) == 0) {
		s->has_checkpoint = true;
		s->sealed = checkpoint.size;
	}
	free(text);
	if (dirfd >= 0) {
		read_anchors(s, dirfd, bundle);
		close(dirfd);
	}
}

int
stats_read(struct stats *s, const char *dir, char *err, size_t err_len)
{
	struct reader *reader = reader_open(dir, err, err_len);
	struct hour *hour = calloc(1, sizeof(*hour));
	struct reader_line line;
	unsigned i;
	int n = -1;

	memset(s, 0, sizeof(*s));
	if (hour == NULL)
		snprintf(err, err_len, "out of memory");
	if (reader != NULL && hour != NULL) {
		s->first = s->next = reader_first(reader);
		while ((n = reader_next(reader, &line, err, err_len)) == 1)
			take(s, hour, &line);
		/* last, so that it is not behind what was read */
		read_checkpoint(s, dir, reader_is_bundle(reader));
	}
	for (i = 0; hour != NULL && i < 3600; i++)
		if (hour->second[i] > s->end_us / 1000000 - 3600)
			s->last_hour += hour->records[i];
	free(hour);
	reader_close(reader);
	return n == 0 ? 0 : -1;
}

/* ---- saying it ---- */

static void
put_time(FILE *out, const char *what, int64_t time_us)
{
	char text[RECORD_TIME_LEN + 1] = "";

	record_time_format(text, time_us);
	fprintf(out, "%-14s%s\n", what, text);
}

static void
put_streams(const struct stats *s, FILE *out)
{
	uint64_t gaps = s->unreadable;
	unsigned i;

	for (i = 0; i < s->streams; i++)
		gaps += s->stream[i].holes + s->stream[i].dropped;
	fprintf(out, "gaps          %" PRIu64 " by sequence numbers; `countersign verify` says what "
	    "is proved\n", gaps);
	if (s->unreadable > 0)
		fprintf(out, "              %" PRIu64 " lines that are no records\n", s->unreadable);
	for (i = 0; i < s->streams; i++) {
		fprintf(out, "  stream %-22s %8" PRIu64 " records", s->stream[i].name,
		    s->stream[i].records);
		if (s->stream[i].dropped > 0)
			fprintf(out, ", %" PRIu64 " declared as dropped", s->stream[i].dropped);
		if (s->stream[i].holes > 0)
			fprintf(out, ", %" PRIu64 " missing", s->stream[i].holes);
		putc('\n', out);
	}
}

static void
put_checkpoint(const struct stats *s, FILE *out)
{
	if (s->has_checkpoint && s->sealed <= s->next)
		fprintf(out, "checkpoint    %" PRIu64 " records signed, %" PRIu64 " behind it\n",
		    s->sealed, s->next - s->sealed);
	else if (s->has_checkpoint)
		fprintf(out, "checkpoint    %" PRIu64 " records signed: %" PRIu64 " more than here\n",
		    s->sealed, s->sealed - s->next);
	else
		fputs("checkpoint    none that can be read\n", out);
	fprintf(out, "anchors       %" PRIu64 " cosigned, %" PRIu64 " stamped",
	    s->cosigned, s->stamped);
	if (s->has_checkpoint) {
		uint64_t most = s->cosigned > s->stamped ? s->cosigned : s->stamped;

		fprintf(out, ", %" PRIu64 " signed ones that nobody vouches for",
		    s->sealed > most ? s->sealed - most : 0);
		if (most > s->next)
			fprintf(out, "; one is said to be of %" PRIu64 ", more than are here", most);
	}
	if (s->cosigned + s->stamped > 0)
		fputs("; by their names: `countersign verify --trust` says what is proved", out);
	if (s->alarms > 0)
		fprintf(out, "; %u ALARMS: see anchors/alarm.*", s->alarms);
	putc('\n', out);
}

void
stats_text(const struct stats *s, FILE *out)
{
	const double span_s = (double)(s->end_us - s->begin_us) / 1e6;
	unsigned i;

	fprintf(out, "records       %" PRIu64 " (%" PRIu64 " to %" PRIu64 "), %.1f MB\n", s->records,
	    s->first, s->next > s->first ? s->next - 1 : s->first, (double)s->bytes / 1e6);
	if (s->records > s->unreadable) {
		put_time(out, "first", s->begin_us);
		put_time(out, "last", s->end_us);
		fprintf(out, "rate          %.2f a second over all, %" PRIu64 " in the last hour\n",
		    span_s > 0 ? (double)s->records / span_s : 0.0, s->last_hour);
	}
	put_checkpoint(s, out);
	fprintf(out, "requests      %" PRIu64 " allowed, %" PRIu64 " refused, %" PRIu64
	    " failed upstream\n", s->allowed, s->refused, s->failed);
	fprintf(out, "runs, grants  %" PRIu64 ", %" PRIu64 "\n", s->runs, s->grants);
	fprintf(out, "upstream      %.1f MB out, %.1f MB in, %" PRIu64 " redactions\n",
	    (double)s->bytes_out / 1e6, (double)s->bytes_in / 1e6, s->redactions);
	put_streams(s, out);
	for (i = 0; i < s->types; i++)
		fprintf(out, "  type   %-22s %8" PRIu64 " records\n", s->type[i].name,
		    s->type[i].records);
	if (s->more)
		fputs("  and more names than are told apart\n", out);
}

static void
json_names(struct json_out *o, const char *key, const struct stats_name *names,
    unsigned count, bool streams)
{
	unsigned i;

	json_out_array(o, key);
	for (i = 0; i < count; i++) {
		json_out_object(o, NULL);
		json_out_str(o, "name", names[i].name);
		json_out_uint(o, "records", names[i].records);
		if (streams) {
			json_out_uint(o, "dropped", names[i].dropped);
			json_out_uint(o, "missing", names[i].holes);
		}
		json_out_object_end(o);
	}
	json_out_array_end(o);
}

static void
json_time(struct json_out *o, const char *key, int64_t time_us)
{
	char text[RECORD_TIME_LEN];

	record_time_format(text, time_us);
	json_out_strn(o, key, text, RECORD_TIME_LEN);
}

static void
json_numbers(struct json_out *o, const struct stats *s)
{
	const struct { const char *name; uint64_t value; } numbers[] = {
		{ "records", s->records }, { "first", s->first }, { "next", s->next },
		{ "bytes", s->bytes }, { "unreadable", s->unreadable },
		{ "last_hour", s->last_hour }, { "allowed", s->allowed },
		{ "refused", s->refused }, { "failed", s->failed }, { "runs", s->runs },
		{ "grants", s->grants }, { "bytes_out", s->bytes_out },
		{ "bytes_in", s->bytes_in }, { "redactions", s->redactions },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		json_out_uint(o, numbers[i].name, numbers[i].value);
}

int
stats_json(const struct stats *s, FILE *out)
{
	struct json_out o;
	char *buf = malloc(ROOM);
	int n;

	if (buf == NULL)
		return -1;
	json_out_begin(&o, buf, ROOM);
	json_out_object(&o, NULL);
	json_numbers(&o, s);
	if (s->records > s->unreadable) {
		json_time(&o, "begin", s->begin_us);
		json_time(&o, "end", s->end_us);
	}
	if (s->has_checkpoint)
		json_out_uint(&o, "sealed", s->sealed);
	else
		json_out_null(&o, "sealed");
	json_out_uint(&o, "cosigned", s->cosigned);
	json_out_uint(&o, "stamped", s->stamped);
	json_out_uint(&o, "anchor_alarms", s->alarms);
	json_names(&o, "streams", s->stream, s->streams, true);
	json_names(&o, "types", s->type, s->types, false);
	json_out_object_end(&o);
	n = json_out_end(&o);
	if (n > 0) {
		fwrite(buf, 1, (size_t)n, out);
		putc('\n', out);
	}
	free(buf);
	return n > 0 ? 0 : -1;
}
