/* Simple case mapping, one rune to one. */
#ifndef POLICY_UNICODE_CASE_H
#define POLICY_UNICODE_CASE_H

#include <stdint.h>

uint32_t unicode_upper(uint32_t rune);
uint32_t unicode_lower(uint32_t rune);

#endif
