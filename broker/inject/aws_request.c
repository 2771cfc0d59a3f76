#include "inject/aws_request.h"

#include <stdio.h>

#define SCOPE_PART_MAX 64
#define PAYLOAD SLICE("X-Amz-Content-Sha256")

/* --- what the client sent ---------------------------------------------------- */

/* Up to stop, which is taken off rest too; false where there is none. */
static bool
cut(struct slice *rest, char stop, struct slice *out)
{
	const char *at = rest->n > 0 ? memchr(rest->p, stop, rest->n) : NULL;

	if (at == NULL)
		return false;
	*out = (struct slice){ rest->p, (size_t)(at - rest->p) };
	*rest = (struct slice){ at + 1, rest->n - out->n - 1 };
	return true;
}

/* AWS's own are of lower case; others' are not ("RegionOne"). */
static bool
is_word(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') || s.p[i] == '-' ||
		    s.p[i] == '.' || s.p[i] == '_' ||
		    ((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z')))
			return false;
	return s.n > 0 && s.n <= SCOPE_PART_MAX;
}

bool
aws_request_scope(struct slice authorization, struct aws_scope *out)
{
	static const char credential[] = "Credential=";
	struct slice rest = authorization, date;
	const char *at;

	if (!slice_case_begins(rest, SLICE("AWS4-")))
		return false;
	at = memmem(rest.p, rest.n, credential, sizeof(credential) - 1);
	if (at == NULL)
		return false;
	at += sizeof(credential) - 1;
	rest = (struct slice){ at, rest.n - (size_t)(at - rest.p) };
	*out = (struct aws_scope){ .id = { NULL, 0 } };
	if (!cut(&rest, '/', &out->id))
		return false;
	if (!cut(&rest, '/', &date) || !cut(&rest, '/', &out->region) ||
	    !cut(&rest, '/', &out->service) || !is_word(out->region) ||
	    !is_word(out->service) || !slice_case_begins(rest, SLICE("aws4_request")))
		out->region = out->service = (struct slice){ NULL, 0 };
	return true;
}

static bool
is_sha256(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] >= '0' && s.p[i] <= '9') ||
		    (s.p[i] >= 'a' && s.p[i] <= 'f')))
			return false;
	return s.n == SIGV4_HEX_LEN;
}

static const char *
hash_refusal(struct slice hash)
{
	if (is_sha256(hash) || slice_eq(hash, SLICE(SIGV4_UNSIGNED)) ||
	    slice_eq(hash, SLICE("STREAMING-UNSIGNED-PAYLOAD-TRAILER")))
		return NULL;
	return slice_case_begins(hash, SLICE("STREAMING-")) ? "its body is signed in pieces" :
	    "X-Amz-Content-Sha256 is no hash in lower case";
}

static const char *
payload_refusal(const struct head *head)
{
	const struct head_field *payload = NULL;

	for (size_t i = 0; i < head->n_fields; i++) {
		if (!slice_case_eq(head->fields[i].name, PAYLOAD))
			continue;
		if (payload != NULL)
			return "X-Amz-Content-Sha256 stands there twice";
		payload = &head->fields[i];
	}
	if (payload != NULL)
		return hash_refusal(payload->value);
	if (head->framing == HEAD_CHUNKED)
		return "neither the length of its body is known nor the hash";
	return head->framing == HEAD_LENGTH && head->body_len > AWS_BODY_MAX ?
	    "its body is over 16 MiB long, and X-Amz-Content-Sha256 does not give its hash" :
	    NULL;
}

/* More than sigv4_sign takes: told before anything is decided.  What the broker adds
 * to the names is told for generously. */
static const char *
size_refusal(const struct head *head)
{
	size_t names = 64, parameters = 1;

	for (size_t i = 0; i < head->target.n; i++)
		parameters += head->target.p[i] == '&';
	for (size_t i = 0; i < head->n_fields; i++)
		if (aws_request_covers(head->fields[i].name))
			names += head->fields[i].name.n + 1;
	return parameters > SIGV4_PARAMETERS_MAX ?
	    "its query has over 512 parameters" : names > SIGV4_NAMES_MAX ?
	    "the names of its X-Amz- fields are over 4,000 bytes long in all" : NULL;
}

const char *
aws_request_refusal(const struct head *head)
{
	const struct head_field *field = head_find(head, SLICE("Authorization"));
	const char *why = size_refusal(head);
	struct aws_scope scope;

	if (field == NULL || !aws_request_scope(field->value, &scope))
		return "it is not signed in the field Authorization";
	if (!slice_case_begins(field->value, SLICE("AWS4-HMAC-SHA256 ")))
		return "it is not signed by AWS4-HMAC-SHA256";
	if (scope.region.n == 0)
		return "its signature names no region and service";
	return why != NULL ? why : payload_refusal(head);
}

bool
aws_request_needs_body(const struct head *head)
{
	return head->framing == HEAD_LENGTH && head->body_len > 0 &&
	    head_find(head, PAYLOAD) == NULL;
}

/* --- what goes upstream -------------------------------------------------------- */

bool
aws_request_replaces(struct slice name)
{
	return slice_case_eq(name, SLICE("x-amz-date")) ||
	    slice_case_eq(name, SLICE("x-amz-security-token"));
}

bool
aws_request_covers(struct slice name)
{
	return slice_case_begins(name, SLICE("x-amz-")) ||
	    slice_case_eq(name, SLICE("content-type")) ||
	    slice_case_eq(name, SLICE("content-md5"));
}

static bool
add(struct sigv4 *request, struct slice name, struct slice value)
{
	if (request->n_fields == SIGV4_FIELDS_MAX)
		return false;
	request->fields[request->n_fields++] = (struct head_field){ name, value };
	return true;
}

bool
aws_request_sign(const struct head *head, struct sigv4 *request,
    const struct aws_keys *keys, const char *body_hash, time_t now,
    struct aws_signed *out)
{
	const struct head_field *payload = head_find(head, PAYLOAD);
	const struct head_field *field = head_find(head, SLICE("Authorization"));
	char empty[SIGV4_HEX_LEN + 1], signature[SIGV4_HEX_LEN + 1];
	struct aws_scope scope;
	int n;

	if (field == NULL || !aws_request_scope(field->value, &scope) ||
	    (body_hash == NULL && aws_request_needs_body(head)))
		return false;
	if (payload == NULL && body_hash == NULL) {
		sigv4_hash((struct slice){ NULL, 0 }, empty);
		body_hash = empty;
	}
	request->payload = payload != NULL ? payload->value : slice_of(body_hash);
	request->region = scope.region;
	request->service = scope.service;
	sigv4_time(now, request->time);
	if (!add(request, SLICE("X-Amz-Date"), slice_of(request->time)) ||
	    (keys->token.n > 0 &&
	    !add(request, SLICE("X-Amz-Security-Token"), keys->token)) ||
	    !sigv4_sign(request, keys->secret, signature))
		return false;
	memcpy(out->time, request->time, sizeof(out->time));
	n = snprintf(out->authorization, sizeof(out->authorization),
	    "AWS4-HMAC-SHA256 Credential=%.*s/%.8s/%.*s/%.*s/aws4_request, "
	    "SignedHeaders=%.*s, Signature=%s", (int)keys->id.n, keys->id.p,
	    request->time, (int)scope.region.n, scope.region.p,
	    (int)scope.service.n, scope.service.p, (int)request->names_len,
	    request->names, signature);
	out->authorization_len = (size_t)n;
	return n > 0 && (size_t)n < sizeof(out->authorization);
}
