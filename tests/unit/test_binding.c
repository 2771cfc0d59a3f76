#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "binding/binding.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char why[512];

static struct bindings *
parse(const char *text)
{
	why[0] = '\0';
	return bindings_parse(text, strlen(text), why, sizeof(why));
}

/* One binding with some of its members replaced. */
static struct bindings *
with(const char *members)
{
	char text[2048];

	snprintf(text, sizeof(text), "{\"bindings\":{\"github\":{%s}}}", members);
	return parse(text);
}

#define SECRET "\"secret\":\"github\","
#define HOSTS "\"hosts\":[\"api.example.com\"],"
#define BEARER "\"placement\":{\"kind\":\"header\",\"name\":\"Authorization\",\"template\":\"Bearer {}\"}"

static void
test_defaults(void **state)
{
	struct bindings *all = with(SECRET HOSTS BEARER);
	const struct binding *one;

	assert_non_null(all);
	assert_int_equal(bindings_count(all), 1);
	one = bindings_at(all, 0);
	assert_string_equal(one->id, "github");
	assert_true(one->https);
	assert_int_equal(one->port, 443);
	assert_string_equal(one->placement.before, "Bearer ");
	assert_string_equal(one->placement.after, "");
	assert_int_equal(one->max_requests, -1);
	assert_null(bindings_at(all, 1));
	assert_ptr_equal(bindings_by_id(all, SLICE("github")), one);
	assert_null(bindings_by_id(all, SLICE("githu")));
	assert_null(bindings_by_id(all, SLICE("github2")));
	assert_null(bindings_by_id(all, SLICE("github\0x")));
	assert_int_equal(bindings_limits(all)->requests, -1);
	assert_int_equal(bindings_refusals(all), -1);
	assert_int_equal(bindings_grant(all)->ttl_s, 300);
	assert_int_equal(bindings_grant(all)->uses, 1);
	bindings_free(all);
}

static void
test_empty(void **state)
{
	struct bindings *all = parse("{}");

	assert_non_null(all);
	assert_int_equal(bindings_count(all), 0);
	assert_null(bindings_by_id(all, SLICE("x")));
	bindings_free(all);
	bindings_free(NULL);
}

