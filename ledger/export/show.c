#include <inttypes.h>
#include <string.h>

#include "ledger/export/show.h"
#include "ledger/output/shown.h"

#define ABOUT_MAX 2048
#define SHOWN_MAX 200		/* bytes of each text */

static const char *
colour_of(const struct facts *f)
{
	static const char *const codes[] = { "", "\033[32m", "\033[31m", "\033[33m" };

	return facts_tells_loss(f) ? codes[FACTS_REFUSED] : codes[f->kind];
}

void
show_record(const struct reader_line *line, const struct facts *f, bool colour, FILE *out)
{
	char about[ABOUT_MAX], person[FACTS_PERSON_MAX];

	fprintf(out, "%7" PRIu64 "  ", line->index);
	if (line->rule != NULL) {
		fprintf(out, "(no record: %s)\n", line->rule);
		return;
	}
	fprintf(out, "%.19s  %s%-9s%s  %-14.12s", f->time, colour ? colour_of(f) : "", f->type,
	    colour ? "\033[0m" : "", f->run[0] != '\0' ? f->run : "-");
	shown_put(out, facts_about(f, about, sizeof(about)), SHOWN_MAX);
	if (f->count > 1)
		fprintf(out, "%s%" PRIu64 " times", about[0] != '\0' ? "  " : "", f->count);
	if (f->rule[0] != '\0') {
		fputs(about[0] != '\0' || f->count > 1 ? "  " : "", out);
		shown_put(out, f->rule, SHOWN_MAX);
		if (f->reason[0] != '\0' && f->kind == FACTS_REFUSED) {
			fputs(": ", out);
			shown_put(out, f->reason, SHOWN_MAX);
		}
	}
	if (facts_person(f, person, sizeof(person))[0] != '\0') {
		fputs(", ", out);
		shown_put(out, person, SHOWN_MAX);
	}
	putc('\n', out);
}
