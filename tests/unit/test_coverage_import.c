/* Coverage: logs that others keep, as ground truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coverage_scene.h"
#include "ledger/coverage/import.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static size_t
imported(const char *log, const struct import_options *options, struct import_result *result,
    struct truth *truth)
{
	char err[160] = "", *text = NULL;
	size_t len = 0;
	FILE *in = fmemopen((void *)(uintptr_t)log, strlen(log), "r");
	FILE *out = open_memstream(&text, &len);

	assert_int_equal(import_run(in, options, out, result, err, sizeof(err)), 0);
	fclose(in);
	fclose(out);
	assert_null(strstr(text, "hidden"));
	assert_int_equal(truth_parse(truth, text, len, err, sizeof(err)), 0);
	assert_int_equal(truth->bad, 0);
	free(text);
	return truth->n;
}

static void
combined_logs(void **state)
{
	const struct import_options options = { .source = "nginx", .base = "https://api.example.com",
	    .client = { "192.0.2.7" }, .clients = 1 };
	struct import_result result;
	struct truth t;

	assert_int_equal(imported(
	    "192.0.2.7 - - [30/Nov/2026:02:00:10 +0100] \"GET /a?hidden=1 HTTP/1.1\" 200 5 \"-\" \"x\"\n"
	    "192.0.2.8 - - [30/Nov/2026:01:00:11 +0000] \"GET /b HTTP/1.1\" 200 5\n"
	    "192.0.2.7 - - [30/Nov/2026:01:00:12 +0000] \"GET /c\\x20d HTTP/1.1\" 404 5\n"
	    "192.0.2.7 - - [30/Nov/2026:01:00:13 +0000] \"GET /e\\x 41 HTTP/1.1\" 404 5\n"
	    "192.0.2.7 - - [30/Nov/2026:01:00:13 +0000] \"-\" 408 0\n"
	    "192.0.2.7 - - [30/Nov/2026:01:00:14 +0000] \"GET /hidden\" 200 0\n"
	    "192.0.2.7 - - [30/Nov/2026:25:00:14 +0000] \"GET /hidden HTTP/1.1\" 200 0\n"
	    "hidden\n", &options, &result, &t), 3);
	assert_int_equal(result.left_out, 2);
	assert_int_equal(result.unread, 3);
	assert_int_equal(result.first_unread, 6);
	assert_string_equal(t.seen[0].key, "http\nGET\nhttps://api.example.com/a");
	assert_string_equal(t.seen[1].key, "http\nGET\nhttps://api.example.com/c%20d");
	assert_string_equal(t.seen[2].key, "http\nGET\nhttps://api.example.com/ex%2041");
	assert_int_equal(t.seen[0].time_us, (T0 + 10) * 1000000);
	assert_int_equal(t.seen[1].outcome, 404);
	assert_int_equal(t.resolution_us, 1000000);
	truth_free(&t);
}

/* Days that there are, and one client in two spellings. */
static void
days_and_clients(void **state)
{
	static const struct { const char *day; bool is; } all[] = {
		{ "31/Feb/2026", false }, { "29/Feb/2026", false }, { "29/Feb/2024", true },
		{ "29/Feb/2100", false }, { "31/Apr/2026", false }, { "30/Apr/2026", true },
		{ "31/Dec/2026", true }, { "00/Jan/2026", false },
	};
	static const char *const same[][2] = { { "0:0:0:0:0:0:0:1", "::1" }, { "2001:DB8::1", "2001:db8:0::1" },
	    { "192.0.2.7", "::ffff:192.0.2.7" } };
	struct import_options options = { .source = "s", .base = "https://h" };
	struct import_result result;
	struct truth t;
	char log[160];

	for (size_t i = 0; i < COUNT(all); i++) {
		snprintf(log, sizeof(log), "192.0.2.7 - - [%s:01:00:10 +0000] \"GET /a HTTP/1.1\" 200 5\n", all[i].day);
		assert_int_equal(imported(log, &options, &result, &t), all[i].is);
		assert_int_equal(result.unread, !all[i].is);
		truth_free(&t);
	}
	options.clients = 1;
	for (size_t i = 0; i < 2 * COUNT(same); i++) {
		options.client[0] = same[i / 2][i % 2];
		snprintf(log, sizeof(log), "%s - - [30/Nov/2026:01:00:10 +0000] \"GET /a HTTP/1.1\" 200 5\n",
		    same[i / 2][1 - i % 2]);
		assert_int_equal(imported(log, &options, &result, &t), 1);
		truth_free(&t);
	}
	options.client[0] = "::2";
	assert_int_equal(imported("::1 - - [30/Nov/2026:01:00:10 +0000] \"GET /a HTTP/1.1\" 200 5\n", &options,
	    &result, &t), 0);
	truth_free(&t);
	options = (struct import_options){ .format = IMPORT_EGRESS, .source = "s" };
	assert_int_equal(imported("2026-02-30T01:00:11Z h 22\n2026-02-28T01:00:11Z h 22\n", &options, &result, &t), 1);
	truth_free(&t);
}