static void
test_refused(void **state)
{
	static const struct { const char *text, *says; } bad[] = {
		{ "", "strict JSON" },
		{ "[]", "object" },
		{ "{\"bindings\":[]}", "bindings" },
		{ "{\"bindings\":{},\"bindings\":{}}", "twice" },
		{ "{\"bindings\":{\"Bad\":{}}}", "id" },
		{ "{\"bindings\":{\"a\":{}}}", "missing" },
		{ "{\"limits\":{\"requests\":-1}}", "requests" },
		{ "{\"limits\":{\"requests\":1.5}}", "integer" },
		{ "{\"limits\":{\"refusals\":-1}}", "refusals" },
		{ "{\"limits\":{\"refusals\":1000001}}", "refusals" },
		{ "{\"limits\":{\"requests\":9007199254740992}}", "requests" },
		{ "{\"limits\":{\"requests\":1e999}}", "strict JSON" },
		{ "{\"limits\":{\"request\":1}}", "unknown member limits.request" },
		{ "{\"egress\":{\"private\":[\"10.0.0.0\"]}}", "private" },
		{ "{\"egress\":{\"private\":[\"10.0.0.0/33\"]}}", "private" },
		{ "{\"egress\":{\"private\":[\"10.0.0.0/8x\"]}}", "private" },
		{ "{\"egress\":{\"private\":[\"fd00::/129\"]}}", "private" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_null(parse(bad[i].text));
		if (strstr(why, bad[i].says) == NULL)
			fail_msg("%s: %s", bad[i].text, why);
	}
}

static void
test_refused_members(void **state)
{
	static const char *const bad[] = {
		HOSTS BEARER,				/* no secret */
		SECRET BEARER,				/* no hosts */
		SECRET "\"hosts\":[]," BEARER,
		SECRET "\"hosts\":[\"API.example.com\"]," BEARER,
		SECRET "\"hosts\":[\"api.example.com.\"]," BEARER,
		SECRET "\"hosts\":[\"api.example.com:443\"]," BEARER,
		SECRET "\"hosts\":[\"*.example.com\"]," BEARER,
		SECRET "\"hosts\":[\"0x7f.1\"]," BEARER,
		SECRET "\"hosts\":[1]," BEARER,
		SECRET HOSTS BEARER ",\"prot\":443",
		SECRET HOSTS BEARER ",\"port\":0",
		SECRET HOSTS BEARER ",\"port\":65536",
		SECRET HOSTS BEARER ",\"port\":\"443\"",
		SECRET HOSTS BEARER ",\"scheme\":\"ftp\"",
		SECRET HOSTS BEARER ",\"env\":[\"A=B\"]",
		SECRET HOSTS BEARER ",\"env\":[\"1A\"]",
		SECRET HOSTS BEARER ",\"allow\":[\"GET\"]",
		SECRET HOSTS BEARER ",\"allow\":[\"GET repos\"]",
		SECRET HOSTS BEARER ",\"limits\":{\"bytes\":1}",
		SECRET HOSTS "\"placement\":{}",
		SECRET HOSTS "\"placement\":{\"kind\":\"cookie\",\"name\":\"x\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\",\"name\":\"a b\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\",\"name\":\"Host\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\",\"name\":\"content-length\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\",\"name\":\"X\",\"template\":\"a\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\",\"name\":\"X\",\"template\":\"{}{}\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"header\",\"name\":\"X\",\"template\":\"{}\\r\\nY: \"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"basic\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"basic\",\"user\":\"a:b\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"query\",\"name\":\"a&b\"}",
		SECRET HOSTS "\"placement\":{\"kind\":\"query\",\"name\":\"a\",\"user\":\"b\"}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bindings *all = with(bad[i]);

		if (all != NULL)
			fail_msg("accepted: %s", bad[i]);
		assert_non_null(strstr(why, "github"));
	}
}

static size_t
covering(const struct bindings *all, const char *host, bool https,
    uint16_t port, char *ids)
{
	struct target target = { .https = https, .port = port };
	const struct binding *binding;
	size_t cursor = 0, n = 0;

	ids[0] = '\0';
	snprintf(target.host, sizeof(target.host), "%s", host);
	while ((binding = bindings_for(all, &target, &cursor)) != NULL) {
		strcat(ids, binding->id);
		n++;
	}
	return n;
}

static void
test_covering(void **state)
{
	static const char text[] = "{\"bindings\":{"
	    "\"b\":{" SECRET "\"hosts\":[\"api.example.com\",\"git.example.com\"]," BEARER "},"
	    "\"a\":{" SECRET HOSTS "\"placement\":{\"kind\":\"query\",\"name\":\"key\"}},"
	    "\"c\":{" SECRET HOSTS "\"port\":8443," BEARER "},"
	    "\"d\":{" SECRET HOSTS "\"scheme\":\"http\"," BEARER "},"
	    "\"v6\":{" SECRET "\"hosts\":[\"2001:db8::1\"]," BEARER "}}}";
	struct bindings *all = parse(text);
	char ids[32];

	if (all == NULL)
		fail_msg("%s", why);
	assert_int_equal(covering(all, "api.example.com", true, 443, ids), 2);
	assert_string_equal(ids, "ba");	/* in the document's order */
	assert_int_equal(covering(all, "git.example.com", true, 443, ids), 1);
	covering(all, "api.example.com", true, 8443, ids);
	assert_string_equal(ids, "c");
	covering(all, "api.example.com", false, 80, ids);
	assert_string_equal(ids, "d");
	covering(all, "2001:db8::1", true, 443, ids);
	assert_string_equal(ids, "v6");
	assert_int_equal(covering(all, "api.example.com", true, 444, ids), 0);
	assert_int_equal(covering(all, "example.com", true, 443, ids), 0);
	assert_int_equal(covering(all, "zzz", true, 443, ids), 0);
	bindings_free(all);
}

/* NULL, or why a path of that host may not go on. */
static const char *
path_refusal(const struct bindings *all, const char *id, const char *url)
{
	static char buf[TARGET_BUF_MAX];
	struct target target;

	assert_null(target_from_absolute(slice_of(url), buf, sizeof(buf), &target));
	return bindings_path_refusal(all, id == NULL ? NULL :
	    bindings_by_id(all, slice_of(id)), &target);
}

static void
test_escaped_slash(void **state)
{
	static const char text[] = "{\"bindings\":{"
	    "\"npm\":{" SECRET "\"hosts\":[\"npm.example.com\"]," BEARER ",\"escaped_slash\":true},"
	    "\"old\":{" SECRET "\"hosts\":[\"npm.example.com\",\"old.example.com\"]," BEARER "}}}";
	struct bindings *all = parse(text);

	if (all == NULL)
		fail_msg("%s", why);
	assert_null(path_refusal(all, "npm", "https://npm.example.com/@s%2fn"));
	assert_null(path_refusal(all, NULL, "https://npm.example.com/@s%2fn"));
	assert_non_null(path_refusal(all, "old", "https://npm.example.com/@s%2fn"));
	assert_non_null(path_refusal(all, NULL, "https://old.example.com/@s%2fn"));
	assert_non_null(path_refusal(all, NULL, "https://npm.example.com:444/@s%2fn"));
	assert_non_null(path_refusal(all, NULL, "https://free.example.com/@s%2fn"));
	/* read twice, it would be another path */
	assert_non_null(path_refusal(all, "npm", "https://npm.example.com/@s%252fn"));
	assert_non_null(path_refusal(all, "npm", "https://npm.example.com/@s%2fn%252e"));
	assert_null(path_refusal(all, "old", "https://old.example.com/100%2525"));
	assert_null(path_refusal(all, "npm", "https://npm.example.com/a?b=%252f%2f"));
	bindings_free(all);
	assert_null(with(SECRET HOSTS BEARER ",\"escaped_slash\":1"));
	assert_null(with(SECRET HOSTS BEARER ",\"allow\":[\"GET /a%2Fb\"]"));
	assert_non_null(strstr(why, "escaped_slash"));
	assert_null(with(SECRET HOSTS BEARER ",\"escaped_slash\":true,\"allow\":[\"GET /a%2fb\"]"));
	assert_non_null(strstr(why, "%2F"));
	all = with(SECRET HOSTS BEARER ",\"escaped_slash\":true,\"allow\":[\"GET /a%2Fb\"]");
	assert_non_null(all);
	bindings_free(all);
}

/* A rule in the spelling that paths have is taken, any other can match nothing. */
static void
spelling_of_rules(void **state)
{
	static const char *const good[] = { "GET /", "* /**", "GET /a*b/**/c", "GET /%C3%A4/a%20b", "GET /~x/-._",
	    "GET /a:b@c!$&'()+,;=", "GET /@s/n" };
	static const char *const bad[] = { "GET /a?b=c", "GET /a#b", "GET /%2e%2e/x", "GET /%41", "GET /%c3%a4", "GET /\xc3\xa4",
	    "GET //a", "GET /a/../b", "GET /a%zz", "GET /a%00", "GET /a[1]" };
	char text[512];
	struct bindings *all;
	size_t i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(text, sizeof(text), SECRET HOSTS BEARER ",\"%s\":[\"%s\"]", i % 2 ? "ask" : "allow", good[i]);
		if ((all = with(text)) == NULL)
			fail_msg("%s: %s", good[i], why);
		bindings_free(all);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), SECRET HOSTS BEARER ",\"%s\":[\"%s\"]", i % 2 ? "ask" : "allow", bad[i]);
		if (with(text) != NULL)
			fail_msg("%s was taken", bad[i]);
		assert_non_null(strstr(why, "can match nothing"));
	}
}

