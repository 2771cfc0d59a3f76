/* Where an OPA server is, as the settings have it (opa.h: opa_where_wrong).  Private
 * to opa. */
#ifndef POLICY_OPA_WHERE_H
#define POLICY_OPA_WHERE_H

/* The socket's path, within where and as long as it; NULL: where is a URL. */
const char *opa_where_socket(const char *where);

#endif
