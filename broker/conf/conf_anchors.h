/* The section "anchors" of HOME/config.json: witnesses and time stamping
 * authorities.  Pure. */
#ifndef BROKER_CONF_CONF_ANCHORS_H
#define BROKER_CONF_CONF_ANCHORS_H

#include "conf/conf.h"

#include <jansson.h>

void conf_anchors_defaults(struct conf_anchors *anchors);

/* 0, or -1 with a message that names the member; what was read is freed with
 * the rest of it either way. */
int conf_anchors_read(const json_t *value, struct conf_anchors *out, char *err,
    size_t err_len);
void conf_anchors_free(struct conf_anchors *anchors);

#endif
