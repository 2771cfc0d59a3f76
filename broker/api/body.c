/* Bodies: bounded, secrets in locked memory, everything wiped. */
#include "api/impl.h"

#include "json_in.h"
#include "secret.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

static size_t
body_max(const struct api_call *call)
{
	switch (call->route->body) {
	case BODY_SECRET:
		return API_SECRET_MAX;
	case BODY_NONE:
		return 0;
	default:
		return API_BODY_MAX;
	}
}

static const char *
header(const struct api_call *call, const char *name)
{
	return MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND,
	    name);
}

static void
refuse_size(struct api_call *call)
{
	switch (call->route->body) {
	case BODY_NONE:
		api_refuse_input(call, 400, "api/body", "this call takes no body",
		    "send none");
		break;
	case BODY_SECRET:
		api_refuse_input(call, 413, "api/too-large",
		    "a secret has at most 16384 bytes", "store less");
		break;
	default:
		api_refuse_input(call, 413, "api/too-large",
		    "a body has at most 1048576 bytes", "send less");
	}
}

static bool
type_ok(struct api_call *call)
{
	const char *type = header(call, "Content-Type");
	bool json;

	if (type == NULL || call->route->body == BODY_NONE)
		return true;
	json = strncasecmp(type, "application/json", 16) == 0 &&
	    (type[16] == '\0' || type[16] == ';' || type[16] == ' ');
	if (json != (call->route->body == BODY_SECRET))
		return true;
	if (json) {	/* its braces would be taken for the secret */
		api_refuse_input(call, 415, "api/media-type",
		    "the body is the secret's own bytes, not JSON",
		    "send Content-Type: application/octet-stream");
		return false;
	}
	api_refuse_input(call, 415, "api/media-type", "the body must be JSON",
	    "send Content-Type: application/json");
	return false;
}

bool
api_body_begin(struct api_call *call)
{
	const char *length = header(call, "Content-Length");

	if (length != NULL && strtoull(length, NULL, 10) > body_max(call)) {
		refuse_size(call);
		return false;
	}
	if (!type_ok(call))
		return false;
	if (call->route->body != BODY_SECRET)
		return true;
	call->body_cap = API_SECRET_MAX;
	call->body = secret_memory_new(call->body_cap);
	if (call->body != NULL)
		return true;
	api_refuse(call, 503, "api/memory", "out of locked memory",
	    "raise the limit of locked memory (ulimit -l)");
	return false;
}

static bool
grow(struct api_call *call, size_t need)
{
	size_t cap = call->body_cap > 0 ? call->body_cap : 4096;
	char *body;

	if (need <= call->body_cap)
		return true;
	while (cap < need)
		cap *= 2;
	body = malloc(cap);
	if (body == NULL)
		return false;
	if (call->body_len > 0) {
		memcpy(body, call->body, call->body_len);
		sodium_memzero(call->body, call->body_len);
	}
	free(call->body);
	call->body = body;
	call->body_cap = cap;
	return true;
}

/* What is too long is read on for as much again, so that the client gets to
 * see the answer; then it is cut. */
bool
api_body_add(struct api_call *call, const char *bytes, size_t len)
{
	size_t max = body_max(call);

	if (call->too_large || len > max - call->body_len) {
		call->too_large = true;
		call->body_len += len;
		return call->body_len <= 2 * max + 65536;
	}
	if (call->route->body != BODY_SECRET &&
	    !grow(call, call->body_len + len))
		return false;
	if (len > 0)
		memcpy(call->body + call->body_len, bytes, len);
	call->body_len += len;
	return true;
}

bool
api_body_end(struct api_call *call)
{
	char err[256];

	if (call->too_large) {
		refuse_size(call);
		return false;
	}
	if (call->route->body == BODY_SECRET || call->route->body == BODY_NONE ||
	    (call->route->body == BODY_OPTIONAL_JSON && call->body_len == 0))
		return true;
	call->json = json_in_parse(call->body != NULL ? call->body : "",
	    call->body_len, err, sizeof(err));
	if (call->json != NULL)
		return true;
	api_refuse_input(call, 400, "api/json", err, "send one JSON object");
	return false;
}

void
api_body_free(struct api_call *call)
{
	if (call->route != NULL && call->route->body == BODY_SECRET) {
		secret_memory_free(call->body);	/* wipes */
	} else if (call->body != NULL) {
		sodium_memzero(call->body, call->body_cap);
		free(call->body);
	}
	call->body = NULL;
	json_decref(call->json);
}
