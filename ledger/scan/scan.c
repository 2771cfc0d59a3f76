#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/evidence.h"
#include "ledger/scan/scan.h"

#define BLOCK (1024 * 1024)
#define OVERLAP (64 * 1024)	/* longer than any match */
#define BEHIND 512		/* bytes of context kept in front */
#define NEEDLES_MAX 8192

/* One form of one known secret. */
struct needle {
	char *bytes;		/* sodium_malloc */
	size_t len;
	const char *form;
	char name[96];
};

struct scanner {
	struct needle *needle;	/* sorted by the first two bytes once sealed */
	size_t count;
	unsigned secrets, short_secrets;
	bool sorted;
	uint64_t pair[65536 / 64];
	size_t first[65536];
	uint8_t *block;
};

/* One file, block by block. */
struct file {
	struct scanner *scanner;
	struct scan_result *result;
	const char *path;
	uint64_t base;		/* offset of the block in the file */
	uint64_t lines;		/* LFs before the block */
	size_t len, from, to;	/* of the block; matches that start in [from, to) */
};

struct scanner *
scanner_new(void)
{
	struct scanner *scanner = calloc(1, sizeof(*scanner));

	if (scanner == NULL)
		return NULL;
	scanner->needle = calloc(NEEDLES_MAX, sizeof(*scanner->needle));
	scanner->block = malloc(BLOCK + OVERLAP + BEHIND);
	if (scanner->needle != NULL && scanner->block != NULL)
		return scanner;
	scanner_free(scanner);
	return NULL;
}

void
scanner_free(struct scanner *scanner)
{
	if (scanner == NULL)
		return;
	while (scanner->count > 0)
		sodium_free(scanner->needle[--scanner->count].bytes);
	if (scanner->block != NULL)
		sodium_memzero(scanner->block, BLOCK + OVERLAP + BEHIND);
	free(scanner->block);
	free(scanner->needle);
	free(scanner);
}

/* ---- known secrets in their forms ---- */

static bool
known_already(const struct scanner *scanner, const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < scanner->count; i++)
		if (scanner->needle[i].len == len &&
		    sodium_memcmp(scanner->needle[i].bytes, bytes, len) == 0)
			return true;
	return false;
}

static int
add(struct scanner *scanner, const char *name, const char *form,
    const char *bytes, size_t len)
{
	struct needle *needle;

	if (len < SCAN_SECRET_MIN || known_already(scanner, bytes, len))
		return 0;
	if (scanner->count == NEEDLES_MAX)
		return -1;
	needle = &scanner->needle[scanner->count];
	if ((needle->bytes = sodium_malloc(len)) == NULL)
		return -1;
	memcpy(needle->bytes, bytes, len);
	needle->len = len;
	needle->form = form;
	snprintf(needle->name, sizeof(needle->name), "%s", name);
	scanner->count++;
	return 0;
}

/*
 * Base64 of the secret behind k other bytes: only the characters that depend
 * on the secret alone, which are those that any surrounding text would show.
 */
static int
add_base64(struct scanner *scanner, const char *name, const uint8_t *value,
    size_t len, char *plain, char *text, size_t cap, bool url)
{
	static const size_t front[3] = { 0, 2, 3 };
	size_t k, end;

	for (k = 0; k < 3; k++) {
		memset(plain, 0, k);
		memcpy(plain + k, value, len);
		sodium_bin2base64(text, cap, (const uint8_t *)plain, k + len, url ?
		    sodium_base64_VARIANT_URLSAFE : sodium_base64_VARIANT_ORIGINAL);
		end = 8 * (k + len) / 6;
		if (end > front[k] && add(scanner, name, url ? "base64url" : "base64",
		    text + front[k], end - front[k]) != 0)
			return -1;
	}
	return 0;
}

static size_t
percent(const uint8_t *value, size_t len, char *out, bool upper)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		if (isalnum(value[i]) || (value[i] != '\0' &&
		    strchr("-._~", value[i]) != NULL)) {
			out[n++] = (char)value[i];
			continue;
		}
		out[n++] = '%';
		out[n++] = digits[value[i] >> 4];
		out[n++] = digits[value[i] & 15];
	}
	return n;
}