static void
json_logs(void **state)
{
	const struct import_options options = { .format = IMPORT_JSON, .source = "caddy",
	    .field = { [IMPORT_TIME] = "ts", [IMPORT_TARGET] = "request.uri", [IMPORT_VERB] = "request.method",
	    [IMPORT_HOST] = "request.host" } };
	struct import_result result;
	struct truth t;

	assert_int_equal(imported(
	    "{\"ts\":1796000410.25,\"request\":{\"method\":\"GET\",\"host\":\"h:8443\",\"uri\":\"/a?hidden\"},\"status\":200}\n"
	    "{\"ts\":\"2026-11-30T01:00:11.125Z\",\"request\":{\"method\":\"GET\",\"host\":\"h\",\"uri\":\"/\"},\"status\":\"201\"}\n"
	    "{\"ts\":1,\"request\":{\"method\":\"GET\",\"host\":\"h\"}}\n[]\n"
	    "{\"ts\":1,\"ts\":2}\n", &options, &result, &t), 2);
	assert_int_equal(result.unread, 3);
	assert_string_equal(t.seen[0].key, "http\nGET\nhttps://h:8443/a");
	assert_int_equal(t.seen[0].time_us, (T0 + 10) * 1000000 + 250000);
	assert_int_equal(t.seen[1].time_us, (T0 + 11) * 1000000 + 125000);
	assert_int_equal(t.resolution_us, 1000);
	truth_free(&t);
}

/* That the truth sees these kinds, in this order, and no others. */
static void
sees(const struct truth *t, const char *const *kinds, size_t n)
{
	assert_int_equal(t->sees.n, n);
	for (size_t i = 0; i < n; i++) {
		assert_string_equal(t->sees.one[i].kind, kinds[i]);
		assert_null(t->sees.one[i].targets);
	}
	assert_int_equal(t->beyond, 0);
}

/* Each protocol that is there, or those that were asked for. */
static void
protocols(void **state)
{
	static const char log[] = "1 a.example.com 443\n1 b.example.com 53 udp\n"
	    "1 c.example.com 1 sctp\n1 d.example.com 53 udp\n";
	struct import_options options = { .format = IMPORT_EGRESS, .source = "nft" };
	static char many[40 * 32];
	struct import_result result;
	struct truth t;
	size_t len = 0;

	assert_int_equal(imported(log, &options, &result, &t), 4);
	sees(&t, (const char *const[]){ "tcp", "udp", "sctp" }, 3);
	truth_free(&t);
	options.protocol[options.protocols++] = "udp";
	options.protocol[options.protocols++] = "icmp";
	assert_int_equal(imported(log, &options, &result, &t), 2);
	assert_int_equal(result.left_out, 2);
	assert_int_equal(result.unread, 0);
	sees(&t, (const char *const[]){ "udp", "icmp" }, 2);
	truth_free(&t);
	options.format = IMPORT_CONNTRACK;
	assert_int_equal(imported("[1.0] [NEW] tcp 6 1 src=192.0.2.7 dst=192.0.2.8 sport=1 dport=2\n"
	    "[1.0] [NEW] udp 17 1 src=192.0.2.7 dst=192.0.2.8 sport=1 dport=2\n", &options, &result, &t), 1);
	sees(&t, (const char *const[]){ "udp", "icmp" }, 2);
	truth_free(&t);
	options = (struct import_options){ .format = IMPORT_EGRESS, .source = "nft" };
	for (unsigned i = 0; i < 40; i++)
		len += (size_t)snprintf(many + len, sizeof(many) - len, "1 a.example.com 1 p%u\n", i);
	assert_int_equal(imported(many, &options, &result, &t), IMPORT_PROTOCOLS_MAX - 1);
	assert_int_equal(result.unread, 41 - IMPORT_PROTOCOLS_MAX);
	assert_int_equal(t.beyond, 0);
	truth_free(&t);
}

