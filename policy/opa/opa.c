#include "policy/opa/opa.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <curl/curl.h>

#include "policy/opa/answer.h"
#include "policy/opa/where.h"
#include "policy/pack.h"

#define DECISION_PATH "/v1/data/" PACK_ENTRY
#define BEARER "Authorization: Bearer "
#define TOKEN_MAX 4096

/* The token's field, which may be replaced while links show it. */
struct bearer {
	pthread_mutex_t lock;
	char *field;
	atomic_uint version;	/* of field; a link looks at it before it asks */
};

struct opa {
	char where[OPA_WHERE_MAX + 1];
	char url[OPA_WHERE_MAX + sizeof(DECISION_PATH)];
	char *ca_file;
	struct bearer *bearer;	/* NULL: none */
	unsigned deadline_ms;
};

struct opa_link {
	const struct opa *opa;
	CURL *curl;
	struct curl_slist *fields;
	unsigned bearer_version;	/* which of them is among the fields */
	struct arena arena;
	bool too_long;
	size_t n;
	char answer[OPA_ANSWER_MAX];
};

/* --- where ------------------------------------------------------------ */

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void
start_curl(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* A token is what can stand in a field (RFC 6750) and goes to nobody who can
 * be listened to or impersonated. */
static const char *
token_wrong(const char *where, const char *token)
{
	const char *at = token;

	if (at == NULL)
		return NULL;
	if (strncmp(where, "https://", 8) != 0)
		return "the token for OPA goes over https only";
	for (; *at != '\0'; at++)
		if (*at <= ' ' || *at >= 0x7f)
			break;
	if (at == token || *at != '\0' || at - token > TOKEN_MAX)
		return "the token for OPA is empty, too long, or not of printable "
		    "ASCII without spaces";
	return NULL;
}

static char *
field_of(const char *token)
{
	size_t room = sizeof(BEARER) + strlen(token);
	char *field = malloc(room);

	if (field != NULL)
		snprintf(field, room, BEARER "%s", token);
	return field;
}

static void
wipe_and_free(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
	free(text);
}

static bool
copy_options(struct opa *opa, const struct opa_options *options)
{
	if (options->ca_file != NULL &&
	    (opa->ca_file = strdup(options->ca_file)) == NULL)
		return false;
	if (options->token == NULL)
		return true;
	if ((opa->bearer = calloc(1, sizeof(*opa->bearer))) == NULL)
		return false;
	pthread_mutex_init(&opa->bearer->lock, NULL);
	opa->bearer->field = field_of(options->token);
	return opa->bearer->field != NULL;
}

struct opa *
opa_new(const struct opa_options *options, char *err, size_t err_len)
{
	const char *wrong = opa_where_wrong(options->where);
	struct stat st;
	struct opa *opa;

	if (wrong != NULL) {
		snprintf(err, err_len, "the address of OPA %s", wrong);
		return NULL;
	}
	if ((wrong = token_wrong(options->where, options->token)) != NULL) {
		snprintf(err, err_len, "%s", wrong);
		return NULL;
	}
	if (options->ca_file != NULL && stat(options->ca_file, &st) == 0 &&
	    !S_ISREG(st.st_mode)) {	/* a FIFO would be waited for */
		snprintf(err, err_len, "%s: no file of certificates",
		    options->ca_file);
		return NULL;
	}
	pthread_once(&curl_once, start_curl);
	opa = calloc(1, sizeof(*opa));
	if (opa == NULL || !copy_options(opa, options)) {
		snprintf(err, err_len, "out of memory");
		opa_free(opa);
		return NULL;
	}
	snprintf(opa->where, sizeof(opa->where), "%s", options->where);
	snprintf(opa->url, sizeof(opa->url), "%s%s",
	    opa_where_socket(opa->where) != NULL ? "http://localhost" :
	    opa->where, DECISION_PATH);
	opa->deadline_ms = options->deadline_ms > 0 ? options->deadline_ms :
	    OPA_DEADLINE_MS;
	return opa;
}

void
opa_free(struct opa *opa)
{
	if (opa == NULL)
		return;
	if (opa->bearer != NULL) {
		wipe_and_free(opa->bearer->field);
		pthread_mutex_destroy(&opa->bearer->lock);
	}
	free(opa->bearer);
	free(opa->ca_file);
	free(opa);
}

int
opa_set_token(struct opa *opa, const char *token, char *err, size_t err_len)
{
	const char *wrong = token_wrong(opa->where, token);
	char *field, *old;

	field = wrong == NULL && token != NULL ? field_of(token) : NULL;
	if (field == NULL) {
		snprintf(err, err_len, "%s", wrong != NULL ? wrong : "out of memory");
		return -1;
	}
	pthread_mutex_lock(&opa->bearer->lock);
	old = opa->bearer->field;
	opa->bearer->field = field;
	atomic_fetch_add(&opa->bearer->version, 1);
	pthread_mutex_unlock(&opa->bearer->lock);
	wipe_and_free(old);
	return 0;
}

unsigned
opa_deadline_ms(const struct opa *opa)
{
	return opa->deadline_ms;
}

/* --- the connection --------------------------------------------------- */

static size_t
receive(char *bytes, size_t size, size_t count, void *arg)
{
	struct opa_link *link = arg;
	size_t n = size * count;

	if (n > sizeof(link->answer) - link->n) {
		link->too_long = true;
		return 0;
	}
	memcpy(link->answer + link->n, bytes, n);
	link->n += n;
	return n;
}

static bool
add_field(struct opa_link *link, const char *text)
{
	struct curl_slist *more = curl_slist_append(link->fields, text);

	if (more == NULL)
		return false;
	link->fields = more;
	return true;
}

static bool
set_where(CURL *curl, const struct opa *opa)
{
	const char *socket = opa_where_socket(opa->where);

	return curl_easy_setopt(curl, CURLOPT_URL, opa->url) == CURLE_OK &&
	    (socket == NULL || curl_easy_setopt(curl,
	    CURLOPT_UNIX_SOCKET_PATH, socket) == CURLE_OK) &&
	    (opa->ca_file == NULL || curl_easy_setopt(curl, CURLOPT_CAINFO,
	    opa->ca_file) == CURLE_OK);
}

static void
drop_fields(struct opa_link *link)
{
	for (struct curl_slist *at = link->fields; at != NULL; at = at->next)
		explicit_bzero(at->data, strlen(at->data));
	curl_slist_free_all(link->fields);
	link->fields = NULL;
}

static bool
add_bearer(struct opa_link *link)
{
	struct bearer *bearer = link->opa->bearer;
	bool added;

	if (bearer == NULL)
		return true;
	pthread_mutex_lock(&bearer->lock);
	added = add_field(link, bearer->field);
	link->bearer_version = atomic_load(&bearer->version);
	pthread_mutex_unlock(&bearer->lock);
	return added;
}

static bool
set_fields(struct opa_link *link)
{
	drop_fields(link);
	/* Expect: would cost a round trip for a long body. */
	return add_field(link, "Content-Type: application/json") &&
	    add_field(link, "Expect:") && add_bearer(link) &&
	    curl_easy_setopt(link->curl, CURLOPT_HTTPHEADER, link->fields) ==
	    CURLE_OK;
}

static bool
fields_are_old(const struct opa_link *link)
{
	return link->opa->bearer != NULL && atomic_load(
	    &link->opa->bearer->version) != link->bearer_version;
}

/* What stays the same for all decisions of this thread. */
static bool
set_up(struct opa_link *link)
{
	CURL *curl = link->curl;

	return set_fields(link) && set_where(curl, link->opa) &&
	    /* Or cleaning up would wait for a resolver that does not answer,
	     * whatever the deadline was. */
	    curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https,http") ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_POST, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_PROXY, "") == CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive) ==
	    CURLE_OK &&
	    curl_easy_setopt(curl, CURLOPT_WRITEDATA, link) == CURLE_OK;
}

struct opa_link *
opa_link_new(const struct opa *opa)
{
	struct opa_link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->opa = opa;
	link->curl = curl_easy_init();
	if (arena_init(&link->arena, DECISION_ARENA_FIRST, DECISION_ARENA_MAX,
	    DECISION_STEPS_MAX) != 0 || link->curl == NULL ||
	    !set_up(link)) {
		opa_link_free(link);
		return NULL;
	}
	return link;
}

void
opa_link_free(struct opa_link *link)
{
	if (link == NULL)
		return;
	if (link->curl != NULL)
		curl_easy_cleanup(link->curl);
	drop_fields(link);
	arena_release(&link->arena);
	free(link);
}

/* --- asking ----------------------------------------------------------- */

static void __attribute__((format(printf, 3, 4)))
fail(struct policy_decision *out, const char *rule, const char *format, ...)
{
	char why[POLICY_TEXT_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(why, sizeof(why), format, ap);
	va_end(ap);
	decision_deny(out, rule, why);
	out->failed = true;
}

static void
no_time(const struct opa_link *link, struct policy_decision *out)
{
	fail(out, "engine/opa-timeout", "OPA at %s gave no answer within "
	    "%u ms", link->opa->where, link->opa->deadline_ms);
}

/* True with the whole answer in link->answer. */
static bool
post(struct opa_link *link, const char *body, size_t len, unsigned left_ms,
    long *status, struct policy_decision *out)
{
	CURL *curl = link->curl;
	CURLcode code;

	link->n = 0;
	link->too_long = false;
	if ((fields_are_old(link) && !set_fields(link)) ||
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body) != CURLE_OK ||
	    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
	    (curl_off_t)len) != CURLE_OK ||
	    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)left_ms)
	    != CURLE_OK || curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
	    (long)left_ms) != CURLE_OK) {
		fail(out, "engine/opa-unreachable", "libcurl takes no options");
		return false;
	}
	code = curl_easy_perform(curl);
	if (code == CURLE_OK &&
	    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status) ==
	    CURLE_OK)
		return true;
	if (code == CURLE_OPERATION_TIMEDOUT)
		no_time(link, out);
	else if (link->too_long)
		fail(out, "engine/opa-answer", "OPA's answer is larger than "
		    "%zu bytes", sizeof(link->answer));
	else
		fail(out, "engine/opa-unreachable", "OPA at %s cannot be "
		    "asked: %s", link->opa->where, curl_easy_strerror(code));
	return false;
}

