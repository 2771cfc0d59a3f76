/*
 * A run by hand, of seconds 0 to 59, whose records and ground truth a test writes
 * line by line, held against each other.
 */
#ifndef TESTS_COVERAGE_SCENE_H
#define TESTS_COVERAGE_SCENE_H

#include "ledger/coverage/coverage.h"
#include "ledger_maker.h"

#define T0 INT64_C(1796000400)	/* 2026-11-30T01:00:00Z */

#define CLAIM(sees, cannot, leaves) "{\"v\":1,\"kind\":\"countersign-coverage\",\"adapter\":" \
	"\"proxy\",\"version\":\"1\",\"sees\":[" sees "],\"cannot_see\":[" cannot \
	"],\"leaves_out\":[" leaves "]}"

#define HEAD "{\"v\":1,\"type\":\"countersign-truth\",\"source\":\"s\",\"sees\":[{\"kind\":\"http\"},{\"kind\":\"tcp\"},{\"kind\":\"dns\"}]"
#define AT(s) "\"t\":\"2026-11-30T01:00:" s "Z\""
#define SEEN(s, path) "{" AT(s) ",\"kind\":\"http\",\"verb\":\"GET\",\"target\":\"https://h" path "\"}\n"

#define ALL CLAIM("{\"kind\":\"http\"},{\"kind\":\"tcp\"}", "{\"kind\":\"dns\",\"what\":\"names\"}", "")
#define ANY HEAD "}\n"

struct scene {
	struct maker m;
	char base[64], dir[96], truth[128];
	int64_t now_us;
	struct verify_result *result;
	struct coverage *coverage;
};

/* The time of what is added next. */
void scene_at(struct scene *scene, double seconds);
/* A record; its index. */
uint64_t scene_add(struct scene *scene, const char *type, const char *run, const char *body);
/* Its leaf, until the next call. */
const char *scene_hex(const struct scene *scene, uint64_t index);
/* A GET of that path of https://h, and its outcome, with more members each. */
uint64_t scene_request(struct scene *scene, const char *type, const char *decision,
    const char *path, const char *more);
void scene_outcome(struct scene *scene, uint64_t of, const char *more);

/* The run's opening with its claims, or NULL for none. */
void scene_begin(struct scene *scene, const char *claim);
/* The truth is given by the verifier; again with another one, as often as wanted. */
enum verify_verdict scene_judge(struct scene *scene, const char *lines);
/* A truth that lies beside the records; and what all that is there gives, with what is
 * set of the options besides the place and the window. */
void scene_bundled(struct scene *scene, const char *name, const char *bytes, size_t len);
enum verify_verdict scene_judge_as(struct scene *scene, const struct coverage_options *how);
void scene_end(struct scene *scene);

#endif
