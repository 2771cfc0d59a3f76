/* What writing and reading tags share.  Private to the scanner. */
#ifndef LEDGER_SCAN_TAGS_TAGS_IMPL_H
#define LEDGER_SCAN_TAGS_TAGS_IMPL_H

#include "ledger/scan/tags/tags.h"

#define SCAN_TAG_KEY_LEN 16
#define SCAN_TAGS_TYPE "countersign-scan-tags"
#define SCAN_TAG_CANARY "canary"
#define SCAN_TAG_FIXTURE "countersign-canary-3oWn7Q"	/* its first window */

bool scan_tag_char(uint8_t c);

/* The tag of SCAN_TAG_WIDTH bytes; 0, or -1 where memory lacks. */
int scan_tag_make(const uint8_t key[SCAN_TAG_KEY_LEN], const uint8_t *window,
    uint8_t tag[SCAN_TAG_LEN]);

/* ---- the processor's AES ---- */

/* Round keys of AES-128. */
struct scan_tag_keys {
	uint8_t round[11][16];
};

/* For the engines below. */
void scan_tag_keys_make(const uint8_t key[SCAN_TAG_KEY_LEN], struct scan_tag_keys *keys);

struct scan_tag_engine {
	const char *name;
	bool (*available)(void);
	/* the tags of the windows at text + at[0 .. n), one behind the other */
	void (*hash)(const struct scan_tag_keys *keys, const uint8_t *text,
	    const size_t *at, size_t n, uint8_t *tags);
};

/* One window to an instruction, and four. */
extern const struct scan_tag_engine scan_tag_aes, scan_tag_vaes;

/* The quickest that this processor has; NULL: none, the library is to be used. */
const struct scan_tag_engine *scan_tag_engine(void);

#endif
