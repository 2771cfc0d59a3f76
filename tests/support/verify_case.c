#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verify_case.h"

void
case_init(struct verify_case *c, const struct note_key *key)
{
	memset(c, 0, sizeof(*c));
	make_temp_dir(c->base);
	c->options.key = key;
	c->options.threads = 1;
}

void
case_free(struct verify_case *c)
{
	verify_free(&c->result);
	remove_tree(c->base);
}

enum verify_verdict
case_verify(struct verify_case *c, const char *dir)
{
	c->options.path = dir;
	verify_free(&c->result);
	if (verify_run(&c->options, &c->result, c->err, sizeof(c->err)) != 0) {
		fprintf(stderr, "verify_run: %s\n", c->err);
		abort();
	}
	return c->result.verdict;
}

enum verify_verdict
case_verify_maker(struct verify_case *c, const struct maker *maker, char *dir)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/made", c->base);
	remove_tree(path);
	maker_save(maker, path, 0);
	if (dir != NULL)
		memcpy(dir, path, sizeof(path));
	return case_verify(c, path);
}

const struct verify_finding *
case_find(const struct verify_case *c, const char *code)
{
	unsigned i;

	for (i = 0; i < c->result.findings; i++)
		if (strcmp(c->result.finding[i].code, code) == 0)
			return &c->result.finding[i];
	return NULL;
}

void
case_say(const struct verify_case *c)
{
	const struct verify_finding *f;
	unsigned i;

	for (i = 0; i < c->result.findings; i++) {
		f = &c->result.finding[i];
		fprintf(stderr, "%s index %llu count %llu line %llu: %s\n", f->code,
		    (unsigned long long)f->index, (unsigned long long)f->count,
		    (unsigned long long)f->line, f->what);
	}
}
