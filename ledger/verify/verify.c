#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "ledger/verify/pass.h"

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

static int
load_head(struct load *load, const struct verify_options *options,
    struct seal *head, char *err, size_t err_len)
{
	if (options->head == NULL)
		return 0;
	if (load_saved_head(load, options->head, options->key, head) != 0)
		snprintf(err, err_len, "%.200s: the saved head cannot be read", options->head);
	else if (head->state == SEAL_MALFORMED)
		snprintf(err, err_len, "%.200s: no saved head, which is a signed "
		    "checkpoint: %s", options->head, head->why);
	else
		return 0;
	return -1;
}

static int
run(struct pass *pass, char *err, size_t err_len)
{
	const struct verify_options *options = pass->options;
	struct seal head = { .state = SEAL_MALFORMED, .why = "malformed" };
	int result;

	if (load_open(pass->load, options, pass->result, err, err_len) != 0 ||
	    load_head(pass->load, options, &head, err, err_len) != 0)
		return -1;
	pass->links = links_new(pass->load, pass->load->kind == VERIFY_BUNDLE ?
	    pass->result->run : NULL);
	if (chain_init(&pass->chain, pass->load->kind == VERIFY_BUNDLE) != 0 ||
	    pass->links == NULL) {
		snprintf(err, err_len, "out of memory");
		return -1;
	}
	result = pass_run(pass, err, err_len);
	if (result == -2)
		snprintf(err, err_len, "out of memory");
	if (result == -1 && pass->load->kind == VERIFY_BUNDLE)
		verify_find(pass->result, VERIFY_GAP, "missing_file", "%.250s", err);
	else if (result != 0)
		return -1;
	return judge(pass, &head, err, err_len);
}

int
verify_run(const struct verify_options *options, struct verify_result *result,
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
out:
	if (pass != NULL) {
		chain_free(&pass->chain);
		links_free(pass->links);
	}
	free(pass);
	load_close(&load);
	if (status != 0)
		verify_free(result);
	return status;
}

void
verify_free(struct verify_result *result)
{
	free(result->stream);
	result->stream = NULL;
	result->streams = 0;
}
