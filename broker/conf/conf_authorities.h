/* The files of authorities that settings name.  Apart from conf.h since only the
 * daemon asks: whoever merely reads the settings need not be able to read those. */
#ifndef BROKER_CONF_CONF_AUTHORITIES_H
#define BROKER_CONF_CONF_AUTHORITIES_H

#include "conf/conf.h"

/* Can each be read, and does it hold a certificate?  What reads them later would
 * fail call by call, and nobody would notice for long.  0, or -1 with a message
 * that names member and file. */
int conf_authorities_check(const struct conf *conf, char *err, size_t err_len);

#endif
