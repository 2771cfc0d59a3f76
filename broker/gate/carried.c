#include "gate/carried.h"
#include "hex_digit.h"
#include "ledger/base64.h"

#include "inject/inject.h"
#include "inject/aws_request.h"

#include <sodium.h>

/* --- refusals -------------------------------------------------------- */

static void
refuse(struct carried *out, unsigned status, const char *rule,
    const char *reason, const char *remedy)
{
	if (out->status != 0)
		return;		/* the first reason stands */
	out->status = status;
	out->rule = rule;
	out->reason = reason;
	out->remedy = remedy;
}

/* --- the head, without what is ours ---------------------------------- */

static bool
our_field(const struct head_field *field)
{
	return slice_case_eq(field->name, SLICE("proxy-authorization")) ||
	    slice_case_eq(field->name, SLICE("x-countersign-run"));
}

static void
head_without_ours(const struct head *from, struct head *to)
{
	to->method = from->method;
	to->target = from->target;
	to->target_form = from->target_form;
	to->n_fields = 0;
	for (size_t i = 0; i < from->n_fields; i++)
		if (!our_field(&from->fields[i]))
			to->fields[to->n_fields++] = from->fields[i];
}

/* --- every text in it ------------------------------------------------ */

static struct slice
percent_decoded(struct slice text, char *buf, size_t cap)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && n < cap; i++) {
		int high = -1, low = -1;

		if (text.p[i] == '%' && i + 2 < text.n) {
			high = hex_digit(text.p[i + 1]);
			low = hex_digit(text.p[i + 2]);
		}
		if (high >= 0 && low >= 0) {
			buf[n++] = (char)(high << 4 | low);
			i += 2;
		} else {
			buf[n++] = text.p[i];
		}
	}
	return (struct slice){ buf, n };
}

