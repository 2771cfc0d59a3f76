#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "coverage_scene.h"

void
scene_at(struct scene *s, double seconds)
{
	s->now_us = T0 * 1000000 + (int64_t)(seconds * 1e6);
}

uint64_t
scene_add(struct scene *s, const char *type, const char *run, const char *body)
{
	s->m.time_us = s->now_us - MAKER_STEP_US;
	return maker_add(&s->m, "broker", type, run, body);
}

const char *
scene_hex(const struct scene *s, uint64_t index)
{
	static char hex[65];

	for (unsigned i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", s->m.line[index].leaf[i]);
	return hex;
}

uint64_t
scene_request(struct scene *s, const char *type, const char *decision, const char *path,
    const char *more)
{
	char body[1024];

	snprintf(body, sizeof(body), "{\"decision\":\"%s\",\"kind\":\"http\"%s,\"input\":{"
	    "\"action\":{\"kind\":\"http\",\"verb\":\"GET\"},\"target\":{\"host\":\"h\",\"path\":"
	    "\"%s\",\"port\":443,\"scheme\":\"https\"}}}", decision, more, path);
	return scene_add(s, type, "r", body);
}

void
scene_outcome(struct scene *s, uint64_t of, const char *more)
{
	char body[256];

	snprintf(body, sizeof(body), "{\"parent\":\"%s\"%s}", scene_hex(s, of), more);
	scene_add(s, "outcome", "r", body);
}

/* A run from second 0 to 59, with its claims; what lies between is the test's. */
void
scene_begin(struct scene *s, const char *claim)
{
	memset(s, 0, sizeof(*s));
	make_temp_dir(s->base);
	maker_init(&s->m);
	scene_at(s, 0);
	scene_add(s, "open", NULL, "{}");
	scene_add(s, "run", "r", "{\"state\":\"open\"}");
	if (claim != NULL)
		scene_add(s, "coverage", "r", claim);
}

static void
seal(struct scene *s)
{
	if (s->dir[0] != '\0')
		return;
	scene_at(s, 59);
	scene_add(s, "teardown", "r", "{}");
	maker_seal(&s->m);
	snprintf(s->dir, sizeof(s->dir), "%s/ledger", s->base);
	snprintf(s->truth, sizeof(s->truth), "%s/truth.jsonl", s->base);
	maker_save(&s->m, s->dir, 0);
}

enum verify_verdict
scene_judge_as(struct scene *s, const struct coverage_options *how)
{
	struct coverage_options options = *how;
	char err[256] = "";

	seal(s);
	options.dir = s->dir;
	options.run = "r";
	options.window_ms = 2000;
	coverage_free(s->coverage);
	free(s->result);
	s->result = calloc(1, sizeof(*s->result));
	if (coverage_judge(&options, s->result, &s->coverage, err, sizeof(err)) != 0)
		abort();	/* no memory, or no ledger */
	return s->coverage->verdict;
}

enum verify_verdict
scene_judge(struct scene *s, const char *lines)
{
	const char *files[] = { s->truth };
	const struct coverage_options options = { .truth = files, .truths = 1 };

	seal(s);
	write_file(s->base, "truth.jsonl", lines, strlen(lines));
	return scene_judge_as(s, &options);
}

void
scene_bundled(struct scene *s, const char *name, const char *bytes, size_t len)
{
	char dir[128];

	seal(s);
	snprintf(dir, sizeof(dir), "%s/truth", s->dir);
	mkdir(dir, 0700);
	write_file(dir, name, bytes, len);
}

void
scene_end(struct scene *s)
{
	coverage_free(s->coverage);
	free(s->result);
	maker_free(&s->m);
	remove_tree(s->base);
}

