/* Shared by the commands of `countersign policy`. */
#ifndef POLICY_COMMAND_H
#define POLICY_COMMAND_H

#include "policy/pack.h"

/* As all of countersign's commands end: countersign(1). */
enum {
	COMMAND_YES = 0, COMMAND_NO = 1,
	COMMAND_UNSURE = 2,	/* it could not be found out */
	COMMAND_FAILED = 3	/* wrong usage, or files that cannot be read */
};

struct command_args {
	const char *name;		/* of the command */
	const char *operand[16];
	int n;
	const char *entry, *key, *pack, *opa, *ca, *token, *seq;
	bool trace, opa_default, json;
};

int command_check(const struct command_args *args);
int command_eval(const struct command_args *args);
int command_test(const struct command_args *args);
int command_build(const struct command_args *args);
int command_replay(const struct command_args *args);
int command_diff(const struct command_args *args);
int command_explain(const struct command_args *args);
int command_compare(const struct command_args *args);

/* Says what is wrong on stderr; COMMAND_FAILED. */
int command_fail(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Print text that was read somewhere, LFs as \n: it is no line of ours. */
void command_put(const char *text, size_t len);
/* Print each statement that does not hold and what each rule gives while eval
 * runs; tracer must stay as long. */
struct command_tracer {
	const struct policy_pack *pack;
	struct arena *arena;
};
void command_trace(struct command_tracer *tracer, struct eval *eval);

/* With args->key, only a signed one.  NULL after a message. */
struct policy_pack *command_pack(const struct command_args *args,
    const char *path);
/* What policy_command_reader's reader says of the data: 0, or -1 after a
 * message on stdout. */
int command_data_read(const struct policy_pack *pack);
/* A whole file ("-": standard input), terminated; NULL after a message. */
char *command_read(const char *path, size_t *len);
/*
 * opa build -t plan for these entry points over dir; the text of plan.json
 * (malloc) or NULL after a message.  with_tests: *_test.rego, too.
 */
char *command_opa_plan(const char *dir, const char *const *entries, size_t n,
    bool with_tests, size_t *len);

#endif
