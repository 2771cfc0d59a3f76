/*
 * How often grants may still be used, of those that may be more than once: by
 * the mark of a grant's leaf, in constant memory.  What was used longest ago is
 * forgotten where there is no room; that is said, and never guessed.
 */
#ifndef LEDGER_VERIFY_ALLOWANCES_H
#define LEDGER_VERIFY_ALLOWANCES_H

#include <stdint.h>

#define ALLOWANCE_ENDLESS UINT32_MAX	/* a grant that does not say */

struct allowances;

enum allowance { ALLOWANCE_TAKEN, ALLOWANCE_SPENT, ALLOWANCE_UNKNOWN };

/* sets: a power of two.  NULL where memory lacks. */
struct allowances *allowances_new(unsigned sets);
void allowances_free(struct allowances *all);

void allowances_put(struct allowances *all, uint64_t mark, uint32_t uses);
enum allowance allowances_take(struct allowances *all, uint64_t mark);

#endif
