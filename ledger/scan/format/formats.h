/*
 * The token formats that can be told by their looks: prefix, alphabet, length,
 * checksum.  The scanner (engine.h) uses them to find secrets that should not be there;
 * the gate uses them to recognise a token among environment values and to make
 * a dummy with the same shape.
 *
 * A format never proves that a value is live.  A good checksum raises the
 * confidence; a bad one lowers it and never hides a match, since vendors
 * change their rules.  Nothing here keeps or prints a value.
 *
 * Patterns are compiled on first use; every function may be called on any
 * thread.  Time is linear in the text (each pattern's length is bounded).
 */
#ifndef LEDGER_SCAN_FORMAT_FORMATS_H
#define LEDGER_SCAN_FORMAT_FORMATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_TABLE_VERSION "2026-11"	/* said in every verdict: rules drift */

enum scan_confidence {
	SCAN_LOW,	/* looks like one, but its checksum, entropy or context speak against it */
	SCAN_MEDIUM,	/* matches the format */
	SCAN_HIGH	/* and its checksum or structure is right */
};

/* What is tested beyond the pattern.  The checksums come first. */
enum scan_check {
	SCAN_NONE,
	SCAN_CRC32_BASE62,	/* last 6 characters, over the body before them */
	SCAN_CRC32_BASE36,	/* last 7, over everything before them */
	SCAN_CRC32_HEX,		/* last 8, over the body before the last '_' */
	SCAN_CRC32_HEX_LE,	/* last 8, little-endian, over everything before the last '_' */
	SCAN_CRC32_BASE64_LE,	/* last 6, over the body before them */
	SCAN_SHA256_BASE32,	/* characters 77 to 84, over the 77 before them */
	SCAN_BECH32,		/* BIP-173 */
	SCAN_CHECKSUMS,		/* --- not checksums --- */
	SCAN_PEM_BODY,		/* key material follows: not a mention in prose */
	SCAN_JWT,		/* the header is JSON and names an algorithm */
	SCAN_BASIC,		/* decodes to user:password */
	SCAN_NOT_EXAMPLE,	/* documentation's own values end in EXAMPLE */
	SCAN_PASSWORD,		/* in a URL: no ${NAME}, ***; surer where it looks chosen */
	SCAN_BEARER,		/* the same of a header's token */
	SCAN_PEM_BASE64,	/* decodes to a private key, not to a certificate */
	SCAN_LOOKS_RANDOM	/* digits and letters, no plain words */
};

struct scan_format;		/* one row of the table */

struct scan_match {
	const struct scan_format *format;
	size_t start, len;	/* in the text */
	size_t prefix_len;	/* bytes from start to the body's first */
	enum scan_confidence confidence;
	bool identifier;	/* names an account, opens nothing by itself */
};

unsigned scan_formats_count(void);
const char *scan_format_id(const struct scan_format *format);	/* "github-ghp" */
/* The check of the format: a checksum where it is below SCAN_CHECKSUMS. */
enum scan_check scan_format_check(const struct scan_format *format);

/*
 * Whether the whole value is one token of a known format; context formats
 * ("password = …") never are.  For environment values, and for placeholders.
 */
bool scan_formats_match(const char *value, size_t len, struct scan_match *out);

/*
 * A dummy of value's shape: what the format fixes is kept, every other byte is
 * drawn at random from the alphabet of its place, the checksum is made right.
 * value must be what scan_formats_match matched; out gets len bytes, no NUL.
 * 0, or -1 where the value is no match.  Call sodium_init() before.
 */
int scan_formats_dummy(const char *value, size_t len, char *out);

/*
 * How many tenths of a bit each byte of value hides from one who knows its
 * format: nothing where the format fixes it, where it is a checksum of the
 * rest, or where it encodes what can be guessed.  tenths gets len numbers.
 * false where value is no whole token of a known format.
 */
bool scan_formats_hidden(const char *value, size_t len, uint8_t *tenths);

#endif
