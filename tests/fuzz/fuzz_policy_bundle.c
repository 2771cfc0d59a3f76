/* A tar.gz from anywhere; and, so that mutations get past the checksum of
 * gzip, a bare tar behind the byte 'T', which is compressed here. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "policy/bundle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
read_it(const void *bytes, size_t len)
{
	struct pack_files files = { 0 };
	char err[300] = "";
	size_t i;

	if (bundle_read(&files, bytes, len, err, sizeof(err)) == 0) {
		for (i = 0; i < files.n; i++)
			if (strstr(files.file[i].path, "..") != NULL &&
			    strncmp(files.file[i].path, "../", 3) == 0)
				abort();
		bundle_verify(&files, "secret", 6, err, sizeof(err));
	} else if (err[0] == '\0') {
		abort();
	}
	pack_files_free(&files);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t out[300000];
	z_stream z = { 0 };

	if (len == 0 || data[0] != 'T') {
		read_it(data, len);
		return 0;
	}
	if (len > 262144 || deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8,
	    Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	z.next_in = (Bytef *)(uintptr_t)(data + 1);
	z.avail_in = (uInt)(len - 1);
	z.next_out = out;
	z.avail_out = sizeof(out);
	if (deflate(&z, Z_FINISH) == Z_STREAM_END)
		read_it(out, sizeof(out) - z.avail_out);
	deflateEnd(&z);
	return 0;
}
