#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <string.h>

#include "conf/conf.h"
#include "conf/local_host.h"
#include "home.h"

static void
good(const char *text, struct conf *conf)
{
	char err[256] = "";

	if (conf_parse(text, strlen(text), conf, err, sizeof(err)) != 0)
		fail_msg("%s: %s", text, err);
}

/* text is refused, and the message has these words. */
static void
bad(const char *text, const char *words)
{
	struct conf conf;
	char err[256] = "";

	if (conf_parse(text, strlen(text), &conf, err, sizeof(err)) == 0)
		fail_msg("accepted: %s", text);
	if (strstr(err, words) == NULL)
		fail_msg("%s: \"%s\" lacks \"%s\"", text, err, words);
}

static void
defaults(void **state)
{
	struct conf conf;
	char err[256];

	assert_int_equal(conf_load("/nonexistent/config.json", &conf, err,
	    sizeof(err)), 0);
	assert_int_equal(ntohl(conf.listen.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(conf.listen.sin_port, 0);
	assert_in_range(conf.workers, 1, 4);
	assert_true(conf.ledger_sync);
	assert_false(conf.ledger_thread);
	assert_false(conf.allow_unlocked_memory);
	assert_int_equal(conf.checkpoint_ms, 10000);
	assert_int_equal(conf.client_idle_ms, 300000);
	conf_free(&conf);
	conf_free(NULL);
}

static void
everything(void **state)
{
	struct conf conf;

	good("{\"v\":1,\"listen\":\"127.0.0.1:8080\",\"api\":\"127.1.2.3:0\","
	    "\"workers\":3,\"passphrase_file\":\"/run/pass\",\"ledger\":{"
	    "\"sync\":\"none\",\"checkpoint_ms\":500,\"recorder\":\"thread\"},"
	    "\"upstream\":{\"ca_file\":\"/etc/ca.pem\",\"resolve\":["
	    "\"api.example.com:443:127.0.0.1:8443\","
	    "\"six.example.com:80:[::1]:8080\"],"
	    "\"connect_ms\":1,\"idle_ms\":2,\"pool\":0},\"client\":{"
	    "\"head_ms\":3,\"idle_ms\":4,\"max_connections\":5,\"approval_ms\":6},"
	    "\"allow_unlocked_memory\":true}", &conf);
	assert_int_equal(ntohs(conf.listen.sin_port), 8080);
	assert_int_equal(ntohl(conf.api.sin_addr.s_addr), 0x7f010203);
	assert_int_equal(conf.workers, 3);
	assert_string_equal(conf.passphrase_file, "/run/pass");
	assert_false(conf.ledger_sync);
	assert_true(conf.ledger_thread);
	assert_int_equal(conf.checkpoint_ms, 500);
	assert_string_equal(conf.upstream_ca_file, "/etc/ca.pem");
	assert_int_equal(conf.n_resolve, 2);
	assert_string_equal(conf.resolve[0].host, "api.example.com");
	assert_int_equal(conf.resolve[0].port, 443);
	assert_string_equal(conf.resolve[0].address, "127.0.0.1");
	assert_int_equal(conf.resolve[0].to_port, 8443);
	assert_string_equal(conf.resolve[1].address, "::1");
	assert_int_equal(conf.resolve[1].to_port, 8080);
	assert_int_equal(conf.pool, 0);
	assert_int_equal(conf.max_connections, 5);
	assert_int_equal(conf.approval_ms, 6);
	assert_true(conf.allow_unlocked_memory);
	conf_free(&conf);
}

static void
refusals(void **state)
{
	bad("", "JSON");
	bad("[]", "object");
	bad("{\"v\":1} x", "JSON");
	bad("{\"v\":1,}", "JSON");
	bad("{\"v\":NaN}", "JSON");
	bad("{}", "\"v\": 1");
	bad("{\"v\":2}", "v must be 1");
	bad("{\"v\":1.0}", "v must be 1");
	bad("{\"v\":1,\"v\":1}", "twice");
	bad("{\"v\":1,\"ledger\":{\"sync\":\"data\",\"sync\":\"none\"}}", "twice");
	bad("{\"v\":1,\"wrokers\":2}", "unknown member wrokers");
	bad("{\"v\":1,\"client\":{\"x\":2}}", "unknown member client.x");
	bad("{\"v\":1,\"client\":[]}", "client must be an object");
	bad("{\"v\":1,\"workers\":0}", "workers must be an integer from 1 to");
	bad("{\"v\":1,\"workers\":57}", "workers must be an integer from 1 to 56");
	bad("{\"v\":1,\"workers\":\"2\"}", "workers must");
	bad("{\"v\":1,\"workers\":2.0}", "workers must");
	bad("{\"v\":1,\"workers\":99999999999999999999}", "JSON");
	bad("{\"v\":1,\"ledger\":{\"sync\":\"sometimes\"}}", "ledger.sync must");
	bad("{\"v\":1,\"ledger\":{\"sync\":true}}", "ledger.sync must");
	bad("{\"v\":1,\"allow_unlocked_memory\":1}", "true or false");
	bad("{\"v\":1,\"passphrase_file\":\"pass\"}", "absolute path");
	bad("{\"v\":1,\"upstream\":{\"ca_file\":null}}", "upstream.ca_file");
}

/* Authorities are asked at their URL as it stands, witnesses below theirs. */
static void
anchor_urls(void **state)
{
	static const char *const fine[] = { "http://tsa.example.com/",
	    "https://tsa.example.com/tsr/", "http://tsa.example.com",
	    "http://127.0.0.1:8080/", NULL };
	static const char *const wrong[] = { "http://", "http:///", "https:///x",
	    "ftp://tsa.example.com/", "tsa.example.com/",
	    "http://user@tsa.example.com/", "http://tsa.example.com/?x",
	    NULL };
	char text[256];
	struct conf conf;
	size_t i;

	for (i = 0; fine[i] != NULL; i++) {
		snprintf(text, sizeof(text), "{\"v\":1,\"anchors\":{"
		    "\"authorities\":[{\"name\":\"a\",\"url\":\"%s\"}]}}",
		    fine[i]);
		good(text, &conf);
		assert_string_equal(conf.anchors.authority[0].url, fine[i]);
		conf_free(&conf);
	}
	for (i = 0; wrong[i] != NULL; i++) {
		snprintf(text, sizeof(text), "{\"v\":1,\"anchors\":{"
		    "\"authorities\":[{\"name\":\"a\",\"url\":\"%s\"}]}}",
		    wrong[i]);
		bad(text, "without user and query");
	}
	bad("{\"v\":1,\"anchors\":{\"witnesses\":[{"
	    "\"url\":\"https://w.example.com/\"}]}}", "final slash");
}

static void
listen_addresses(void **state)
{
	static const char *const addresses[] = { "", ":80", "127.0.0.1",
	    "0.0.0.0:80", "192.0.2.1:80", "localhost:80", "127.1:80",
	    "[::1]:80", "127.0.0.1:80:80", "127.000000000000.0.1:80", NULL };
	static const char *const ports[] = { "65536", "99999999999999999999", "",
	    "-1", "+1", " 80", "0x50", NULL };
	char text[128];
	size_t i;

	for (i = 0; addresses[i] != NULL; i++) {
		snprintf(text, sizeof(text), "{\"v\":1,\"listen\":\"%s\"}",
		    addresses[i]);
		bad(text, "loopback");
	}
	for (i = 0; ports[i] != NULL; i++) {
		snprintf(text, sizeof(text), "{\"v\":1,\"api\":\"127.0.0.1:%s\"}",
		    ports[i]);
		bad(text, "a port up to 65535");
	}
	bad("{\"v\":1,\"api\":80}", "loopback");
}

static void
resolve_entries(void **state)
{
	static const char *const entries[] = { "", "a:1", "a:1:127.0.0.1",
	    "a:0:127.0.0.1:1", "a:1:127.0.0.1:0", "a:1:::1:1", "a:1:[::1:1",
	    "a:1:[]:1", "a:1:127.0.0.1:1:", "A:1:127.0.0.1:1",
	    "a b:1:127.0.0.1:1", ":1:127.0.0.1:1", "a:1:b:1", "a:1::1",
	    "a:65536:127.0.0.1:1", NULL };
	char text[256];
	struct conf conf;
	size_t i;

	for (i = 0; entries[i] != NULL; i++) {
		snprintf(text, sizeof(text),
		    "{\"v\":1,\"upstream\":{\"resolve\":[\"%s\"]}}", entries[i]);
		bad(text, "upstream.resolve");
	}
	bad("{\"v\":1,\"upstream\":{\"resolve\":[1]}}", "upstream.resolve");
	bad("{\"v\":1,\"upstream\":{\"resolve\":\"a:1:127.0.0.1:1\"}}", "array");
	good("{\"v\":1,\"upstream\":{\"resolve\":[]}}", &conf);
	conf_free(&conf);
}

static void
host_names(void **state)
{
	struct conf conf;

	good("{\"v\":1,\"hosts\":[\"broker.internal\",\"a\"]}", &conf);
	assert_int_equal(conf.hosts.n, 2);
	assert_string_equal(conf.hosts.name[1], "a");
	conf_free(&conf);
	bad("{\"v\":1,\"hosts\":\"a\"}", "hosts");
	bad("{\"v\":1,\"hosts\":[1]}", "hosts");
	bad("{\"v\":1,\"hosts\":[\"\"]}", "hosts");
	bad("{\"v\":1,\"hosts\":[\"A\"]}", "lower case");
	bad("{\"v\":1,\"hosts\":[\"a:80\"]}", "without ports");
	bad("{\"v\":1,\"hosts\":[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\","
	    "\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]}", "at most 16");
}

/* Loopback in its usual spellings and the configured names; no name that begins or
 * ends like one. */
static void
local_hosts(void **state)
{
	static const char *const ours[] = { "127.0.0.1", "127.0.0.1:80", "127.9.8.7:65535",
	    "localhost", "LocalHost:8940", "[::1]", "[::1]:8940", "broker.internal",
	    "Broker.Internal:1" };
	static const char *const foreign[] = { "", ":", ":80", "localhost:", "localhost:80x",
	    "localhost.", "xlocalhost", "localhost.example.com", "127.0.0.1.example.com",
	    "128.0.0.1", "127.1", "127.0.0.1:80:80", "0.0.0.0", "::1", "[::1", "[::2]",
	    "broker.internal.example.com", "example.com" };
	struct conf_hosts names = { { "broker.internal" }, 1 };

	for (size_t i = 0; i < sizeof(ours) / sizeof(*ours); i++)
		if (!local_host_p(slice_of(ours[i]), &names))
			fail_msg("%s", ours[i]);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
		if (local_host_p(slice_of(foreign[i]), &names))
			fail_msg("%s", foreign[i]);
	assert_false(local_host_p((struct slice){ NULL, 0 }, &names));
	names.n = 0;
	assert_false(local_host_p(SLICE("broker.internal"), &names));
}

static void
stores(void **state)
{
	struct conf conf;

	good("{\"v\":1}", &conf);
	assert_int_equal(conf.store, CONF_STORE_FILE);
	assert_string_equal(conf.kv.mount, "secret");
	assert_int_equal(conf.kv.timeout_ms, 30000);
	conf_free(&conf);
	good("{\"v\":1,\"vault\":{\"store\":\"secretservice\"}}", &conf);
	assert_int_equal(conf.store, CONF_STORE_SECRETSERVICE);
	conf_free(&conf);
	good("{\"v\":1,\"vault\":{\"store\":\"kv\",\"kv\":{"
	    "\"url\":\"https://vault.example.com:8200\",\"mount\":\"team/kv\","
	    "\"prefix\":\"a/b\",\"field\":\"token\",\"namespace\":\"n\","
	    "\"token_file\":\"/run/token\",\"ca_file\":\"/etc/ca.pem\","
	    "\"timeout_ms\":100}}}", &conf);
	assert_int_equal(conf.store, CONF_STORE_KV);
	assert_int_equal(conf.kv.timeout_ms, 100);
	assert_string_equal(conf.kv.url, "https://vault.example.com:8200");
	assert_string_equal(conf.kv.mount, "team/kv");
	assert_string_equal(conf.kv.prefix, "a/b");
	assert_string_equal(conf.kv.field, "token");
	assert_string_equal(conf.kv.namespace, "n");
	assert_string_equal(conf.kv.token_file, "/run/token");
	assert_string_equal(conf.kv.ca_file, "/etc/ca.pem");
	conf_free(&conf);

	bad("{\"v\":1,\"vault\":{\"store\":\"files\"}}", "vault.store must");
	bad("{\"v\":1,\"vault\":{\"store\":\"kv\"}}", "vault.kv.url must");
	bad("{\"v\":1,\"vault\":{\"store\":\"kv\",\"kv\":{\"url\":"
	    "\"https://a\"}}}", "vault.kv.token_file must");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"http://a\"}}}", "vault.kv.url");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"http://127.example.com\"}}}", "vault.kv.url");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"http://127evil\"}}}", "vault.kv.url");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"http://[::1].example.com\"}}}", "vault.kv.url");
	good("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"http://127.1.2.3:8200\"}}}", &conf);
	conf_free(&conf);
	good("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"http://[::1]\"}}}", &conf);
	conf_free(&conf);
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"https://\"}}}", "vault.kv.url");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"https://a/b\"}}}", "vault.kv.url");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"url\":\"https://u@a\"}}}", "vault.kv.url");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"mount\":\"../a\"}}}", "vault.kv.mount");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"prefix\":\"a//b\"}}}", "vault.kv.prefix");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"prefix\":\"a/\"}}}", "vault.kv.prefix");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"field\":\"a?b\"}}}", "vault.kv.field");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"timeout_ms\":99}}}",
	    "vault.kv.timeout_ms must");
	bad("{\"v\":1,\"vault\":{\"kv\":{\"token\":\"x\"}}}",
	    "unknown member vault.kv.token");
}