static size_t
json_escape(const uint8_t *value, size_t len, char *out, bool slash)
{
	static const char from[] = "\"\\\n\r\t\b\f", to[] = "\"\\nrtbf";
	const char *at;
	size_t i, n = 0;

	for (i = 0; i < len; i++) {
		at = value[i] != '\0' ? strchr(from, value[i]) : NULL;
		if (at != NULL || (slash && value[i] == '/')) {
			out[n++] = '\\';
			out[n++] = at != NULL ? to[at - from] : '/';
		} else if (value[i] < 0x20) {
			n += (size_t)sprintf(out + n, "\\u%04x", value[i]);
		} else {
			out[n++] = (char)value[i];
		}
	}
	return n;
}

static int
add_forms(struct scanner *scanner, const char *name, const uint8_t *value,
    size_t len, char *plain, char *text, size_t cap)
{
	size_t i;

	if (add(scanner, name, "raw", (const char *)value, len) != 0 ||
	    add_base64(scanner, name, value, len, plain, text, cap, false) != 0 ||
	    add_base64(scanner, name, value, len, plain, text, cap, true) != 0)
		return -1;
	sodium_bin2hex(text, cap, value, len);
	if (add(scanner, name, "hex", text, 2 * len) != 0)
		return -1;
	for (i = 0; i < 2 * len; i++)
		text[i] = (char)toupper((unsigned char)text[i]);
	if (add(scanner, name, "hex", text, 2 * len) != 0 ||
	    add(scanner, name, "percent", text, percent(value, len, text, true)) != 0 ||
	    add(scanner, name, "percent", text, percent(value, len, text, false)) != 0 ||
	    add(scanner, name, "json", text, json_escape(value, len, text, false)) != 0)
		return -1;
	return add(scanner, name, "json", text, json_escape(value, len, text, true));
}

int
scanner_add_secret(struct scanner *scanner, const char *name,
    const uint8_t *value, size_t len)
{
	size_t cap;
	char *work;
	int result;

	if (len < SCAN_SECRET_MIN) {
		scanner->short_secrets++;
		return 0;
	}
	if (len > 65536)
		return -1;
	cap = 6 * len + 16;
	if ((work = sodium_malloc(2 * cap)) == NULL)
		return -1;
	result = add_forms(scanner, name, value, len, work, work + cap, cap);
	sodium_free(work);
	scanner->secrets++;
	scanner->sorted = false;
	return result;
}

static unsigned
pair_of(const char *bytes)
{
	return (unsigned)(uint8_t)bytes[0] << 8 | (uint8_t)bytes[1];
}

static int
by_pair(const void *a, const void *b)
{
	const struct needle *x = a, *y = b;

	return (int)pair_of(x->bytes) - (int)pair_of(y->bytes);
}

static void
seal(struct scanner *scanner)
{
	unsigned pair;
	size_t i;

	if (scanner->sorted)
		return;
	if (scanner->count > 1)
		qsort(scanner->needle, scanner->count, sizeof(*scanner->needle), by_pair);
	memset(scanner->pair, 0, sizeof(scanner->pair));
	for (i = scanner->count; i-- > 0;) {
		pair = pair_of(scanner->needle[i].bytes);
		scanner->pair[pair / 64] |= UINT64_C(1) << pair % 64;
		scanner->first[pair] = i;
	}
	scanner->sorted = true;
}

/* ---- one block ---- */

static void
found(struct file *file, size_t at, size_t len, const char *what,
    const char *form, enum scan_confidence confidence, bool identifier, bool known)
{
	struct scan_result *result = file->result;
	struct scan_finding *f;
	size_t i;

	if (confidence == SCAN_LOW || identifier)
		result->advisory_count++;
	else
		result->finding_count++;
	if (result->findings == SCAN_FINDINGS_MAX)
		return;
	f = &result->finding[result->findings++];
	snprintf(f->path, sizeof(f->path), "%s", file->path);
	snprintf(f->what, sizeof(f->what), "%s", what);
	f->offset = file->base + at;
	f->len = len;
	f->form = form;
	f->confidence = identifier ? SCAN_LOW : confidence;
	f->known = known;
	f->line = file->lines + 1;
	for (i = 0; i < at; i++)
		f->line += file->scanner->block[i] == '\n';
}

