/*
 * OCSF 1.8 (schema.ocsf.io), class by class:
 *
 *   4002 HTTP Activity            requests with a method, and their outcomes
 *   4001 Network Activity         tunnels, and what was refused before it was a request
 *   6003 API Activity             grants and secrets
 *   5019 Device Config State Change   the policy
 *   6002 Application Lifecycle    runs and the recorder
 *   2004 Detection Finding        records dropped, missing or unreadable; a scan
 *                                 that found a secret or could not look everywhere
 *   0    Base Event               all other types
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ledger/export/export.h"
#include "ledger/export/ocsf_kind.h"
#include "ledger/record/json_out.h"

#define GAP "telemetry_gap"

static const struct { enum ocsf_class uid; int category; const char *name, *category_name; } classes[] = {
	{ BASE, 0, "Base Event", "Uncategorized" },
	{ FINDING, 2, "Detection Finding", "Findings" },
	{ NETWORK, 4, "Network Activity", "Network Activity" },
	{ HTTP, 4, "HTTP Activity", "Network Activity" },
	{ CONFIG, 5, "Device Config State Change", "Discovery" },
	{ LIFECYCLE, 6, "Application Lifecycle", "Application Activity" },
	{ API, 6, "API Activity", "Application Activity" },
};

static const char *const severities[] = { "Unknown", "Informational", "Low", "Medium", "High" };

/* ---- members ---- */

static void
put_class(struct json_out *o, const struct ocsf_kind *k)
{
	size_t i = 0;

	while (classes[i].uid != k->class)
		i++;
	json_out_uint(o, "class_uid", k->class);
	json_out_str(o, "class_name", classes[i].name);
	json_out_int(o, "category_uid", classes[i].category);
	json_out_str(o, "category_name", classes[i].category_name);
	json_out_int(o, "activity_id", k->activity);
	json_out_str(o, "activity_name", k->activity_name);
	json_out_int(o, "type_uid", (int64_t)k->class * 100 + k->activity);
	json_out_int(o, "severity_id", k->severity);
	json_out_str(o, "severity", severities[k->severity]);
	if (k->status != 0) {
		json_out_int(o, "status_id", k->status);
		json_out_str(o, "status", k->status == SUCCESS ? "Success" : "Failure");
	}
}

static void
put_product(struct json_out *o, const char *key)
{
	json_out_object(o, key);
	json_out_str(o, "name", "countersign");
	json_out_str(o, "vendor_name", "countersign");
	json_out_str(o, "version", COUNTERSIGN_VERSION);
	json_out_object_end(o);
}

static void
put_metadata(struct json_out *o, const struct export_item *item, const char *suffix,
    const struct ocsf_options *options, bool decided)
{
	char uid[96];
	unsigned i;

	for (i = 0; i < TREE_HASH_LEN; i++)
		snprintf(uid + 2 * i, 3, "%02x", item->leaf[i]);
	snprintf(uid + 64, sizeof(uid) - 64, "%s", suffix);
	json_out_object(o, "metadata");
	json_out_str(o, "version", "1.8.0");
	put_product(o, "product");
	json_out_str(o, "uid", uid);
	if (item->facts != NULL) {
		json_out_uint(o, "sequence", item->facts->seq);
		json_out_str(o, "log_name", item->facts->stream);
		json_out_str(o, "event_code", item->facts->type);
		if (item->facts->run[0] != '\0')
			json_out_str(o, "correlation_uid", item->facts->run);
	}
	if (options->origin != NULL)
		json_out_str(o, "log_provider", options->origin);
	json_out_array(o, "profiles");
	if (decided)
		json_out_str(o, NULL, "security_control");
	if (options->integrity)
		json_out_str(o, NULL, "record_integrity");
	json_out_array_end(o);
	json_out_object_end(o);
}

static void
put_endpoint(struct json_out *o, const char *key, const struct facts *f)
{
	json_out_object(o, key);
	json_out_str(o, "hostname", f->host);
	if (f->port >= 0)
		json_out_int(o, "port", f->port);
	json_out_object_end(o);
}

static void
put_broker(struct json_out *o, const char *key, const struct ocsf_options *options)
{
	json_out_object(o, key);
	json_out_str(o, "name", "countersign");
	if (options->hostname != NULL)
		json_out_str(o, "hostname", options->hostname);
	json_out_object_end(o);
}