static void
engines(void **state)
{
	static const char *const wrong[] = { "rego", "opa", "opa:", "opa:unix:x",
	    "opa:ftp://a", "opa:http://opa.example.com", "opa:http://127.evil",
	    "opa:http://localhost.example.com", "opa:https://", "opa:https://A",
	    "opa:https://a/b", "opa:https://u@a", NULL };
	struct conf conf;
	char text[256];

	good("{\"v\":1}", &conf);
	assert_null(conf.policy.opa);
	conf_free(&conf);
	good("{\"v\":1,\"policy\":\"opa:unix:/run/opa.sock\"}", &conf);
	assert_string_equal(conf.policy.opa, "unix:/run/opa.sock");
	assert_int_equal(conf.policy.deadline_ms, 100);
	conf_free(&conf);
	good("{\"v\":1,\"policy\":{\"engine\":\"opa:https://opa.example.com:8181\","
	    "\"deadline_ms\":20,\"ca_file\":\"/etc/ca.pem\"}}", &conf);
	assert_string_equal(conf.policy.opa, "https://opa.example.com:8181");
	assert_int_equal(conf.policy.deadline_ms, 20);
	assert_string_equal(conf.policy.ca_file, "/etc/ca.pem");
	conf_free(&conf);
	assert_null(conf.policy.token_file);
	good("{\"v\":1,\"policy\":\"opa:http://[::1]:8181\"}", &conf);
	conf_free(&conf);
	good("{\"v\":1,\"policy\":{\"engine\":\"opa:https://opa.example.com\","
	    "\"token_file\":\"/etc/token\"}}", &conf);
	assert_string_equal(conf.policy.token_file, "/etc/token");
	conf_free(&conf);
	bad("{\"v\":1,\"policy\":{\"engine\":\"opa:https://opa.example.com\","
	    "\"token_file\":\"token\"}}", "policy.token_file must");
	bad("{\"v\":1,\"policy\":{\"engine\":\"opa:http://127.0.0.1\","
	    "\"token_file\":\"/etc/token\"}}", "https only");
	bad("{\"v\":1,\"policy\":{\"token_file\":\"/etc/token\"}}", "https only");
	for (size_t i = 0; wrong[i] != NULL; i++) {
		snprintf(text, sizeof(text), "{\"v\":1,\"policy\":\"%s\"}",
		    wrong[i]);
		bad(text, "policy must be");
	}
	good("{\"v\":1,\"policy\":{\"bundle\":{\"from\":"
	    "\"https://bundles.example.com:8443/a/b.tar.gz?x=1\",\"key_file\":\"/k\","
	    "\"ca_file\":\"/c\",\"poll_ms\":1000,\"max_bytes\":2048}}}", &conf);
	assert_string_equal(conf.policy.bundle.key_file, "/k");
	assert_int_equal(conf.policy.bundle.max_bytes, 2048);
	assert_false(conf.policy.bundle.downgrade);
	assert_null(conf.policy.opa);
	conf_free(&conf);
	good("{\"v\":1,\"policy\":{\"bundle\":{\"from\":\"/b.tar.gz\"}}}",
	    &conf);
	assert_int_equal(conf.policy.bundle.poll_ms, 60000);
	conf_free(&conf);
	bad("{\"v\":1,\"policy\":{\"bundle\":{\"from\":\"http://a/b\"}}}",
	    "policy.bundle.from must");
	bad("{\"v\":1,\"policy\":{\"bundle\":{\"from\":\"https://u@a/b\"}}}",
	    "policy.bundle.from must");
	bad("{\"v\":1,\"policy\":{\"bundle\":{\"from\":\"https://a/b c\"}}}",
	    "policy.bundle.from must");
	bad("{\"v\":1,\"policy\":{\"bundle\":{\"key_file\":\"/k\"}}}",
	    "policy.bundle.from must");
	bad("{\"v\":1,\"policy\":{\"deadline_ms\":0}}", "policy.deadline_ms");
	bad("{\"v\":1,\"policy\":7}", "policy must be");
}

