/* Bodies of the local API: the first byte picks the call, the rest is its body.
 * No body crashes, is answered twice or not at all, or leaves a real secret or a
 * token in the ledger. */
#include "fake_ledger.h"
#include "fake_policy.h"
#include "fake_vault.h"

#include "api/impl.h"
#include "fuzz_json.h"

#include <sodium.h>

#define REAL "tok-R3alSecretForTheFuzzer0123456789"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct api api;
static struct api_lane lane;
static struct run *run;

static void
leave_open(void *arg, struct run *orphan)
{
	/* close_new does it */
}

static void
begin(void)
{
	struct gate_options options = { .pack_path = "unused" };
	struct gate_run_options of_run = { .pid = -1, .uid = -1,
	    .limits = { -1, -1, -1, -1 } };
	char err[256], token[GATE_TOKEN_MAX];
	struct vault_error error;
	struct gate_problem why;
	uint32_t version;

	if (sodium_init() == -1)
		abort();
	fake_data = "{\"bindings\":{\"hub\":{\"secret\":\"one\",\"hosts\":[\"api.example.com\"],"
	    "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}}}";
	options.vault = fake_vault_new();
	vault_put(options.vault, "one", REAL, strlen(REAL), false, &version,
	    &error);
	api.options.gate = gate_new(&options, err, sizeof(err));
	api.options.proxy_host = api.options.api_host = api.options.agent_socket =
	    api.options.ca_cert = api.options.ca_bundle =
	    api.options.checkpoint_path = "/nonexistent";
	if (api.options.gate == NULL)
		abort();
	lane.thread = gate_thread_new(api.options.gate);
	lane.port = &fake_port;
	run = gate_run_open(api.options.gate, &fake_port, &of_run, token, &why);
	api.watch = api_watch_new(leave_open, api_due, &api);
	if (lane.thread == NULL || run == NULL || api.watch == NULL)
		abort();
}

static void
check_ledger(void)
{
	for (size_t i = 0; i < fake_n_records; i++)
		if (strstr(fake_records[i].body, REAL) != NULL)
			abort();
	fake_ledger_forget();
}

static void
close_new(void *arg, struct run *other)
{
	struct gate_run_summary summary;
	struct gate_problem why;

	if (other != run)
		gate_run_close(api.options.gate, &fake_port, other,
		    &(struct gate_closer){ "operator", NULL, { -1, -1, 0 } }, &summary,
		    &why);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct api_call call = { .api = &api, .operator = true,
	    .peer = { -1, -1, 0 } };

	if (run == NULL)
		begin();
	if (size == 0)
		return 0;
	call.route = &api_routes[data[0] % api_n_routes];
	if (call.route->body != BODY_JSON &&
	    call.route->body != BODY_OPTIONAL_JSON)
		return 0;
	call.run = run_ref(run);
	call.lane = &lane;
	snprintf(call.param, sizeof(call.param), "two");
	if (api_body_add(&call, (const char *)data + 1, size - 1) &&
	    api_body_end(&call))
		call.route->handle(&call);
	if (!call.answered)
		abort();
	api_body_free(&call);
	run_unref(call.run);
	gate_run_each(api.options.gate, close_new, NULL);
	api_watch_sweep(api.watch);
	check_ledger();
	return 0;
}
