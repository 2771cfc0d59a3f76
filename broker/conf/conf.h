/*
 * HOME/config.json: how the daemon runs.  Absent members have defaults; an
 * unknown member, a duplicate, or a file that others can write is refused.
 *
 * {
 *   "v": 1,
 *   "listen": "127.0.0.1:0",        proxy and reverse routes; port 0: any, told in HOME/run/daemon.json
 *   "api": "127.0.0.1:0",
 *   "hosts": ["broker.internal"],   names in Host, beside loopback addresses and localhost
 *   "workers": 2,                   default: processors, at most 4
 *   "passphrase_file": "/…",        else a systemd credential, else asked for
 *   "vault": {"store": "file"|"secretservice"|"kv",
 *             "kv": {"url": "https://vault.example.com:8200", "mount": "secret",
 *                    "prefix": "countersign", "field": "value", "namespace": "…",
 *                    "token_file": "/…", "ca_file": "/….pem",
 *                    "timeout_ms": 30000}},
 *   "ledger": {"sync": "data"|"none", "checkpoint_ms": 10000, "recorder": "process"|"thread",
 *              "epoch_s": 0, "epoch_records": 0},
 *   "anchors": {"interval_s": 60, "stamp_s": 3600, "timeout_ms": 10000, "ca_file": "/….pem",
 *               "witnesses": [{"url": "https://witness.example.com", "key": "VKEY"}],
 *               "authorities": [{"name": "example", "url": "http://tsa.example.com", "ca_file": "/….pem"}]},
 *   "upstream": {"ca_file": "/….pem", "resolve": ["api.example.com:443:127.0.0.1:8443"],
 *                "connect_ms": 10000, "head_ms": 30000, "idle_ms": 300000,
 *                "pool": 128},
 *   "policy": {"engine": "builtin"|"opa:unix:/…"|"opa:https://host:port", "deadline_ms": 100, "ca_file": "/….pem",
 *              "token_file": "/…",
 *                                   or just the engine as a string
 *              "bundle": {"from": "https://…"|"/….tar.gz", "key_file": "/…", "ca_file": "/….pem",
 *                         "poll_ms": 60000, "max_bytes": 16777216, "downgrade": false}},
 *   "client": {"head_ms": 30000, "idle_ms": 300000, "max_connections": 4096, "approval_ms": 300000},
 *   "allow_unlocked_memory": false
 * }
 */
#ifndef BROKER_CONF_CONF_H
#define BROKER_CONF_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>

#define CONF_RESOLVE_MAX 64
#define CONF_WORKERS_MAX 56

struct conf_resolve {
	char host[254];
	uint16_t port;
	char address[64];
	uint16_t to_port;
};

enum conf_store { CONF_STORE_FILE, CONF_STORE_SECRETSERVICE, CONF_STORE_KV };

/* A KV version 2 engine of HashiCorp Vault or OpenBao. */
struct conf_kv {
	char *url;		/* https, or http to a loopback address; no final '/' */
	char *mount, *prefix;	/* default "secret", "countersign" */
	char *field;		/* of the stored object; default "value" */
	char *namespace;	/* NULL: none */
	char *token_file;	/* 0600 */
	char *ca_file;		/* NULL: the system's authorities */
	unsigned timeout_ms;	/* of one operation, however many calls it takes */
};

/* Where newer policy packs are looked for. */
struct conf_bundle {
	char *from;		/* "https://…", "http://" loopback, or an absolute path; NULL: nowhere */
	char *key_file;		/* its signature is asked for; NULL: it is not */
	char *ca_file;		/* for https; NULL: the system's authorities */
	unsigned poll_ms, max_bytes;
	bool downgrade;		/* older revisions and former packs are taken, too */
};

/* Who decides. */
struct conf_policy {
	char *opa;		/* policy/opa/opa.h's address; NULL: the evaluator */
	char *ca_file;		/* for an https address; NULL: the system's */
	char *token_file;	/* 0600, of a bearer token for an https address; NULL: none */
	unsigned deadline_ms;
	struct conf_bundle bundle;
};

#define CONF_HOSTS_MAX 16

/* Names by which clients reach us, in lower case. */
struct conf_hosts {
	char name[CONF_HOSTS_MAX][254];
	size_t n;
};

#define CONF_WITNESSES_MAX 16
#define CONF_AUTHORITIES_MAX 8

struct conf_witness {
	char *url;		/* before /add-checkpoint, without a final '/' */
	char *vkey;		/* of a witness: cosignature/v1 */
};

struct conf_authority {
	char *name;		/* fit for a file's name */
	char *url;
	char *ca_file;		/* NULL: tokens are kept without being traced to anybody */
};

/* Who else is to know the ledger's checkpoints. */
struct conf_anchors {
	unsigned interval_s, stamp_s, timeout_ms;
	char *ca_file;		/* of https witnesses; NULL: the system's */
	struct conf_witness witness[CONF_WITNESSES_MAX];
	size_t witnesses;
	struct conf_authority authority[CONF_AUTHORITIES_MAX];
	size_t authorities;
};

struct conf {
	struct sockaddr_in listen, api;
	struct conf_hosts hosts;
	unsigned workers;
	char *passphrase_file;
	enum conf_store store;
	struct conf_kv kv;
	struct conf_policy policy;
	bool ledger_sync, ledger_thread;
	unsigned checkpoint_ms;
	unsigned epoch_s, epoch_records;	/* of the signing key; 0: not so */
	struct conf_anchors anchors;
	char *upstream_ca_file;
	struct conf_resolve resolve[CONF_RESOLVE_MAX];
	size_t n_resolve;
	unsigned connect_ms, upstream_head_ms, upstream_idle_ms, pool;
	unsigned head_ms, client_idle_ms, max_connections;
	unsigned approval_ms;	/* that a request waits for a person; 0: it does not */
	bool allow_unlocked_memory;
	char *path;			/* of conf_load */
	uint8_t digest[32];		/* of what was read there; zeros: there was no file */
};

/* path may not exist: defaults.  0, or -1 with a message. */
int conf_load(const char *path, struct conf *out, char *err, size_t err_len);

/* The same from bytes; the message has no file name. */
int conf_parse(const void *bytes, size_t len, struct conf *out, char *err,
    size_t err_len);
void conf_free(struct conf *conf);

/* Does its file say anything else now than what was read?  Also where it is gone, is
 * new, or cannot be read.  Any thread. */
bool conf_changed(const struct conf *conf);

#endif
