/* Packs and decisions through policy.h alone, as the broker sees them. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/policy.h"

#define S(text) { (text), sizeof(text) - 1 }

static const char data[] =
"{\"bindings\": {\"github\": {\"secret\": \"github\", \"scheme\": \"https\","
" \"hosts\": [\"api.github.example\"], \"port\": 443,"
" \"allow\": [\"GET /repos/**\", \"POST /repos/o/r/issues\"]}},"
" \"egress\": {\"allow\": [\"*.debian.example:443\"]},"
" \"limits\": {\"requests\": 5, \"bytes_out\": 1000},"
" \"grant\": {\"ttl_s\": 300, \"uses\": 1}}";

static char dir[64];

static void
write_file(const char *name, const char *text)
{
	char path[200];
	FILE *f;

	snprintf(path, sizeof(path), "%s/pack/%s", dir, name);
	assert_non_null(f = fopen(path, "w"));
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int
setup(void **state)
{
	char path[80], err[256] = "";

	snprintf(dir, sizeof(dir), "/tmp/test_policy.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pack", dir);
	if (policy_default_pack_write(path, err, sizeof(err)) != 0)
		fail_msg("%s", err);
	(void)state;
	return 0;
}

static int
teardown(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
	(void)state;
	return 0;
}

static struct policy_pack *
load(void)
{
	char path[80], err[512] = "";
	struct policy_pack *pack;

	snprintf(path, sizeof(path), "%s/pack", dir);
	if ((pack = policy_pack_load(path, err, sizeof(err))) == NULL)
		fail_msg("%s", err);
	return pack;
}

static void
refused(const char *word)
{
	char path[80], err[512] = "";

	snprintf(path, sizeof(path), "%s/pack", dir);
	assert_null(policy_pack_load(path, err, sizeof(err)));
	if (strstr(err, word) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err, word);
}

static struct policy_input
request(const char *method, const char *path)
{
	struct policy_input in = {
		.now_ns = 1700000000000000000,
		.run = { S("run-1"), S("alice"), { NULL, 0 }, 1 },
		.caller = { 1000, 42, { NULL, 0 }, { NULL, 0 } },
		.action = { .kind = S("http"), .verb = { method,
		    strlen(method) } },
		.target = { S("https"), S("api.github.example"), { path,
		    strlen(path) }, { NULL, 0 }, { NULL, 0 }, 443 },
		.secret = { S("github"), S("github"), 1 },
		.grant = { { NULL, 0 }, -1 },
		.budget = { 1, 0, 0, 0 },
		.limits = { -1, -1, -1, -1 },
	};

	return in;
}

static void
decide(const struct policy_pack *pack, const struct policy_input *in,
    enum policy_verdict verdict, const char *rule)
{
	struct policy_scratch *scratch = policy_scratch_new();
	struct policy_decision out;

	assert_non_null(scratch);
	policy_decide(pack, scratch, in, &out);
	policy_scratch_free(scratch);
	if (out.verdict != verdict || strcmp(out.rule, rule) != 0)
		fail_msg("verdict %d rule %s reason %s", (int)out.verdict,
		    out.rule, out.reason);
	assert_string_not_equal(out.reason, "");
}

static void
default_pack_denies(void **state)
{
	struct policy_pack *pack = load();
	struct policy_input in = request("GET", "/repos/o/r");

	decide(pack, &in, POLICY_DENY, "binding/unknown");
	in.secret.binding.p = NULL;
	in.secret.name.p = NULL;
	decide(pack, &in, POLICY_DENY, "egress/default");
	policy_pack_unref(pack);
	(void)state;
}

static void
requests(void **state)
{
	struct policy_pack *pack;
	struct policy_input in;

	write_file("data.json", data);
	pack = load();
	in = request("GET", "/repos/o/r");
	decide(pack, &in, POLICY_ALLOW, "binding/allow");
	in = request("HEAD", "/repos/o/r");
	decide(pack, &in, POLICY_ALLOW, "binding/allow");
	in = request("POST", "/repos/o/r/issues");
	decide(pack, &in, POLICY_ALLOW, "binding/allow");
	in = request("POST", "/repos/o/r");
	decide(pack, &in, POLICY_DENY, "binding/path");
	in = request("DELETE", "/repos/o/r");
	decide(pack, &in, POLICY_DENY, "binding/method");
	in = request("GET", "/user");
	decide(pack, &in, POLICY_DENY, "binding/path");
	in = request("GET", "/repos/o/r");
	in.budget.requests = 6;
	decide(pack, &in, POLICY_DENY, "budget/requests");
	in.limits.requests = 6;
	decide(pack, &in, POLICY_ALLOW, "binding/allow");
	in.action.kind.p = NULL;
	decide(pack, &in, POLICY_DENY, "action/kind");
	policy_pack_unref(pack);
	(void)state;
}

static void
obligations(void **state)
{
	struct policy_scratch *scratch = policy_scratch_new();
	struct policy_input in = request("GET", "/repos/o/r");
	struct policy_decision out;
	struct policy_pack *pack;

	write_file("data.json", data);
	pack = load();
	in.budget.bytes_out = 400;
	policy_decide(pack, scratch, &in, &out);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	assert_int_equal(out.max_bytes, 600);
	assert_true(out.redact);
	assert_int_equal(out.ttl_s, -1);

	in.action.kind = (struct policy_str)S("credential");
	in.action.verb = (struct policy_str)S("use");
	in.action.name = (struct policy_str)S("http:GET");
	policy_decide(pack, scratch, &in, &out);
	assert_int_equal(out.verdict, POLICY_ALLOW);
	assert_int_equal(out.ttl_s, 300);
	assert_int_equal(out.uses, 1);
	policy_scratch_free(scratch);
	policy_pack_unref(pack);
	(void)state;
}

static void
hostile_input(void **state)
{
	struct policy_pack *pack = load();
	struct policy_input in = request("GET", "/repos/\xff");

	decide(pack, &in, POLICY_DENY, "engine/input");
	in = request("GET", "/");
	in.action.args = (struct policy_str)S("{\"a\":1,\"a\":2}");
	decide(pack, &in, POLICY_DENY, "engine/input");
	in.action.args = (struct policy_str)S("{\"a\":NaN}");
	decide(pack, &in, POLICY_DENY, "engine/input");
	policy_pack_unref(pack);
	(void)state;
}

static void
digest_covers_every_file(void **state)
{
	struct policy_pack *a = load(), *b = load(), *c;

	assert_int_equal(strlen(policy_pack_digest(a)), POLICY_DIGEST_LEN);
	assert_string_equal(policy_pack_digest(a), policy_pack_digest(b));
	write_file("countersign_test.rego", "package x\n");
	c = load();
	assert_string_not_equal(policy_pack_digest(a), policy_pack_digest(c));
	policy_pack_unref(policy_pack_ref(a));
	policy_pack_unref(a);
	policy_pack_unref(b);
	policy_pack_unref(c);
	(void)state;
}

static void
bad_packs(void **state)
{
	write_file("data.json", "{\"a\": 1, \"a\": 2}");
	refused("data.json: line 1, column 16");
	write_file("data.json", "[]");
	refused("not a JSON object");
	write_file("data.json", "{}");
	write_file("plan.json", "{");
	refused("plan.json: line 1, column 2");
	write_file("plan.json", "{\"static\": {\"builtin_funcs\": "
	    "[{\"name\": \"http.send\"}]}}");
	refused("builtin http.send: a decision must not");
	write_file("plan.json", "{\"static\": {\"builtin_funcs\": "
	    "[{\"name\": \"internal.print\"}]}}");
	refused("builtin internal.print: a decision prints nothing");
	write_file("plan.json", "{\"static\": {\"builtin_funcs\": "
	    "[{\"name\": \"no.such\"}]}}");
	refused("builtin no.such: unknown");
	write_file("plan.json", "{\"plans\": {\"plans\": [{\"name\": \"x\", "
	    "\"blocks\": [{\"stmts\": [{\"type\": \"DotStmt\", \"stmt\": {"
	    "\"source\": {\"type\": \"string_index\", \"value\": 7}}}]}]}]}}");
	refused("plans/0 block 0 stmt 0: string index out of range");
	write_file("plan.json", "{\"plans\": {\"plans\": [{\"name\": \"x\", "
	    "\"blocks\": [{\"stmts\": [{\"type\": \"FlyStmt\", \"stmt\": {}}]"
	    "}]}]}}");
	refused("unknown kind of statement");
	(void)state;
}

/* Of a keep that was cut off: its name, six characters and no others. */
static void
leftovers_are_removed(void **state)
{
	static const char *const names[] = { ".new.AbC12z", ".new.keep",
	    ".new.AbC12zz", "new.AbC12z" };
	char parent[] = "/tmp/cs-packs-XXXXXX", path[160], inner[200];
	struct stat st;
	FILE *f;

	assert_non_null(mkdtemp(parent));
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", parent, names[i]);
		assert_int_equal(mkdir(path, 0700), 0);
		snprintf(inner, sizeof(inner), "%s/data.json", path);
		assert_non_null(f = fopen(inner, "w"));
		fclose(f);
	}
	snprintf(path, sizeof(path), "%s/.new.linked", parent);
	assert_int_equal(symlink("new.AbC12z", path), 0);
	policy_packs_tidy(parent);
	assert_int_equal(lstat(path, &st), -1);	/* the link, not where it leads */
	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s/data.json", parent,
		    names[i]);
		assert_int_equal(stat(path, &st), i == 0 ? -1 : 0);
	}
	snprintf(path, sizeof(path), "rm -r %s", parent);
	assert_int_equal(system(path), 0);
	policy_packs_tidy("/nonexistent");
	(void)state;
}

