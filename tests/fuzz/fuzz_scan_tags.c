/* Files of tags: what is read must find its canary; and any text is scanned
 * with what was read. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/scan/tags/tags_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
on_found(void *context, size_t at, const char *id)
{
	*(unsigned *)context += strcmp(id, SCAN_TAG_CANARY) == 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct scan_tags_room *room;
	struct scan_tags *tags;
	unsigned canaries = 0;
	char err[200];

	if (sodium_init() < 0)
		return 0;
	scan_tags_strength(data, len);
	tags = scan_tags_read((const char *)data, len, err, sizeof(err));
	if (tags == NULL)
		return 0;
	room = scan_tags_room_new(tags);
	if (room != NULL) {
		if (scan_tags_run(room, data, len, on_found, &canaries) != 0)
			abort();
		canaries = 0;
		scan_tags_run(room, (const uint8_t *)SCAN_TAG_FIXTURE,
		    strlen(SCAN_TAG_FIXTURE), on_found, &canaries);
		if (canaries != 1)
			abort();
	}
	scan_tags_room_free(room);
	scan_tags_free(tags);
	return 0;
}
