/* A bundle's manifest: what is read is written again as the same bytes, its
 * paths are clean and in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/evidence/manifest.h"
#include "fuzz_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(int condition)
{
	if (!condition)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct manifest manifest, again;
	char err[160] = "", *text, *twice;
	size_t i, n, k;

	if (manifest_parse(&manifest, (const char *)data, len, err, sizeof(err)) != 0) {
		require(err[0] != '\0');
		manifest_free(&manifest);
		return 0;
	}
	for (i = 0; i < manifest.count; i++) {
		require(manifest_path_clean(manifest.file[i].path));
		require(i == 0 || strcmp(manifest.file[i - 1].path, manifest.file[i].path) < 0);
		require(manifest_find(&manifest, manifest.file[i].path) == &manifest.file[i]);
	}
	text = manifest_format(&manifest, &n);
	require(text != NULL);
	require(manifest_parse(&again, text, n, err, sizeof(err)) == 0);
	twice = manifest_format(&again, &k);
	require(twice != NULL && n == k && memcmp(text, twice, n) == 0);
	free(text);
	free(twice);
	manifest_free(&manifest);
	manifest_free(&again);
	return 0;
}