static void
egress_logs(void **state)
{
	const struct import_options options = { .format = IMPORT_EGRESS, .source = "nft",
	    .resolve = { "203.0.113.5=api.example.com" }, .resolves = 1 };
	struct import_result result;
	struct truth t;

	assert_int_equal(imported("1796000410.5 203.0.113.5 443\n2026-11-30T01:00:11Z 2001:db8::1 22 tcp\n"
	    "1796000410.5 ns.example.com 53 udp\n1796000410 x\n", &options, &result, &t), 3);
	assert_int_equal(result.unread, 1);
	assert_string_equal(t.seen[0].key, "tcp\n*\napi.example.com:443");
	assert_string_equal(t.seen[1].key, "tcp\n*\n[2001:db8::1]:22");
	assert_string_equal(t.seen[2].key, "udp\n*\nns.example.com:53");
	sees(&t, (const char *const[]){ "tcp", "udp" }, 2);
	truth_free(&t);
}

/* As conntrack writes them: events with the time, of which new ones count; the client
 * is who opened it; the reply's addresses are not whom it went to. */
static void
conntrack_events(void **state)
{
	struct import_options options = { .format = IMPORT_CONNTRACK, .source = "conntrack",
	    .resolve = { "203.0.113.5=api.example.com" }, .resolves = 1, .client = { "192.0.2.7" }, .clients = 1 };
	static const char log[] =
	    "[1796000410.250000]\t    [NEW] ipv4     2 tcp      6 120 SYN_SENT src=192.0.2.7 dst=203.0.113.5 sport=51234 dport=443 [UNREPLIED] src=203.0.113.5 dst=198.51.100.1 sport=443 dport=51234\n"
	    "[1796000410.260000]\t [UPDATE] ipv4     2 tcp      6 60 SYN_RECV src=192.0.2.7 dst=203.0.113.5 sport=51234 dport=443 src=203.0.113.5 dst=198.51.100.1 sport=443 dport=51234\n"
	    "[1796000411.000000]\t    [NEW] udp      17 30 src=192.0.2.7 dst=192.0.2.53 sport=5353 dport=53 [UNREPLIED] src=192.0.2.53 dst=192.0.2.7 sport=53 dport=5353\n"
	    "[1796000411.500000]\t    [NEW] ipv4     2 icmp     1 30 src=192.0.2.7 dst=192.0.2.1 type=8 code=0 id=7 [UNREPLIED] src=192.0.2.1 dst=192.0.2.7 type=0 code=0 id=7\n"
	    "[1796000412.000000]\t    [NEW] ipv4     2 tcp      6 120 SYN_SENT src=192.0.2.99 dst=192.0.2.7 sport=40000 dport=22 [UNREPLIED] src=192.0.2.7 dst=192.0.2.99 sport=22 dport=40000\n"
	    "[1796000413.000000]\t[DESTROY] ipv4     2 tcp      6 src=192.0.2.7 dst=203.0.113.5 sport=51234 dport=443 packets=9 bytes=900 src=203.0.113.5 dst=198.51.100.1 sport=443 dport=51234 packets=8 bytes=800 [ASSURED] delta-time=3 [start=Mon Nov 30 01:00:10 2026] [stop=Mon Nov 30 01:00:13 2026]\n"
	    "    [NEW] ipv4     2 tcp      6 120 SYN_SENT src=192.0.2.7 dst=203.0.113.5 sport=51235 dport=443 [UNREPLIED] src=203.0.113.5 dst=192.0.2.7 sport=443 dport=51235\n"
	    "[1796000414.000000]\t    [NEW] ipv4     2 tcp      6 120 SYN_SENT src=192.0.2.7 hidden\n"
	    "[1796000414.000000]\t    [NEW] ipv4     2 tcp      6 120 SYN_SENT src=192.0.2.7 dst=203.0.113.5 sport=1 dport=hidden\n"
	    "[1796000414.000000]\t[HIDDEN] ipv4     2 tcp      6 src=192.0.2.7 dst=203.0.113.5 sport=1 dport=2\n"
	    "[1796000415.000000]\t    [NEW] ipv6     10 tcp      6 120 SYN_SENT src=192.0.2.7 dst=2001:db8::5 sport=1 dport=443 [UNREPLIED] src=2001:db8::5 dst=192.0.2.7 sport=443 dport=1\n";
	struct import_result result;
	struct truth t;

	assert_int_equal(imported(log, &options, &result, &t), 4);
	assert_int_equal(result.left_out, 3);
	assert_int_equal(result.unread, 4);
	assert_int_equal(result.first_unread, 7);
	assert_non_null(strstr(result.why, "-o timestamp"));
	assert_string_equal(t.seen[0].key, "tcp\n*\napi.example.com:443");
	assert_int_equal(t.seen[0].time_us, (T0 + 10) * 1000000 + 250000);
	assert_string_equal(t.seen[1].key, "udp\n*\n192.0.2.53:53");
	assert_string_equal(t.seen[2].key, "icmp\n*\n192.0.2.1");
	assert_string_equal(t.seen[3].key, "tcp\n*\n[2001:db8::5]:443");
	sees(&t, (const char *const[]){ "udp", "tcp", "icmp" }, 3);
	truth_free(&t);
}

