/* Whose a match is, where it stood, and that it is told once. */
#include <stdio.h>
#include <string.h>

#include "ledger/scan/stream_impl.h"

void
scan_incomplete(struct scan_stream *stream, const char *name, const char *why)
{
	const struct scan_sink *sink = stream->worker->sink;
	char text[128];

	snprintf(text, sizeof(text), "%s%s%s", name, name[0] != '\0' ? " " : "", why);
	sink->incomplete(sink->context, stream->chain, text);
}

const char *
scan_chain_of(char buf[CHAIN_MAX], const char *outer, const char *inner)
{
	if (inner[0] == '\0')
		snprintf(buf, CHAIN_MAX, "%s", outer);
	else
		snprintf(buf, CHAIN_MAX, "%.60s%s%s", outer, outer[0] != '\0' ? " > " : "",
		    inner);
	return buf;
}

/* What is glued to another word may look like one of a wrong checksum, and in a view,
 * apart from that, be right: then it is told again. */
bool
scan_seen(struct scan_stream *stream, const void *what, uint64_t start, uint64_t end,
    enum scan_confidence confidence)
{
	unsigned i, n = stream->n_seen < SEEN_MAX ? stream->n_seen : SEEN_MAX;

	for (i = 0; i < n; i++)
		if (stream->seen[i].what == what && stream->seen[i].start < end &&
		    start < stream->seen[i].end && stream->seen[i].confidence >= confidence)
			return true;
	stream->seen[stream->n_seen++ % SEEN_MAX] = (struct seen){ what, start, end, confidence };
	return false;
}

/* LFs, 64 bytes at a time, each lane counting its own. */
static size_t
count_lines(const uint8_t *p, size_t len)
{
	typedef uint8_t lanes __attribute__((vector_size(16)));
	lanes v[4], sum;
	size_t n = 0, i = 0, k;
	unsigned turn;

	while (len - i >= sizeof(v)) {
		sum = (lanes){ 0 };
		for (turn = 0; turn < 255 / 4 && len - i >= sizeof(v); turn++, i += sizeof(v)) {
			memcpy(v, p + i, sizeof(v));
			sum -= (lanes)(v[0] == '\n') + (lanes)(v[1] == '\n') +
			    (lanes)(v[2] == '\n') + (lanes)(v[3] == '\n');
		}
		for (k = 0; k < sizeof(sum); k++)
			n += sum[k];
	}
	for (; i < len; i++)
		n += p[i] == '\n';
	return n;
}

uint64_t
scan_line_of(struct scan_stream *stream, size_t at)
{
	if (at < stream->counted)
		stream->counted = stream->counted_lines = 0;
	stream->counted_lines += count_lines(stream->window + stream->counted,
	    at - stream->counted);
	stream->counted = at;
	return stream->lines + stream->counted_lines + 1;
}

bool
scan_own(const struct scan_stream *stream, size_t at, const struct scan_map *map)
{
	size_t slop = map == NULL ? 0 : SLOP;

	return at + slop >= stream->from && at < stream->to + slop;
}

/* A match in a part: where it stood in the window decides whose it is. */
static void
tell(const struct look *look, size_t at, size_t len, const void *what,
    struct scan_found *found, const char *form)
{
	struct scan_stream *stream = look->stream;
	const struct scan_sink *sink = stream->worker->sink;
	const struct scan_map *map = look->part.map;
	size_t start, end;
	char chain[CHAIN_MAX];

	if (map != NULL && !scan_map_new(map, at, at + len))
		return;
	start = map != NULL ? scan_map_origin(map, at) : at;
	end = map != NULL ? scan_map_origin(map, at + len) : at + len;
	if (end <= start)
		end = start + 1;
	if (!scan_own(stream, start, map) ||
	    scan_seen(stream, what, stream->base + start, stream->base + end,
	    found->confidence))
		return;
	scan_chain_of(chain, look->chain, form);
	found->chain = chain[0] != '\0' ? chain : "raw";
	found->offset = stream->base + start;
	found->len = end - start;
	found->line = scan_line_of(stream, start);
	found->text = look->part.text + at;
	found->text_len = len;
	sink->found(sink->context, found);
}

void
scan_tell_needle(void *context, size_t at, size_t len, const char *name,
    const char *form)
{
	struct scan_found found = { .source = SCAN_BY_SECRET, .what = name,
	    .confidence = SCAN_HIGH };

	tell(context, at, len, name, &found, strcmp(form, "raw") == 0 ? "" : form);
}

void
scan_tell_tag(void *context, size_t at, const char *id)
{
	struct scan_found found = { .source = SCAN_BY_TAG, .what = id,
	    .confidence = SCAN_HIGH };
	const struct look *look = context;

	tell(look, at, SCAN_TAG_WIDTH, look->stream->worker->tags, &found, "");
}

void
scan_tell_hits(const struct look *look)
{
	static const char *const forms[SCAN_MIRRORS] = { "", "reversed", "rot13" };
	const struct scan_hits *hits = &look->stream->worker->hits;
	struct scan_found found;
	size_t i;

	for (i = 0; i < hits->n; i++) {
		found = (struct scan_found){ .source = SCAN_BY_FORMAT,
		    .what = scan_format_id(hits->hit[i].match.format),
		    .confidence = hits->hit[i].match.confidence,
		    .identifier = hits->hit[i].match.identifier };
		tell(look, hits->hit[i].match.start, hits->hit[i].match.len,
		    found.what, &found, forms[hits->hit[i].mirror]);
	}
}
