/* The engine that decides, as the settings have it. */
#ifndef BROKER_DAEMON_ENGINE_H
#define BROKER_DAEMON_ENGINE_H

#include "conf.h"
#include "policy/opa/opa.h"

/* *out is NULL where it is the evaluator.  0, or -1 with a message. */
int engine_open(const struct conf_policy *conf, struct opa **out, char *err,
    size_t err_len);

#endif
