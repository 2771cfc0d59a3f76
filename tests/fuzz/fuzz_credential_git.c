/* git's question to the credential helper: never answers for a host that no
 * binding covers, never writes beyond its buffer. */
#include "adapters/credential/git.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char bindings[] = "[{\"binding\":\"b\",\"value\":\"dummy\","
    "\"scheme\":\"https\",\"hosts\":[\"git.example.com\"],\"port\":443,"
    "\"placement\":{\"kind\":\"basic\",\"user\":\"robot\"}}]";

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char out[512], err[128];
	int n;

	n = credential_git_answer((struct slice){ (const char *)data, size },
	    bindings, out, sizeof(out), err, sizeof(err));
	if (n > 0 && strcmp(out, "username=robot\npassword=dummy\n") != 0)
		abort();
	return 0;
}
