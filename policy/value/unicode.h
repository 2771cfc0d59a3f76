/* Unicode's categories and scripts. */
#ifndef POLICY_VALUE_UNICODE_H
#define POLICY_VALUE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNE_MAX 0x10ffff

struct rune_range {
	uint32_t low, high;
};

/* Ranges of a category (L, Lu, ...) or script (Greek); 0: unknown. */
size_t unicode_class(const char *name, size_t len, struct rune_range *out,
    size_t max);
/* Letters, marks, numbers, punctuation, symbols and the ASCII space. */
bool unicode_printable(uint32_t rune);
/* A letter or a decimal digit, of any script. */
bool unicode_alphanumeric(uint32_t rune);

#endif
