/* The Rego sources of a pack beside its plan, which alone decides. */
#ifndef POLICY_COMMAND_SOURCES_H
#define POLICY_COMMAND_SOURCES_H

#include "policy/pack.h"

/*
 * Print a note for each source (tests apart) that has no part in the plan, or, where
 * path is a directory, was written later than the plan: whoever edits one and does
 * not build it takes it for what decides.
 */
void command_sources_check(const struct policy_pack *pack, const char *path);

/* The same for the pack in that place; nothing where it cannot be loaded. */
void command_sources_look(const char *path);

#endif
