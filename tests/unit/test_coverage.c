/* Coverage: spellings, scopes, manifests, ground truth, pairing, and what all of it
 * says of records made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ledger/coverage/import.h"
#include "ledger/coverage/match.h"
#include "ledger/coverage/reconcile.h"
#include "ledger_maker.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- spellings ---- */

static void
one_spelling(void **state)
{
	static const char *const same[][3] = {
		{ "http", "HTTPS://API.example.com:443", "https://api.example.com/" },
		{ "http", "https://api.example.com./a?x=1#y", "https://api.example.com/a" },
		{ "http", "http://h:8080/%7euser/%2F%c3", "http://h:8080/~user/%2F%C3" },
		{ "http", "http://h:80/a b\"%zz", "http://h/a%20b%22%25zz" },
		{ "http", "https://[2001:DB8::1]:444/x", "https://[2001:db8::1]:444/x" },
		{ "http", "https://h?secret=1", "https://h/" },
		{ "connect", "Example.COM:443", "example.com:443" },
		{ "tcp", "[::1]:22", "[::1]:22" }, { "tool", "rm -rf /", "rm -rf /" },
	};
	static struct act act;

	for (size_t i = 0; i < COUNT(same); i++) {
		assert_null(act_set(&act, same[i][0], "GET", same[i][1]));
		assert_string_equal(act.target, same[i][2]);
		assert_null(act_set(&act, same[i][0], "GET", same[i][2]));
		assert_string_equal(act.target, same[i][2]);
	}
}

static void
no_spelling(void **state)
{
	static const char *const bad[][3] = {
		{ "http", "GET", "/path" }, { "http", "GET", "ftp://h/" },
		{ "http", "GET", "https:///x" }, { "http", "GET", "https://h:0/" },
		{ "http", "GET", "https://h:65536/" }, { "http", "GET", "https://u:p@h/" },
		{ "http", "GET", "https://h h/" }, { "http", "G T", "https://h/" },
		{ "http", "", "https://h/" }, { "HTTP", "GET", "https://h/" },
		{ "connect", "CONNECT", "example.com" }, { "tcp", "*", "h:x" },
		{ "tool", "*", "" }, { "tool", "*", "a\nb" }, { "tool", "*", "\xff" },
		{ "", "GET", "https://h/" },
	};
	static struct act act;
	char *deep = calloc(1, ACT_PATH_MAX + 64);

	for (size_t i = 0; i < COUNT(bad); i++)
		assert_non_null(act_set(&act, bad[i][0], bad[i][1], bad[i][2]));
	strcpy(deep, "https://h/");
	memset(deep + 10, 'x', ACT_PATH_MAX);
	assert_non_null(act_set(&act, "http", "GET", deep));
	free(deep);
}

static void
host_and_port(void **state)
{
	static const char *const all[][3] = {
		{ "http", "https://h/x:1", "h:443" }, { "http", "http://h:81/", "h:81" },
		{ "http", "http://[::1]/", "[::1]:80" }, { "http", "https://[::1]:9/", "[::1]:9" },
		{ "connect", "h:443", "h:443" },
	};
	static struct act act;
	char where[64];

	for (size_t i = 0; i < COUNT(all); i++) {
		assert_null(act_set(&act, all[i][0], "GET", all[i][1]));
		assert_true(act_host_port(&act, where, sizeof(where)));
		assert_string_equal(where, all[i][2]);
	}
	assert_null(act_set(&act, "tool", "Bash", "ls"));
	assert_false(act_host_port(&act, where, sizeof(where)));
}

/* ---- manifests ---- */

#define CLAIM(sees, cannot, leaves) "{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":" \
	"\"proxy\",\"version\":\"1\",\"sees\":[" sees "],\"cannot_see\":[" cannot \
	"],\"leaves_out\":[" leaves "]}"

static bool
covers(const char *text, const char *kind, const char *verb, const char *target)
{
	static struct act act;
	struct claim claim;
	char err[160] = "";
	bool covered;

	assert_int_equal(claim_parse(&claim, text, strlen(text), err, sizeof(err)), 0);
	assert_null(act_set(&act, kind, verb, target));
	covered = claim_covers(&claim, &act);
	claim_free(&claim);
	return covered;
}

