#include "vault/vault_choose.h"
#include "vault/vault_file.h"
#include "vault/vault_kv.h"
#include "vault/vault_secretservice.h"

enum vault_status
vault_choose(const struct conf *conf, const char *path, const uint8_t *key,
    struct vault **out, struct vault_error *err)
{
	*out = NULL;
	switch (conf->store) {
	case CONF_STORE_FILE:
		return vault_file_open(path, key, out, err);
	case CONF_STORE_SECRETSERVICE:
		return vault_secretservice_open(path, out, err);
	case CONF_STORE_KV:
		return vault_kv_open(&conf->kv, out, err);
	}
	return vault_fail(err, VAULT_INVALID, "no such store");
}
