/* What went wrong, in words. */
#include "vault/vault.h"
#include "private_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum vault_status
vault_fail(struct vault_error *err, enum vault_status status,
    const char *format, ...)
{
	va_list ap;

	if (err != NULL) {
		err->status = status;
		va_start(ap, format);
		vsnprintf(err->text, sizeof(err->text), format, ap);
		va_end(ap);
	}
	return status;
}

enum vault_status
vault_revoked(struct vault_error *err, const char *name, size_t there,
    size_t done)
{
	if (there == 0)
		return vault_fail(err, VAULT_MISSING, "there is no such secret "
		    "or version of %s", name);
	if (done == 0)
		return vault_fail(err, VAULT_REVOKED, "%s is revoked already",
		    name);
	return VAULT_OK;
}

enum vault_status
vault_current_revoked(struct vault_error *err, const char *name,
    uint32_t version)
{
	return vault_fail(err, VAULT_REVOKED, "%s is revoked: version %u was its "
	    "current one, and an older one does not come back", name, version);
}

enum vault_status
vault_fail_file(struct vault_error *err, const char *path, int error)
{
	enum vault_status status = VAULT_IO;

	if (error == ENOENT)
		status = VAULT_MISSING;
	else if (error == EEXIST)
		status = VAULT_EXISTS;
	else if (error == EPERM || error == ELOOP || error == EINVAL)
		status = VAULT_INVALID;
	else if (error == EFBIG)
		status = VAULT_DAMAGED;
	return vault_fail(err, status, "%s: %s", path, private_file_why(error));
}

const char *
vault_remedy(enum vault_status status)
{
	return status == VAULT_DAMAGED || status == VAULT_MISSING ?
	    "; restore it from a copy" : "";
}
