/* Coverage manifests, ground truth and the logs it is made of: whatever is read is
 * in one spelling, and what an import writes is read again whole.  Nothing is signed
 * by a key that signed nothing. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/coverage/import.h"
#include "ledger/coverage/signed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(int condition)
{
	if (!condition)
		abort();
}

static void
check_key(const char *key)
{
	static struct act act, again;
	char *twice;

	act_of_key(&act, key);
	require(act_set(&again, act.kind, act.verb, act.target) == NULL);
	require((twice = act_key(&again)) != NULL && strcmp(key, twice) == 0);
	free(twice);
}

static void
truth(const char *text, size_t len, uint64_t unread, int must)
{
	struct truth t;
	char err[160] = "";
	int result = truth_parse(&t, text, len, err, sizeof(err));

	require(result == 0 || err[0] != '\0');
	require(!must || (result == 0 && t.bad == 0 && t.unread == unread));
	for (size_t i = 0; i < t.n; i++)
		check_key(t.seen[i].key);
	truth_free(&t);
}

static void
import(const uint8_t *data, size_t len, enum import_format format)
{
	const struct import_options options = { .format = format, .source = "fuzz",
	    .base = "https://api.example.com" };
	struct import_result result;
	char err[160] = "", *text = NULL;
	size_t n = 0;
	FILE *in = fmemopen((void *)(uintptr_t)data, len, "r");
	FILE *out = open_memstream(&text, &n);

	require(in != NULL && out != NULL);
	require(import_run(in, &options, out, &result, err, sizeof(err)) == 0);
	fclose(in);
	fclose(out);
	truth(text, n, result.unread, 1);
	free(text);
}

static void
judge_signature(const char *text, size_t len)
{
	static const char vkey[] = "one.example.com+b58aa92b+ASg01J9RUKjUB0HoZPcByeMIeXtpGqVBQIAbFGXm58Ct";
	char name[NOTE_NAME_MAX + 1];
	struct note_key key;
	size_t which;

	require(note_key_parse(&key, vkey, sizeof(vkey) - 1) == 0);
	require(signed_judge(text, len, &key, 1, &which, name) != SIGNED_GOOD);
	require(signed_text_len(text, len) <= len);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct claim claim;
	char err[160] = "";

	if (claim_parse(&claim, (const char *)data, len, err, sizeof(err)) != 0)
		require(err[0] != '\0');
	claim_free(&claim);
	truth((const char *)data, len, 0, 0);
	judge_signature((const char *)data, len);
	for (int format = IMPORT_COMBINED; len > 0 && format < IMPORT_FORMATS; format++)
		import(data, len, format);
	return 0;
}