/* The arena's limits lead here: what is too much for it is a denial. */
static void
guarded_answer(struct opa_link *link, long status, struct policy_decision *out)
{
	jmp_buf here;

	if (setjmp(here) == 0) {
		link->arena.armed = &here;
		opa_answer(&link->arena, status, link->answer, link->n, out);
	} else {
		fail(out, "engine/limit", "OPA's answer: %s",
		    link->arena.message);
	}
	link->arena.armed = NULL;
}

static void
ask(struct opa_link *link, const char *body, size_t len, unsigned left_ms,
    struct policy_decision *out)
{
	long status = 0;

	if (left_ms == 0)
		no_time(link, out);
	else if (post(link, body, len, left_ms, &status, out))
		guarded_answer(link, status, out);
	out->engine = "opa";
}

/* {"input": ...} in the arena; false after a denial. */
static bool
word(struct opa_link *link, const struct policy_input *input, struct buf *body,
    struct policy_decision *out)
{
	char err[200] = "";
	const struct value *document;
	jmp_buf here;
	bool ok = false;

	if (setjmp(here) == 0) {
		link->arena.armed = &here;
		document = input_document(&link->arena, input, err,
		    sizeof(err));
		if (document == NULL) {
			fail(out, "engine/input", "the request cannot be "
			    "judged: %s", err);
		} else {
			buf_put(body, "{\"input\":", 9);
			value_to_json(body, document, 0);
			buf_putc(body, '}');
			ok = true;
		}
	} else {
		fail(out, "engine/limit", "%s", link->arena.message);
	}
	link->arena.armed = NULL;
	out->failed = false;	/* it was not for OPA to answer */
	return ok;
}

void
opa_decide(struct opa_link *link, const struct policy_input *input,
    unsigned left_ms, struct policy_decision *out)
{
	struct buf body = { .arena = &link->arena };

	decision_clear(out);
	out->engine = "opa";
	arena_reset(&link->arena);
	if (word(link, input, &body, out))
		ask(link, body.p, body.n, left_ms, out);
	out->engine = "opa";
}

void
opa_decide_json(struct opa_link *link, const char *input, size_t len,
    unsigned left_ms, struct policy_decision *out)
{
	char *body = malloc(len + 16);

	decision_clear(out);
	arena_reset(&link->arena);
	if (body == NULL) {
		fail(out, "engine/limit", "out of memory");
		return;
	}
	memcpy(body, "{\"input\":", 9);
	memcpy(body + 9, input, len);
	body[9 + len] = '}';
	ask(link, body, len + 10, left_ms, out);
	free(body);
}
