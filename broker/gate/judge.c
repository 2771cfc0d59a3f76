/* Which engine decides, and for how long it may think. */
#include "gate/impl.h"

#include "policy/opa/opa.h"

unsigned
gate_may_block_ms(const struct gate *gate)
{
	return gate->opa != NULL ? opa_deadline_ms(gate->opa) : 0;
}

bool
gate_may_wait(const struct gate *gate)
{
	return gate->opa != NULL || vault_waits(gate->vault);
}

void
gate_thread_until(struct gate_thread *thread, int64_t asked_ms)
{
	thread->until_ms = asked_ms + gate_may_block_ms(thread->gate);
}

/* What is left of the deadline; a question that waited too long for a thread
 * is not asked any more. */
static unsigned
left_ms(const struct gate_thread *thread)
{
	unsigned most = gate_may_block_ms(thread->gate);
	int64_t left;

	if (thread->until_ms == 0)
		return most;
	left = thread->until_ms - clock_boot_ms();
	if (left <= 0)
		return 0;
	return left < most ? (unsigned)left : most;
}

void
gate_judge(struct gate_thread *thread, const struct rules *rules,
    const struct policy_input *input, struct policy_decision *out)
{
	if (thread->opa == NULL) {
		policy_decide(rules->pack, thread->scratch, input, out);
		return;
	}
	opa_decide(thread->opa, input, left_ms(thread), out);
	if (out->failed)
		atomic_fetch_add(&thread->gate->engine_failed, 1);
}
