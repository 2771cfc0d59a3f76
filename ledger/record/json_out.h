/*
 * Writes JSON into a buffer of fixed size: what record bodies, receipts and
 * reports are made of.  Commas are put where they belong.  Once something did
 * not fit, every further call does nothing and json_out_end reports it.
 *
 * Strings are escaped so that the result is one line of valid UTF-8 without
 * control bytes; a byte that is not valid UTF-8, or NUL, becomes U+FFFD.
 */
#ifndef LEDGER_RECORD_JSON_OUT_H
#define LEDGER_RECORD_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_out {
	char *buf;
	size_t cap, len;
	bool overflow, comma;
};

void json_out_begin(struct json_out *out, char *buf, size_t cap);

/* A NULL key stands for an array element or the outermost value. */
void json_out_object(struct json_out *out, const char *key);
void json_out_object_end(struct json_out *out);
void json_out_array(struct json_out *out, const char *key);
void json_out_array_end(struct json_out *out);
void json_out_str(struct json_out *out, const char *key, const char *text);
void json_out_strn(struct json_out *out, const char *key, const char *text,
    size_t len);
void json_out_int(struct json_out *out, const char *key, int64_t value);
void json_out_uint(struct json_out *out, const char *key, uint64_t value);
void json_out_bool(struct json_out *out, const char *key, bool value);
void json_out_null(struct json_out *out, const char *key);
void json_out_hex(struct json_out *out, const char *key, const uint8_t *bytes,
    size_t len);
/* raw must be one valid JSON value. */
void json_out_raw(struct json_out *out, const char *key, const char *raw,
    size_t len);

/* Terminates with NUL.  The length, or -1 where it did not fit. */
int json_out_end(struct json_out *out);

/* The bytes as 2 * len lowercase digits at `at`; the place behind them. */
char *json_hex(char *at, const uint8_t *bytes, size_t len);

#endif
