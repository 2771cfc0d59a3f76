/* Settings of any bytes: refused with words, or within their limits. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "conf/conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct conf conf;
	char err[128] = "";

	if (conf_parse(data, len, &conf, err, sizeof(err)) != 0) {
		assert(err[0] != '\0' && memchr(err, 0, sizeof(err)) != NULL);
		return 0;
	}
	assert(conf.workers >= 1 && conf.workers <= 64);
	assert(conf.n_resolve <= CONF_RESOLVE_MAX);
	assert((ntohl(conf.listen.sin_addr.s_addr) >> 24) == 127);
	assert((ntohl(conf.api.sin_addr.s_addr) >> 24) == 127);
	assert(conf.passphrase_file == NULL || conf.passphrase_file[0] == '/');
	for (size_t i = 0; i < conf.n_resolve; i++)
		assert(conf.resolve[i].port != 0 && conf.resolve[i].host[0] != 0);
	conf_free(&conf);
	return 0;
}
