/*
 * manifest.json of an evidence bundle: what it is about, and the digest of
 * every file in it.  It is not signed: the ledger's part is bound by the
 * signed root, the packs by their digests in the records.  The list makes
 * transport errors, and files that were added, visible.
 *
 *   {"v":1,"kind":"countersign-bundle","origin":"…","run":"…","first":a,
 *    "size":b,"files":[{"path":"…","bytes":n,"sha256":"…"},…]}
 *
 * first is the index of the first record, size the tree's size behind the last.
 */
#ifndef LEDGER_MANIFEST_H
#define LEDGER_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/evidence/evidence.h"
#include "ledger/record/record.h"
#include "ledger/tree/note.h"

#define MANIFEST_MAX (16 * 1024 * 1024)	/* bytes */
#define MANIFEST_KIND "countersign-bundle"

struct manifest_file {
	char *path;
	uint64_t bytes;
	char sha256[65];
};

struct manifest {
	int64_t version;	/* as it was read; 0: it says none */
	char origin[NOTE_NAME_MAX + 1];
	char run[RECORD_NAME_MAX + 1];
	uint64_t first, size;
	struct manifest_file *file;
	size_t count;
};

/* Strict: unknown or double members, wrong types, unsorted or unclean paths
 * are refused.  0, or -1 with a message; free in any case. */
int manifest_parse(struct manifest *manifest, const char *text, size_t len,
    char *err, size_t err_len);

/* The file's text, to be freed; the same for the same content.  NULL where
 * memory lacks. */
char *manifest_format(const struct manifest *manifest, size_t *len);

/* Relative, in UTF-8, without empty, "." or ".." parts and control bytes. */
bool manifest_path_clean(const char *path);

/* Takes a copy of path.  0, or -1. */
int manifest_add(struct manifest *manifest, const char *path, uint64_t bytes,
    const char sha256[65]);

const struct manifest_file *manifest_find(const struct manifest *manifest,
    const char *path);

void manifest_free(struct manifest *manifest);

#endif