static struct slice
basic_decoded(struct slice value, char *buf, size_t cap)
{
	size_t n = 0;

	if (value.n < 7 || strncasecmp(value.p, "basic ", 6) != 0)
		return (struct slice){ NULL, 0 };
	value = (struct slice){ value.p + 6, value.n - 6 };
	while (value.n > 0 && *value.p == ' ')
		value = (struct slice){ value.p + 1, value.n - 1 };
	while (value.n > 0 && value.p[value.n - 1] == '=')
		value.n--;
	/* The part before a character that is not base64 counts as well. */
	sodium_base642bin((unsigned char *)buf, cap, value.p,
	    base64_ascii(value.p, value.n), NULL, &n, NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
	return (struct slice){ buf, n };
}

/* Everything that is looked for, counted over all texts. */
struct search {
	const struct sieve *secrets;
	struct run *run;		/* or NULL */
	const struct binding *binding;	/* that the credential was found for */
	const struct allowance *own;	/* the placeholder in the slot, or NULL */
	unsigned own_seen, grant_tokens, run_tokens;
	const struct allowance *stray;	/* another placeholder of this run */
	bool secret, any;
};

static void
secret_found(void *arg, size_t index)
{
	((struct search *)arg)->secret = true;
}

static void
placeholder_found(void *arg, size_t index)
{
	struct search *search = arg;
	const struct allowance *found = &search->run->allowances[index];

	if (found == search->own)
		search->own_seen++;
	else
		search->stray = found;
}

/* Grants' and runs' tokens begin alike and have a '_' at the same place. */
#define UNDERSCORE_AT 4
_Static_assert(sizeof(TOKEN_GRANT) == UNDERSCORE_AT + 2 &&
    sizeof(TOKEN_RUN) == UNDERSCORE_AT + 2, "where the '_' stands");

static void
count_tokens(struct search *search, struct slice text)
{
	const char *at = text.p, *end = text.p + text.n;

	while (at < end &&
	    (at = memchr(at, '_', (size_t)(end - at))) != NULL) {
		if (at - text.p >= UNDERSCORE_AT) {
			const char *start = at - UNDERSCORE_AT;

			search->grant_tokens += memcmp(start, TOKEN_GRANT,
			    UNDERSCORE_AT) == 0;
			search->run_tokens += memcmp(start, TOKEN_RUN,
			    UNDERSCORE_AT) == 0;
		}
		at++;
	}
}

static unsigned
seen_so_far(const struct search *search)
{
	return search->own_seen + search->grant_tokens + search->run_tokens +
	    (search->stray != NULL) + search->secret;
}

/* True where something was found in this very text. */
static bool
search_text(struct search *search, struct slice text)
{
	unsigned before = seen_so_far(search);

	if (search->run != NULL)
		sieve_scan(search->run->sieve, text, placeholder_found,
		    search);
	count_tokens(search, text);
	sieve_scan(search->secrets, text, secret_found, search);
	return seen_so_far(search) != before;
}

/* A token looks the same decoded unless it holds a '%' itself, so the text as
 * sent is searched only where the decoded one has nothing. */
static bool
search_target(struct search *search, struct slice target, char *buf,
    size_t cap)
{
	if (target.n > 0 && memchr(target.p, '%', target.n) != NULL &&
	    search_text(search, percent_decoded(target, buf, cap)))
		return true;
	return search_text(search, target);
}

static void
search_head(struct search *search, const struct head *head, char *buf,
    size_t cap)
{
	bool used = head->target.n > 0 &&
	    memchr(head->target.p, '%', head->target.n) != NULL;
	struct slice decoded;

	search_target(search, head->target, buf, cap);
	search_text(search, head->method);
	for (size_t i = 0; i < head->n_fields; i++) {
		search_text(search, head->fields[i].name);
		search_text(search, head->fields[i].value);
		decoded = basic_decoded(head->fields[i].value, buf, cap);
		if (decoded.n > 0)
			search_text(search, decoded);
		used |= decoded.n > 0;
	}
	if (used)
		sodium_memzero(buf, cap < 4096 ? cap : 4096);
}

/* Host and path are recorded as they are, unless they hold something. */
static bool
place_tainted(const struct search *search, const struct target *target,
    char *buf, size_t cap)
{
	struct search again = { .secrets = search->secrets,
	    .run = search->run };

	if (search_text(&again, slice_of(target->host)))
		return true;
	return target->path != NULL && search_target(&again,
	    (struct slice){ target->path, target->path_len }, buf, cap);
}

/* --- the slots ------------------------------------------------------- */

static void
slot_take(struct carried *out, const struct binding *binding,
    struct credential *credential, unsigned copies)
{
	if (copies > 1)
		refuse(out, 403, "credential/repeated",
		    "the credential's place was sent more than once",
		    "send the credential once");
	if (out->credential != NULL) {
		credential_release(credential);
		refuse(out, 403, "credential/several",
		    "the request carries credentials of several bindings",
		    "send one credential a request");
		return;
	}
	out->binding = binding;
	out->credential = credential;
}

/* A reference to the credential comes with it. */
static void
credential_judge(struct run *run, const struct binding *binding,
    struct credential *credential, unsigned copies, struct carried *out)
{
	bool matches;

	if (credential->run != run) {
		refuse(out, 403, credential->kind == CREDENTIAL_GRANT ?
		    "grant/foreign-run" : "credential/foreign-run",
		    run_open_p(credential->run) ?
		    "the credential belongs to another run" :
		    "the credential belongs to a run that is closed",
		    "use the credentials of this run's own environment");
		credential_release(credential);
		return;
	}
	matches = strcmp(credential->kind == CREDENTIAL_GRANT ?
	    grant_of(credential)->binding :
	    allowance_of(credential)->binding, binding->id) == 0;
	if (matches)
		slot_take(out, binding, credential, copies);
	else
		credential_release(credential);
}

/* What one binding's slot holds.  A client's own token is left alone. */
static void
slot_judge(struct gate *gate, struct run *run, const struct binding *binding,
    struct slice slot, unsigned copies, struct carried *out)
{
	struct credential *credential = gate_credential(gate, slot);

	if (credential != NULL)
		credential_judge(run, binding, credential, copies, out);
	else if (slot.n == TOKEN_LEN && memcmp(slot.p, TOKEN_GRANT, 5) == 0)
		refuse(out, 403, "grant/unknown-or-restarted",
		    "no grant of this daemon has that token; grants do not outlive a restart",
		    "ask for a new grant");
}

static void
slots_find(struct gate *gate, struct gate_thread *thread,
    const struct gate_request *request, const struct rules *rules,
    struct carried *out)
{
	const struct binding *binding = request->only;
	size_t cursor = 0;
	struct slice slot;
	unsigned copies;

	if (binding != NULL && request->credential != NULL) {
		credential_judge(request->run, binding,
		    credential_ref(request->credential), request->copies, out);
		return;
	}
	if (binding == NULL)
		binding = bindings_for(rules->bindings, request->target,
		    &cursor);
	while (binding != NULL) {
		copies = 0;
		slot = inject_slot(&thread->head, request->target, binding,
		    thread->slot, sizeof(thread->slot), &copies);
		if (slot.p != NULL && slot.n > 0)
			slot_judge(gate, request->run, binding, slot, copies,
			    out);
		binding = request->only != NULL ? NULL :
		    bindings_for(rules->bindings, request->target, &cursor);
	}
}

/* A dummy's signature is of no use where it cannot be made anew. */
static void
judge_signed(const struct head *head, struct carried *out)
{
	const char *why;

	if (out->binding == NULL || out->binding->placement.kind != PLACE_SIGV4 ||
	    (why = aws_request_refusal(head)) == NULL)
		return;
	refuse(out, 403, "sign/unsupported", why,
	    "sign with AWS4-HMAC-SHA256 in the Authorization field, the body in one piece or unsigned");
}

/* --- judgement ------------------------------------------------------- */

static bool
covers(const struct rules *rules, const struct gate_request *request,
    const char *id)
{
	const struct binding *binding;
	size_t cursor = 0;

	if (request->only != NULL)
		return strcmp(request->only->id, id) == 0;
	while ((binding = bindings_for(rules->bindings, request->target,
	    &cursor)) != NULL)
		if (strcmp(binding->id, id) == 0)
			return true;
	return false;
}

static void
judge_strays(const struct search *search, const struct gate_request *request,
    const struct rules *rules, struct carried *out)
{
	bool grant = out->credential != NULL &&
	    out->credential->kind == CREDENTIAL_GRANT;

	if (search->secret)
		refuse(out, 403, "credential/raw-secret",
		    "the request holds a real secret, which no agent should have",
		    "send the placeholder; rotate the secret, since it is out");
	if (search->run_tokens > 0)
		refuse(out, 403, "credential/misplaced",
		    "the request would carry a run's token to the other side",
		    "send the run's token as Proxy-Authorization only");
	if (search->stray != NULL)
		refuse(out, 403, covers(rules, request,
		    search->stray->binding) ? "credential/misplaced" :
		    "credential/wrong-host",
		    "the placeholder of a binding stands where that binding does not send it",
		    "send it to its own host, in its own place");
	if (search->own_seen > 1 || search->grant_tokens > grant)
		refuse(out, 403, search->own_seen > 1 ||
		    (grant && search->grant_tokens > 1) ?
		    "credential/repeated" : "credential/misplaced",
		    "a credential stands outside its place",
		    "send the credential once, where the binding says");
}

/* --- the query as policy and ledger see it --------------------------- */

static bool
is_slot_pair(struct slice pair, const struct binding *binding)
{
	size_t n = strlen(binding->placement.name);

	return pair.n >= n && memcmp(pair.p, binding->placement.name, n) == 0 &&
	    (pair.n == n || pair.p[n] == '=');
}

static struct slice
query_without_slot(const struct target *target, const struct binding *binding,
    char *buf, size_t cap)
{
	const char *at = target->query, *end;
	size_t n = 0;

	if (at == NULL || binding == NULL ||
	    binding->placement.kind != PLACE_QUERY)
		return (struct slice){ at, at != NULL ? target->query_len : 0 };
	end = at + target->query_len;
	while (at < end) {
		const char *stop = memchr(at, '&', (size_t)(end - at));
		struct slice pair = { at, (size_t)((stop ? stop : end) - at) };

		at += pair.n + 1;
		if (is_slot_pair(pair, binding) || n + pair.n + 1 > cap)
			continue;
		if (n > 0)
			buf[n++] = '&';
		memcpy(buf + n, pair.p, pair.n);
		n += pair.n;
	}
	return (struct slice){ n > 0 ? buf : NULL, n };
}

/* --- interface ------------------------------------------------------- */

void
carried_find(struct gate *gate, struct gate_thread *thread,
    const struct gate_request *request, const struct rules *rules,
    struct carried *out)
{
	struct search search = { .run = request->run };

	*out = (struct carried){ .status = 0 };
	if (request->head != NULL) {
		head_without_ours(request->head, &thread->head);
		slots_find(gate, thread, request, rules, out);
		judge_signed(request->head, out);
	}
	if (out->credential != NULL)
		search.own = allowance_of(out->credential);
	search.secrets = secrets_hold(&gate->secrets);
	if (request->head != NULL)
		search_head(&search, &thread->head, thread->text,
		    sizeof(thread->text));
	else
		search_text(&search, slice_of(request->target->host));
	if (seen_so_far(&search) > 0)
		out->tainted = place_tainted(&search, request->target,
		    thread->text, sizeof(thread->text));
	secrets_let_go(&gate->secrets);
	judge_strays(&search, request, rules, out);
	out->query = query_without_slot(request->target, out->binding,
	    thread->query, sizeof(thread->query));
}

void
carried_release(struct carried *carried)
{
	credential_release(carried->credential);
	carried->credential = NULL;
}
