/*
 * The API's server over a fake policy, ledger and store, and a client in raw HTTP.
 * Include it after cmocka.h; set_up and tear_down are of a group.
 */
#ifndef TESTS_API_CASE_H
#define TESTS_API_CASE_H

#include "fake_ledger.h"
#include "fake_policy.h"
#include "fake_vault.h"

#include "api/api.h"
#include "conf/conf.h"

#include <jansson.h>
#include <sodium.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define REAL "tok-R3alSecretForTheApi0123456789abcdef"
#define DATA "{\"bindings\":{\"hub\":{\"secret\":\"one\",\"hosts\":[\"api.example.com\"]," \
	"\"env\":[\"HUB\"],\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}}}}"

static char dir[] = "/tmp/cs-api-XXXXXX";
static char operator_path[64], agent_path[64], note_path[64];
static struct vault *vault;
static struct gate *gate;
static struct api *api;
static uint16_t tcp_port;
static unsigned shutdowns;

static inline void
count_shutdown(void *arg)
{
	shutdowns++;
}

static inline int
set_up(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET,
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct gate_options options = { .pack_path = "unused" };
	static const struct conf_hosts names = { { "broker.internal" }, 1 };
	struct api_options serve = { .hosts = &names, .proxy_host = "127.0.0.5",
	    .api_host = "127.0.0.6",
	    .proxy_port = 1234, .shutdown = count_shutdown,
	    .ca_cert = "ca.pem", .ca_bundle = "bundle.pem" };
	struct vault_error error;
	uint32_t version;
	char err[256];
	FILE *note;

	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(operator_path, sizeof(operator_path), "%s/o", dir);
	snprintf(agent_path, sizeof(agent_path), "%s/a", dir);
	snprintf(note_path, sizeof(note_path), "%s/checkpoint", dir);
	note = fopen(note_path, "w");
	fputs("example.com/log\n1\nAAAA\n\n", note);
	fclose(note);
	vault = options.vault = fake_vault_new();
	vault_put(vault, "one", REAL, strlen(REAL), false, &version, &error);
	fake_data = DATA;
	gate = gate_new(&options, err, sizeof(err));
	if (gate == NULL)
		return -1;
	serve.gate = gate;
	serve.agent_socket = agent_path;
	serve.checkpoint_path = note_path;
	serve.operator_fd = api_listen_unix(operator_path, err, sizeof(err));
	serve.agent_fd = api_listen_unix(agent_path, err, sizeof(err));
	serve.tcp_fd = api_listen_tcp(&any, &tcp_port, err, sizeof(err));
	serve.api_port = tcp_port;
	api = api_start(&serve, err, sizeof(err));
	return api != NULL ? 0 : -1;
}

static inline int
tear_down(void **state)
{
	api_stop(api);
	gate_free(gate);
	vault_close(vault);
	fake_ledger_forget();
	unlink(operator_path);
	unlink(agent_path);
	unlink(note_path);
	rmdir(dir);
	return 0;
}

/* --- a client ----------------------------------------------------------- */

enum door { OPERATOR, AGENT, TCP };

static inline int
connect_to(enum door door)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET,
	    .sin_port = htons(tcp_port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *path = door == OPERATOR ? operator_path : agent_path;
	int fd = socket(door == TCP ? AF_INET : AF_UNIX, SOCK_STREAM, 0), rv;

	memcpy(un.sun_path, path, strlen(path) + 1);
	rv = door == TCP ? connect(fd, (struct sockaddr *)&in, sizeof(in)) :
	    connect(fd, (struct sockaddr *)&un, sizeof(un));
	assert_int_equal(rv, 0);
	return fd;
}

static char reply[1 << 18];
static json_t *doc;	/* of the last reply */

/* Send bytes, read to the end; the status. */
static inline int
exchange(enum door door, const char *bytes, size_t len)
{
	int fd = connect_to(door), status = 0;
	size_t n = 0;
	ssize_t got;
	char *body;

	while (len > 0 && (got = send(fd, bytes, len, MSG_NOSIGNAL)) > 0) {
		bytes += got;
		len -= (size_t)got;
	}
	while (n < sizeof(reply) - 1 &&
	    (got = recv(fd, reply + n, sizeof(reply) - 1 - n, 0)) > 0)
		n += (size_t)got;
	reply[n] = '\0';
	close(fd);
	sscanf(reply, "HTTP/1.1 %d", &status);
	json_decref(doc);
	doc = NULL;
	body = strstr(reply, "\r\n\r\n");
	if (body != NULL)
		doc = json_loads(body + 4, 0, NULL);
	return status;
}

static inline int
call_with(enum door door, const char *method, const char *path,
    const char *fields, const char *body, size_t body_len)
{
	size_t cap = body_len + 4096;
	char *text = malloc(cap);
	int n, status;

	n = snprintf(text, cap, "%s %s HTTP/1.1\r\nHost: localhost:%u\r\n"
	    "Connection: close\r\n%s", method, path, tcp_port, fields);
	if (body != NULL)
		n += snprintf(text + n, cap - (size_t)n,
		    "Content-Length: %zu\r\n", body_len);
	n += snprintf(text + n, cap - (size_t)n, "\r\n");
	if (body != NULL)
		memcpy(text + n, body, body_len);
	status = exchange(door, text, (size_t)n + (body ? body_len : 0));
	free(text);
	return status;
}

static inline int
call(enum door door, const char *method, const char *path, const char *token,
    const char *body)
{
	char field[128] = "";

	if (token != NULL)
		snprintf(field, sizeof(field), "Authorization: Bearer %s\r\n",
		    token);
	return call_with(door, method, path, field, body,
	    body != NULL ? strlen(body) : 0);
}

static inline const char *
member(const char *name)
{
	const char *text = json_string_value(json_object_get(doc, name));

	return text != NULL ? text : "";
}

static inline void
problem(int status, int want, const char *rule)
{
	char type[128];

	if (status != want)
		fail_msg("%d, not %d: %s", status, want, reply);
	assert_non_null(strstr(reply, "Content-Type: application/problem+json\r\n"));
	assert_string_equal(member("rule"), rule);
	snprintf(type, sizeof(type), "urn:countersign:refusal:%s", rule);
	assert_string_equal(member("type"), type);
	assert_int_equal(json_integer_value(json_object_get(doc, "status")),
	    want);
	assert_true(member("title")[0] && member("detail")[0] &&
	    member("remedy")[0]);
}

struct open_run {
	char id[64], token[64], placeholder[128];
};

static inline void
open_run(struct open_run *out, const char *body)
{
	json_t *first;

	if (call(OPERATOR, "POST", "/v1/runs", NULL, body) != 201)
		fail_msg("%s", reply);
	snprintf(out->id, sizeof(out->id), "%s", member("id"));
	snprintf(out->token, sizeof(out->token), "%s", member("token"));
	first = json_array_get(json_object_get(doc, "placeholders"), 0);
	snprintf(out->placeholder, sizeof(out->placeholder), "%s",
	    json_string_value(json_object_get(first, "value")));
}

/* The last of each group: nothing of what was sent has come into a record. */
static inline void
test_no_secret_in_ledger(void **state)
{
	for (size_t i = 0; i < fake_n_records; i++) {
		assert_null(strstr(fake_records[i].body, REAL));
		assert_null(strstr(fake_records[i].body, "csr1_"));
		assert_null(strstr(fake_records[i].body, "csg1_"));
		assert_null(strstr(fake_records[i].body, "s3c"));
	}
}

#endif
