#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ledger/evidence/evidence.h"
#include "ledger/io.h"
#include "ledger/tree/hashes.h"
#include "ledger/verify/since.h"

/* The first line of the segment, to be freed, or NULL. */
static char *
first_line(const struct load *load, uint64_t segment, size_t *len)
{
	char *line = malloc(RECORD_LINE_MAX + 1), *lf = NULL;
	int fd = evidence_open(load->dirfd, load->segment[segment].path, NULL);
	ptrdiff_t n = -1;

	if (line != NULL && fd >= 0)
		n = io_read(fd, line, RECORD_LINE_MAX + 1, 0);
	if (fd >= 0)
		close(fd);
	if (n > 0)
		lf = memchr(line, '\n', (size_t)n);
	if (lf == NULL) {
		free(line);
		return NULL;
	}
	*len = (size_t)(lf - line);
	return line;
}

/* Does the segment begin with a table of heads?  Then the chain knows it. */
static bool
recall(const struct load *load, struct chain *chain, uint64_t segment)
{
	struct json_scan *scratch = malloc(sizeof(*scratch));
	struct record_line record;
	size_t len;
	char *line = first_line(load, segment, &len);
	bool found;

	found = scratch != NULL && line != NULL &&
	    record_check(scratch, line, len, &record) == NULL &&
	    record_slice_is(record.type, "heads") && chain_recall(chain, &record) == 0;
	free(scratch);
	free(line);
	return found;
}

bool
since_begin(struct load *load, struct chain *chain)
{
	uint64_t segment = load->head.at.size == 0 ? 0 :
	    (load->head.at.size - 1) / HASHES_SEGMENT;

	if (segment >= load->segments)
		return false;
	while (segment > 0 && !recall(load, chain, segment)) {
		/* what a bad table left in it */
		chain_free(chain);
		if (chain_init(chain, false) != 0)
			return false;
		segment--;
	}
	if (segment == 0 ||
	    load_tree_before(load, (unsigned)segment, &load->frontier) != 0)
		return false;
	load->segments -= (unsigned)segment;
	memmove(load->segment, load->segment + segment,
	    load->segments * sizeof(*load->segment));
	return true;
}

int
since_again(const struct load *load, struct chain *chain)
{
	return recall(load, chain, 0) ? 0 : -1;
}

bool
since_confirmed(const struct load *load)
{
	unsigned i;

	for (i = 0; i < load->seals.count; i++)
		if (load->seals.seal[i].saved)
			return load->seals.seal[i].reached && load->seals.seal[i].matches;
	return false;
}
