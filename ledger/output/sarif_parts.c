#include <stdio.h>
#include <string.h>

#include "ledger/output/sarif_parts.h"

void
sarif_text(struct json_out *o, const char *key, const char *text)
{
	json_out_object(o, key);
	json_out_str(o, "text", text);
	json_out_object_end(o);
}

void
sarif_uri(struct json_out *o, const char *path, const char *base)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789-._~/";
	char uri[3 * 256 + 1];
	size_t n = 0;

	while (base != NULL && *path == '/')
		path++;
	for (; *path != '\0' && n + 4 < sizeof(uri); path++)
		if (strchr(plain, *path) != NULL)
			uri[n++] = *path;
		else
			n += (size_t)snprintf(uri + n, 4, "%%%02X", (unsigned char)*path);
	uri[n] = '\0';
	json_out_object(o, "artifactLocation");
	json_out_str(o, "uri", uri);
	if (base != NULL)
		json_out_str(o, "uriBaseId", base);
	json_out_object_end(o);
}
