/* The packs that records name, as evidence and home keep them: by digest. */
#ifndef POLICY_COMMAND_RECORDED_PACKS_H
#define POLICY_COMMAND_RECORDED_PACKS_H

#include <limits.h>

#include "policy/pack.h"

#define RECORDED_PACKS_MAX 256

struct recorded_packs {
	char dir[PATH_MAX];		/* where they lie; "": nowhere */
	struct policy_pack *loaded[RECORDED_PACKS_MAX];
	size_t n;
};

/* NULL where it is not there, or is not what its name says. */
const struct policy_pack *recorded_pack(struct recorded_packs *packs,
    const struct value *digest);
void recorded_packs_free(struct recorded_packs *packs);

#endif
