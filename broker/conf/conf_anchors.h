/* The section "anchors" of HOME/config.json: witnesses and time stamping
 * authorities.  Pure.  Private to conf, whose conf_load and conf_free call these. */
#ifndef BROKER_CONF_CONF_ANCHORS_H
#define BROKER_CONF_CONF_ANCHORS_H

#include "conf/conf_read.h"

extern const struct conf_member conf_anchors_members[];

void conf_anchors_defaults(struct conf_anchors *anchors);
void conf_anchors_free(struct conf_anchors *anchors);

#endif
