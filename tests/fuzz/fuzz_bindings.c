/* The pack's data document, as an operator or a stranger may have written it. */
#include "binding/binding.h"
#include "fuzz_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bindings *bindings;
	char err[256] = "";

	bindings = bindings_parse((const char *)data, size, err, sizeof(err));
	if (bindings == NULL) {
		if (err[0] == '\0')
			abort();	/* a refusal always says why */
		return 0;
	}
	for (size_t i = 0; i < bindings_count(bindings); i++) {
		const struct binding *one = bindings_at(bindings, i);
		struct target target = { .https = one->https,
		    .port = one->port };
		const struct binding *found;
		size_t cursor = 0;

		if (bindings_by_id(bindings, slice_of(one->id)) != one)
			abort();
		memcpy(target.host, one->hosts[0], strlen(one->hosts[0]) + 1);
		do
			found = bindings_for(bindings, &target, &cursor);
		while (found != NULL && found != one);
		if (found != one)
			abort();	/* what covers a host is found by it */
	}
	bindings_free(bindings);
	return 0;
}