/* value between before and after, of most characters and of one more. */
static void
longest(const char *before, const char *begin, size_t most, const char *after,
    const char *words)
{
	char value[1400], text[1600];
	struct conf conf;

	memset(value, 'a', sizeof(value));
	memcpy(value, begin, strlen(begin));
	value[most] = '\0';
	snprintf(text, sizeof(text), "{\"v\":1,%s\"%s\"%s}", before, value, after);
	good(text, &conf);
	conf_free(&conf);
	value[most] = 'a';
	value[most + 1] = '\0';
	snprintf(text, sizeof(text), "{\"v\":1,%s\"%s\"%s}", before, value, after);
	bad(text, words);
}

static void
lengths(void **state)
{
	longest("\"hosts\":[", "", 253, "]", "hosts must");
	longest("\"vault\":{\"kv\":{\"mount\":", "", 128, "}}", "vault.kv.mount must");
	longest("\"vault\":{\"kv\":{\"url\":", "https://", 300, "}}", "vault.kv.url must");
	longest("\"policy\":{\"bundle\":{\"from\":", "https://a/", 9 + 1024, "}}",
	    "policy.bundle.from must");
	longest("\"anchors\":{\"authorities\":[{\"name\":\"a\",\"url\":", "https://", 300,
	    "}]}", "url must");
}

