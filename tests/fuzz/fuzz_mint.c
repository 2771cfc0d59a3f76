/*
 * What tokens are got with, and what a token endpoint answers.  What is read has the parts
 * that its flow needs, can be worded as a request, and with another refresh token it is read
 * again as itself with that one; a token that is taken fits into a head.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mint/answer.h"
#include "mint/request.h"
#include "mint/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(bool condition)
{
	if (!condition)
		abort();
}

static void
again(const struct mint_source *source)
{
	struct mint_source other;
	char *value, err[256];

	value = mint_source_with(source, SLICE("another-refresh-token"));
	require(value != NULL);
	require(mint_source_read(slice_of(value), &other, err, sizeof(err)) == 0);
	require(strcmp(other.refresh_token, "another-refresh-token") == 0);
	require(strcmp(other.token_url, source->token_url) == 0);
	mint_source_free(&other);
	free(value);
}

static void
try_source(struct slice value)
{
	struct slice parts[MINT_SOURCE_SECRETS];
	struct mint_source source;
	struct mint_request request;
	char err[256] = "";

	if (mint_source_read(value, &source, err, sizeof(err)) != 0) {
		require(err[0] != '\0' && source.json == NULL);
		return;
	}
	require(mint_source_secrets(&source, parts) > 0);
	if (mint_request_make(&source, 1800000000, &request, err, sizeof(err)) == 0) {
		require(strncmp(request.url, "http", 4) == 0 && request.body != NULL);
		require(request.authorization == NULL ||
		    strpbrk(request.authorization, "\r\n") == NULL);
		mint_request_free(&request);
	}
	if (source.revocation_url != NULL &&
	    mint_request_withdraw(&source, "token", "access_token", &request) == 0)
		mint_request_free(&request);
	if (source.flow == MINT_REFRESH_TOKEN)
		again(&source);
	mint_source_free(&source);
}

static void
try_answer(uint8_t kind, const char *text, size_t len)
{
	struct mint_answer answer;
	char err[256] = "";
	struct slice token;

	if (mint_answer_read((enum mint_flow)(kind & 3), kind & 4 ? 400 : 200, text, len,
	    1800000000, &answer, err, sizeof(err)) != 0) {
		require(err[0] != '\0' && answer.token == NULL);
		mint_answer_release(&answer);
		return;
	}
	require((kind & 4) == 0 && answer.life_s > 0 && answer.life_s <= MINT_LIFE_MAX_S);
	token = secret_bytes(answer.token);
	for (size_t i = 0; i < token.n; i++)
		require((unsigned char)token.p[i] >= ' ' && token.p[i] != 0x7f);
	mint_answer_release(&answer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	secret_allow_unlocked(true);
	if (len == 0)
		return 0;
	if (mint_source_p((struct slice){ (const char *)data, len }))
		try_source((struct slice){ (const char *)data, len });
	else
		try_answer(data[0], (const char *)data + 1, len - 1);
	return 0;
}
