/* What JWTs that are read (jwt.c) and made (jwt_sign.c) share. */
#ifndef POLICY_BUILTINS_JWT_H
#define POLICY_BUILTINS_JWT_H

#include "policy/value/value.h"

/* JSON as OPA takes it in headers and payloads. */
extern const struct value_json_limits jwt_json_limits;

#endif
