/* countersign bindings: where each secret may go. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/cmd_bindings.h"
#include "cli/data.h"
#include "cli/lacking.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

const struct opt cmd_bindings_opts[] = {
	{ "json", 0, NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

static void
print_list(const json_t *list)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		printf("%s%s", i > 0 ? ", " : "", cli_clean(json_string_value(one)));
}

static void
print_hosts(const json_t *list)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one) {
		const char *host = json_string_value(one);
		const bool v6 = host != NULL && strchr(host, ':') != NULL;

		printf("%s%s%s%s", i > 0 ? ", " : "", v6 ? "[" : "",
		    cli_clean(host), v6 ? "]" : "");
	}
}

void
cmd_bindings_print(const char *id, const json_t *binding,
    const json_t *secrets)
{
	const char *secret = client_str(binding, "secret");
	const char *lacking = lacking_reason(secrets, secret);
	const json_t *place = json_object_get(binding, "placement");
	const char *kind = client_str(place, "kind");

	printf("%s: secret %s to %s://", cli_clean(id), cli_clean(secret),
	    cli_clean(client_str(binding, "scheme")));
	print_hosts(json_object_get(binding, "hosts"));
	printf(":%" JSON_INTEGER_FORMAT " as ",
	    json_integer_value(json_object_get(binding, "port")));
	if (strcmp(kind, "header") == 0)
		printf("%s: %s", cli_clean(client_str(place, "name")),
		    cli_clean(client_str(place, "template")));
	else if (strcmp(kind, "sigv4") == 0)
		printf("an AWS signature");
	else if (strcmp(kind, "basic") == 0)
		printf("Basic %s:{}", cli_clean(client_str(place, "user")));
	else
		printf("?%s={}", cli_clean(client_str(place, "name")));
	printf("\n  may: ");
	if (json_array_size(json_object_get(binding, "allow")) == 0)
		printf("nothing by itself");
	print_list(json_object_get(binding, "allow"));
	if (json_is_true(json_object_get(binding, "escaped_slash")))
		printf("; paths may hold %%2F");
	if (json_array_size(json_object_get(binding, "ask")) > 0) {
		printf("\n  only when a person agrees: ");
		print_list(json_object_get(binding, "ask"));
	}
	if (json_array_size(json_object_get(binding, "env")) > 0) {
		printf("\n  placeholder in: ");
		print_list(json_object_get(binding, "env"));
	}
	if (lacking != NULL)
		printf("\n  no placeholder in new runs: %s; `countersign secret "
		    "%s %s` stores one", lacking, lacking_remedy(lacking),
		    cli_clean(secret));
	putchar('\n');
}

int
cmd_bindings(const struct opts *opts)
{
	char err[CLI_ERR_MAX];
	struct data *data;
	json_t *bindings, *binding, *secrets;
	const char *id;
	int rc;

	if ((rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open()) == NULL)
		return CLI_USAGE;
	if (data_check(data, err, sizeof(err)) != 0) {
		cli_err("%s", err);
		data_close(data);
		return CLI_USAGE;
	}
	bindings = data_object(data_root(data), "bindings");
	if (opt_flag(opts, "json")) {
		cli_json(stdout, bindings, JSON_INDENT(2));
	} else if (json_object_size(bindings) == 0) {
		puts("no bindings yet; see `countersign bind --help`");
	} else {
		secrets = lacking_secrets();
		json_object_foreach(bindings, id, binding)
			cmd_bindings_print(id, binding, secrets);
		json_decref(secrets);
	}
	data_close(data);
	return CLI_OK;
}