static void
ranges(void **state)
{
	bad("{\"v\":1,\"ledger\":{\"checkpoint_ms\":99}}", "from 100 to");
	bad("{\"v\":1,\"ledger\":{\"epoch_s\":-1}}", "from 0 to");
	bad("{\"v\":1,\"client\":{\"head_ms\":0}}", "from 1 to");
	bad("{\"v\":1,\"client\":{\"max_connections\":0}}", "from 1 to");
	bad("{\"v\":1,\"upstream\":{\"connect_ms\":0}}", "from 1 to");
	bad("{\"v\":1,\"anchors\":{\"interval_s\":0}}", "from 1 to");
	bad("{\"v\":1,\"policy\":{\"bundle\":{\"poll_ms\":49}}}", "from 50 to");
}

#define LOG_KEY "log+d6b963e5+AddamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea"	/* of a log, not of a witness */

/* What a witness and an authority must be; two stamps' files of a name would mix. */
static void
anchor_members(void **state)
{
	bad("{\"v\":1,\"anchors\":{\"witnesses\":[{\"url\":\"https://w\"}]}}",
	    "url and key");
	bad("{\"v\":1,\"anchors\":{\"witnesses\":[{\"key\":\"w+1+x\"}]}}", "vkey");
	bad("{\"v\":1,\"anchors\":{\"witnesses\":[{\"key\":\"" LOG_KEY "\"}]}}",
	    "cosignature/v1");
	bad("{\"v\":1,\"anchors\":{\"authorities\":[{\"name\":\"a\"}]}}",
	    "name and url");
	bad("{\"v\":1,\"anchors\":{\"authorities\":[{\"name\":\"../a\","
	    "\"url\":\"https://a\"}]}}", "letters, digits");
	bad("{\"v\":1,\"anchors\":{\"authorities\":[{\"name\":\"a\","
	    "\"url\":\"https://a\"},{\"name\":\"b\",\"url\":\"https://b\"},"
	    "{\"name\":\"a\",\"url\":\"https://c\"}]}}", "[2].name must be another");
}

