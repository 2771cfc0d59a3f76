#include <string.h>

#include "policy/plan/builtin.h"

static const struct builtin *const tables[] = {
	builtins_aggregate, builtins_arith, builtins_array, builtins_bits,
	builtins_compare, builtins_crypto, builtins_encoding, builtins_glob,
	builtins_graph, builtins_json, builtins_jwt, builtins_jwt_sign,
	builtins_net, builtins_object, builtins_regex, builtins_set, builtins_string,
	builtins_template, builtins_text, builtins_time, builtins_type,
	builtins_units, builtins_x509
};

/* What a decision must not have, or what we leave out, and why. */
static const struct {
	const char *prefix, *why;
} refused[] = {
	{ "http.send", "a decision must not talk to the network" },
	{ "net.lookup_ip_addr", "a decision must not ask the network" },
	{ "opa.runtime", "a decision must not depend on its surroundings" },
	{ "rand.", "a decision must be repeatable; no random numbers" },
	{ "uuid.rfc4122", "a decision must be repeatable; no random numbers" },
	{ "internal.print", "a decision prints nothing; take print() out of the policy" },
	{ "trace", "a decision prints nothing; take trace() out of the policy" },
	{ "graphql.", "not supported" },
	{ "providers.aws.", "not supported" },
	{ "strings.render_template", "not supported" },
	{ "rego.", "a decision has no source to look at" },
	{ "crypto.parse_private_keys", "a policy must not see private keys" },
	{ "crypto.x509.parse_rsa_private_key",
	    "a policy must not see private keys" },
	{ "crypto.x509.parse_and_verify_certificates_with_options",
	    "not supported" },
	{ "json.match_schema", "JSON Schema is not supported" },
	{ "json.verify_schema", "JSON Schema is not supported" },
	{ "yaml.", "YAML is not supported" }
};

const struct builtin *
builtin_find(const char *name, const char **why)
{
	const struct builtin *b;
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (strncmp(name, refused[i].prefix,
		    strlen(refused[i].prefix)) == 0) {
			*why = refused[i].why;
			return NULL;
		}
	}
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		for (b = tables[i]; b->name != NULL; b++)
			if (strcmp(b->name, name) == 0)
				return b;
	*why = "unknown";
	return NULL;
}

bool
builtin_want(struct eval *eval, const struct value *const *args, unsigned i,
    enum value_kind kind)
{
	const struct value wanted = { .kind = (uint8_t)kind };

	if (args[i]->kind == kind)
		return true;
	eval_type_error(eval, i + 1, value_type_name(&wanted), args[i]);
	return false;
}

bool
builtin_want_int(struct eval *eval, const struct value *const *args,
    unsigned i, int64_t *out)
{
	if (!builtin_want(eval, args, i, VALUE_NUMBER))
		return false;
	if (args[i]->is_int) {
		*out = args[i]->num.i;
		return true;
	}
	eval_error(eval, "operand %u must be integer number but got "
	    "floating-point number", i + 1);
	eval->status = EVAL_TYPE_ERROR;
	return false;
}
