/*
 * A secret's bytes in locked, guarded memory (sodium_malloc), counted, wiped
 * when the last reference goes.  There is no accessor that returns a C string.
 */
#ifndef BROKER_SECRET_H
#define BROKER_SECRET_H

#include "slice.h"

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MAX 16384	/* bytes of one secret */

struct secret;

/* Copies and takes a first reference.  NULL where memory cannot be locked or
 * len is 0 or above SECRET_MAX. */
struct secret *secret_new(const void *bytes, size_t len);
struct secret *secret_ref(struct secret *secret);
void secret_unref(struct secret *secret);	/* NULL-safe; any thread */

/* The bytes, for the one function that writes them into a request head and for
 * those that derive from them; valid while the reference is held. */
struct slice secret_bytes(const struct secret *secret);

/* Constant time for equal lengths. */
bool secret_equal(const struct secret *a, const void *bytes, size_t len);

/*
 * Locked, guarded memory for keys and the like: len bytes ending at a guard
 * page, so aligned only where len is.  NULL where memory cannot be had or
 * locked.  Free (and wipe) with secret_memory_free, NULL-safe.
 */
void *secret_memory_new(size_t len);
void secret_memory_free(void *memory);

/* Wipes and frees a string of malloc's; NULL-safe. */
void secret_text_free(char *text);

/* Operator's choice (conf allow_unlocked_memory): accept memory that cannot be
 * locked.  Call before any thread is started. */
void secret_allow_unlocked(bool allow);

/* May these bytes be stored as a credential?  NULL, or why not, to be read
 * after "the secret" ("contains CR, LF or NUL", ...).  *len is shortened by
 * one final newline (LF or CRLF). */
const char *secret_check(const void *bytes, size_t *len);

#endif
