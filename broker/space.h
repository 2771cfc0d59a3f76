/* How much may still be written where a file is. */
#ifndef BROKER_SPACE_H
#define BROKER_SPACE_H

#include <stdint.h>

/* Below this it is told, while everything still works: some 200,000 records. */
#define SPACE_LOW ((int64_t)64 << 20)

/* Bytes that this user may still write there; -1 where that is not known. */
int64_t space_left(const char *path);

#endif
