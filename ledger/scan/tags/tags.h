/*
 * Tags: fingerprints with which an auditor can look for secrets that they must
 * not know.  DESIGN.md has the argument; in short:
 *
 *   tag(window) = one-way, keyed, 128 bits, of 24 characters of a secret
 *
 * and only of windows in which at least 96 bits are unknown to one who knows
 * the secret's format, because whoever can scan offline can guess offline.  A
 * secret without such a window is too weak to be published so; whoever writes
 * the file is told, and must scan with the value itself.
 *
 * The file is JSON (FORMAT.md): a key fresh for this audit, the tags in order,
 * padded with random ones, among them those of a fixture that every scanner
 * knows, so that a file that does not work is noticed.
 */
#ifndef LEDGER_SCAN_TAGS_TAGS_H
#define LEDGER_SCAN_TAGS_TAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_TAG_WIDTH 24	/* characters of a window */
#define SCAN_TAG_LEN 16
#define SCAN_TAG_BITS_MIN 96	/* unknown to one who knows the format */
#define SCAN_TAGS_MAX 65536
#define SCAN_TAGS_FILE_MAX (8 * 1024 * 1024)
#define SCAN_TAGS_COMMITMENT_MAX 80	/* "blake2b:" and 64 hexadecimal digits */

struct scan_tags;		/* read */
struct scan_tags_writer;	/* being written */

/* ---- writing ---- */

struct scan_tags_writer *scan_tags_writer_new(void);
void scan_tags_writer_free(struct scan_tags_writer *writer);

enum scan_strength {
	SCAN_TAGGED,
	SCAN_WEAK,	/* no window with enough unknown bits: not published */
	SCAN_NO_MEMORY
};
enum scan_strength scan_tags_add(struct scan_tags_writer *writer,
    const uint8_t *secret, size_t len);

/* What scan_tags_add would say. */
enum scan_strength scan_tags_strength(const uint8_t *secret, size_t len);

/* The file's text, to be freed, and its commitment; NULL where memory lacks. */
char *scan_tags_write(struct scan_tags_writer *writer, size_t *len,
    char commitment[SCAN_TAGS_COMMITMENT_MAX]);

/* ---- reading ---- */

/* "blake2b:..." of a file's bytes: what the ledger's record holds. */
void scan_tags_commitment(const void *file, size_t len,
    char commitment[SCAN_TAGS_COMMITMENT_MAX]);

/* NULL with a message: no such file, another version, or one whose tags do not
 * find the fixture. */
struct scan_tags *scan_tags_read(const char *text, size_t len, char *err,
    size_t err_len);
/* The same from a file, with its commitment. */
struct scan_tags *scan_tags_load(const char *path,
    char commitment[SCAN_TAGS_COMMITMENT_MAX], char *err, size_t err_len);
void scan_tags_free(struct scan_tags *tags);

/* Whether a scan record of the bundle or ledger in dir names them: one among its
 * records, and in no other file.  Whether the records are as they were signed is for
 * verification to say. */
bool scan_tags_committed(const char *dir, const char *commitment);

/* What the scan records of the bundle or ledger in dir say, as far as they can be
 * read: of the run that a bundle is of, of every run where it is NULL.  Whether
 * they are as they were signed is for verification to say. */
struct scan_words {
	unsigned clean;		/* say so of all between a run's opening and its close */
	unsigned other;		/* found, incomplete; whichever run's */
	unsigned without;	/* runs without one, or with one that looked at less */
	unsigned needed;	/* those of these that used a secret, as their records say */
	unsigned found;		/* of `other`: found, in records that are all here */
	char file[80];		/* where the first of those stands */
	uint64_t line, offset;
};
struct scan_words scan_words_of(const char *dir, const char *run);

unsigned scan_tags_count(const struct scan_tags *tags);	/* with padding */

/* Memory for one thread that scans; NULL where it lacks. */
struct scan_tags_room;
struct scan_tags_room *scan_tags_room_new(const struct scan_tags *tags);
void scan_tags_room_free(struct scan_tags_room *room);

/* Call found for each window with a tag; id is its first digits, or "canary"
 * for the fixture's.  0, or -1 where the hash failed. */
int scan_tags_run(struct scan_tags_room *room, const uint8_t *text,
    size_t len, void (*found)(void *context, size_t at, const char *id),
    void *context);

#endif