static void
put_url(struct json_out *o, const struct facts *f)
{
	char url[FACTS_URL_MAX];

	json_out_object(o, "url");
	json_out_str(o, "scheme", f->scheme);
	json_out_str(o, "hostname", f->host);
	if (f->port >= 0)
		json_out_int(o, "port", f->port);
	json_out_str(o, "path", f->path);
	json_out_str(o, "url_string", facts_url(f, true, url, sizeof(url)));
	json_out_object_end(o);
}

static void
put_http(struct json_out *o, const struct facts *f, const struct ocsf_options *options)
{
	if (strcmp(f->type, "outcome") == 0) {
		json_out_object(o, "http_response");
		json_out_int(o, "code", f->status);
		if (f->bytes_in >= 0)
			json_out_int(o, "length", f->bytes_in);
		if (f->duration_us >= 0)
			json_out_int(o, "latency", f->duration_us / 1000);
		json_out_object_end(o);
		put_broker(o, "src_endpoint", options);
		return;
	}
	json_out_object(o, "http_request");
	if (ocsf_has_method(f->verb))
		json_out_str(o, "http_method", f->verb);
	put_url(o, f);
	json_out_object_end(o);
	put_endpoint(o, "dst_endpoint", f);
}

static void
put_actor(struct json_out *o, const struct facts *f)
{
	char uid[24];

	json_out_object(o, "actor");
	json_out_str(o, "app_name", f->agent[0] != '\0' ? f->agent : "countersign");
	if (f->answer && f->uid >= 0) {
		snprintf(uid, sizeof(uid), "%" PRId64, f->uid);
		json_out_object(o, "user");
		json_out_str(o, "uid", uid);
		json_out_object_end(o);
	}
	if (f->run[0] != '\0') {
		json_out_object(o, "session");
		json_out_str(o, "uid", f->run);
		json_out_object_end(o);
	}
	json_out_object_end(o);
}

static void
put_api(struct json_out *o, const struct facts *f, const struct ocsf_options *options)
{
	char operation[300];

	snprintf(operation, sizeof(operation), "%s%s%s", f->type, f->tool[0] != '\0' ? " " : "",
	    f->tool);
	json_out_object(o, "api");
	json_out_str(o, "operation", operation);
	json_out_object_end(o);
	put_actor(o, f);
	put_broker(o, "src_endpoint", options);
	if (f->host[0] != '\0')
		put_endpoint(o, "dst_endpoint", f);
}

static void
put_config(struct json_out *o, const struct ocsf_options *options)
{
	json_out_object(o, "device");
	json_out_int(o, "type_id", OTHER);
	json_out_str(o, "type", "Other");
	json_out_str(o, "name", "countersign");
	if (options->hostname != NULL)
		json_out_str(o, "hostname", options->hostname);
	json_out_object_end(o);
}

static void
put_finding(struct json_out *o, const char *uid, const char *title, const char *text,
    const char *type)
{
	json_out_object(o, "finding_info");
	json_out_str(o, "uid", uid);
	json_out_str(o, "title", title);
	json_out_str(o, "desc", text);
	json_out_array(o, "types");
	json_out_str(o, NULL, type);
	json_out_array_end(o);
	json_out_object_end(o);
}

/* Of a person's answer: what it was. */
static bool
is_refused(const struct facts *f)
{
	return f->kind == FACTS_REFUSED || (f->answer && strcmp(f->decision, "deny") == 0);
}

/* The policy left it to a person. */
static void
put_authorization(struct json_out *o, const struct facts *f)
{
	if (strcmp(f->by, "person") != 0)
		return;
	json_out_array(o, "authorizations");
	json_out_object(o, NULL);
	json_out_str(o, "decision", is_refused(f) ? "denied by a person" : "allowed by a person");
	json_out_object(o, "policy");
	json_out_str(o, "name", f->rule);
	json_out_str(o, "version", f->policy);
	json_out_object_end(o);
	json_out_object_end(o);
	json_out_array_end(o);
}

/* The profile security_control: what was decided, and by which rule. */
static void
put_decision(struct json_out *o, const struct facts *f)
{
	const bool refused = is_refused(f);

	json_out_int(o, "action_id", refused ? 2 : 1);
	json_out_str(o, "action", refused ? "Denied" : "Allowed");
	json_out_int(o, "disposition_id", refused ? 2 : 1);
	json_out_str(o, "disposition", refused ? "Blocked" : "Allowed");
	put_authorization(o, f);
	if (f->rule[0] != '\0') {
		json_out_object(o, "firewall_rule");
		json_out_str(o, "name", f->rule);
		json_out_str(o, "type", "policy");
		json_out_str(o, "version", f->policy);
		if (f->reason[0] != '\0')
			json_out_str(o, "desc", f->reason);
		json_out_object_end(o);
	}
	if (refused && f->reason[0] != '\0')
		json_out_str(o, "status_detail", f->reason);
}

