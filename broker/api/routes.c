/* Every path of the API; openapi.json describes the same ones. */
#include "api/impl.h"

const struct api_route api_routes[] = {
	{ "POST", "/v1/runs", RIGHT_RUN_OR_OPERATOR, WAITS_LEDGER, BODY_JSON, api_run_open },
	{ "GET", "/v1/runs", RIGHT_OPERATOR, WAITS_NOT, BODY_NONE, api_run_list },
	{ "GET", "/v1/runs/{}", RIGHT_RUN_OR_OPERATOR, WAITS_NOT, BODY_NONE, api_run_look },
	{ "DELETE", "/v1/runs/{}", RIGHT_RUN_OR_OPERATOR, WAITS_LONG, BODY_NONE, api_run_close },
	{ "POST", "/v1/grants", RIGHT_RUN, WAITS_LEDGER, BODY_JSON, api_grant_issue },
	{ "GET", "/v1/grants/{}", RIGHT_RUN_OR_OPERATOR, WAITS_NOT, BODY_NONE, api_grant_look },
	{ "DELETE", "/v1/grants/{}", RIGHT_RUN_OR_OPERATOR, WAITS_LAST, BODY_NONE, api_grant_revoke },
	{ "POST", "/v1/decide", RIGHT_RUN, WAITS_LEDGER, BODY_JSON, api_decide },
	{ "POST", "/v1/coverage", RIGHT_RUN, WAITS_LEDGER, BODY_JSON, api_claim },
	{ "POST", "/v1/coverage/loss", RIGHT_RUN, WAITS_LEDGER, BODY_JSON, api_loss },
	{ "GET", "/v1/approvals", RIGHT_OPERATOR, WAITS_NOT, BODY_NONE, api_approval_list },
	{ "POST", "/v1/approvals/{}", RIGHT_OPERATOR, WAITS_LEDGER, BODY_JSON, api_approval_answer },
	{ "GET", "/v1/secrets", RIGHT_OPERATOR, WAITS_NOT, BODY_NONE, api_secret_list },
	{ "PUT", "/v1/secrets/{}", RIGHT_OPERATOR, WAITS_LEDGER, BODY_SECRET, api_secret_put },
	{ "POST", "/v1/secrets/{}/rotate", RIGHT_OPERATOR, WAITS_LEDGER, BODY_SECRET, api_secret_rotate },
	{ "POST", "/v1/secrets/{}/revoke", RIGHT_OPERATOR, WAITS_LAST, BODY_OPTIONAL_JSON, api_secret_revoke },
	{ "POST", "/v1/policy/reload", RIGHT_OPERATOR, WAITS_LEDGER, BODY_NONE, api_policy_reload },
	{ "GET", "/v1/ledger/checkpoint", RIGHT_ANYONE, WAITS_LEDGER, BODY_NONE, api_checkpoint },
	{ "GET", "/v1/ledger/tile/**", RIGHT_ANYONE, WAITS_LEDGER, BODY_NONE, api_tile },
	{ "GET", "/v1/ledger/proof/{}", RIGHT_ANYONE, WAITS_LEDGER, BODY_NONE, api_proof },
	{ "GET", "/v1/ledger/epochs", RIGHT_ANYONE, WAITS_LEDGER, BODY_NONE, api_epochs },
	{ "POST", "/v1/ledger/rotate-key", RIGHT_OPERATOR, WAITS_LEDGER, BODY_NONE, api_rotate_key },
	{ "GET", "/healthz", RIGHT_ANYONE, WAITS_NOT, BODY_NONE, api_health },
	{ "GET", "/metrics", RIGHT_ANYONE, WAITS_NOT, BODY_NONE, api_metrics },
	{ "POST", "/v1/shutdown", RIGHT_OPERATOR, WAITS_NOT, BODY_NONE, api_shutdown },
};

const size_t api_n_routes = sizeof(api_routes) / sizeof(*api_routes);
