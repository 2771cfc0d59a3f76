#include "cli/approve/approve.h"
#include "cli/age.h"
#include "cli/cli.h"
#include "ledger/output/shown.h"

#include <string.h>

#define TARGET_SHOWN 2048	/* bytes; more is no line */

enum client_result
approve_fetch(struct client_reply *reply, const json_t **list)
{
	enum client_result result = client_operator("GET", "/v1/approvals", NULL,
	    reply);

	*list = json_object_get(reply->json, "approvals");
	if (result != CLIENT_OK || json_is_array(*list))
		return result;
	/* Not to be taken for "nothing waits". */
	snprintf(reply->error, sizeof(reply->error),
	    "the daemon's answer has no list of approvals");
	return CLIENT_BROKEN;
}

bool
approve_waits(const json_t *question)
{
	return strcmp(client_str(question, "state"), "waiting") == 0;
}

size_t
approve_waiting(const json_t *list)
{
	json_t *one;
	size_t i, n = 0;

	json_array_foreach(list, i, one)
		n += approve_waits(one);
	return n;
}

/* Where it goes is what is agreed to: never cut off unsaid. */
static void
print_target(const json_t *question)
{
	const char *target = client_str(question, "target");
	const size_t len = strlen(target);

	printf("  %s ", cli_clean(client_str(question, "action")));
	shown_put(stdout, target, TARGET_SHOWN);
	if (len > TARGET_SHOWN)
		printf(" [%scut off: it has %zu bytes, --json shows all%s]",
		    cli_colour(stdout, CLI_RED), len,
		    cli_colour(stdout, CLI_PLAIN));
}

static void
print_member(const json_t *question, const char *name)
{
	if (client_str(question, name)[0] != '\0')
		printf("  %s %s", name, cli_clean(client_str(question, name)));
}

void
approve_print(const json_t *question)
{
	const json_int_t held = json_integer_value(json_object_get(question,
	    "waiting"));
	char age[32];

	printf("%s%.*s%s  %s", cli_colour(stdout, CLI_BOLD), APPROVE_ID_SHOWN,
	    cli_clean(client_str(question, "id")), cli_colour(stdout, CLI_PLAIN),
	    age_text(json_object_get(question, "asked"), age, sizeof(age)));
	print_target(question);
	print_member(question, "secret");
	print_member(question, "run");
	print_member(question, "principal");
	print_member(question, "agent");
	if (held != 1)
		printf("  (%" JSON_INTEGER_FORMAT " requests are held for it)", held);
	printf("  [%s: %s]\n", cli_clean(client_str(question, "rule")),
	    cli_clean(client_str(question, "reason")));
}

/* What was done, as the daemon says it. */
static void
print_done(const json_t *question, enum approve_answer answer)
{
	static const char *const words[] = { "approved once",
	    "approved until the run ends", "denied" };

	printf("%s%s%s", cli_colour(stdout, answer == APPROVE_DENY ? CLI_RED :
	    CLI_GREEN), words[answer], cli_colour(stdout, CLI_PLAIN));
	print_target(question);
	putchar('\n');
}

int
approve_answer(const char *id, enum approve_answer answer, json_t *done)
{
	char path[128];
	json_t *body = json_pack("{s:s, s:s}", "answer", answer == APPROVE_DENY ?
	    "deny" : "approve", "for", answer == APPROVE_RUN ? "run" : "once");
	struct client_reply reply;
	enum client_result result;
	int rc = CLI_OK;

	snprintf(path, sizeof(path), "/v1/approvals/%.64s", id);
	result = client_operator("POST", path, body, &reply);
	json_decref(body);
	if (result != CLIENT_OK)
		rc = client_fail(result, &reply);
	else if (done != NULL)
		json_array_append(done, reply.json);
	else
		print_done(reply.json, answer);
	client_reply_release(&reply);
	return rc;
}
