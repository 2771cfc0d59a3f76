/* What one run may do with each binding: its placeholder, and what was used. */
#include "aws_keys.h"
#include "gate/delegation.h"
#include "gate/placeholder.h"
#include "gate/run.h"
#include "redact/redact.h"

#include <stdio.h>
#include <stdlib.h>

static int
lack(struct run *run, const struct binding *binding, enum secrets_result why)
{
	struct lack *grown = reallocarray(run->lacks, run->n_lacks + 1,
	    sizeof(*grown));

	if (grown == NULL)
		return -1;
	run->lacks = grown;
	snprintf(grown[run->n_lacks].binding, sizeof(grown->binding), "%s",
	    binding->id);
	grown[run->n_lacks++].why = why;
	return 0;
}

/* What the placeholder looks like: of a key that signs, its id; none of base64, since
 * a '/' would end it there. */
static struct slice
shown_part(const struct binding *binding, const struct secret *secret)
{
	struct slice bytes = secret_bytes(secret);
	struct aws_keys keys;

	if (binding->placement.kind != PLACE_SIGV4 || !aws_keys_read(bytes, &keys))
		return bytes;
	if (memchr(keys.id.p, '+', keys.id.n) != NULL)
		keys.id.n = 0;
	return keys.id;
}

/* Placeholder for one binding; 0 also where its secret is not to be had. */
static int
allowance_make(struct gate *gate, struct rules *rules, struct run *run,
    const struct binding *binding)
{
	struct allowance *allowance = &run->allowances[run->n_allowances];
	struct redact_needles *needles = NULL;
	struct secret *secret = NULL;
	enum secrets_result why;
	char text[PLACEHOLDER_MAX + 1];
	uint32_t version;
	size_t len;

	why = gate_secret_take(gate, rules, binding, false, &secret, &needles,
	    &version);
	if (why != SECRETS_TAKEN)
		return lack(run, binding, why);
	len = placeholder_make(shown_part(binding, secret), text, PLACEHOLDER_MAX);
	secret_unref(secret);
	redact_needles_unref(needles);
	if (len == 0)
		return 0;	/* longer than any placeholder: grants only */
	snprintf(allowance->binding, sizeof(allowance->binding), "%s",
	    binding->id);
	allowance->placeholder = strndup(text, len);
	if (allowance->placeholder == NULL)
		return -1;
	allowance->credential.kind = CREDENTIAL_PLACEHOLDER;
	allowance->credential.run = run;
	keyed_token(gate->keyed, slice_of(allowance->placeholder),
	    allowance->credential.node.key);
	run->n_allowances++;
	return 0;
}

static int
by_binding(const void *a, const void *b)
{
	const struct allowance *x = a, *y = b;

	return strcmp(x->binding, y->binding);
}

int
run_allowances_make(struct gate *gate, struct rules *rules, struct run *run)
{
	size_t n = bindings_count(rules->bindings);
	struct slice *needles = calloc(n + 1, sizeof(*needles));
	int rv = -1;

	run->allowances = calloc(n + 1, sizeof(*run->allowances));
	if (run->allowances == NULL || needles == NULL)
		goto out;
	for (size_t i = 0; i < n; i++) {
		const struct binding *binding = bindings_at(rules->bindings, i);

		if (run->delegation != NULL &&
		    !delegation_touches(run->delegation, binding->id))
			continue;
		if (allowance_make(gate, rules, run, binding) == -1)
			goto out;
	}
	qsort(run->allowances, run->n_allowances, sizeof(*run->allowances),
	    by_binding);
	for (size_t i = 0; i < run->n_allowances; i++)
		needles[i] = slice_of(run->allowances[i].placeholder);
	run->sieve = sieve_new(needles, run->n_allowances);
	rv = run->sieve != NULL ? 0 : -1;
out:
	free(needles);
	return rv;
}

static struct allowance *
late_allowance(struct run *run, const char *binding)
{
	struct allowance *at;

	pthread_mutex_lock(&run->lock);
	for (at = run->late; at != NULL; at = at->next)
		if (strcmp(at->binding, binding) == 0)
			break;
	if (at == NULL && (at = calloc(1, sizeof(*at))) != NULL) {
		snprintf(at->binding, sizeof(at->binding), "%s", binding);
		at->credential.run = run;
		at->next = run->late;
		run->late = at;
	}
	pthread_mutex_unlock(&run->lock);
	return at;
}

static struct allowance *
run_allowance(struct run *run, const char *binding)
{
	size_t low = 0, high = run->n_allowances;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int c = strcmp(run->allowances[mid].binding, binding);

		if (c == 0)
			return &run->allowances[mid];
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return late_allowance(run, binding);
}

bool
allowance_spend(struct run *run, const char *binding, int64_t max)
{
	struct allowance *allowance;
	struct run *at, *undo;

	for (at = run; at != NULL; at = at->parent) {
		allowance = run_allowance(at, binding);
		if (allowance == NULL)
			break;
		if (atomic_fetch_add(&allowance->requests, 1) >= max) {
			atomic_fetch_sub(&allowance->requests, 1);
			break;
		}
	}
	if (at == NULL)
		return true;
	for (undo = run; undo != at; undo = undo->parent)
		atomic_fetch_sub(&run_allowance(undo, binding)->requests, 1);
	return false;
}

void
allowance_return(struct run *run, const char *binding)
{
	for (; run != NULL; run = run->parent)
		atomic_fetch_sub(&run_allowance(run, binding)->requests, 1);
}
