/* The scanner's views: one token in every form, each found and nothing else;
 * every format in each view, however the stream is cut; budgets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sodium.h>

#include "ledger/scan/format/formats_impl.h"
#include "ledger/scan/stream.h"
#include "scan_forms.h"

/* Made up; its checksum is right.  Split, so that this file is no finding. */
#define GHP "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

struct seen {
	unsigned found, surely, low, incomplete;
	uint64_t offset, line, len;
	char what[64], chain[96], why[128];
};

static struct scan_worker *worker;

static void
on_found(void *context, const struct scan_found *found)
{
	struct seen *seen = context;

	seen->found++;
	seen->surely += found->confidence == SCAN_HIGH;
	seen->low += found->confidence == SCAN_LOW;
	seen->offset = found->offset;
	seen->line = found->line;
	seen->len = found->len;
	snprintf(seen->what, sizeof(seen->what), "%s", found->what);
	snprintf(seen->chain, sizeof(seen->chain), "%s", found->chain);
}

static void
on_incomplete(void *context, const char *chain, const char *why)
{
	struct seen *seen = context;

	if (seen->incomplete++ == 0)
		snprintf(seen->why, sizeof(seen->why), "%s", why);
}

/* In two pieces, and windows of the given size. */
static struct seen
scan_cut(const void *text, size_t len, size_t cut, size_t block, size_t overlap)
{
	struct seen seen = { 0 };
	struct scan_sink sink = { on_found, on_incomplete, &seen };
	struct scan_stream *stream = scan_stream_new(worker, &sink, block, overlap);

	assert_non_null(stream);
	scan_stream_feed(stream, text, cut);
	scan_stream_feed(stream, (const uint8_t *)text + cut, len - cut);
	scan_stream_end(stream);
	return seen;
}

static struct seen
scan(const void *text, size_t len)
{
	return scan_cut(text, len, 0, SCAN_BLOCK, SCAN_OVERLAP);
}

static int
setup(void **state)
{
	char err[200];

	return sodium_init() < 0 ||
	    (worker = scan_worker_new(NULL, NULL, &scan_engine_formats, err, sizeof(err))) == NULL;
}

static int
teardown(void **state)
{
	scan_worker_free(worker);
	return 0;
}

/* The matrix: one token is found in each form, with its checksum, and nothing
 * else.  (What zstd cannot make shorter stands in its frame as it is, too.) */
static void
matrix(void **state)
{
	static uint8_t text[SCAN_FORM_MAX];
	unsigned form, found = 0;
	struct seen seen;
	size_t len;

	for (form = 0; form < SCAN_FORMS; form++) {
		len = scan_form_make(form, GHP, text);
		seen = scan(text, len);
		if (seen.surely > 0 && seen.found == seen.surely && seen.incomplete == 0 &&
		    strcmp(seen.what, "github-ghp") == 0)
			found++;
		else
			print_message("# %s: found %u, surely %u, incomplete %u %s %s %s\n",
			    scan_form_name(form), seen.found, seen.surely, seen.incomplete,
			    seen.what, seen.chain, seen.why);
	}
	print_message("# %u of %u forms of one token found\n", found, SCAN_FORMS);
	assert_int_equal(found, SCAN_FORMS);
}

/* One spelling of the token, and that it is found for sure and nothing else. */
static void
is_found(const char *text, const char *chain)
{
	struct seen seen = scan(text, strlen(text));

	if (seen.surely != 1 || seen.found != 1 || strcmp(seen.chain, chain) != 0)
		print_error("%u, %u, chain %s, for %s in %s\n", seen.found, seen.surely,
		    seen.chain, chain, text);
	assert_int_equal(seen.surely, 1);
	assert_int_equal(seen.found, 1);
	assert_string_equal(seen.what, "github-ghp");
	assert_string_equal(seen.chain, chain);
}

/* Quoted-printable may end a line anywhere in a token, also near its beginning. */
static void
soft_ends(void **state)
{
	static const char *const ends[] = { "=\r\n", "=\n" };
	char text[256];

	(void)state;
	for (unsigned e = 0; e < 2; e++) {
		for (size_t at = 1; at < strlen(GHP); at++) {
			snprintf(text, sizeof(text), "From: a\r\n\r\nkey =3D %.*s%s%s and more\r\n",
			    (int)at, GHP, ends[e], GHP + at);
			is_found(text, "escaped");
		}
	}
	is_found("x=\n" GHP "\n", "raw");	/* a value in the next line */
}

/* What is not seen stands in a token, written as itself or escaped, between all its
 * characters or some: an escape may stand for a byte of an escape in its turn. */