static void
scan_needles(struct file *file)
{
	const struct scanner *s = file->scanner;
	const char *text = (const char *)s->block;
	unsigned pair;
	size_t i, k;

	for (i = file->from; i + 1 < file->len && i < file->to; i++) {
		pair = pair_of(text + i);
		if ((s->pair[pair / 64] >> pair % 64 & 1) == 0)
			continue;
		for (k = s->first[pair]; k < s->count &&
		    pair_of(s->needle[k].bytes) == pair; k++) {
			if (s->needle[k].len > file->len - i ||
			    memcmp(text + i, s->needle[k].bytes, s->needle[k].len) != 0)
				continue;
			found(file, i, s->needle[k].len, s->needle[k].name,
			    s->needle[k].form, SCAN_HIGH, false, true);
			i += s->needle[k].len - 1;
			break;
		}
	}
}

/* Returns where the last match that was taken ended. */
static size_t
scan_formats(struct file *file)
{
	struct scan_match m;
	size_t at = file->from, end = file->from;

	while (scan_formats_next(file->scanner->block, file->len, &at, &m)) {
		if (m.start >= file->to)
			break;
		end = m.start + m.len;
		found(file, m.start, m.len, scan_format_id(m.format), "raw",
		    m.confidence, m.identifier, false);
	}
	return end;
}

static size_t
scan_block(struct file *file)
{
	scan_needles(file);
	return scan_formats(file);
}

/* ---- one file ---- */

static void
incomplete(struct scan_result *result, const char *path, const char *why)
{
	if (result->incomplete[0] == '\0')
		snprintf(result->incomplete, sizeof(result->incomplete), "%.180s: %s",
		    path, why);
}

