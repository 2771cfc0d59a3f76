/*
 * Checks that bytes are one JSON object by the ledger's rules, which leave two
 * readers no room to disagree.  It builds nothing and allocates nothing, so it
 * can stand in front of every record that is written or verified.
 *
 * Beyond RFC 8259 it refuses: white space between tokens; raw bytes below 0x20
 * and 0x7f; invalid UTF-8; U+0000 and lone surrogates, escaped or not; the same
 * name twice in one object; a name that holds an escape or more than
 * JSON_NAME_MAX bytes; more than JSON_NAMES_MAX names in one object; values
 * nested deeper than JSON_DEPTH_MAX; integers beyond 2^53-1 either way; other
 * numbers of more than JSON_NUMBER_MAX bytes or with an exponent of more than
 * two digits.
 */
#ifndef LEDGER_RECORD_JSON_SCAN_H
#define LEDGER_RECORD_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 16
#define JSON_NAMES_MAX 128
#define JSON_NAME_MAX 128
#define JSON_NUMBER_MAX 32
#define JSON_SCAN_MAX 65535	/* bytes of one object */
#define JSON_INT_MAX ((UINT64_C(1) << 53) - 1)

/* Names of the objects open at one time: scratch of one thread, to be left
 * uninitialised; nothing in it outlives a call. */
struct json_scan {
	struct json_scan_name {
		uint16_t at, key;	/* where; its length and a hash */
	} names[JSON_DEPTH_MAX * JSON_NAMES_MAX];
};

/* NULL where text[0..len) is such an object and nothing else; otherwise the
 * rule that it breaks, as static text. */
const char *json_scan_object(struct json_scan *scratch, const char *text,
    size_t len);

/* The same, and where the value of the object's own member of that name (not
 * one of an object inside) stands in text: *value_len 0 where there is none. */
const char *json_scan_member(struct json_scan *scratch, const char *text,
    size_t len, const char *name, const char **value, size_t *value_len);

/* The string, number or word that begins at `at` in text[0..len): where it ends,
 * or NULL where none does, or it breaks a rule. */
const char *json_scan_scalar(const char *text, size_t len, const char *at);

#endif
