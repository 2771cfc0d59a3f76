/* /v1/coverage: what an adapter says that it sees, and that it lost. */
#include "api/impl.h"

static void
answer(struct api_call *call, int result, const struct ledger_receipt *receipt,
    const struct gate_problem *why)
{
	if (result == 0)
		api_answer(call, 201, json_pack("{s:o}", "receipt", api_receipt(receipt)));
	else
		api_refuse_input(call, why->status, why->rule, why->detail, why->remedy);
}

void
api_claim(struct api_call *call)
{
	struct ledger_receipt receipt;
	struct gate_problem why;

	answer(call, gate_claim(call->api->options.gate, call->lane->port, call->run,
	    call->json, &receipt, &why), &receipt, &why);
}

void
api_loss(struct api_call *call)
{
	struct ledger_receipt receipt;
	struct gate_problem why;

	answer(call, gate_loss(call->api->options.gate, call->lane->port, call->run,
	    call->json, &receipt, &why), &receipt, &why);
}