static void
too_many_resolves(void **state)
{
	char text[8192] = "{\"v\":1,\"upstream\":{\"resolve\":[";
	struct conf conf;
	int i;

	for (i = 0; i < CONF_RESOLVE_MAX; i++)
		strcat(text, i == 0 ? "\"a:1:127.0.0.1:1\"" :
		    ",\"a:1:127.0.0.1:1\"");
	strcat(text, "]}}");
	good(text, &conf);
	assert_int_equal(conf.n_resolve, CONF_RESOLVE_MAX);
	conf_free(&conf);

	text[strlen(text) - 3] = '\0';
	strcat(text, ",\"a:1:127.0.0.1:1\"]}}");
	bad(text, "at most 64");
}

static void
file_that_others_write(void **state)
{
	char path[] = "/tmp/test_conf.XXXXXX", err[512] = "";
	struct conf conf;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "{\"v\":1}", 7), 7);
	close(fd);

	chmod(path, 0644);	/* settings are no secret */
	assert_int_equal(conf_load(path, &conf, err, sizeof(err)), 0);
	conf_free(&conf);
	chmod(path, 0664);
	assert_int_equal(conf_load(path, &conf, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "others can write"));
	assert_non_null(strstr(err, path));
	chmod(path, 0602);
	assert_int_equal(conf_load(path, &conf, err, sizeof(err)), -1);
	unlink(path);
	assert_int_equal(conf_load("/tmp", &conf, err, sizeof(err)), -1);
}

