#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "ledger/evidence/manifest.h"
#include "ledger/bundle/tar.h"

#define OCTAL_SIZE_MAX UINT64_C(077777777777)	/* 11 digits */

struct header {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], mtime[12];
	char sum[8];
	char type;
	char linkname[100];
	char magic[6], version[2];
	char uname[32], gname[32];
	char major[8], minor[8];
	char prefix[155];
	char rest[12];
};
_Static_assert(sizeof(struct header) == TAR_BLOCK, "a header is one block");

static void
put_octal(char *field, size_t width, uint64_t value)
{
	field[--width] = '\0';
	while (width > 0) {
		field[--width] = (char)('0' + (value & 7));
		value >>= 3;
	}
}

static void
put_size(char field[12], uint64_t size)
{
	unsigned i;

	if (size <= OCTAL_SIZE_MAX) {
		put_octal(field, 12, size);
		return;
	}
	field[0] = (char)0x80;
	for (i = 0; i < 8; i++)
		field[11 - i] = (char)(size >> 8 * i);
}

/* Unsigned bytes of the header, its own field taken as spaces. */
static uint64_t
sum_of(const struct header *h)
{
	const unsigned char *bytes = (const unsigned char *)h;
	const size_t at = offsetof(struct header, sum);
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < TAR_BLOCK; i++)
		sum += i >= at && i < at + sizeof(h->sum) ? ' ' : bytes[i];
	return sum;
}

/* The first slash from which on the rest fits; -1 where there is none. */
static int
put_path(struct header *h, const char *path)
{
	size_t len = strlen(path), at;

	if (len <= sizeof(h->name)) {
		memcpy(h->name, path, len);
		return 0;
	}
	for (at = len - sizeof(h->name) - 1; at < len && path[at] != '/'; at++)
		;
	if (at >= len || at > sizeof(h->prefix) || at == 0)
		return -1;
	memcpy(h->prefix, path, at);
	memcpy(h->name, path + at + 1, len - at - 1);
	return 0;
}

int
tar_compose(uint8_t block[TAR_BLOCK], const struct tar_entry *entry)
{
	struct header h;

	memset(&h, 0, sizeof(h));
	if (entry->size >= TAR_SIZE_MAX || put_path(&h, entry->path) != 0)
		return -1;
	put_octal(h.mode, sizeof(h.mode), 0644);
	put_octal(h.uid, sizeof(h.uid), 0);
	put_octal(h.gid, sizeof(h.gid), 0);
	put_octal(h.mtime, sizeof(h.mtime), 0);
	put_octal(h.major, sizeof(h.major), 0);
	put_octal(h.minor, sizeof(h.minor), 0);
	put_size(h.size, entry->size);
	h.type = '0';
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	put_octal(h.sum, 7, sum_of(&h));
	h.sum[7] = ' ';
	memcpy(block, &h, TAR_BLOCK);
	return 0;
}

/* Octal digits and a NUL, or base 256. */
static int
get_size(const char field[12], uint64_t *size)
{
	unsigned i;

	*size = 0;
	if (field[0] == (char)0x80) {
		for (i = 1; i < 12; i++) {
			if (*size >= TAR_SIZE_MAX)
				return -1;
			*size = *size << 8 | (unsigned char)field[i];
		}
		return 0;
	}
	for (i = 0; i < 11; i++) {
		if (field[i] < '0' || field[i] > '7')
			return -1;
		*size = *size << 3 | (uint64_t)(field[i] - '0');
	}
	return 0;
}

static const char *
type_rule(char type)
{
	switch (type) {
	case '0':
		return NULL;
	case '1':
	case '2':
		return "a link";
	case '3':
	case '4':
	case '6':
		return "a device or a FIFO";
	case '5':
		return "a directory's own entry";
	case 'x':
	case 'g':
		return "an extended (pax) header";
	case 'S':
		return "a sparse file";
	case 'L':
	case 'K':
		return "a long name in an entry of its own";
	default:
		return "an entry of an unknown type";
	}
}

static void
get_path(char path[TAR_PATH_MAX + 1], const struct header *h)
{
	const size_t prefix = strnlen(h->prefix, sizeof(h->prefix));
	const size_t name = strnlen(h->name, sizeof(h->name));
	size_t at = 0;

	memcpy(path, h->prefix, prefix);
	at += prefix;
	if (prefix > 0)
		path[at++] = '/';
	memcpy(path + at, h->name, name);
	path[at + name] = '\0';
}

const char *
tar_parse(struct tar_entry *entry, const uint8_t block[TAR_BLOCK])
{
	uint8_t again[TAR_BLOCK];
	const char *rule;
	struct header h;

	memset(entry, 0, sizeof(*entry));
	memcpy(&h, block, sizeof(h));
	if (memcmp(h.magic, "ustar", 5) != 0)
		return "no header of ustar where one is due";
	if ((rule = type_rule(h.type)) != NULL)
		return rule;
	get_path(entry->path, &h);
	if (!manifest_path_clean(entry->path))
		return "a path that is absolute, climbs, or is not clean";
	if (get_size(h.size, &entry->size) != 0)
		return "a size that is no number";
	if (tar_compose(again, entry) != 0 || memcmp(again, block, TAR_BLOCK) != 0)
		return "a header that is not in the form that bundles are written in";
	return NULL;
}

bool
tar_is_end(const uint8_t block[TAR_BLOCK])
{
	return block[0] == 0 && memcmp(block, block + 1, TAR_BLOCK - 1) == 0;
}

unsigned
tar_padding(uint64_t size)
{
	return (unsigned)(-size % TAR_BLOCK);
}
