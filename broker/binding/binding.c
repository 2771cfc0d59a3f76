#include "binding/binding_impl.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BINDINGS_MAX 200000

/* --- all bindings ---------------------------------------------------- */

static int
bindings_read(struct bindings *out, json_t *object, char *err, size_t err_len)
{
	size_t count = json_object_size(object);
	const char *id;
	json_t *value;

	if (count == 0)
		return 0;
	if (count > BINDINGS_MAX)
		return binding_fail(err, err_len, "bindings", "too many");
	out->all = calloc(count, sizeof(*out->all));
	if (out->all == NULL)
		return binding_fail(err, err_len, "bindings", "out of memory");
	json_object_foreach(object, id, value) {
		if (binding_read(id, value, &out->all[out->n++], err,
		    err_len) == -1)
			return -1;
		out->n_places += out->all[out->n - 1].n_hosts;
	}
	return 0;
}

static int
place_order(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = strcmp(x->host, y->host);

	if (c != 0)
		return c;
	if (x->binding->https != y->binding->https)
		return x->binding->https ? -1 : 1;
	if (x->binding->port != y->binding->port)
		return x->binding->port < y->binding->port ? -1 : 1;
	return x->binding < y->binding ? -1 : x->binding > y->binding;
}

static int
id_order(const void *a, const void *b)
{
	const struct binding *const *x = a, *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

static int
bindings_index(struct bindings *out, char *err, size_t err_len)
{
	size_t at = 0;

	if (out->n == 0)
		return 0;
	out->places = calloc(out->n_places, sizeof(*out->places));
	out->by_id = calloc(out->n, sizeof(*out->by_id));
	if (out->places == NULL || out->by_id == NULL)
		return binding_fail(err, err_len, "bindings", "out of memory");
	for (size_t i = 0; i < out->n; i++) {
		out->by_id[i] = &out->all[i];
		for (size_t j = 0; j < out->all[i].n_hosts; j++)
			out->places[at++] = (struct place){
			    out->all[i].hosts[j], &out->all[i] };
	}
	qsort(out->places, out->n_places, sizeof(*out->places), place_order);
	qsort(out->by_id, out->n, sizeof(*out->by_id), id_order);
	return 0;
}

/* --- interface ------------------------------------------------------- */

static int
document_read(struct bindings *out, json_t *root, char *err, size_t err_len)
{
	json_t *bindings = json_object_get(root, "bindings");
	json_t *egress = json_object_get(root, "egress");

	if (!json_is_object(root))
		return binding_fail(err, err_len, "data", "must be an object");
	if (bindings != NULL && !json_is_object(bindings))
		return binding_fail(err, err_len, "bindings", "must be an object");
	if (bindings_read(out, bindings, err, err_len) == -1 ||
	    bindings_index(out, err, err_len) == -1)
		return -1;
	if (egress != NULL && binding_read_egress(out, egress, err, err_len) == -1)
		return -1;
	return binding_read_limits(out, json_object_get(root, "limits"),
	    json_object_get(root, "grant"), err, err_len);
}

struct bindings *
bindings_parse(const char *data, size_t len, char *err, size_t err_len)
{
	struct bindings *out = calloc(1, sizeof(*out));
	json_t *root = NULL;

	if (out == NULL) {
		binding_fail(err, err_len, "data", "out of memory");
		return NULL;
	}
	out->limits = (struct policy_budget){ -1, -1, -1, -1 };
	out->refusals = -1;
	out->grant = (struct binding_grant){ 300, 1 };
	root = json_in_parse(data, len, err, err_len);
	if (root == NULL || document_read(out, root, err, err_len) == -1) {
		bindings_free(out);
		out = NULL;
	}
	json_decref(root);
	return out;
}

void
bindings_free(struct bindings *bindings)
{
	if (bindings == NULL)
		return;
	for (size_t i = 0; i < bindings->n; i++)
		binding_clear(&bindings->all[i]);
	free(bindings->all);
	free(bindings->places);
	free(bindings->by_id);
	free(bindings->ranges);
	free(bindings);
}

size_t
bindings_count(const struct bindings *bindings)
{
	return bindings->n;
}

const struct binding *
bindings_at(const struct bindings *bindings, size_t i)
{
	return i < bindings->n ? &bindings->all[i] : NULL;
}

const struct binding *
bindings_by_id(const struct bindings *bindings, struct slice id)
{
	size_t low = 0, high = bindings->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const char *at = bindings->by_id[mid]->id;
		int c = strncmp(at, id.p, id.n);

		if (c == 0 && strlen(at) == id.n)
			return bindings->by_id[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* The first place of that host. */
static size_t
places_at(const struct bindings *bindings, const char *host)
{
	size_t low = 0, high = bindings->n_places;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (strcmp(bindings->places[mid].host, host) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct binding *
bindings_for(const struct bindings *bindings, const struct target *target,
    size_t *cursor)
{
	size_t i = *cursor > 0 ? *cursor : places_at(bindings, target->host);

	for (; i < bindings->n_places; i++) {
		const struct place *place = &bindings->places[i];

		if (strcmp(place->host, target->host) != 0)
			break;
		if (place->binding->https == target->https &&
		    place->binding->port == target->port) {
			*cursor = i + 1;
			return place->binding;
		}
	}
	return NULL;
}

static bool
takes_escaped_slash(const struct bindings *bindings,
    const struct binding *binding, const struct target *target)
{
	size_t cursor = 0;

	if (binding != NULL)
		return binding->escaped_slash;
	while ((binding = bindings_for(bindings, target, &cursor)) != NULL)
		if (binding->escaped_slash)
			return true;
	return false;
}

/* A host that reads "%2F" as '/' at one place may read an escape twice at another:
 * there "%252F" and "%252E" are refused too. */
const char *
bindings_path_refusal(const struct bindings *bindings,
    const struct binding *binding, const struct target *target)
{
	bool takes;

	if (!target->escaped_slash && !target->escaped_twice)
		return NULL;
	takes = takes_escaped_slash(bindings, binding, target);
	if (target->escaped_slash && !takes)
		return "an escaped '/' in the path";
	return target->escaped_twice && takes ?
	    "an escape within an escape in the path" : NULL;
}

const struct policy_budget *
bindings_limits(const struct bindings *bindings)
{
	return &bindings->limits;
}

int64_t
bindings_refusals(const struct bindings *bindings)
{
	return bindings->refusals;
}

const struct binding_grant *
bindings_grant(const struct bindings *bindings)
{
	return &bindings->grant;
}

static bool
in_range(const struct range *range, const uint8_t address[16])
{
	unsigned whole = range->bits / 8, rest = range->bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	return memcmp(range->bytes, address, whole) == 0 && (rest == 0 ||
	    ((range->bytes[whole] ^ address[whole]) & mask) == 0);
}

bool
bindings_private_allowed(const struct bindings *bindings,
    const struct sockaddr *address)
{
	uint8_t bytes[16];

	if (address->sa_family == AF_INET)
		map_v4((const uint8_t *)
		    &((const struct sockaddr_in *)address)->sin_addr, bytes);
	else if (address->sa_family == AF_INET6)
		memcpy(bytes,
		    &((const struct sockaddr_in6 *)address)->sin6_addr, 16);
	else
		return false;
	for (size_t i = 0; i < bindings->n_ranges; i++)
		if (in_range(&bindings->ranges[i], bytes))
			return true;
	return false;
}

static bool
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

bool
binding_same_place(const struct binding *a, const struct binding *b)
{
	const struct placement *x = &a->placement, *y = &b->placement;

	if (a->https != b->https || a->port != b->port ||
	    a->n_hosts != b->n_hosts || strcmp(a->secret, b->secret) != 0)
		return false;
	for (size_t i = 0; i < a->n_hosts; i++)
		if (strcmp(a->hosts[i], b->hosts[i]) != 0)
			return false;
	return x->kind == y->kind && same_text(x->name, y->name) &&
	    same_text(x->before, y->before) && same_text(x->after, y->after) &&
	    same_text(x->user, y->user);
}