/* Contents that this scanner does not see through. */
static const char *
opaque(const uint8_t *p, size_t len)
{
	static const struct { const char *magic; size_t len; const char *name; } known[] = {
		{ "\x1f\x8b", 2, "gzip data, not decoded" },
		{ "\x28\xb5\x2f\xfd", 4, "zstd data, not decoded" },
		{ "PK\x03\x04", 4, "a zip archive, not decoded" },
		{ "BZh", 3, "bzip2 data, not decoded" },
		{ "\xfd" "7zXZ", 5, "xz data, not decoded" },
		{ "\xff\xfe", 2, "UTF-16 text, not decoded" },
		{ "\xfe\xff", 2, "UTF-16 text, not decoded" },
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (len >= known[i].len && memcmp(p, known[i].magic, known[i].len) == 0)
			return known[i].name;
	return NULL;
}

/* Keep the end of the block, with some context, for the next one. */
static void
slide(struct file *file, size_t done)
{
	uint8_t *block = file->scanner->block;
	size_t keep = done > BEHIND ? done - BEHIND : 0, i;

	for (i = 0; i < keep; i++)
		file->lines += block[i] == '\n';
	memmove(block, block + keep, file->len - keep);
	file->base += keep;
	file->len -= keep;
	file->from = done - keep;
}

static void
scan_fd(struct file *file, int fd)
{
	uint8_t *block = file->scanner->block;
	const char *why;
	bool end = false;
	ptrdiff_t n;
	size_t done;

	while (!end) {
		n = evidence_pread(fd, block + file->len,
		    BLOCK + OVERLAP + BEHIND - file->len, file->base + file->len);
		if (n < 0) {
			incomplete(file->result, file->path, strerror(errno));
			return;
		}
		end = file->len + (size_t)n < BLOCK + OVERLAP + BEHIND;
		file->len += (size_t)n;
		file->result->bytes += (uint64_t)n;
		if (file->base == 0 && (why = opaque(block, file->len)) != NULL)
			incomplete(file->result, file->path, why);
		file->to = end ? file->len : file->len - OVERLAP;
		done = scan_block(file);
		slide(file, done > file->to ? done : file->to);
	}
}

struct visit {
	struct scanner *scanner;
	struct scan_result *result;
	int dirfd;
};

static int
scan_file(void *context, const char *path, uint64_t size, int regular)
{
	struct visit *visit = context;
	struct file file = { .scanner = visit->scanner, .result = visit->result,
	    .path = path };
	int fd;

	(void)size;
	if (!regular || (fd = evidence_open(visit->dirfd, path, NULL)) < 0) {
		incomplete(visit->result, path, regular ? strerror(errno) :
		    "not a regular file");
		return 0;
	}
	visit->result->files++;
	scan_fd(&file, fd);
	close(fd);
	return 0;
}

/* ---- the canary ---- */

/*
 * A token with a right checksum, put together here so that it stands in no
 * file, and a known secret in base64: a scanner that misses them is broken,
 * and must not say that anything is clean.
 */
static bool
canary_found(struct scanner *scanner)
{
	static const char body[] = "CanaryCanaryCanaryCanaryCanary2nNYoJ";
	struct scan_result result = { .verdict = SCAN_CLEAN };
	struct file file = { .scanner = scanner, .result = &result, .path = "" };
	int n;

	n = snprintf((char *)scanner->block, BLOCK, "{\"a\":\"%s%s\"}", "gh" "p_", body);
	file.len = file.to = (size_t)n;
	scan_block(&file);
	return result.finding_count == 1 && result.finding[0].offset == 6 &&
	    result.finding[0].len == 40;
}

static bool
canary_secret_found(void)
{
	static const uint8_t value[] = "a canary, not a secret";
	struct scan_result result = { .verdict = SCAN_CLEAN };
	struct scanner *scanner = scanner_new();
	struct file file = { .scanner = scanner, .result = &result, .path = "" };
	bool ok = false;

	if (scanner != NULL && scanner_add_secret(scanner, "canary", value, 22) == 0) {
		seal(scanner);
		strcpy((char *)scanner->block, "xxYSBjYW5hcnksIG5vdCBhIHNlY3JldA==");
		file.len = file.to = 34;
		scan_block(&file);
		ok = result.finding_count == 1 && result.finding[0].offset == 2;
	}
	scanner_free(scanner);
	return ok;
}

int
scanner_scan(struct scanner *scanner, const char *path,
    struct scan_result *result, char *err, size_t err_len)
{
	struct visit visit = { scanner, result, -1 };
	struct stat st;

	seal(scanner);
	if (!canary_found(scanner) || !canary_secret_found()) {
		snprintf(err, err_len, "the scanner missed its own canary");
		return -1;
	}
	if (stat(path, &st) != 0) {
		snprintf(err, err_len, "%.200s: %s", path, strerror(errno));
		return -1;
	}
	if (S_ISDIR(st.st_mode)) {
		visit.dirfd = evidence_dir(path);
		if (visit.dirfd < 0 || evidence_walk(visit.dirfd, scan_file, &visit) != 0)
			incomplete(result, path, strerror(errno));
	} else {
		struct file file = { .scanner = scanner, .result = result, .path = path };

		visit.dirfd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (visit.dirfd < 0 || !S_ISREG(st.st_mode)) {
			incomplete(result, path, "not a regular file that can be read");
		} else {
			result->files++;
			scan_fd(&file, visit.dirfd);
		}
	}
	if (visit.dirfd >= 0)
		close(visit.dirfd);
	result->secrets = scanner->secrets;
	result->short_secrets = scanner->short_secrets;
	if (scanner->short_secrets > 0)
		incomplete(result, path, "a known secret is too short to look for");
	result->verdict = result->finding_count > 0 ? SCAN_FOUND :
	    result->incomplete[0] != '\0' ? SCAN_INCOMPLETE : SCAN_CLEAN;
	return 0;
}
