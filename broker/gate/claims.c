/*
 * What the broker sees of a run, in its own words: the manifests of its proxy and
 * its API, and those that other adapters hand in.
 */
#include "gate/admin.h"

#include "gate/impl.h"
#include "ledger/coverage/claim.h"
#include "ledger/record/json_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include <sodium.h>

#define PORTS_MAX 128	/* of bindings, other than 80 and 443 */

/* --- words ----------------------------------------------------------- */

static void
begin(struct json_out *out, const struct run *run, const char *adapter, char *buf,
    size_t cap)
{
	json_out_begin(out, buf, cap);
	json_out_object(out, NULL);
	json_out_hex(out, "parent", run->receipt.leaf, LEDGER_LEAF_LEN);
	json_out_uint(out, "v", CLAIM_VERSION);
	json_out_str(out, "kind", CLAIM_KIND);
	json_out_str(out, "adapter", adapter);
	json_out_str(out, "instance", "broker");
	json_out_str(out, "version", COUNTERSIGN_VERSION);
}

static void
entry(struct json_out *out, const char *kind, const char *what)
{
	json_out_object(out, NULL);
	json_out_str(out, "kind", kind);
	json_out_str(out, "what", what);
	json_out_object_end(out);
}

/* A port is listed once, by whichever binding has it first. */
static bool
is_listed(const struct bindings *bindings, size_t before, uint16_t port)
{
	bool listed = port == 80 || port == 443;

	for (size_t i = 0; i < before && !listed; i++)
		listed = bindings_at(bindings, i)->port == port;
	return listed;
}

static void
ports(struct json_out *out, const struct bindings *bindings)
{
	const size_t n = bindings_count(bindings);
	char pattern[16];
	size_t listed = 0;

	json_out_str(out, NULL, "*:80");
	json_out_str(out, NULL, "*:443");
	for (size_t i = 0; i < n && i < 4096 && listed < PORTS_MAX; i++) {
		const uint16_t port = bindings_at(bindings, i)->port;

		if (is_listed(bindings, i, port))
			continue;
		listed++;
		snprintf(pattern, sizeof(pattern), "*:%u", port);
		json_out_str(out, NULL, pattern);
	}
}

static void
proxy_sees(struct json_out *out, const struct bindings *bindings)
{
	json_out_array(out, "sees");
	entry(out, "http", "requests through the proxy, whole where the host is bound or "
	    "the scheme is http");
	entry(out, "connect", "tunnels to hosts without a binding: host and port");
	json_out_object(out, NULL);
	json_out_str(out, "kind", "tcp");
	json_out_array(out, "targets");
	ports(out, bindings);
	json_out_array_end(out);
	json_out_str(out, "what", "connections to the ports of http, https and bindings");
	json_out_object_end(out);
	json_out_array_end(out);
}

static void
proxy_cannot_see(struct json_out *out)
{
	json_out_array(out, "cannot_see");
	entry(out, "http", "what goes through a tunnel to a host without a binding");
	entry(out, "tcp", "SSH, raw sockets, and clients that ignore proxy variables");
	entry(out, "udp", "datagrams, QUIC among them");
	entry(out, "dns", "names that processes look up themselves");
	entry(out, "file", "files");
	entry(out, "exec", "processes");
	json_out_array_end(out);
}

static void
loopback(struct json_out *out, const char *kind, const char *before)
{
	static const char *const hosts[] = { "localhost", "127.0.0.1", "[::1]" };
	char pattern[64];

	json_out_object(out, NULL);
	json_out_str(out, "kind", kind);
	json_out_array(out, "targets");
	for (size_t i = 0; i < 3; i++) {
		const char *const ends[] = { ":*", "/*" };

		for (size_t k = 0; k < (before[0] != '\0' ? 2 : 1); k++) {
			snprintf(pattern, sizeof(pattern), "%s%s%s", before, hosts[i], ends[k]);
			json_out_str(out, NULL, pattern);
		}
	}
	json_out_array_end(out);
	json_out_str(out, "what", "loopback, as the operator wanted it");
	json_out_object_end(out);
}

static int
proxy_body(const struct run *run, const struct bindings *bindings, bool direct_loopback,
    char *buf, size_t cap)
{
	struct json_out out;

	begin(&out, run, "proxy", buf, cap);
	proxy_sees(&out, bindings);
	proxy_cannot_see(&out);
	json_out_array(&out, "leaves_out");
	if (direct_loopback) {
		loopback(&out, "http", "http://");
		loopback(&out, "http", "https://");
		loopback(&out, "tcp", "");
	}
	json_out_array_end(&out);
	json_out_object_end(&out);
	return json_out_end(&out);
}

