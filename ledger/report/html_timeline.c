/* The run in time: what was let through above a line, what was refused below. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/report/html_impl.h"

#define WIDTH 1200
#define BIN (WIDTH / HTML_BINS)
#define HEIGHT 142
#define MARGIN 7

/* One scale for both directions, so that heights can be compared. */
struct scale {
	double one;		/* height of one */
	double base;		/* where the line is */
};

/* n of them, where one takes so much; what is there is seen. */
static double
height(uint64_t n, double one)
{
	const double h = (double)n * one;

	return n > 0 && h < 3 ? 3 : h;
}

static struct scale
scale_of(const struct html_data *d)
{
	uint64_t up = 1, down = 1;
	struct scale s;
	unsigned i;

	for (i = 0; i < HTML_BINS; i++) {
		if (d->bin[i].allowed + d->bin[i].failed > up)
			up = d->bin[i].allowed + d->bin[i].failed;
		if (d->bin[i].refused > down)
			down = d->bin[i].refused;
	}
	s.one = (HEIGHT - 2 * MARGIN) / (double)(up + down);
	s.base = MARGIN + s.one * (double)up;
	return s;
}

static void
bar(FILE *out, const char *class, unsigned at, double y, double h)
{
	if (h > 0)
		fprintf(out, "<rect class=\"%s\" x=\"%u\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>",
		    class, at * BIN + 1, y, BIN - 2, h);
}

static void
clock_time(int64_t time_us, char out[16])
{
	char text[RECORD_TIME_LEN + 1] = "";

	record_time_format(text, time_us);
	snprintf(out, 16, "%.8s", text + 11);
}

static void
one_bin(const struct html_data *d, unsigned i, const struct scale *scale, FILE *out)
{
	const struct html_bin *b = &d->bin[i];
	const double up = height(b->allowed, scale->one);
	const double failed = height(b->failed, scale->one);
	const double down = height(b->refused, scale->one);
	const bool link = b->index != UINT64_MAX && html_is_shown(d, b->index);
	char at[16];

	if (b->allowed + b->refused + b->failed + b->neutral == 0)
		return;
	clock_time(d->begin_us + (int64_t)((double)i * ((double)(d->end_us - d->begin_us) + 1) /
	    HTML_BINS), at);
	if (link)
		fprintf(out, "<a href=\"#r%" PRIu64 "\">", b->index);
	fprintf(out, "<g><title>%s: %" PRIu64 " allowed, %" PRIu64 " refused, %" PRIu64
	    " failed</title>", at, b->allowed, b->refused, b->failed);
	bar(out, "z", i, scale->base - 2, b->allowed + b->refused + b->failed == 0 ? 4 : 0);
	bar(out, "a", i, scale->base - up, up);
	bar(out, "f", i, scale->base - up - failed, failed);
	bar(out, "d", i, scale->base + 1, down);
	fputs(link ? "</g></a>" : "</g>", out);
}

/* Where records are not as they should be: at the time of what stands there. */
struct band {
	const struct html_data *data;
	bool bin[HTML_BINS];
};

static bool
concerns(const struct verify_result *r, uint64_t index)
{
	unsigned i;

	for (i = 0; i < r->findings; i++)
		if (r->finding[i].has_index && r->finding[i].verdict == VERIFY_GAP &&
		    index + 1 >= r->finding[i].index && index <= r->finding[i].index)
			return true;
	return false;
}

static void
mark_gaps(struct band *band)
{
	const struct verify_result *r = band->data->report->verify;
	struct reader_line line;
	struct reader *reader;
	char err[256];

	if (r->finding_count == 0 || band->data->records == 0 ||
	    (reader = reader_open(band->data->report->dir, err, sizeof(err))) == NULL)
		return;
	while (reader_next(reader, &line, err, sizeof(err)) == 1 && line.index < band->data->last)
		if (line.rule == NULL && concerns(r, line.index))
			band->bin[html_bin_of(band->data, line.record.time_us)] = true;
	reader_close(reader);
}

static void
put_gaps(const struct band *band, FILE *out)
{
	unsigned i, n;

	for (i = 0; i < HTML_BINS; i += n > 0 ? n : 1) {
		for (n = 0; i + n < HTML_BINS && band->bin[i + n]; n++)
			;
		if (n > 0)
			fprintf(out, "<rect class=\"g\" x=\"%d\" y=\"1\" width=\"%d\" height=\"%d\">"
			    "<title>a gap</title></rect>", (int)(i * BIN) - (i > 0 ? 4 : 0),
			    (int)(n * BIN) + 8, HEIGHT - 2);
	}
}

static void
put_axis(const struct html_data *d, FILE *out)
{
	const int digits = d->end_us - d->begin_us < 60000000 ? 12 : 8;
	char text[RECORD_TIME_LEN + 1] = "";
	int i;

	fputs("<div class=\"ax\">", out);
	for (i = 0; i <= 2; i++) {
		record_time_format(text, d->begin_us + (d->end_us - d->begin_us) / 2 * i);
		fprintf(out, "<span>%.*s%s%.*s</span>", i == 0 ? 10 : 0, text, i == 0 ? " " : "",
		    digits, text + 11);
	}
	fputs("</div>", out);
}

void
html_timeline(const struct html_data *d, FILE *out)
{
	const struct scale scale = scale_of(d);
	struct band band = { .data = d };
	unsigned i;

	if (d->ours == 0)
		return;
	mark_gaps(&band);
	fprintf(out, "<h2>Timeline</h2><div class=\"card tl\"><svg viewBox=\"0 0 %d %d\" "
	    "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"What was allowed and refused "
	    "over time\"><defs><pattern id=\"h\" width=\"6\" height=\"6\" patternUnits="
	    "\"userSpaceOnUse\" patternTransform=\"rotate(45)\"><line class=\"hl\" x1=\"0\" y1=\"0\" "
	    "x2=\"0\" y2=\"6\" stroke-width=\"2\"/></pattern></defs>", WIDTH, HEIGHT);
	put_gaps(&band, out);
	fprintf(out, "<rect class=\"base\" x=\"0\" y=\"%.1f\" width=\"%d\" height=\"1\"/>", scale.base,
	    WIDTH);
	for (i = 0; i < HTML_BINS; i++)
		one_bin(d, i, &scale, out);
	fputs("</svg>", out);
	put_axis(d, out);
	fputs("<ul class=\"key\"><li class=\"a\">allowed</li><li class=\"d\">refused</li>"
	    "<li class=\"f\">failed upstream</li><li>other records</li>"
	    "<li class=\"g\">gap</li></ul></div>\n", out);
}
