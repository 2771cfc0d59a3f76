/*
 * A policy for tests of what stands on it: it allows everything, unless the
 * test's function says otherwise, and its data document is the test's text.
 * Include it in one source of a test program; it takes the place of libpolicy.
 */
#ifndef TESTS_FAKE_POLICY_H
#define TESTS_FAKE_POLICY_H

#include "ledger/record/json_out.h"
#include "policy/opa/opa.h"
#include "policy/policy.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct policy_pack {
	atomic_uint refs;
	char *data;
	char digest[POLICY_DIGEST_LEN + 1];
};

struct policy_scratch {
	char nothing;
};

static const char *fake_data = "{}";	/* what the next load finds; NULL: a bad pack */
static void (*fake_decide)(const struct policy_input *, struct policy_decision *);

struct policy_pack *
policy_pack_load(const char *path, char *err, size_t err_len)
{
	struct policy_pack *pack;
	unsigned sum = 0;

	if (fake_data == NULL) {
		snprintf(err, err_len, "plan.json: line 1: not a plan");
		return NULL;
	}
	pack = calloc(1, sizeof(*pack));
	if (pack == NULL || (pack->data = strdup(fake_data)) == NULL) {
		free(pack);
		snprintf(err, err_len, "out of memory");
		return NULL;
	}
	atomic_init(&pack->refs, 1);
	for (const char *at = fake_data; *at != '\0'; at++)
		sum = sum * 31 + (unsigned char)*at;
	snprintf(pack->digest, sizeof(pack->digest), "sha256:%064x", sum);
	return pack;
}

struct policy_pack *
policy_pack_ref(struct policy_pack *pack)
{
	atomic_fetch_add(&pack->refs, 1);
	return pack;
}

void
policy_pack_unref(struct policy_pack *pack)
{
	if (pack != NULL && atomic_fetch_sub(&pack->refs, 1) == 1) {
		free(pack->data);
		free(pack);
	}
}

const char *
policy_pack_digest(const struct policy_pack *pack)
{
	return pack->digest;
}

int
policy_pack_digest_at(const char *path, char digest[POLICY_DIGEST_LEN + 1],
    char *err, size_t err_len)
{
	snprintf(err, err_len, "there are no files");
	return -1;
}

bool
policy_pack_has_data(const struct policy_pack *pack)
{
	return true;
}

bool
policy_pack_decides(const struct policy_pack *pack)
{
	return true;
}

const char *
policy_pack_revision(const struct policy_pack *pack)
{
	return "";
}

int
policy_pack_keep(const struct policy_pack *pack, const char *dir, char *err,
    size_t err_len)
{
	return 0;
}

void
policy_packs_tidy(const char *dir)
{
}

const char *
policy_pack_data(const struct policy_pack *pack, size_t *len)
{
	*len = strlen(pack->data);
	return pack->data;
}

struct policy_scratch *
policy_scratch_new(void)
{
	return calloc(1, sizeof(struct policy_scratch));
}

void
policy_scratch_free(struct policy_scratch *scratch)
{
	free(scratch);
}

void
policy_decide(const struct policy_pack *pack, struct policy_scratch *scratch,
    const struct policy_input *input, struct policy_decision *out)
{
	*out = (struct policy_decision){ .verdict = POLICY_ALLOW,
	    .redact = true, .max_bytes = -1, .cost = -1, .ttl_s = -1,
	    .uses = -1 };
	snprintf(out->rule, sizeof(out->rule), "fake/allow");
	snprintf(out->reason, sizeof(out->reason), "the test allows it");
	if (fake_decide != NULL)
		fake_decide(input, out);
}

/* Another engine, of the same opinion; what it calls its decisions. */
struct opa_link {
	char nothing;
};

static struct opa_link fake_link;
static bool fake_engine_failed;

unsigned
opa_deadline_ms(const struct opa *opa)
{
	return 50;
}

struct opa_link *
opa_link_new(const struct opa *opa)
{
	return &fake_link;
}

void
opa_link_free(struct opa_link *link)
{
}

void
opa_decide(struct opa_link *link, const struct policy_input *input,
    unsigned left_ms, struct policy_decision *out)
{
	policy_decide(NULL, NULL, input, out);
	out->engine = "opa";
	snprintf(out->id, sizeof(out->id), "id-%u", left_ms > 0 ? 1u : 0u);
	if (!fake_engine_failed)
		return;
	out->verdict = POLICY_DENY;
	out->failed = true;
	snprintf(out->rule, sizeof(out->rule), "engine/opa-timeout");
}

int
policy_default_pack_write(const char *dir, char *err, size_t err_len)
{
	return -1;
}

int
policy_input_json(const struct policy_input *input, char *buf, size_t cap)
{
	const struct { const char *name; struct policy_str text; } texts[] = {
		{ "run", input->run.id }, { "principal", input->run.principal },
		{ "kind", input->action.kind }, { "verb", input->action.verb },
		{ "name", input->action.name }, { "host", input->target.host },
		{ "path", input->target.path }, { "query", input->target.query },
		{ "secret", input->secret.name }, { "binding", input->secret.binding },
		{ "grant", input->grant.id },
	};
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i].text.p != NULL)
			json_out_strn(&out, texts[i].name, texts[i].text.p,
			    texts[i].text.n);
	if (input->action.args.p != NULL)
		json_out_raw(&out, "args", input->action.args.p,
		    input->action.args.n);
	json_out_int(&out, "requests", input->budget.requests);
	json_out_object_end(&out);
	return json_out_end(&out);
}

int
policy_input_json_again(struct policy_input_kept *kept,
    const struct policy_input *input, char *buf, size_t cap)
{
	return policy_input_json(input, buf, cap);
}

#endif
