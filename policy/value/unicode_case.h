/* Simple case mapping, one rune to one, of the Unicode version in unicode.c.  Pure. */
#ifndef POLICY_VALUE_UNICODE_CASE_H
#define POLICY_VALUE_UNICODE_CASE_H

#include <stdint.h>

uint32_t unicode_upper(uint32_t rune);
uint32_t unicode_lower(uint32_t rune);

/* Calls add for every rune outside ASCII or in it that differs from one of
 * low..high only by one step of case mapping. */
void unicode_case_variants(uint32_t low, uint32_t high,
    void (*add)(void *arg, uint32_t rune), void *arg);

#endif
