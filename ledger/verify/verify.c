#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/verify/pass.h"
#include "ledger/verify/since.h"

const char *
verify_verdict_word(enum verify_verdict verdict)
{
	static const char *const words[] = { "complete", "gap", "not_established" };

	return words[verdict];
}

enum verify_verdict
verify_worse(enum verify_verdict a, enum verify_verdict b)
{
	if (a == VERIFY_GAP || b == VERIFY_GAP)
		return VERIFY_GAP;
	return a == VERIFY_COMPLETE ? b : a;
}

#define ALL_OVER_AGAIN 1	/* what is new cannot be told apart: read all */

static int
run(struct pass *pass, char *err, size_t err_len)
{
	struct load *load = pass->load;
	int result;

	if (load_open(load, pass->options, pass->result, err, err_len) != 0)
		return -1;
	pass->links = links_new(load, load->kind == VERIFY_BUNDLE ? pass->result->run : NULL);
	pass->runs = pass->links == NULL ? NULL : runs_new(load, pass->links);
	pass->bound = bound_new(load, pass->options);
	if (chain_init(&pass->chain, load->kind == VERIFY_BUNDLE) != 0 ||
	    pass->links == NULL || pass->runs == NULL || pass->bound == NULL) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	if (pass->options->since && !since_begin(load, &pass->chain))
		return ALL_OVER_AGAIN;
	if (load->kind == VERIFY_BUNDLE)
		pass->chain.only = pass->result->run;
	pass->chain.origin = load->origin[0] != '\0' ? load->origin : NULL;
	result = pass_run(pass, err, err_len);
	if (result == -2)
		snprintf(err, err_len, "out of memory");
	if (result == -1 && load->kind == VERIFY_BUNDLE)
		verify_find(pass->result, VERIFY_GAP, "missing_file", "%.250s", err);
	else if (result != 0)
		return -1;
	if (pass->options->since && (!since_confirmed(load) || pass->chain.pack_before))
		return ALL_OVER_AGAIN;
	return judge(pass, err, err_len);
}

static int
run_once(const struct verify_options *options, struct verify_result *result,
    char *err, size_t err_len)
{
	struct load load = { .dirfd = -1 };
	struct pass *pass = calloc(1, sizeof(*pass));
	int status = -1;

	memset(result, 0, sizeof(*result));
	if (pass == NULL || sodium_init() < 0) {
		snprintf(err, err_len, "out of memory");
		goto out;
	}
	pass->load = &load;
	pass->result = result;
	pass->options = options;
	pass->opened = pass->teardown = UINT64_MAX;
	status = run(pass, err, err_len);
	if (status == 0) {
		result->note = load.note;
		result->note_len = load.note_len;
		load.note = NULL;	/* transferred */
	}
out:
	if (pass != NULL) {
		chain_free(&pass->chain);
		links_free(pass->links);
		runs_free(pass->runs);
		bound_free(pass->bound);
	}
	free(pass);
	load_close(&load);
	if (status != 0)
		verify_free(result);
	return status;
}

int
verify_run(const struct verify_options *options, struct verify_result *result,
    char *err, size_t err_len)
{
	struct verify_options all = *options;
	int status = run_once(options, result, err, err_len);

	if (status != ALL_OVER_AGAIN)
		return status;
	all.since = false;
	return run_once(&all, result, err, err_len);
}

void
verify_free(struct verify_result *result)
{
	free(result->stream);
	free(result->note);
	result->note = NULL;
	result->stream = NULL;
	result->streams = 0;
}
