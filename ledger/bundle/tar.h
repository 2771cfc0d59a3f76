/*
 * The one form of tar (POSIX.1-1988, ustar) that bundles are kept in: regular
 * files alone, mode 0644, nobody's, of no time, with clean relative paths.  A
 * header is written from path and size, and read only if it is to the byte what
 * would be written from what it says: so there is nothing in it that could be
 * read in two ways.  Sizes from 8 GiB on are in base 256, as GNU tar and
 * libarchive have them.  Pure; any thread.
 */
#ifndef LEDGER_BUNDLE_TAR_H
#define LEDGER_BUNDLE_TAR_H

#include <stdbool.h>
#include <stdint.h>

#define TAR_BLOCK 512
#define TAR_PATH_MAX 256	/* bytes of a path, with NUL */
#define TAR_SIZE_MAX (UINT64_C(1) << 56)

struct tar_entry {
	char path[TAR_PATH_MAX + 1];
	uint64_t size;
};

/* 0, or -1 where the path is too long to be told, or the file too large. */
int tar_compose(uint8_t block[TAR_BLOCK], const struct tar_entry *entry);

/* NULL, or the rule that the header breaks, as static text. */
const char *tar_parse(struct tar_entry *entry, const uint8_t block[TAR_BLOCK]);

/* All zero: two of them end an archive. */
bool tar_is_end(const uint8_t block[TAR_BLOCK]);

/* Zeros that follow size bytes of content. */
unsigned tar_padding(uint64_t size);

#endif
