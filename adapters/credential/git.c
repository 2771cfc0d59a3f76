#include "adapters/credential/git.h"
#include "http/target.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#define DEFAULT_USER "x-access-token"	/* what GitHub takes beside any token */

struct question {
	struct slice protocol, host, username;
};

/* --- the question ---------------------------------------------------- */

static bool
clean(struct slice text)
{
	return memchr(text.p, '\0', text.n) == NULL &&
	    memchr(text.p, '\r', text.n) == NULL;
}

static void
take_pair(struct question *question, struct slice key, struct slice value)
{
	if (slice_eq(key, SLICE("protocol")))
		question->protocol = value;
	else if (slice_eq(key, SLICE("host")))
		question->host = value;
	else if (slice_eq(key, SLICE("username")))
		question->username = value;
	/* path, capability[], wwwauth[], ...: not needed, allowed by the protocol */
}

/* NULL, or what is wrong. A blank line ends the question. */
static const char *
parse(struct slice in, struct question *question)
{
	struct slice line;
	const char *end, *equals;

	memset(question, 0, sizeof(*question));
	while (in.n > 0) {
		end = memchr(in.p, '\n', in.n);
		line = (struct slice){ in.p, end != NULL ? (size_t)(end - in.p) : in.n };
		in.p += line.n + (end != NULL);
		in.n -= line.n + (end != NULL);
		if (line.n == 0)
			break;
		equals = memchr(line.p, '=', line.n);
		if (equals == NULL || equals == line.p || !clean(line))
			return "a line is no key=value";
		take_pair(question, (struct slice){ line.p,
		    (size_t)(equals - line.p) }, (struct slice){ equals + 1,
		    line.n - (size_t)(equals - line.p) - 1 });
	}
	return question->protocol.n == 0 || question->host.n == 0 ?
	    "protocol or host is missing" : NULL;
}

/* --- the bindings ---------------------------------------------------- */

static const char *
text_of(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text != NULL ? text : "";
}

static bool
covers(const json_t *binding, const struct target *target)
{
	json_t *host;
	size_t i;

	if (json_integer_value(json_object_get(binding, "port")) != target->port ||
	    strcmp(text_of(binding, "scheme"), target->https ? "https" : "http") != 0)
		return false;
	json_array_foreach(json_object_get(binding, "hosts"), i, host)
		if (json_is_string(host) &&
		    strcmp(json_string_value(host), target->host) == 0)
			return true;
	return false;
}

/* The user name that belongs to the binding; "" for any. */
static const char *
user_of(const json_t *binding)
{
	const json_t *placement = json_object_get(binding, "placement");

	return strcmp(text_of(placement, "kind"), "basic") == 0 ?
	    text_of(placement, "user") : "";
}

/* Git sends Basic, so a Basic binding is the better one where there are two. */
static const json_t *
choose(const json_t *bindings, const struct target *target,
    struct slice username)
{
	const json_t *found = NULL;
	json_t *one;
	size_t i;

	json_array_foreach(bindings, i, one) {
		const char *user = user_of(one);

		if (!covers(one, target))
			continue;
		if (user[0] != '\0' && username.n > 0 &&
		    !slice_eq(username, slice_of(user)))
			continue;
		if (found == NULL || (user[0] != '\0' && user_of(found)[0] == '\0'))
			found = one;
	}
	return found;
}

static bool
target_of(const struct question *question, struct target *target)
{
	bool https = slice_eq(question->protocol, SLICE("https"));

	if (!https && !slice_eq(question->protocol, SLICE("http")))
		return false;
	if (target_from_authority(question->host, https ? 443 : 80, target) != NULL)
		return false;
	target->https = https;
	return true;
}

int
credential_git_answer(struct slice in, const char *bindings, char *out,
    size_t cap, char *err, size_t err_len)
{
	struct question question;
	struct target target;
	const json_t *binding;
	const char *fault, *user;
	json_t *list;
	int n = 0;

	if ((fault = parse(in, &question)) != NULL) {
		snprintf(err, err_len, "git's question: %s", fault);
		return -1;
	}
	if (!target_of(&question, &target))
		return 0;
	list = json_loads(bindings, JSON_REJECT_DUPLICATES, NULL);
	binding = choose(list, &target, question.username);
	if (binding != NULL) {
		user = user_of(binding);
		if (user[0] == '\0' && question.username.n == 0)
			user = DEFAULT_USER;
		n = snprintf(out, cap, "username=%.*s\npassword=%s\n",
		    user[0] != '\0' ? (int)strlen(user) : (int)question.username.n,
		    user[0] != '\0' ? user : question.username.p,
		    text_of(binding, "value"));
		if (n < 0 || (size_t)n >= cap) {
			snprintf(err, err_len, "the answer is too long");
			n = -1;
		}
	}
	json_decref(list);
	return n;
}

/* --- the command ----------------------------------------------------- */

static ssize_t
read_all(char *buf, size_t cap)
{
	size_t len = 0;
	ssize_t got = 1;

	while (len < cap && got > 0) {
		got = read(STDIN_FILENO, buf + len, cap - len);
		if (got > 0)
			len += (size_t)got;
	}
	return got < 0 || len == cap ? -1 : (ssize_t)len;
}

static int
get(const char *bindings)
{
	static char in[CREDENTIAL_GIT_IN_MAX], out[CREDENTIAL_GIT_IN_MAX];
	char err[256] = "";
	ssize_t len = read_all(in, sizeof(in));
	int n;

	if (len < 0) {
		fprintf(stderr, "countersign: git's question cannot be read or is "
		    "too long\n");
		return 3;
	}
	n = credential_git_answer((struct slice){ in, (size_t)len }, bindings,
	    out, sizeof(out), err, sizeof(err));
	if (n < 0) {
		fprintf(stderr, "countersign: %s\n", err);
		return 3;
	}
	if (n == 0)
		fprintf(stderr, "countersign: no binding covers this host; the "
		    "operator can add one with `countersign bind`\n");
	fwrite(out, 1, (size_t)n, stdout);
	return fflush(stdout) == 0 ? 0 : 3;
}

int
credential_git(int argc, char **argv)
{
	const char *bindings = getenv("COUNTERSIGN_BINDINGS");
	const char *verb = argc == 2 ? argv[1] : "";

	if (strcmp(verb, "store") == 0)
		return 0;	/* a placeholder needs no keeping */
	if (strcmp(verb, "erase") == 0) {
		fprintf(stderr, "countersign: the service rejected the "
		    "credential: the secret may be wrong or revoked\n");
		return 0;
	}
	if (strcmp(verb, "get") != 0) {
		fprintf(stderr, "Usage: countersign credential git "
		    "get|store|erase\n");
		return 3;
	}
	return get(bindings != NULL ? bindings : "[]");
}
