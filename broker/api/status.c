/* Policy, ledger, health, shutdown. */
#include "api/impl.h"
#include "anchor/anchorer.h"
#include "space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOTE_MAX 65536

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
ledger_state(const struct api *api, int64_t space)
{
	struct ledger_counts counts;

	if (!ledger_healthy(api->options.ledger))
		return "failed";
	ledger_counts(api->options.ledger, &counts);
	if (counts.full != 0)
		return "full";
	return space >= 0 && space < SPACE_LOW ? "low" : "ok";
}

/* The first witness that has seen another history than this, or NULL. */
static const char *
alarm_of(const struct anchorer *anchorer, char *text, size_t cap)
{
	struct anchor_view view;

	for (unsigned i = 0; anchorer != NULL &&
	    i < anchorer_parties(anchorer); i++) {
		anchorer_look(anchorer, i, &view);
		if (!anchor_reason_alarm(view.reason))
			continue;
		snprintf(text, cap, "%s: %s", view.name,
		    anchor_reason_text(view.reason));
		return text;
	}
	return NULL;
}

/* A witness that is down does not make the daemon ill; that it is, is said.  One
 * that has seen another history is an alarm: requests are served all the same. */
void
api_health(struct api_call *call)
{
	const struct anchorer *anchorer = call->api->options.anchorer;
	int64_t space = space_left(call->api->options.ledger_dir);
	const char *ledger = ledger_state(call->api, space), *reason;
	bool low = strcmp(ledger, "low") == 0;
	bool well = low || strcmp(ledger, "ok") == 0;
	char text[512];
	json_t *json;

	reason = alarm_of(anchorer, text, sizeof(text));
	if (strcmp(ledger, "full") == 0)
		reason = "there is no space for records: everything is refused "
		    "until there is";
	else if (!well)
		reason = "the ledger failed: everything is refused";
	json = json_pack("{s:s, s:s, s:s, s:s, s:o}", "status", !well ?
	    "failed" : reason != NULL ? "degraded" : "ok", "ledger", ledger,
	    "version", COUNTERSIGN_VERSION, "anchoring", anchorer == NULL ?
	    "none" : anchorer_alive(anchorer) ? "running" : "gone", "anchors",
	    anchors(call->api));
	if (low && reason == NULL)
		reason = "there is little space left for records; without any, "
		    "everything is refused";
	if (json != NULL && reason != NULL)
		json_object_set_new(json, "reason", json_string(reason));
	if (json != NULL && space >= 0)
		json_object_set_new(json, "space", json_integer(space));
	api_answer(call, well ? 200 : 503, json);
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
