/* Policy, ledger, health, shutdown. */
#include "api/impl.h"
#include "anchor/anchorer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_MAX 65536
/* Less space than this is told while all works: some 200,000 records. */
#define SPACE_LOW ((int64_t)64 << 20)

void
api_policy_reload(struct api_call *call)
{
	char before[POLICY_DIGEST_LEN + 1], after[POLICY_DIGEST_LEN + 1];
	struct gate_problem why;

	if (gate_reload(call->api->options.gate, call->lane->port, before,
	    after, &why) == -1)
		api_refuse_problem(call, &why);
	else
		api_answer(call, 200, json_pack("{s:s, s:s}", "before", before,
		    "after", after));
}

char *
api_read_checkpoint(const struct api *api, size_t *len)
{
	char *note = malloc(NOTE_MAX + 1);
	ssize_t n = -1;
	size_t have = 0;
	int fd;

	fd = open(api->options.checkpoint_path, O_RDONLY | O_CLOEXEC);
	while (fd != -1 && note != NULL && have < NOTE_MAX) {
		n = read(fd, note + have, NOTE_MAX - have);
		if (n <= 0 && !(n == -1 && errno == EINTR))
			break;
		have += n > 0 ? (size_t)n : 0;
	}
	if (fd != -1)
		close(fd);
	if (n != 0 || have == 0) {	/* not read to its end */
		free(note);
		return NULL;
	}
	note[have] = '\0';
	*len = have;
	return note;
}

void
api_checkpoint(struct api_call *call)
{
	size_t len = 0;
	char *note = api_read_checkpoint(call->api, &len);

	if (note != NULL)
		api_answer_text(call, 200, "text/plain; charset=utf-8", note,
		    len);
	else
		api_refuse(call, 404, "ledger/no-checkpoint",
		    "no checkpoint has been signed yet",
		    "try again after the checkpoint interval");
}

/* What a witness or an authority has vouched for, beside what is signed. */
static json_t *
party(const struct anchor_view *view, uint64_t signed_size)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:I, s:I}", "name",
	    view->name, "kind", view->witness ? "witness" : "authority",
	    "state", anchor_reason_word(view->reason), "size",
	    (json_int_t)view->size, "behind", (json_int_t)(signed_size >
	    view->size ? signed_size - view->size : 0));

	if (json != NULL && view->time_s != 0)
		json_object_set_new(json, "time", api_time(
		    (int64_t)view->time_s));
	if (json != NULL && anchor_reason_text(view->reason)[0] != '\0')
		json_object_set_new(json, "detail", json_string(
		    anchor_reason_text(view->reason)));
	return json;
}

uint64_t
api_signed_size(const struct api *api)
{
	struct ledger_counts counts;

	ledger_counts(api->options.ledger, &counts);
	return counts.signed_size;
}

static json_t *
anchors(const struct api *api)
{
	const struct anchorer *anchorer = api->options.anchorer;
	uint64_t size = api_signed_size(api);
	struct anchor_view view;
	json_t *list = json_array();

	for (unsigned i = 0; anchorer != NULL &&
	    i < anchorer_parties(anchorer); i++) {
		anchorer_look(anchorer, i, &view);
		json_array_append_new(list, party(&view, size));
	}
	return list;
}

/* "full" is known by a record that found no space; "low" before there is one. */
static const char *
ledger_state(const struct api *api, const struct ledger_counts *counts)
{
	if (!ledger_healthy(api->options.ledger))
		return "failed";
	if (ledger_silent_s(api->options.ledger) != 0)
		return "silent";
	if (counts->full != 0)
		return "full";
	return counts->space >= 0 && counts->space < SPACE_LOW ? "low" : "ok";
}

