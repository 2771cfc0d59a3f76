#include "conf/conf_authorities.h"
#include "private_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

static bool
holds_certificate(const char *path)
{
	X509_STORE *store = X509_STORE_new();
	bool holds = store != NULL && X509_STORE_load_file(store, path) == 1;

	X509_STORE_free(store);
	ERR_clear_error();
	return holds;
}

static int
check(const char *member, const char *path, char *err, size_t err_len)
{
	const char *why = "holds no certificate that can be read";

	if (path == NULL || holds_certificate(path))
		return 0;
	if (access(path, R_OK) != 0)
		why = private_file_why(errno);
	snprintf(err, err_len, "config.json: %s: %s %s; name a PEM file with the "
	    "authority's certificate, or leave the member out", member, path, why);
	return -1;
}

int
conf_authorities_check(const struct conf *conf, char *err, size_t err_len)
{
	const struct { const char *member, *path; } files[] = {
		{ "vault.kv.ca_file", conf->kv.ca_file },
		{ "policy.ca_file", conf->policy.ca_file },
		{ "policy.bundle.ca_file", conf->policy.bundle.ca_file },
		{ "anchors.ca_file", conf->anchors.ca_file },
		{ "upstream.ca_file", conf->upstream_ca_file },
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof(files) / sizeof(*files) && rc == 0; i++)
		rc = check(files[i].member, files[i].path, err, err_len);
	for (size_t i = 0; i < conf->anchors.authorities && rc == 0; i++)
		rc = check("anchors.authorities.ca_file",
		    conf->anchors.authority[i].ca_file, err, err_len);
	return rc;
}