static void
conntrack_table(void **state)
{
	const struct import_options options = { .format = IMPORT_CONNTRACK, .source = "conntrack" };
	static const char log[] =
	    "ipv4     2 tcp      6 431999 ESTABLISHED src=192.0.2.7 dst=203.0.113.5 sport=51234 dport=443 src=203.0.113.5 dst=192.0.2.7 sport=443 dport=51234 [ASSURED] mark=0 delta-time=7 [start=Mon Nov 30 01:00:10 2026] use=1\n"
	    "tcp      6 117 SYN_SENT src=192.0.2.7 dst=203.0.113.6 sport=51240 dport=8443 [UNREPLIED] src=203.0.113.6 dst=192.0.2.7 sport=8443 dport=51240 mark=0 [start=Tue Dec  1 01:00:10 2026] use=1\n"
	    "tcp      6 117 SYN_SENT src=192.0.2.7 dst=203.0.113.6 sport=51240 dport=8443 [UNREPLIED] src=203.0.113.6 dst=192.0.2.7 sport=8443 dport=51240 mark=0 use=1\n"
	    "tcp      6 117 SYN_SENT src=192.0.2.7 dst=203.0.113.6 sport=51240 dport=8443 mark=0 [start=Mon Feb 30 01:00:10 2026] use=1\n"
	    "conntrack v1.4.7 (conntrack-tools): 3 flow entries have been shown.\n";
	struct import_result result;
	struct truth t;

	assert_int_equal(imported(log, &options, &result, &t), 2);
	assert_int_equal(result.unread, 3);
	assert_int_equal(result.first_unread, 3);
	assert_string_equal(t.seen[0].key, "tcp\n*\n203.0.113.5:443");
	assert_int_equal(t.seen[0].time_us, (T0 + 10) * 1000000);
	assert_int_equal(t.seen[1].time_us, (T0 + 86400 + 10) * 1000000);
	assert_int_equal(t.resolution_us, 1000000);
	truth_free(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(combined_logs),
		cmocka_unit_test(days_and_clients),
		cmocka_unit_test(json_logs),
		cmocka_unit_test(egress_logs),
		cmocka_unit_test(protocols),
		cmocka_unit_test(conntrack_events),
		cmocka_unit_test(conntrack_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