static void
put_unmapped(struct json_out *o, const struct export_item *item)
{
	const struct facts *f = item->facts;
	const struct { const char *name; int64_t value; } numbers[] = {
		{ "bytes_out", f->bytes_out }, { "bytes_in", f->bytes_in },
		{ "duration_us", f->duration_us }, { "redactions", f->redactions },
		{ "secret_version", f->version }, { "peer_uid", f->uid }, { "peer_pid", f->pid },
	};
	const struct { const char *name, *value; } texts[] = {
		{ "policy_digest", f->policy }, { "parent_leaf", f->parent },
		{ "grant", f->grant }, { "secret", f->secret }, { "state", f->state },
		{ "error", f->error }, { "remedy", f->remedy }, { "decision", f->decision },
		{ "by", f->by }, { "question", f->question }, { "good_for", f->good_for },
	};
	size_t i;

	json_out_object(o, "unmapped");
	json_out_uint(o, "index", item->index);
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i].value[0] != '\0')
			json_out_str(o, texts[i].name, texts[i].value);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].value >= 0)
			json_out_int(o, numbers[i].name, numbers[i].value);
	json_out_object_end(o);
}

static void
put_fingerprint(struct json_out *o, const char *hex)
{
	json_out_object(o, "fingerprint");
	json_out_int(o, "algorithm_id", 3);
	json_out_str(o, "algorithm", "SHA-256");
	json_out_str(o, "value", hex);
	json_out_object_end(o);
}

/* The profile record_integrity of 1.9.  The fingerprint is the record's leaf
 * hash in the ledger, not one of this event: EXPORTS.md. */
static void
put_attestation(struct json_out *o, const struct export_item *item,
    const struct ocsf_options *options)
{
	char hex[65], chain[512];
	unsigned i;

	for (i = 0; i < TREE_HASH_LEN; i++)
		snprintf(hex + 2 * i, 3, "%02x", item->leaf[i]);
	snprintf(chain, sizeof(chain), "%s#%s", options->origin != NULL ? options->origin :
	    "countersign", item->facts->stream);
	json_out_object(o, "attestation");
	json_out_str(o, "uid", hex);
	json_out_str(o, "chain_uid", chain);
	if (options->origin != NULL)
		json_out_str(o, "authority_uid", options->origin);
	put_fingerprint(o, hex);
	if (strspn(item->prev, "0") != 64) {
		json_out_object(o, "prev_event");
		json_out_str(o, "uid", item->prev);
		put_fingerprint(o, item->prev);
		json_out_object_end(o);
	}
	json_out_object_end(o);
}

/* ---- events ---- */

static void
put_message(struct json_out *o, const struct facts *f)
{
	char about[2048], text[4096];

	facts_about(f, about, sizeof(about));
	snprintf(text, sizeof(text), "%s%s%s%s%s", f->type, about[0] != '\0' ? ": " : "", about,
	    f->kind == FACTS_REFUSED && f->reason[0] != '\0' ? ": " : "",
	    f->kind == FACTS_REFUSED ? f->reason : "");
	json_out_str(o, "message", text);
}

static void
put_drop(struct json_out *o, const struct export_item *item)
{
	char uid[64], text[160];

	snprintf(uid, sizeof(uid), "drop-%llu", (unsigned long long)item->index);
	snprintf(text, sizeof(text), "%llu records of stream %s were dropped before this one, and "
	    "the recorder says so", (unsigned long long)item->facts->count, item->facts->stream);
	put_finding(o, uid, "Records were dropped", text, GAP);
}

static void
put_loss(struct json_out *o, const struct export_item *item)
{
	char uid[64], text[256];

	snprintf(uid, sizeof(uid), "loss-%llu", (unsigned long long)item->index);
	put_finding(o, uid, "An adapter lost records",
	    facts_about(item->facts, text, sizeof(text)), GAP);
}

/* What the broker looked for before it sealed a run; never where, nor what. */
static void
put_scan(struct json_out *o, const struct export_item *item)
{
	const bool found = strcmp(item->facts->event, "found") == 0;
	char uid[64], text[160];

	snprintf(uid, sizeof(uid), "scan-%llu", (unsigned long long)item->index);
	facts_about(item->facts, text, sizeof(text));
	put_finding(o, uid, found ? "A secret stands in the records of a run" :
	    "Not all records of a run could be looked through for secrets", text,
	    found ? "secret_exposure" : GAP);
}

