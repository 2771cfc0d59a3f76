/*
 * What of any secret nobody else may know, each alone: of a key of AWS (aws_keys.h) its
 * second and third part, of what tokens are got with (mint/source.h) what proves who
 * asks, else the value.
 */
#ifndef BROKER_SECRET_PARTS_H
#define BROKER_SECRET_PARTS_H

#include "slice.h"

#include <stdbool.h>

/* Each during the call, until one returns false: then so does this. */
bool secret_parts(struct slice value, bool (*each)(void *arg, struct slice part),
    void *arg);

#endif