static void
claims(void **state)
{
	const char *text = CLAIM("{\"kind\":\"http\",\"verbs\":[\"GET\"],\"targets\":"
	    "[\"https://*.example.com/*\"]},{\"kind\":\"tcp\",\"targets\":[\"*:443\"]}", "",
	    "{\"kind\":\"http\",\"targets\":[\"*/private*\"],\"what\":\"wanted\"}");

	assert_true(covers(text, "http", "GET", "https://a.example.com/x/y"));
	assert_false(covers(text, "http", "POST", "https://a.example.com/x/y"));
	assert_false(covers(text, "http", "GET", "https://example.com/x"));
	assert_false(covers(text, "http", "GET", "https://a.example.com/private/x"));
	assert_true(covers(text, "tcp", "*", "h:443"));
	assert_false(covers(text, "tcp", "*", "h:4430"));
	assert_false(covers(text, "dns", "*", "h"));
	assert_true(covers(CLAIM("{\"kind\":\"*\"}", "", ""), "dns", "query", "h"));
}

static void
bad_claims(void **state)
{
	static const char *const bad[] = {
		"", "[]", "{}", "{\"v\":1}", CLAIM("{}", "", ""), CLAIM("7", "", ""),
		CLAIM("{\"kind\":\"HTTP\"}", "", ""), CLAIM("{\"kind\":\"http\",\"x\":1}", "", ""),
		CLAIM("{\"kind\":\"http\",\"verbs\":[]}", "", ""),
		CLAIM("{\"kind\":\"http\",\"targets\":[7]}", "", ""),
		CLAIM("", "{\"kind\":\"udp\"}", ""), CLAIM("", "", "{\"kind\":\"udp\"}"),
		CLAIM("{\"kind\":\"a\",\"kind\":\"b\"}", "", ""),
		CLAIM("{\"kind\":\"a\",\"what\":\"b\\nc\"}", "", ""),
		"{\"v\":2,\"kind\":\"countersign-coverage\",\"adapter\":\"p\",\"version\":\"1\","
		"\"sees\":[],\"cannot_see\":[],\"leaves_out\":[]}",
		"{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":\"p\",\"version\":\"1\","
		"\"sees\":[],\"cannot_see\":[]}",
		"{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":\"\",\"version\":\"1\","
		"\"sees\":[],\"cannot_see\":[],\"leaves_out\":[]}",
	};
	struct claim claim;
	char err[160];

	for (size_t i = 0; i < COUNT(bad); i++) {
		err[0] = '\0';
		assert_int_equal(claim_parse(&claim, bad[i], strlen(bad[i]), err, sizeof(err)), -1);
		assert_int_not_equal(err[0], '\0');
		claim_free(&claim);
	}
}

/* ---- ground truth ---- */

#define HEAD "{\"v\":1,\"type\":\"countersign-truth\",\"source\":\"s\",\"sees\":[{\"kind\":\"http\"}]"
#define AT(s) "\"t\":\"2026-11-30T01:00:" s "Z\""
#define SEEN(s, path) "{" AT(s) ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h" path "\"}\n"

static void
truths(void **state)
{
	const char *text = HEAD ",\"resolution_ms\":1000}\n" SEEN("01.500000", "/a")
	    "{" AT("02.000000") ",\"kind\":\"tool\",\"target\":\"x\",\"id\":\"7\",\"outcome\":200}\n"
	    "{\"kind\":\"tool\"}\n" "{" AT("99.000000") ",\"kind\":\"tool\",\"target\":\"x\"}\n"
	    SEEN("01.500000", "/a?secret") "not JSON\n" "{" AT("01.500000") ",\"kind\":\"tool\"";
	struct truth t;
	char err[160];

	assert_int_equal(truth_parse(&t, text, strlen(text), err, sizeof(err)), 0);
	assert_int_equal(t.n, 3);
	assert_int_equal(t.bad, 4);
	assert_int_equal(t.bad_line, 4);
	assert_int_equal(t.seen[2].line, 6);
	assert_string_equal(t.seen[0].key, t.seen[2].key);
	assert_int_equal(t.resolution_us, 1000000);
	assert_int_equal(t.seen[1].outcome, 200);
	truth_free(&t);
}