static void
unseen(void **state)
{
	static const struct { const char *mark, *chain; } of[] = {
		{ "\xc2\xad", "escaped" }, { "&shy;", "escaped" }, { "&zwnj;", "escaped" },
		{ "&ZeroWidthSpace;", "escaped" }, { "\\u00ad", "escaped" },
		{ "=AD", "escaped" }, { "\\u180e", "escaped" }, { "\xf3\xa0\x84\x80", "escaped" },
		{ "=C2=AD", "escaped > escaped" }, { "%C2%AD", "escaped > escaped" },
		{ "\\xc2\\xad", "escaped > escaped" }, { "\\302\\255", "escaped > escaped" },
		{ "=E2=80=8B", "escaped > escaped" }, { "%E2%80%AD", "escaped > escaped" },
		{ "%EF%BB%BF", "escaped > escaped" }, { "\\u001b[31m", "escaped > escaped" },
		{ "\\x1b[0m", "escaped > escaped" }, { "\\033[1;32m", "escaped > escaped" },
		{ "%1B[0m", "escaped > escaped" }, { "&#27;[0m", "escaped > escaped" },
		{ "x\\b", "escaped > escaped" }, { "x\\u0008", "escaped > escaped" },
		{ "<wbr>", "escaped" }, { "<WBR />", "escaped" }, { "<wbr/>", "escaped" },
		{ "&lt;wbr&gt;", "escaped > escaped" }, { "\\u003cwbr>", "escaped > escaped" },
		{ "\\ud834\\udd73", "escaped" }, { "\\udb40\\udd00", "escaped" },
		{ "&#x17b4;", "escaped" }, { "\\U0001bca0", "escaped" },
	};
	char text[2048];
	size_t i, k, every, n;

	for (i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		for (every = 1; every < strlen(GHP); every += 6) {
			n = (size_t)snprintf(text, sizeof(text), "Subject: x\n\nvalue: ");
			for (k = 0; k < strlen(GHP); k++)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%c%s", GHP[k],
				    k % every == every - 1 && GHP[k + 1] != '\0' ? of[i].mark : "");
			snprintf(text + n, sizeof(text) - n, " end\n");
			is_found(text, of[i].chain);
		}
	}
}

/* A code point in UTF-16 or UTF-32. */
static size_t
wide(uint8_t *out, uint32_t c, size_t size, bool big)
{
	const uint32_t pair = 0xd800dc00u | (c - 0x10000) >> 10 << 16 | ((c - 0x10000) & 0x3ff);
	const bool two = size == 2 && c > 0xffff;
	size_t i, n = two ? 4 : size, at;

	for (i = 0; i < n; i++) {
		at = i % size;
		out[i] = (uint8_t)((two ? pair >> (i < 2 ? 16 : 0) : c) >>
		    8 * (big ? size - 1 - at : at));
	}
	return n;
}

/* The same in UTF-16 and UTF-32, of either order, wherever the stream is cut. */
static void
unseen_wide(void **state)
{
	static const uint32_t marks[] = { 0xad, 0x34f, 0x61c, 0x115f, 0x17b4, 0x180e, 0x200b, 0x200d,
	    0x2060, 0x3164, 0xfe0f, 0xfeff, 0x1bca0, 0x1d173, 0xe0100 };
	static const struct { size_t size; bool big; } orders[] = { { 2, false }, { 2, true },
	    { 4, false }, { 4, true } };
	const char *const text = "key: " GHP " end\n";
	uint8_t bytes[2048];
	struct seen whole, cut;
	size_t m, o, i, every, n;

	(void)state;
	for (m = 0; m < sizeof(marks) / sizeof(marks[0]); m++)
		for (o = 0; o < 4; o++)
			for (every = 1; every < strlen(GHP); every += 7) {
				for (i = n = 0; text[i] != '\0'; i++) {
					n += wide(bytes + n, (uint8_t)text[i], orders[o].size, orders[o].big);
					if (i >= 5 && i % every == 0 && text[i + 1] != ' ')
						n += wide(bytes + n, marks[m], orders[o].size, orders[o].big);
				}
				whole = scan(bytes, n);
				if (whole.surely != 1 || whole.found != 1)
					fail_msg("U+%04X between in UTF-%zu, %s", (unsigned)marks[m],
					    8 * orders[o].size, orders[o].big ? "BE" : "LE");
				for (i = 0; every == 1 && i <= n; i++) {
					cut = scan_cut(bytes, n, i, SCAN_BLOCK, SCAN_OVERLAP);
					assert_memory_equal(&cut, &whole, sizeof(cut));
				}
			}
	/* such units end other words as before */
	assert_int_equal(scan("x\0\x0b \0\0y\0", 8).found, 0);
}

/* Base64 in the lines of a letter that is answered, cut anywhere in the token. */
static void
quoted_base64(void **state)
{
	static const char *const marks[] = { "> ", ">", ">> ", "> > " };
	char plain[128], digits[256], text[1024];
	size_t m, before, i, n;

	for (m = 0; m < sizeof(marks) / sizeof(marks[0]); m++) {
		for (before = 0; before < 24; before++) {
			snprintf(plain, sizeof(plain), "%.*s %s and more", (int)before,
			    "some words in front of it", GHP);
			sodium_bin2base64(digits, sizeof(digits), (const uint8_t *)plain,
			    strlen(plain), sodium_base64_VARIANT_ORIGINAL);
			n = (size_t)snprintf(text, sizeof(text), "They wrote:\n");
			for (i = 0; i < strlen(digits); i += 20)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.20s\n",
				    marks[m], digits + i);
			assert_int_equal(scan(text, n).surely, 1);
		}
	}
}

