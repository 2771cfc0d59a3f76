/* The policy's input for what the gate is asked. */
#ifndef BROKER_GATE_INPUT_H
#define BROKER_GATE_INPUT_H

#include "gate/impl.h"

/* Everything absent, but the time and the version of the contract. */
void input_begin(struct policy_input *out);

/* run may be NULL. */
void input_run(struct policy_input *out, struct run *run);
void input_peer(struct policy_input *out, const struct peer *peer);
void input_target(struct policy_input *out, const struct target *target,
    struct slice query);
void input_binding(struct policy_input *out, const struct binding *binding,
    uint32_t version);
void input_grant(struct policy_input *out, const struct grant *grant);

struct policy_str input_text(const char *text);	/* "" and NULL: absent */

#endif