/* Why everything is refused; what to look at where nothing has failed yet. */
static const char *
ledger_reason(const struct api *api, const char *state, char *text, size_t cap)
{
	if (strcmp(state, "full") == 0)
		return "there is no space for records: everything is refused "
		    "until there is";
	if (strcmp(state, "silent") != 0)
		return "the ledger failed: everything is refused";
	snprintf(text, cap, "the recorder (pid %ld) has not answered for %u s: "
	    "everything is refused until it does; is it stopped, or does the "
	    "ledger's disk hang?", (long)ledger_recorder_pid(
	    api->options.ledger), ledger_silent_s(api->options.ledger));
	return text;
}

/* The first witness that has seen another history than this, and secrets that are
 * recognised nowhere; or NULL. */
static const char *
alarm_of(const struct anchorer *anchorer, bool partial, char *text, size_t cap)
{
	struct anchor_view view;
	const char *vault = partial ? "not every secret of the vault could be read: "
	    "those are recognised nowhere, and not used; the daemon's log says why" :
	    "";

	for (unsigned i = 0; anchorer != NULL &&
	    i < anchorer_parties(anchorer); i++) {
		anchorer_look(anchorer, i, &view);
		if (!anchor_reason_alarm(view.reason))
			continue;
		snprintf(text, cap, "%s: %s%s%s", view.name,
		    anchor_reason_text(view.reason), partial ? "; and " : "", vault);
		return text;
	}
	return partial ? vault : NULL;
}

/* What files say now that the daemon read before, and room for records. */
static void
add_seen(json_t *json, const struct api *api, const struct ledger_counts *counts)
{
	if (api->options.conf_changed != NULL)
		json_object_set_new(json, "config", json_string(atomic_load(
		    api->options.conf_changed) ? "changed" : "as read"));
	json_object_set_new(json, "policy", json_string(gate_pack_differs(
	    api->options.gate) ? "changed" : "as read"));
	if (counts->space >= 0)
		json_object_set_new(json, "space", json_integer(counts->space));
}

/* A witness that is down does not make the daemon ill; that it is, is said.  One
 * that has seen another history is an alarm, and so is a secret that could not be
 * read: requests are served all the same. */
void
api_health(struct api_call *call)
{
	const struct anchorer *anchorer = call->api->options.anchorer;
	const bool partial = gate_secrets_partial(call->api->options.gate);
	const bool stopping = atomic_load(&call->api->stopping);
	struct ledger_counts counts;
	const char *ledger, *reason;
	bool low, well;
	char text[512];
	json_t *json;

	ledger_counts(call->api->options.ledger, &counts);
	ledger = ledger_state(call->api, &counts);
	low = strcmp(ledger, "low") == 0;
	well = low || strcmp(ledger, "ok") == 0;
	reason = well ? alarm_of(anchorer, partial, text, sizeof(text)) :
	    ledger_reason(call->api, ledger, text, sizeof(text));
	if (stopping)
		reason = "the daemon is ending";
	json = json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "status", stopping ?
	    "stopping" : !well ? "failed" : reason != NULL ? "degraded" : "ok", "ledger", ledger,
	    "vault", partial ? "partial" : "whole", "version", COUNTERSIGN_VERSION, "anchoring", anchorer == NULL ?
	    "none" : anchorer_alive(anchorer) ? "running" : "gone", "anchors",
	    anchors(call->api));
	if (low && reason == NULL)
		reason = "there is little space left for records; without any, "
		    "everything is refused";
	if (json != NULL && reason != NULL)
		json_object_set_new(json, "reason", json_string(reason));
	if (json != NULL)
		add_seen(json, call->api, &counts);
	api_answer(call, well && !stopping ? 200 : 503, json);
}

void
api_stopping(struct api *api)
{
	if (api != NULL)
		atomic_store(&api->stopping, true);
}

void
api_shutdown(struct api_call *call)
{
	struct api *api = call->api;

	api_answer(call, 202, json_pack("{s:s}", "status", "stopping"));
	if (api->options.shutdown != NULL && !atomic_exchange(&api->stopping,
	    true))
		api->options.shutdown(api->options.arg);
}