static void
put_of_class(struct json_out *o, const struct export_item *item, const struct ocsf_kind *k,
    const struct ocsf_options *options)
{
	const struct facts *f = item->facts;

	switch (k->class) {
	case HTTP:
		put_http(o, f, options);
		break;
	case NETWORK:
		if (f->host[0] != '\0')
			put_endpoint(o, "dst_endpoint", f);
		put_broker(o, "src_endpoint", options);
		break;
	case API:
		put_api(o, f, options);
		break;
	case CONFIG:
		put_config(o, options);
		break;
	case LIFECYCLE:
		put_product(o, "app");
		break;
	case FINDING:
		if (strcmp(f->type, "scan") == 0)
			put_scan(o, item);
		else if (strcmp(f->type, "loss") == 0)
			put_loss(o, item);
		else
			put_drop(o, item);
		break;
	case BASE:
		break;
	}
}

static int
unreadable(const struct export_item *item, const struct ocsf_options *options, char *buf,
    size_t cap)
{
	const struct ocsf_kind k = { FINDING, 1, "Create", HIGH, 0 };
	char uid[64];
	struct json_out o;

	snprintf(uid, sizeof(uid), "unreadable-%llu", (unsigned long long)item->index);
	json_out_begin(&o, buf, cap);
	json_out_object(&o, NULL);
	put_class(&o, &k);
	json_out_int(&o, "time", 0);
	json_out_str(&o, "message", "a line of the ledger is no record");
	put_metadata(&o, item, "", options, false);
	put_finding(&o, uid, "A line of the ledger is no record", item->broken, GAP);
	json_out_object(&o, "unmapped");
	json_out_uint(&o, "index", item->index);
	json_out_object_end(&o);
	json_out_object_end(&o);
	return json_out_end(&o);
}

int
ocsf_format(const struct export_item *item, const struct ocsf_options *options, char *buf,
    size_t cap)
{
	const struct facts *f = item->facts;
	struct json_out o;
	struct ocsf_kind k;
	bool decided;

	if (item->broken != NULL)
		return unreadable(item, options, buf, cap);
	k = ocsf_kind(f);
	decided = f->kind == FACTS_ALLOWED || f->kind == FACTS_REFUSED || f->answer;
	json_out_begin(&o, buf, cap);
	json_out_object(&o, NULL);
	put_class(&o, &k);
	json_out_int(&o, "time", f->time_us / 1000);
	put_message(&o, f);
	put_metadata(&o, item, "", options, decided);
	put_of_class(&o, item, &k, options);
	if (decided)
		put_decision(&o, f);
	else if (f->kind == FACTS_FAILED && f->reason[0] != '\0')
		json_out_str(&o, "status_detail", f->reason);
	if (f->count > 1)
		json_out_uint(&o, "count", f->count);
	put_unmapped(&o, item);
	if (options->integrity)
		put_attestation(&o, item, options);
	json_out_object_end(&o);
	return json_out_end(&o);
}

int
ocsf_gap(const struct export_item *item, const struct ocsf_options *options, char *buf,
    size_t cap)
{
	const struct ocsf_kind k = { FINDING, 1, "Create", HIGH, 0 };
	char uid[128], text[200];
	struct json_out o;

	if (item->missing == 0)
		return 0;
	snprintf(uid, sizeof(uid), "gap-%s-%llu", item->facts->stream,
	    (unsigned long long)item->missing_from);
	snprintf(text, sizeof(text), "%llu records of stream %s are missing, from seq %llu on, and "
	    "no record declares it", (unsigned long long)item->missing, item->facts->stream,
	    (unsigned long long)item->missing_from);
	json_out_begin(&o, buf, cap);
	json_out_object(&o, NULL);
	put_class(&o, &k);
	json_out_int(&o, "time", item->facts->time_us / 1000);
	json_out_str(&o, "message", text);
	put_metadata(&o, item, "-gap", options, false);
	put_finding(&o, uid, "Records are missing", text, GAP);
	json_out_object(&o, "unmapped");
	json_out_uint(&o, "index", item->index);
	json_out_uint(&o, "missing", item->missing);
	json_out_uint(&o, "missing_from_seq", item->missing_from);
	json_out_object_end(&o);
	json_out_object_end(&o);
	return json_out_end(&o);
}
