/* /v1/coverage: what an adapter says that it sees, and that it lost. */
#include "api/impl.h"

typedef int take_word(struct gate *gate, struct ledger_port *port, struct run *run,
    struct json_t *told, struct ledger_receipt *receipt, struct gate_problem *why);

static void
take(struct api_call *call, take_word *record)
{
	struct ledger_receipt receipt;
	struct gate_problem why;

	if (record(call->api->options.gate, call->lane->port, call->run, call->json,
	    &receipt, &why) == 0)
		api_answer(call, 201, json_pack("{s:o}", "receipt", api_receipt(&receipt)));
	else
		api_refuse_input(call, why.status, why.rule, why.detail, why.remedy);
}

void
api_claim(struct api_call *call)
{
	take(call, gate_claim);
}

void
api_loss(struct api_call *call)
{
	take(call, gate_loss);
}
