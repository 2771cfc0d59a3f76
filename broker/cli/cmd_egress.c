/* countersign egress allow|deny|list: hosts that may be reached without a
 * binding, and private addresses that may be dialled. */
#include "cli/cmd.h"
#include "cli/data.h"
#include "cli/host_arg.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct opt egress_opts[] = {
	{ "private", 0, "CIDR", true, "a private address range that may be dialled, such as 127.0.0.0/8" },
	{ NULL, 0, NULL, false, NULL }
};

static const struct opt list_opts[] = {
	{ "json", 0, NULL, false, "print JSON" },
	{ NULL, 0, NULL, false, NULL }
};

static bool
number_ok(const char *text, unsigned long max)
{
	char *end;
	unsigned long n;

	if (!isdigit((unsigned char)text[0]))
		return false;
	n = strtoul(text, &end, 10);
	return *end == '\0' && n <= max;
}

/* Clears what lies behind the first bits; was there any? */
static bool
clear_host_part(unsigned char *address, size_t len, unsigned long bits)
{
	bool any = false;
	size_t i;

	for (i = bits / 8; i < len; i++) {
		unsigned char keep = i == bits / 8 ?
		    (unsigned char)(0xff00 >> bits % 8) : 0;

		any |= (address[i] & ~keep) != 0;
		address[i] &= keep;
	}
	return any;
}

/* NULL, or what is wrong with it.  An address within the range is a slip:
 * 10.1.2.3/8 opens sixteen million where one was meant. */
static const char *
cidr_wrong(const char *text)
{
	static char said[160];
	const char *slash = strchr(text, '/');
	unsigned char address[16];
	char host[64];
	int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(host))
		return "no address range, such as 10.0.0.0/8";
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	if (inet_pton(family, host, address) != 1 ||
	    !number_ok(slash + 1, family == AF_INET ? 32 : 128))
		return "no address range, such as 10.0.0.0/8";
	if (!clear_host_part(address, family == AF_INET ? 4 : 16,
	    strtoul(slash + 1, NULL, 10)))
		return NULL;
	inet_ntop(family, address, host, sizeof(host));
	snprintf(said, sizeof(said), "an address within a range: say %s%s for all of it, or /%u for the one",
	    host, slash, family == AF_INET ? 32 : 128);
	return said;
}

/* "*." in front is for one label more, "**." for any number. */
static size_t
pattern_len(const char *text)
{
	return strncmp(text, "*.", 2) == 0 ? 2 : strncmp(text, "**.", 3) == 0 ? 3 : 0;
}

/* NAME[:PORT], perhaps with a pattern in front, as the broker spells it in buf.  A
 * host without a port is port 443.  NULL, or what is wrong with it. */
static const char *
host_rule(const char *text, char *buf, size_t cap)
{
	const size_t pattern = pattern_len(text);
	struct target target;
	const char *wrong;

	if (strchr(text + pattern, '*') != NULL)
		return "a * stands for labels in front: *.NAME is one more, **.NAME "
		    "any number";
	if ((wrong = host_arg(text + pattern, 443, &target)) != NULL)
		return wrong;
	if (pattern > 0 && target.is_address)
		return "an address has no labels in front: write it alone";
	snprintf(buf, cap, strchr(target.host, ':') != NULL ? "%.*s[%s]:%u" :
	    "%.*s%s:%u", (int)pattern, text, target.host, target.port);
	return NULL;
}

static bool
has(const json_t *list, const char *text, size_t *at)
{
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (json_is_string(one) && strcmp(json_string_value(one), text) == 0) {
			*at = i;
			return true;
		}
	return false;
}

/* Put text into list or take it out; *missing where there was nothing to take. */
static int
change(json_t *list, const char *text, bool allow, bool *missing)
{
	size_t at;

	if (has(list, text, &at)) {
		if (!allow)
			json_array_remove(list, at);
		return 0;
	}
	if (allow)
		return json_array_append_new(list, json_string(text));
	cli_err("%s was not allowed", cli_clean(text));
	*missing = true;
	return 0;
}

/* Where a binding covers a host, its rules decide, and no entry here is looked at. */
static void
note_bound(json_t *bindings, const char *rule)
{
	char place[TARGET_HOST_MAX + 16];
	const char *id, *name;
	json_t *binding, *host;
	size_t i;

	json_object_foreach(bindings, id, binding)
		json_array_foreach(json_object_get(binding, "hosts"), i, host) {
			name = json_is_string(host) ? json_string_value(host) : "";
			snprintf(place, sizeof(place), strchr(name, ':') != NULL ?
			    "[%s]:%d" : "%s:%d", name, (int)json_integer_value(
			    json_object_get(binding, "port")));
			if (strcmp(place, rule) == 0)
				cli_err("note: binding %s covers %s, so its rules alone "
				    "decide there; `bind --add` adds one", cli_clean(id),
				    place);
		}
}