static void
bad_truths(void **state)
{
	static const char *const bad[] = { "", "\n", "{}\n", HEAD "}", HEAD ",\"x\":1}\n",
	    "{\"v\":1,\"type\":\"countersign-truth\",\"sees\":[]}\n",
	    "{\"v\":1,\"type\":\"countersign-truth\",\"source\":\"s\"}\n",
	    "{\"v\":2,\"type\":\"countersign-truth\",\"source\":\"s\",\"sees\":[]}\n",
	    HEAD ",\"resolution_ms\":60001}\n", HEAD ",\"from\":\"now\"}\n",
	    HEAD ",\"exhaustive\":1}\n", HEAD ",\"source\":\"t\"}\n" };
	struct truth t;
	char err[160];

	for (size_t i = 0; i < COUNT(bad); i++) {
		err[0] = '\0';
		assert_int_equal(truth_parse(&t, bad[i], strlen(bad[i]), err, sizeof(err)), -1);
		assert_int_not_equal(err[0], '\0');
		truth_free(&t);
	}
}

/* ---- pairing ---- */

struct pairing {
	bool may[8][8], last[8];
	unsigned records, seen;		/* taken */
	int pairs, lasts;
};

static void
on_pair(void *context, size_t record, size_t seen)
{
	struct pairing *p = context;

	assert_true(p->may[record][seen]);
	assert_false((p->records & 1u << record) || (p->seen & 1u << seen));
	p->records |= 1u << record;
	p->seen |= 1u << seen;
	p->pairs++;
	p->lasts += p->last[record];
}

/* The best there can be, by trying all: pairs first, then few with a last record. */
static int
best_of(const struct pairing *p, size_t seen, unsigned used)
{
	int best, with;

	if (seen == 8)
		return 0;
	best = best_of(p, seen + 1, used);
	for (unsigned i = 0; i < 8; i++) {
		if (!p->may[i][seen] || (used & 1u << i))
			continue;
		with = 100 - p->last[i] + best_of(p, seen + 1, used | 1u << i);
		best = with > best ? with : best;
	}
	return best;
}

static void
make_pairing(struct match_slot record[8], struct match_slot seen[8], struct pairing *p,
    unsigned round, unsigned *seed)
{
	const int statuses = (int)(round / 4 % 3);	/* none, of some, of most */

	for (size_t i = 0; i < 8; i++) {
		const int64_t from = rand_r(seed) % 20, at = rand_r(seed) % 25;
		const bool last = round % 2 && rand_r(seed) % 3 == 0;
		const int one = rand_r(seed) % 2 ? 200 : 404, other = rand_r(seed) % 2 ? 200 : 404;

		record[i] = (struct match_slot){ rand_r(seed) % 3 ? "a" : "b", from,
		    from + rand_r(seed) % 8, i, last || statuses == 0 ? 0 : one, last };
		seen[i] = (struct match_slot){ rand_r(seed) % 3 ? "a" : "b", at,
		    at + round % 3, i, rand_r(seed) % 3 < statuses ? other : 0, false };
		p->last[i] = last;
	}
	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < 8; k++)
			p->may[i][k] = strcmp(record[i].key, seen[k].key) == 0 &&
			    record[i].from_us <= seen[k].to_us && record[i].to_us >= seen[k].from_us &&
			    (record[i].status == seen[k].status || record[i].status == 0 ||
			    seen[k].status == 0);
}

static void
pairing_is_largest(void **state)
{
	unsigned seed = 1;

	for (unsigned round = 0; round < 3000; round++) {
		struct match_slot record[8], seen[8];
		struct pairing p = { .pairs = 0 };

		make_pairing(record, seen, &p, round, &seed);
		assert_int_equal(match_run(record, 8, seen, 8, on_pair, &p), 0);
		assert_int_equal(100 * p.pairs - p.lasts, best_of(&p, 0, 0));
	}
}

/* ---- reconciliation ---- */

#define T0 INT64_C(1796000400)	/* 2026-11-30T01:00:00Z, as the truths above have it */

struct scene {
	struct maker m;
	char base[64], dir[96], truth[128];
	int64_t now_us;
	struct verify_result *result;
	struct coverage *coverage;
};

static void
at(struct scene *s, double seconds)
{
	s->now_us = T0 * 1000000 + (int64_t)(seconds * 1e6);
}

static uint64_t
add(struct scene *s, const char *type, const char *run, const char *body)
{
	s->m.time_us = s->now_us - MAKER_STEP_US;
	return maker_add(&s->m, "broker", type, run, body);
}