static int
api_body(const struct run *run, char *buf, size_t cap)
{
	struct json_out out;

	begin(&out, run, "api", buf, cap);
	json_out_array(&out, "sees");
	entry(&out, "credential", "grants that are asked for");
	json_out_array_end(&out);
	json_out_array(&out, "cannot_see");
	entry(&out, "*", "what no adapter asks about: tools, files, names, connections; "
	    "and whether what it allowed was then done");
	json_out_array_end(&out);
	json_out_array(&out, "leaves_out");
	json_out_array_end(&out);
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* --- records --------------------------------------------------------- */

int
gate_run_claims(struct gate *gate, struct ledger_port *port, struct run *run,
    const struct gate_run_options *options, struct gate_problem *why)
{
	struct rules *rules = gate_rules(gate);
	struct ledger_receipt receipt;
	char body[8192];
	int result;

	result = gate_append(port, "coverage", run->id, rules->digest, body,
	    proxy_body(run, rules->bindings, options->direct_loopback &&
	    !options->by_run, body, sizeof(body)), false, &receipt, why);
	if (result == 0)
		result = gate_append(port, "coverage", run->id, rules->digest, body,
		    api_body(run, body, sizeof(body)), false, &receipt, why);
	rules_unref(rules);
	return result;
}

/* Free text of somebody else's may be anything, one of our secrets too. */
static bool
shows_secret(struct gate *gate, const char *text)
{
	const struct sieve *sieve = secrets_hold(&gate->secrets);
	bool found = sieve_finds_json(sieve, slice_of(text));

	secrets_let_go(&gate->secrets);
	return found;
}

static char *
claim_body(const struct run *run, json_t *manifest)
{
	json_t *body = json_copy(manifest);
	char hex[2 * LEDGER_LEAF_LEN + 1], *text = NULL;

	sodium_bin2hex(hex, sizeof(hex), run->receipt.leaf, LEDGER_LEAF_LEN);
	if (body != NULL && json_object_set_new(body, "parent", json_string(hex)) == 0)
		text = json_dumps(body, JSON_COMPACT);
	json_decref(body);
	return text;
}

bool
gate_claims_ours(const char *adapter, const char *instance, struct gate_problem *why)
{
	const bool ours = strcasecmp(adapter, "proxy") == 0 || strcasecmp(adapter, "api") == 0 ||
	    (instance != NULL && strcasecmp(instance, "broker") == 0);

	if (ours)
		gate_problem_set(why, 403, "coverage/reserved", "the broker's own adapters "
		    "speak for themselves", "publish under another name");
	return ours;
}

static bool
claim_ok(json_t *manifest, struct gate_problem *why)
{
	struct claim claim;
	char err[160] = "parent: the broker names it itself";
	bool fine, ours;

	fine = claim_read(&claim, manifest, err, sizeof(err)) == 0 &&
	    json_object_get(manifest, "parent") == NULL;
	ours = fine && gate_claims_ours(claim.adapter, claim.instance, why);
	if (!fine)
		gate_problem_set(why, 400, "coverage/manifest", err,
		    "see ledger/coverage/claim.schema.json");
	claim_free(&claim);
	return fine && !ours;
}

int
gate_claims_append(struct gate *gate, struct ledger_port *port, struct run *run, const char *type,
    const char *body, struct ledger_receipt *receipt, struct gate_problem *why)
{
	struct rules *rules = gate_rules(gate);
	int result = -1;

	if (shows_secret(gate, body)) {
		gate_problem_set(why, 403, "credential/raw-secret", "it holds a secret",
		    "publish it without");
		rules_unref(rules);
		return -1;
	}
	gate_run_hold(run);
	if (run_open_p(run))
		result = gate_append(port, type, run->id, rules->digest, body,
		    (int)strlen(body), false, receipt, why);
	else
		gate_problem_set(why, 403, "run/closed", "the run is closed",
		    "start a new run");
	gate_outcome_done(run);
	rules_unref(rules);
	return result;
}

int
gate_claim(struct gate *gate, struct ledger_port *port, struct run *run,
    struct json_t *manifest, struct ledger_receipt *receipt,
    struct gate_problem *why)
{
	char *body;
	int result = -1;

	if (!claim_ok(manifest, why))
		return -1;
	body = claim_body(run, manifest);
	if (body == NULL || strlen(body) > CLAIM_BYTES_MAX) {
		gate_problem_set(why, body == NULL ? 503 : 400, "coverage/manifest",
		    body == NULL ? "out of memory" : "the manifest is too long",
		    body == NULL ? "try again" : "say it in fewer entries");
	} else {
		result = gate_claims_append(gate, port, run, "coverage", body, receipt, why);
	}
	secret_text_free(body);
	return result;
}