static ino_t
inode_of(const char *parent, const char *digest, const char *name)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s/%s", parent, digest + 7, name);
	assert_int_equal(lstat(path, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	return st.st_ino;
}

/* The digest of the pack with that data, kept in parent. */
static void
keep(const char *parent, const char *text, char digest[POLICY_DIGEST_LEN + 1])
{
	struct policy_pack *pack;
	char err[200], path[PATH_MAX], there[POLICY_DIGEST_LEN + 1];

	write_file("data.json", text);
	pack = load();
	assert_int_equal(policy_pack_keep(pack, parent, err, sizeof(err)), 0);
	snprintf(digest, POLICY_DIGEST_LEN + 1, "%s", policy_pack_digest(pack));
	policy_pack_unref(pack);
	snprintf(path, sizeof(path), "%s/%s", parent, digest + 7);
	assert_int_equal(policy_pack_digest_at(path, there, err, sizeof(err)), 0);
	assert_string_equal(there, digest);
}

/* What a pack has in common with the one before is stored once, and only that. */
static void
unchanged_files_are_kept_once(void **state)
{
	char parent[] = "/tmp/cs-packs-XXXXXX", path[PATH_MAX];
	char a[POLICY_DIGEST_LEN + 1], b[POLICY_DIGEST_LEN + 1],
	    c[POLICY_DIGEST_LEN + 1], d[POLICY_DIGEST_LEN + 1];
	FILE *f;

	assert_non_null(mkdtemp(parent));
	keep(parent, "{\"x\":1}", a);
	keep(parent, "{\"x\":2}", b);
	assert_int_equal(inode_of(parent, a, "plan.json"), inode_of(parent, b, "plan.json"));
	assert_int_not_equal(inode_of(parent, a, "data.json"), inode_of(parent, b, "data.json"));
	/* One that somebody wrote into is not what this pack has. */
	snprintf(path, sizeof(path), "%s/%s/plan.json", parent, b + 7);
	assert_non_null(f = fopen(path, "r+"));
	assert_true(fputc(' ', f) == ' ' && fclose(f) == 0);
	keep(parent, "{\"x\":3}", c);
	assert_int_not_equal(inode_of(parent, c, "plan.json"), inode_of(parent, b, "plan.json"));
	/* Nor is a link to it, however good what it leads to. */
	snprintf(path, sizeof(path), "cd %s/%s && mv plan.json ../other && ln -s ../other plan.json",
	    parent, c + 7);
	assert_int_equal(system(path), 0);
	keep(parent, "{\"x\":4}", d);
	(void)inode_of(parent, d, "plan.json");
	snprintf(path, sizeof(path), "rm -r %s", parent);
	assert_int_equal(system(path), 0);
	(void)state;
}

static void
entry_point_is_needed_to_allow(void **state)
{
	struct policy_input in = request("GET", "/");
	struct policy_pack *pack;

	write_file("plan.json", "{}");
	pack = load();
	decide(pack, &in, POLICY_DENY, "engine/entry");
	policy_pack_unref(pack);
	(void)state;
}

static void
input_json(void **state)
{
	struct policy_input in = request("GET", "/a\"b");
	char text[1024], tiny[8];
	int n = policy_input_json(&in, text, sizeof(text));

	assert_true(n > 0);
	assert_string_equal(text, "{\"action\":{\"kind\":\"http\",\"verb\":"
	    "\"GET\"},\"budget\":{\"bytes_out\":0,\"cost\":0,\"requests\":1,"
	    "\"wall_ms\":0},\"caller\":{\"pid\":42,\"uid\":1000},\"now_ns\":"
	    "\"1700000000000000000\",\"run\":{\"id\":\"run-1\",\"opened_ns\":1,"
	    "\"principal\":\"alice\"},\"secret\":{\"binding\":\"github\","
	    "\"name\":\"github\",\"version\":1},\"target\":{\"host\":"
	    "\"api.github.example\",\"path\":\"/a\\\"b\",\"port\":443,"
	    "\"scheme\":\"https\"},\"v\":1}");
	for (size_t cap = 0; cap <= (size_t)n; cap++)
		assert_int_equal(policy_input_json(&in, text, cap), -1);
	assert_int_equal(policy_input_json(&in, text, (size_t)n + 1), n);
	assert_int_equal(policy_input_json(&in, tiny, sizeof(tiny)), -1);
	in.target.path = (struct policy_str){ "/\xff", 2 };
	assert_int_equal(policy_input_json(&in, text, sizeof(text)), -1);
	in.target.path = (struct policy_str){ "/\n\x7f", 3 };
	in.delegation = (struct policy_str){ "{\"b\": [1,2],\"a\":1.0}", 20 };
	assert_true(policy_input_json(&in, text, sizeof(text)) > 0);
	assert_non_null(strstr(text, "\"path\":\"/\\u000a\\u007f\""));
	assert_non_null(strstr(text,
	    "\"delegation\":{\"a\":1.0,\"b\":[1,2]}"));
	in.delegation = (struct policy_str){ "{]", 2 };
	assert_int_equal(policy_input_json(&in, text, sizeof(text)), -1);
	(void)state;
}

/* Members are changed, left out, or made to need an escape, one input behind each
 * other one: the text is what it is without the one before it. */
static void
input_json_again(void **state)
{
	static struct policy_input_kept kept;
	const struct policy_input first = request("GET", "/a");
	struct policy_input inputs[] = { first, first, first, first, first, first,
	    first, first, first, first, first, first, first };
	char text[4096], again[4096];
	size_t n = sizeof(inputs) / sizeof(*inputs);
	int len;

	inputs[1].now_ns++;
	inputs[2].target.path = (struct policy_str){ "/another/one", 12 };
	inputs[3].target.path = (struct policy_str){ "/a\"\n", 4 };
	inputs[4].target.path = (struct policy_str){ "/\\\"", 3 };
	inputs[5].target.path = (struct policy_str){ "", 0 };
	inputs[6].delegation = (struct policy_str){ "{\"b\": [1,2],\"a\":1.0}", 20 };
	inputs[7].delegation = (struct policy_str){ "{\"b\":2}", 7 };
	inputs[8].target.path = (struct policy_str){ "/\xff", 2 };
	inputs[9].delegation = (struct policy_str){ "{]", 2 };
	inputs[10].budget.requests = 1234567;
	inputs[10].action.verb = (struct policy_str){ "POST", 4 };
	inputs[11].run.principal = (struct policy_str){ NULL, 0 };
	inputs[12].target.path = (struct policy_str){ "/\\\\\\\"", 5 };
	for (size_t i = 0; i < 2 * n * n; i++) {
		const struct policy_input *in = &inputs[i % 2 == 0 ?
		    i / 2 / n : i / 2 % n];

		if (i % 2 == 0)
			memset(&kept, 0, sizeof(kept));
		len = policy_input_json(in, text, sizeof(text));
		assert_int_equal(policy_input_json_again(&kept, in, again,
		    sizeof(again)), len);
		if (len >= 0)
			assert_string_equal(text, again);
	}
	len = policy_input_json(&first, text, sizeof(text));
	for (int i = 0; i < 2; i++) {
		for (size_t cap = 0; cap <= (size_t)len; cap++)
			assert_int_equal(policy_input_json_again(&kept, &first,
			    again, cap), -1);
		assert_int_equal(policy_input_json_again(&kept, &first, again,
		    (size_t)len + 1), len);
	}
	(void)state;
}

static void
default_pack_is_not_overwritten(void **state)
{
	char path[80], err[256] = "";

	snprintf(path, sizeof(path), "%s/pack", dir);
	assert_int_equal(policy_default_pack_write(path, err, sizeof(err)),
	    -1);
	assert_string_not_equal(err, "");
	(void)state;
}

static void
data_document(void **state)
{
	struct policy_pack *pack;
	const char *text;
	size_t n;

	write_file("data.json", "{\"b\": 1.50, \"a\": [true]}");
	pack = load();
	text = policy_pack_data(pack, &n);
	assert_string_equal(text, "{\"a\":[true],\"b\":1.50}");
	assert_int_equal(n, strlen(text));
	policy_pack_unref(pack);
	(void)state;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(default_pack_denies), T(requests), T(obligations),
		T(hostile_input), T(digest_covers_every_file), T(bad_packs),
		T(leftovers_are_removed), T(unchanged_files_are_kept_once),
		T(entry_point_is_needed_to_allow), T(input_json),
		T(input_json_again),
		T(default_pack_is_not_overwritten), T(data_document),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
