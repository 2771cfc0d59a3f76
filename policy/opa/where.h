#ifndef POLICY_OPA_WHERE_H
#define POLICY_OPA_WHERE_H

/* The socket's path within where; NULL: it is a URL. */
const char *opa_where_socket(const char *where);

#endif
