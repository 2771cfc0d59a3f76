/* What tells a real secret among the values of an environment. */
#include "gate/admin.h"

#include "gate/impl.h"
#include "gate/secrets.h"
#include "gate/versions.h"

#include <sodium.h>

struct tagging {
	const uint8_t *key;
	gate_scrub_each *each;
	void *arg;
};

static void
tag_one(void *arg, struct slice secret)
{
	const struct tagging *tagging = arg;
	uint8_t tag[KEYED_LEN], mark[GATE_MARK_LEN];

	keyed_digest(tagging->key, secret, tag);
	crypto_shorthash(mark, (const uint8_t *)secret.p, secret.n, tagging->key);
	tagging->each(tagging->arg, tag, mark, secret.n);
}

static void
tag_version(void *arg, const char *name, uint32_t version,
    struct secret *secret)
{
	tag_one(arg, secret_bytes(secret));
}

bool
gate_scrub_tags(struct gate *gate, uint8_t key[32], gate_scrub_each *each,
    void *arg)
{
	struct tagging tagging = { key, each, arg };
	bool complete;

	randombytes_buf(key, KEYED_LEN);
	complete = versions_each(gate->vault, tag_version, &tagging, NULL);
	/* Those in use are known even where the store does not answer now. */
	if (!complete)
		secrets_each(&gate->secrets, tag_one, &tagging);
	else if (gate->secrets.minter != NULL)
		minter_each(gate->secrets.minter, tag_version, &tagging);
	return complete;
}