static void
write_file(const char *path, const char *text, mode_t mode)
{
	FILE *out = fopen(path, "w");

	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(chmod(path, mode), 0);
}

/* Told from the file that was read, or from there being none. */
static void
changed(void **state)
{
	char dir[] = "/tmp/test_conf.XXXXXX", path[64], err[256];
	struct conf conf;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/config.json", dir);
	assert_int_equal(conf_load(path, &conf, err, sizeof(err)), 0);
	assert_false(conf_changed(&conf));
	write_file(path, "{\"v\":1}", 0666);	/* which would be refused */
	assert_true(conf_changed(&conf));
	write_file(path, "{\"v\":1}", 0644);
	assert_true(conf_changed(&conf));
	conf_free(&conf);

	assert_int_equal(conf_load(path, &conf, err, sizeof(err)), 0);
	assert_false(conf_changed(&conf));
	write_file(path, "{\"v\":1 }", 0644);
	assert_true(conf_changed(&conf));
	unlink(path);
	assert_true(conf_changed(&conf));
	conf_free(&conf);
	rmdir(dir);
}

static void
home(void **state)
{
	char dir[] = "/tmp/test_home.XXXXXX", deep[64], path[128], err[256];

	assert_non_null(mkdtemp(dir));
	snprintf(deep, sizeof(deep), "%s/a/b", dir);

	setenv("COUNTERSIGN_HOME", "relative", 1);
	assert_null(home_dir(err, sizeof(err)));
	assert_non_null(strstr(err, "absolute"));
	unsetenv("COUNTERSIGN_HOME");
	unsetenv("XDG_STATE_HOME");
	unsetenv("HOME");
	assert_null(home_dir(err, sizeof(err)));
	setenv("XDG_STATE_HOME", "", 1);
	assert_null(home_dir(err, sizeof(err)));

	setenv("COUNTERSIGN_HOME", deep, 1);
	assert_string_equal(home_dir(err, sizeof(err)), deep);

	assert_int_equal(home_path("ca/ca.pem", path, sizeof(path)), 0);
	assert_non_null(strstr(path, "/a/b/ca/ca.pem"));
	assert_int_equal(home_path("ca/ca.pem", path, strlen(deep) + 10), -1);
	assert_int_equal(home_path("ca/ca.pem", path, strlen(deep) + 11), 0);

	rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(everything),
		cmocka_unit_test(refusals),
		cmocka_unit_test(anchor_urls),
		cmocka_unit_test(listen_addresses),
		cmocka_unit_test(resolve_entries),
		cmocka_unit_test(host_names),
		cmocka_unit_test(local_hosts),
		cmocka_unit_test(stores),
		cmocka_unit_test(engines),
		cmocka_unit_test(lengths),
		cmocka_unit_test(ranges),
		cmocka_unit_test(anchor_members),
		cmocka_unit_test(too_many_resolves),
		cmocka_unit_test(file_that_others_write),
		cmocka_unit_test(changed),
		cmocka_unit_test(home),
	};

	return cmocka_run_group_tests_name("conf", tests, NULL, NULL);
}