static const char *
hex_of(const struct scene *s, uint64_t index)
{
	static char hex[65];

	for (unsigned i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", s->m.line[index].leaf[i]);
	return hex;
}

static uint64_t
request(struct scene *s, const char *type, const char *decision, const char *path,
    const char *more)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"decision\":\"%s\",\"kind\":\"http\"%s,\"input\":{"
	    "\"action\":{\"kind\":\"http\",\"verb\":\"GET\"},\"target\":{\"host\":\"h\",\"path\":"
	    "\"%s\",\"port\":443,\"scheme\":\"https\"}}}", decision, more, path);
	return add(s, type, "r", body);
}

static void
outcome(struct scene *s, uint64_t of, const char *more)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"parent\":\"%s\"%s}", hex_of(s, of), more);
	add(s, "outcome", "r", body);
}

/* A run from second 0 to 59, with its claims; what lies between is the test's. */
static void
begin(struct scene *s, const char *claim)
{
	memset(s, 0, sizeof(*s));
	make_temp_dir(s->base);
	maker_init(&s->m);
	at(s, 0);
	add(s, "open", NULL, "{}");
	add(s, "run", "r", "{\"state\":\"open\"}");
	if (claim != NULL)
		add(s, "coverage", "r", claim);
}

static enum verify_verdict
judge(struct scene *s, const char *lines)
{
	char err[256] = "";
	const char *files[] = { s->truth };
	struct coverage_options options = { .dir = s->dir, .run = "r", .truth = files,
	    .truths = 1, .window_ms = 2000 };

	if (s->coverage == NULL) {
		at(s, 59);
		add(s, "teardown", "r", "{}");
		maker_seal(&s->m);
		snprintf(s->dir, sizeof(s->dir), "%s/ledger", s->base);
		snprintf(s->truth, sizeof(s->truth), "%s/truth.jsonl", s->base);
		maker_save(&s->m, s->dir, 0);
	}
	coverage_free(s->coverage);
	free(s->result);
	write_file(s->base, "truth.jsonl", lines, strlen(lines));
	s->result = calloc(1, sizeof(*s->result));
	if (coverage_judge(&options, s->result, &s->coverage, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	return s->coverage->verdict;
}

static void
end(struct scene *s)
{
	coverage_free(s->coverage);
	free(s->result);
	maker_free(&s->m);
	remove_tree(s->base);
}

#define ALL CLAIM("{\"kind\":\"http\"},{\"kind\":\"tcp\"}", "{\"kind\":\"dns\",\"what\":\"names\"}", "")
#define ANY HEAD "}\n"

static void
one_to_one(void **state)
{
	struct scene s;

	begin(&s, ALL);
	for (int i = 0; i < 3; i++) {
		at(&s, 10 + i);
		outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	}
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a") SEEN("11.000000", "/a")
	    SEEN("12.500000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.result->verdict, VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].recorded, 3);
	/* a fourth one has none left, though three records are of its time */
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a") SEEN("11.000000", "/a")
	    SEEN("12.000000", "/a") SEEN("12.000000", "/a")), VERIFY_GAP);
	assert_int_equal(s.result->verdict, VERIFY_GAP);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "unrecorded");
	assert_int_equal(s.result->finding[0].line, 5);
	assert_string_equal(s.result->finding[0].file, "truth.jsonl");
	/* too late for any, and another path */
	assert_int_equal(judge(&s, ANY SEEN("14.100000", "/a")), VERIFY_GAP);
	assert_int_equal(judge(&s, ANY SEEN("13.900000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(judge(&s, ANY SEEN("11.000000", "/a") SEEN("11.000000", "/b")), VERIFY_GAP);
	end(&s);
}

static void
where_it_belongs(void **state)
{
	struct scene s;
	const struct coverage_source *source;

	begin(&s, ALL);
	at(&s, 10);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a")
	    "{\"t\":\"2026-11-30T00:59:59.000000Z\",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/b\"}\n"
	    "{\"t\":\"2026-11-30T01:01:00.000000Z\",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/b\"}\n"
	    "{" AT("11.000000") ",\"kind\":\"dns\",\"target\":\"h\"}\n"), VERIFY_COMPLETE);
	source = &s.coverage->source[0];
	assert_int_equal(source->outside_time, 2);
	assert_int_equal(source->outside_scope, 1);
	assert_string_equal(source->excuse, "names");
	assert_non_null(strstr(s.result->coverage.text, "1 that no adapter claims to see"));
	/* only what no record of the run is about: nothing was reconciled */
	assert_int_equal(judge(&s, ANY "{" AT("11.000000") ",\"kind\":\"dns\",\"target\":\"h\"}\n"),
	    VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	/* a clock of whole seconds cannot tell 59 from behind the teardown */
	assert_int_equal(judge(&s, HEAD ",\"resolution_ms\":1000}\n" SEEN("10.000000", "/a")
	    SEEN("59.000000", "/b")), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].edge, 1);
	end(&s);
}

/* Another run's request, a second before this one began, takes no record of its. */
static void
neighbours(void **state)
{
	struct scene s;

	begin(&s, ALL);
	at(&s, 1);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(judge(&s, HEAD ",\"exhaustive\":true}\n"
	    "{\"t\":\"2026-11-30T00:59:59.500000Z\",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/a\"}\n"
	    SEEN("01.000000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].outside_time, 1);
	/* of two alike the one that fits no record exactly is named */
	assert_int_equal(judge(&s, ANY SEEN("00.200000", "/a") SEEN("01.000000", "/a")), VERIFY_GAP);
	assert_int_equal(s.result->finding[0].line, 2);
	/* clocks apart: both are taken, whatever the order */
	end(&s);
	begin(&s, ALL);
	at(&s, 10);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	at(&s, 11);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(judge(&s, ANY SEEN("08.500000", "/a") SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	end(&s);
}

static void
refused_and_hidden(void **state)
{
	struct scene s;

	begin(&s, ALL);
	at(&s, 10);
	request(&s, "refusal", "deny", "/no", "");
	outcome(&s, request(&s, "use", "allow", "hmac:00112233445566778899aabbccddeeff", ""),
	    ",\"status\":200");
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/key/x") SEEN("10.000000", "/a")),
	    VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].hidden, 1);
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/key/x") SEEN("10.000000", "/no")), VERIFY_GAP);
	assert_int_equal(s.coverage->source[0].refused, 1);
	assert_non_null(strstr(s.result->finding[0].what, "has it refused"));
	end(&s);
}

static void
tunnels_and_connections(void **state)
{
	static const char tunnel[] = "{\"decision\":\"allow\",\"kind\":\"connect\",\"input\":{"
	    "\"action\":{\"kind\":\"connect\",\"verb\":\"CONNECT\"},\"target\":{\"host\":\"t\",\"port\":443}}}";
	struct scene s;
	uint64_t decision;

	begin(&s, ALL);
	at(&s, 10);
	decision = add(&s, "decision", "r", tunnel);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	at(&s, 20);
	outcome(&s, decision, "");
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a")
	    "{" AT("15.000000") ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://t/in\"}\n"
	    "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"t:443\"}\n"
	    "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].in_tunnel, 1);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "in_tunnel");
	assert_int_equal(s.result->finding[0].line, 3);
	assert_non_null(strstr(s.result->coverage.text, "1 action that s saw may have gone through"));
	assert_int_equal(s.coverage->source[0].recorded, 3);
	/* behind its end, and a second connection for one request */
	assert_int_equal(judge(&s, ANY "{" AT("25.000000") ",\"kind\":\"http\",\"verb\":\"GET\","
	    "\"target\":\"https://t/in\"}\n"), VERIFY_GAP);
	assert_int_equal(judge(&s, ANY "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"
	    "{" AT("10.200000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"), VERIFY_GAP);
	end(&s);
}

static void
by_name(void **state)
{
	char lines[1024];
	struct scene s;
	uint64_t use;

	begin(&s, ALL);
	at(&s, 10);
	use = request(&s, "use", "allow", "/a", ",\"grant\":\"g_one\"");
	outcome(&s, use, ",\"status\":200");
	snprintf(lines, sizeof(lines), ANY "{" AT("40.000000") ",\"kind\":\"http\",\"verb\":\"GET\","
	    "\"target\":\"https://h/a\",\"record\":\"%s\"}\n", hex_of(&s, use));
	assert_int_equal(judge(&s, lines), VERIFY_COMPLETE);
#define GRANT(g) "{" AT("10.000000") ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/a\"," \
	"\"grant\":\"" g "\",\"id\":\"" g "\"}\n"
	assert_int_equal(judge(&s, ANY GRANT("g_one")), VERIFY_COMPLETE);
	assert_int_equal(judge(&s, ANY GRANT("g_two")), VERIFY_GAP);
	/* one action, written down twice */
	assert_int_equal(judge(&s, ANY GRANT("g_one") GRANT("g_one")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].duplicates, 1);
	assert_int_equal(s.coverage->source[0].seen, 1);
	end(&s);
}

#define FULL HEAD ",\"exhaustive\":true"

static void
what_was_not_seen(void **state)
{
	struct scene s;

	begin(&s, ALL);
	at(&s, 10);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	outcome(&s, request(&s, "use", "allow", "/b", ""), ",\"status\":200");
	outcome(&s, request(&s, "use", "allow", "/c", ""), ",\"error\":\"gone\",\"ended\":\"unreached\"");
	/* who does not claim to see all says nothing by not seeing it */
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].unseen, 1);
	assert_int_equal(judge(&s, FULL "}\n" SEEN("10.000000", "/a")), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.result->findings, 1);
	assert_string_equal(s.result->finding[0].code, "unobserved");
	assert_int_equal(s.result->finding[0].index, 5);
	/* before his time began */
	assert_int_equal(judge(&s, FULL ",\"from\":\"2026-11-30T01:00:30.000000Z\"}\n"
	    SEEN("10.000000", "/a")), VERIFY_COMPLETE);
	/* he leaves lines unread: there may be more */
	assert_int_equal(judge(&s, HEAD ",\"unread\":1}\n" SEEN("10.000000", "/a")),
	    VERIFY_NOT_ESTABLISHED);
	end(&s);
}

#define WITH(s, n) "{" AT(s) ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h/a\",\"outcome\":" n "}\n"

static void
outcomes_are_one(void **state)
{
	struct scene s;

	begin(&s, ALL);
	at(&s, 10);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":401");
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(judge(&s, ANY WITH("10.000000", "200") WITH("10.100000", "401")), VERIFY_COMPLETE);
	assert_int_equal(s.coverage->source[0].differ, 0);
	/* who tells no outcome takes either; the other is left for who does */
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a") WITH("10.100000", "401")), VERIFY_COMPLETE);
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a") WITH("10.100000", "200")), VERIFY_COMPLETE);
	assert_int_equal(judge(&s, ANY WITH("10.000000", "200") WITH("10.100000", "500")), VERIFY_GAP);
	assert_int_equal(s.coverage->source[0].differ, 1);
	assert_int_equal(s.result->finding[0].line, 3);
	assert_non_null(strstr(s.result->finding[0].what, "the ledger has another"));
	end(&s);
}

/* A record that says nothing was sent excuses nobody. */
static void
nothing_was_sent(void **state)
{
	static const char *const ends[] = {
		",\"error\":\"connect_failed\",\"ended\":\"unreached\",\"bytes_out\":0",
		",\"error\":\"private_address\",\"ended\":\"refused\",\"bytes_out\":0" };
	char lines[512];

	for (size_t i = 0; i < COUNT(ends); i++) {
		struct scene s;
		uint64_t use;

		begin(&s, ALL);
		at(&s, 10);
		outcome(&s, request(&s, "use", "allow", "/b", ""), ",\"status\":200");
		use = request(&s, "use", "allow", "/a", "");
		outcome(&s, use, ends[i]);
		assert_int_equal(judge(&s, ANY SEEN("10.000000", "/b") SEEN("10.000000", "/a")), VERIFY_GAP);
		assert_string_equal(s.result->finding[0].code, "unrecorded");
		assert_int_equal(s.result->finding[0].line, 3);
		snprintf(lines, sizeof(lines), ANY "{" AT("10.000000") ",\"kind\":\"http\",\"verb\":\"GET\","
		    "\"target\":\"https://h/a\",\"record\":\"%s\"}\n", hex_of(&s, use));
		assert_int_equal(judge(&s, lines), VERIFY_GAP);
		end(&s);
	}
}

/* One that does not tell what became of it is taken last, and establishes nothing. */
static void
unsettled(void **state)
{
	static const char *const ends[] = { ",\"error\":\"client_gone\",\"bytes_out\":0",
	    ",\"error\":\"upstream_closed\"", ",\"error\":\"http/body\",\"ended\":\"refused\",\"bytes_out\":9",
	    "", NULL };

	for (size_t i = 0; i < COUNT(ends); i++) {
		struct scene s;
		uint64_t use;
		char index[32];

		begin(&s, ALL);
		at(&s, 10);
		use = request(&s, "use", "allow", "/a", "");
		if (ends[i] != NULL)
			outcome(&s, use, ends[i]);
		/* within the window of the one, and just when the other was */
		at(&s, 9);
		outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
		assert_int_equal(judge(&s, ANY WITH("10.000000", "200")), VERIFY_COMPLETE);
		assert_int_equal(s.coverage->source[0].unsettled, 0);
		assert_int_equal(judge(&s, ANY WITH("09.000000", "200") WITH("10.000000", "200")),
		    VERIFY_NOT_ESTABLISHED);
		assert_int_equal(s.result->verdict, VERIFY_NOT_ESTABLISHED);
		assert_int_equal(s.coverage->source[0].unsettled, 1);
		assert_int_equal(s.result->findings, 1);
		assert_string_equal(s.result->finding[0].code, "unsettled");
		assert_int_not_equal(s.result->finding[0].line, 0);
		snprintf(index, sizeof(index), "record %u", (unsigned)use);
		assert_non_null(strstr(s.result->finding[0].what, index));
		assert_int_equal(judge(&s, ANY WITH("09.000000", "200") WITH("10.000000", "200")
		    WITH("10.000000", "200")), VERIFY_GAP);
		end(&s);
	}
}

/* Of a connection nobody knows where the request came to nothing. */
static void
unsettled_connections(void **state)
{
	struct scene s;

	begin(&s, ALL);
	at(&s, 10);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"error\":\"tls_failed\",\"ended\":\"unreached\"");
	outcome(&s, request(&s, "use", "allow", "/b", ""), ",\"status\":200");
#define TCP "{" AT("10.100000") ",\"kind\":\"tcp\",\"target\":\"h:443\"}\n"
	assert_int_equal(judge(&s, ANY TCP), VERIFY_COMPLETE);
	assert_int_equal(judge(&s, ANY TCP TCP), VERIFY_NOT_ESTABLISHED);
	assert_int_equal(s.coverage->source[0].unsettled, 1);
	assert_int_equal(judge(&s, ANY TCP TCP TCP), VERIFY_GAP);
	end(&s);
}

static void
without_claims(void **state)
{
	struct scene s;

	begin(&s, NULL);
	at(&s, 10);
	outcome(&s, request(&s, "use", "allow", "/a", ""), ",\"status\":200");
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/a")), VERIFY_NOT_ESTABLISHED);
	assert_non_null(strstr(s.result->coverage.text, "no record says what the adapters see"));
	/* whoever says nothing is asked for everything */
	assert_int_equal(judge(&s, ANY SEEN("10.000000", "/b")), VERIFY_GAP);
	end(&s);
}

/* ---- logs ---- */

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
	    "192.0.2.7 - - [30/Nov/2026:01:00:13 +0000] \"-\" 408 0\n"
	    "192.0.2.7 - - [30/Nov/2026:01:00:14 +0000] \"GET /hidden\" 200 0\n"
	    "192.0.2.7 - - [30/Nov/2026:25:00:14 +0000] \"GET /hidden HTTP/1.1\" 200 0\n"
	    "hidden\n", &options, &result, &t), 2);
	assert_int_equal(result.left_out, 2);
	assert_int_equal(result.unread, 3);
	assert_int_equal(result.first_unread, 5);
	assert_string_equal(t.seen[0].key, "http\nGET\nhttps://api.example.com/a");
	assert_string_equal(t.seen[1].key, "http\nGET\nhttps://api.example.com/c%20d");
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
	truth_free(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_spelling), cmocka_unit_test(no_spelling),
		cmocka_unit_test(host_and_port), cmocka_unit_test(claims),
		cmocka_unit_test(bad_claims), cmocka_unit_test(truths),
		cmocka_unit_test(bad_truths), cmocka_unit_test(pairing_is_largest),
		cmocka_unit_test(one_to_one), cmocka_unit_test(where_it_belongs),
		cmocka_unit_test(neighbours), cmocka_unit_test(refused_and_hidden), cmocka_unit_test(tunnels_and_connections),
		cmocka_unit_test(by_name), cmocka_unit_test(what_was_not_seen),
		cmocka_unit_test(outcomes_are_one), cmocka_unit_test(nothing_was_sent),
		cmocka_unit_test(unsettled), cmocka_unit_test(unsettled_connections), cmocka_unit_test(without_claims),
		cmocka_unit_test(combined_logs), cmocka_unit_test(days_and_clients), cmocka_unit_test(json_logs),
		cmocka_unit_test(egress_logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
