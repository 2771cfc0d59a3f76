#include "gate/input.h"

#include "gate/budget.h"
#include "gate/delegation.h"

struct policy_str
input_text(const char *text)
{
	if (text == NULL || text[0] == '\0')
		return (struct policy_str){ NULL, 0 };
	return (struct policy_str){ text, strlen(text) };
}

void
input_begin(struct policy_input *out)
{
	*out = (struct policy_input){ .now_ns = clock_wall_ns() };
	out->run.opened_ns = -1;
	out->caller.uid = out->caller.pid = -1;
	out->target.port = -1;
	out->secret.version = -1;
	out->grant.uses_left = -1;
	out->budget = (struct policy_budget){ -1, -1, -1, -1 };
	out->limits = (struct policy_budget){ -1, -1, -1, -1 };
}

void
input_run(struct policy_input *out, struct run *run)
{
	if (run == NULL)
		return;
	out->run.id = input_text(run->id);
	out->run.principal = input_text(run->principal);
	if (run->parent != NULL)
		out->run.parent = input_text(run->parent->id);
	out->run.opened_ns = run->opened_ns;
	out->agent.name = input_text(run->agent_name);
	out->agent.version = input_text(run->agent_version);
	budget_used(run, &out->budget);
	out->limits = run->limits;
	if (run->delegation != NULL)
		out->delegation = (struct policy_str){ run->delegation->json,
		    run->delegation->json_len };
}

void
input_peer(struct policy_input *out, const struct peer *peer)
{
	out->caller.uid = peer->uid;
	out->caller.pid = peer->pid > 0 ? peer->pid : -1;
}

void
input_target(struct policy_input *out, const struct target *target,
    struct slice query)
{
	out->target.scheme = input_text(target->https ? "https" : "http");
	out->target.host = input_text(target->host);
	out->target.port = target->port;
	if (target->path != NULL)
		out->target.path = (struct policy_str){ target->path,
		    target->path_len };
	if (query.p != NULL)
		out->target.query = (struct policy_str){ query.p, query.n };
	if (target->is_address)
		out->target.ip = input_text(target->host);
}

void
input_binding(struct policy_input *out, const struct binding *binding,
    uint32_t version)
{
	out->secret.name = input_text(binding->secret);
	out->secret.binding = input_text(binding->id);
	out->secret.version = version;
}

void
input_grant(struct policy_input *out, const struct grant *grant)
{
	out->grant.id = input_text(grant->id);
	out->grant.uses_left = atomic_load(&grant->left);
}