static bool
private_allowed(const struct bindings *all, const char *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return bindings_private_allowed(all, (struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	return bindings_private_allowed(all, (struct sockaddr *)&v6);
}

static void
test_private(void **state)
{
	struct bindings *all = parse("{\"egress\":{\"private\":"
	    "[\"127.0.0.0/8\",\"10.1.2.0/23\",\"fd00::/8\"]}}");

	assert_non_null(all);
	assert_true(private_allowed(all, "127.255.0.1"));
	assert_false(private_allowed(all, "128.0.0.1"));
	assert_true(private_allowed(all, "10.1.3.255"));
	assert_false(private_allowed(all, "10.1.4.0"));
	assert_true(private_allowed(all, "::ffff:127.0.0.1"));
	assert_true(private_allowed(all, "fdff::1"));
	assert_false(private_allowed(all, "fe80::1"));
	assert_false(private_allowed(all, "::1"));
	bindings_free(all);
	all = parse("{}");
	assert_false(private_allowed(all, "127.0.0.1"));
	bindings_free(all);
}

/* The default pack asks, for an example of every form of rule. */
static void
test_ask(void **state)
{
	static const char *const rules[] = { "POST /x", "* /a/**/b*", "HEAD /**", "GET /*/info/refs" };
	char dir[] = "/tmp/test_binding.XXXXXX", path[64], data[96], text[512], command[96];
	struct bindings *all = with(SECRET HOSTS BEARER ",\"ask\":[]");

	assert_null(bindings_asking(all));
	assert_int_equal(bindings_ask_heeded(all, NULL, why, sizeof(why)), 0);
	bindings_free(all);
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pack", dir);
	snprintf(data, sizeof(data), "%s/data.json", path);
	assert_int_equal(policy_default_pack_write(path, why, sizeof(why)), 0);
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		struct policy_pack *pack;
		FILE *f = fopen(data, "w");

		snprintf(text, sizeof(text), "{\"bindings\":{\"one\":{" SECRET
		    HOSTS BEARER ",\"ask\":[\"%s\"],\"allow\":[\"* /**\"]}}}", rules[i]);
		assert_non_null(f);
		assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
		assert_non_null(all = parse(text));
		assert_string_equal(bindings_asking(all)->asks, rules[i]);
		assert_non_null(pack = policy_pack_load(path, why, sizeof(why)));
		if (bindings_ask_heeded(all, pack, why, sizeof(why)) != 0)
			fail_msg("%s: %s", rules[i], why);
		policy_pack_unref(pack);
		bindings_free(all);
	}
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
}

static void
test_message_shows_no_value(void **state)
{
	assert_null(with("\"secret\":\"github\",\"s3cr3t-value here\":1," HOSTS BEARER));
	assert_null(strstr(why, "s3cr3t"));
	assert_null(parse("{\"bindings\": s3cr3t}"));
	assert_null(strstr(why, "s3cr3t"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_members),
		cmocka_unit_test(test_covering),
		cmocka_unit_test(test_escaped_slash),
		cmocka_unit_test(spelling_of_rules),
		cmocka_unit_test(test_private),
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_message_shows_no_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
