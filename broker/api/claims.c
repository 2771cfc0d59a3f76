/* /v1/coverage: what an adapter says that it sees. */
#include "api/impl.h"


void
api_claim(struct api_call *call)
{
	struct ledger_receipt receipt;
	struct gate_problem why;

	if (gate_claim(call->api->options.gate, call->lane->port, call->run,
	    call->json, &receipt, &why) == 0)
		api_answer(call, 201, json_pack("{s:o}", "receipt", api_receipt(&receipt)));
	else
		api_refuse_input(call, why.status, why.rule, why.detail, why.remedy);
}
