/*
 * What a run was given by the one that opened it: scopes and an end.  A run
 * below another has no more than that one, however deep; it is shown to
 * the policy as input.delegation, and the gate holds to it whatever the policy
 * says.
 *
 * A scope is "*" (everything), "<binding>", "<binding>:<METHOD>", "tool:<name>"
 * or a kind of action ("http", "dns", ...); it covers itself and what continues
 * it behind a colon.
 */
#ifndef BROKER_GATE_DELEGATION_H
#define BROKER_GATE_DELEGATION_H

#include "gate/admin.h"
#include "gate/gate.h"

struct delegation {
	char (*scopes)[DELEGATION_SCOPE_MAX + 1];
	size_t n_scopes;		/* 0: nothing at all */
	int64_t expires_s;		/* Unix; -1: with the run itself */
	int64_t expires_boot_ns;	/* the clock that decides; INT64_MAX: never */
	char *json;			/* input.delegation, json_len bytes */
	size_t json_len;
};

/*
 * For a run that is being opened: parent and what is asked for.  *out is NULL
 * where nothing narrows it (no parent, no scopes, no end).  0, or -1 with a
 * problem: more is asked than the parent has, or not understood, or what no binding
 * and no kind of action is called.
 */
int delegation_make(const struct run *parent, const struct bindings *bindings,
    const struct gate_run_options *options, struct delegation **out,
    struct gate_problem *why);
void delegation_free(struct delegation *delegation);

/* Is it over, or that of a run above? */
bool delegation_over(const struct run *run);
/* Milliseconds until it is; INT64_MAX: never. */
int64_t delegation_left_ms(const struct run *run);

/* Do its scopes cover what the policy was asked about? */
bool delegation_covers(const struct run *run, const struct policy_input *input);
/* Does any of them speak of this binding? */
bool delegation_touches(const struct delegation *delegation,
    const char *binding);

#endif