static int
change_all(const struct opts *opts, json_t *egress, json_t *bindings, bool allow,
    bool *missing)
{
	json_t *hosts = data_array(egress, "allow");
	json_t *ranges = data_array(egress, "private");
	const char *cidr, *wrong;
	char rule[TARGET_HOST_MAX + 16];
	size_t cursor = 0, at;
	int i;

	for (i = 0; i < opts->n_rest; i++) {
		/* What somebody wrote by hand can be taken away as it stands. */
		if (!allow && has(hosts, opts->rest[i], &at))
			snprintf(rule, sizeof(rule), "%s", opts->rest[i]);
		else if ((wrong = host_rule(opts->rest[i], rule,
		    sizeof(rule))) != NULL)
			return cli_usage("%s is no HOST[:PORT]: %s",
			    cli_clean(opts->rest[i]), wrong);
		if (hosts == NULL || change(hosts, rule, allow, missing) != 0)
			return cli_usage("egress.allow is no list");
		if (allow)
			note_bound(bindings, rule);
	}
	while ((cidr = opt_next(opts, "private", &cursor)) != NULL) {
		if ((wrong = cidr_wrong(cidr)) != NULL)
			return cli_usage("--private %s is %s",
			    cli_clean(cidr), wrong);
		if (ranges == NULL || change(ranges, cidr, allow, missing) != 0)
			return cli_usage("egress.private is no list");
	}
	return 0;
}

static void
print_egress(json_t *egress)
{
	static const char *const names[] = { "allow", "private" };
	json_t *one;
	size_t i, k;

	for (k = 0; k < 2; k++)
		json_array_foreach(json_object_get(egress, names[k]), i, one)
			printf("%-8s %s\n", names[k], cli_clean(json_string_value(one)));
}

static int
edit(const struct opts *opts, bool allow)
{
	struct data *data;
	json_t *egress;
	bool missing = false;
	size_t cursor = 0;
	int rc;

	if (opts->n_rest == 0 && opt_next(opts, "private", &cursor) == NULL)
		return cli_usage("a HOST[:PORT] or --private CIDR is wanted");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open()) == NULL)
		return CLI_USAGE;
	egress = data_object(data_root(data), "egress");
	if (egress == NULL) {
		cli_err("out of memory");
		rc = CLI_USAGE;
	} else if ((rc = change_all(opts, egress, json_object_get(data_root(data),
	    "bindings"), allow, &missing)) == 0 &&
	    (rc = data_commit(data, allow ? DATA_GIVES : DATA_TAKES)) == CLI_OK) {
		print_egress(egress);
		rc = missing ? CLI_REFUSED : CLI_OK;
	}
	data_close(data);
	return rc;
}

static int
egress_allow(const struct opts *opts)
{
	return edit(opts, true);
}

static int
egress_deny(const struct opts *opts)
{
	return edit(opts, false);
}

static int
egress_list(const struct opts *opts)
{
	struct data *data;
	json_t *egress;
	int rc;

	if ((rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open()) == NULL)
		return CLI_USAGE;
	egress = json_object_get(data_root(data), "egress");
	if (opt_flag(opts, "json") && egress != NULL) {
		cli_json(stdout, egress, JSON_INDENT(2));
	} else {
		print_egress(egress);
	}
	data_close(data);
	return CLI_OK;
}

static const char egress_details[] =
    "Hosts with a binding need no entry here.  A host without a port means port 443;\n"
    "*.example.com covers a.example.com, and **.example.com a.b.example.com too.  A rule\n"
    "for one port opens no other.";

const struct cli_command cmd_egress_table[] = {
	{ .name = "allow", .operands = "[HOST[:PORT]...]", .opts = egress_opts,
	  .summary = "Allow hosts without a binding, or a private address range",
	  .details = egress_details, .run = egress_allow },
	{ .name = "deny", .operands = "[HOST[:PORT]...]", .opts = egress_opts,
	  .summary = "Take such an entry out again",
	  .details = egress_details, .run = egress_deny },
	{ .name = "list", .operands = "", .opts = list_opts,
	  .summary = "Show the entries", .run = egress_list },
	{ .name = NULL }
};