static void
turn(char *text)
{
	size_t i, n = strlen(text);
	char c;

	for (i = 0; i < n / 2; i++) {
		c = text[i];
		text[i] = text[n - 1 - i];
		text[n - 1 - i] = c;
	}
}

/* Encoded, then turned around; from each phase, glued, and with padding. */
static void
turned_base64(void **state)
{
	static const char *const before[] = { "", "a", "ab", "abc:", "some words: " };
	static const char *const after[] = { "", "\n", " z", ";\n=" };
	char plain[128], text[256], whole[300];
	size_t i, k;

	(void)state;
	for (i = 0; i < 5; i++)
		for (k = 0; k < 4; k++) {
			snprintf(plain, sizeof(plain), "%s%s%s", before[i][0] != 'a' ? before[i] :
			    "k= ", GHP, after[k]);
			sodium_bin2base64(text, sizeof(text), (const uint8_t *)plain, strlen(plain),
			    k % 2 != 0 ? sodium_base64_VARIANT_ORIGINAL :
			    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
			turn(text);
			snprintf(whole, sizeof(whole), "%s%s\n", i < 4 ? before[i] : "", text);
			is_found(whole, "base64 > reversed");
		}
}

static void
lower_base32(void **state)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	const char *token = "x=" GHP "\n";
	char text[128];
	size_t n = 0;
	uint32_t window = 0;
	unsigned have = 0;

	(void)state;
	for (; *token != '\0'; token++) {
		window = window << 8 | (uint8_t)*token;
		for (have += 8; have >= 5; have -= 5)
			text[n++] = digits[window >> (have - 5) & 31];
	}
	text[n++] = digits[window << (5 - have) & 31];
	text[n] = '\0';
	is_found(text, "base32");
}

/* As `hexdump -C` (apart 1) and xxd (2) print it. */
static void
dump(const char *text, unsigned apart, char *out)
{
	size_t at, i, n = strlen(text);
	char *p = out;

	for (at = 0; at < n; at += 16) {
		p += sprintf(p, apart == 1 ? "%08zx " : "%08zx:", at);
		for (i = at; i < at + 16; i++) {
			if (apart == 1 ? i % 8 == 0 : i % 2 == 0)
				*p++ = ' ';
			p += i < n ? sprintf(p, "%02x", (uint8_t)text[i]) : sprintf(p, "  ");
			if (apart == 1)
				*p++ = ' ';
		}
		p += sprintf(p, apart == 1 ? " |" : "  ");
		for (i = at; i < at + 16 && i < n; i++)
			*p++ = text[i] >= ' ' ? text[i] : '.';
		p += sprintf(p, apart == 1 ? "|\n" : "\n");
	}
	sprintf(p, apart == 1 ? "%08zx\n" : "", n);
}

static void
dumps(void **state)
{
	char text[200], out[2000] = "some words\n";
	unsigned apart, before;

	(void)state;
	for (apart = 1; apart <= 2; apart++)
		for (before = 0; before < 40; before++) {
			snprintf(text, sizeof(text), "%.*s%s\nand more of it\n", (int)before,
			    "What stands before it: not a secret, no; " , "x=" GHP);
			dump(text, apart, out + (before % 2 != 0 ? 11 : 0));
			is_found(out, "hex");
			memcpy(out, "some words\n", 11);
		}
	/* another line's bytes are not what follows */
	dump("x=" GHP, 1, out);
	memcpy(strstr(out, "00000010"), "00000030", 8);
	assert_int_equal(scan(out, strlen(out)).found, 0);
}

/* A literal in two lines, at every place, as several languages write it. */
static void
literals(void **state)
{
	static const char *const cut[] = { "\" +\n    \"", "\"\n  + \"", "\"\n\t\"", "' .\n '",
	    "\" \\\n    \"", "\"+\r\n\"" };
	char text[200];
	size_t i, at;

	(void)state;
	for (i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
		for (at = 1; at < sizeof(GHP) - 1; at++) {
			snprintf(text, sizeof(text), "  f(%c%.*s%s%s%c);\n", cut[i][0], (int)at,
			    GHP, cut[i], GHP + at, cut[i][0]);
			is_found(text, "escaped");
		}
	/* two operators */
	snprintf(text, sizeof(text), "\"%.20s\" +\n + \"%s\"", GHP, GHP + 20);
	assert_int_equal(scan(text, strlen(text)).surely, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix),
		cmocka_unit_test(soft_ends),
		cmocka_unit_test(unseen),
		cmocka_unit_test(unseen_wide),
		cmocka_unit_test(quoted_base64),
		cmocka_unit_test(turned_base64),
		cmocka_unit_test(lower_base32),
		cmocka_unit_test(dumps),
		cmocka_unit_test(literals),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
