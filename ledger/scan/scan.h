/*
 * Looks for secrets in files where none should be: by the token formats of
 * formats.h, by known secrets, and by tags of secrets that the one who scans
 * does not know; in the text as it stands and in what it encodes (stream.h).
 *
 * What cannot be read, decoded or unpacked makes the scan incomplete, never
 * clean; and a canary that is built in must be found, or the scan says nothing
 * at all.  Findings tell where and what kind, and never the value.
 *
 * A placeholder looks exactly like a token, so one that stands in a scanned
 * file is a finding: nothing in a bundle needs one.
 */
#ifndef LEDGER_SCAN_H
#define LEDGER_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/scan/format/formats.h"
#include "ledger/scan/tags/tags.h"

#define SCAN_FINDINGS_MAX 100	/* kept; all are counted */
#define SCAN_REASONS_MAX 16	/* kept; all are counted */
#define SCAN_SECRET_MIN 8	/* shorter secrets are too plain to be looked for */
#define SCAN_MARK_LEN 8		/* bytes of a finding's mark in a baseline */
#define SCAN_BASELINE_KEY_LEN 32

enum scan_verdict {
	SCAN_CLEAN,
	SCAN_FOUND,
	SCAN_INCOMPLETE		/* a part was not scanned, and nothing was found */
};

struct scan_finding {
	char path[256];
	uint64_t offset, line;	/* in the innermost packed stream, or the file; line from 1 */
	uint64_t len;		/* as it stands there, encoded */
	char what[96];		/* format's or secret's name, or tag's id: never a value */
	char form[96];		/* "raw", or how it was encoded: "gzip > base64" */
	enum scan_confidence confidence;
	bool known;		/* a secret that was given or tagged, not a format */
	bool advisory;		/* does not turn the verdict */
	bool baseline;		/* was accepted before: neither does this */
	uint8_t mark[SCAN_MARK_LEN];	/* keyed; zeros where no key was set */
};

/* One kind of what was not looked at, and where that was first. */
struct scan_reason {
	char why[256];
	char path[256];		/* "" of no file, or too long */
	char form[96];		/* how it was encoded, or "" */
	uint64_t count;
};

struct scan_result {
	enum scan_verdict verdict;
	struct scan_finding finding[SCAN_FINDINGS_MAX];
	unsigned findings;
	uint64_t finding_count;		/* all that make it FOUND */
	uint64_t advisory_count;	/* low confidence, and identifiers */
	uint64_t baseline_count;	/* accepted before */
	uint64_t files, bytes;
	uint64_t links;			/* not followed (trees only) */
	uint64_t special;		/* not opened (trees only): FIFOs and the like */
	unsigned secrets;		/* known secrets that were looked for */
	unsigned short_secrets;		/* given, but too short */
	unsigned tags;			/* with padding */
	unsigned sealed;		/* scan records that stand in for both: the
					 * verifier counts them */
	unsigned sealed_found;		/* scan records that say found: each is a finding */
	uint64_t incomplete_count;
	char incomplete[256];		/* the first of them in one line, or "" */
	struct scan_reason reason[SCAN_REASONS_MAX];
	unsigned reasons;
};

/* A part was not looked at.  path and form may be "". */
void scan_result_incomplete(struct scan_result *result, const char *path,
    const char *form, const char *why);

/* How many are of kinds that were not kept. */
uint64_t scan_result_unkept(const struct scan_result *result);

struct scanner;

/* Of all formats.  NULL where memory lacks. */
struct scanner *scanner_new(void);

/* The same with scan_engine_formats (engine.h); or with NULL: secrets and tags
 * alone, and nothing unpacked but in a decoded text, which is what the broker does
 * with its records before it seals them. */
struct scan_engine_calls;
struct scanner *scanner_with(const struct scan_engine_calls *formats);

/* Wipes what it holds. */
void scanner_free(struct scanner *scanner);

/* Look for this one too; name is shown in findings.  The value is copied into
 * locked memory.  Before the first scan.  0, or -1 where memory lacks. */
int scanner_add_secret(struct scanner *scanner, const char *name,
    const uint8_t *value, size_t len);

/* Look for these too.  They must outlive the scanner. */
void scanner_set_tags(struct scanner *scanner, const struct scan_tags *tags);

/* What scanner_scan calls: a finding (also those beyond what the result
 * keeps), and now and then how far it is.  Either may be NULL. */
void scanner_set_calls(struct scanner *scanner,
    void (*finding)(void *context, const struct scan_finding *finding),
    void (*progress)(void *context, const struct scan_result *so_far),
    void *context);

/* Give findings marks under this key; `accepted` says which are in a baseline. */
void scanner_set_baseline(struct scanner *scanner,
    const uint8_t key[SCAN_BASELINE_KEY_LEN],
    bool (*accepted)(void *context, const uint8_t mark[SCAN_MARK_LEN]),
    void *context);

/* Any tree of files, not a bundle of evidence: links are not followed and
 * special files passed over, both counted.  One of which no file was read is
 * incomplete. */
void scanner_set_trees(struct scanner *scanner);

/*
 * Scan a file or all files below a directory; or what can be read from a
 * descriptor.  Adds to *result, which the caller has set to zero before the
 * first call.  0, or -1 with a message where the path cannot be opened or a
 * canary was not found.
 */
int scanner_scan(struct scanner *scanner, const char *path,
    struct scan_result *result, char *err, size_t err_len);
int scanner_scan_fd(struct scanner *scanner, int fd, const char *name,
    struct scan_result *result, char *err, size_t err_len);

/* A path as it may be shown: itself, or up to the part that holds a secret, or
 * cannot be looked at, "(name withheld)".  Valid until the next call. */
const char *scanner_shown_name(struct scanner *scanner, const char *path);

/* The same for one text, piece by piece.  result and name must live until
 * scanner_close, which sums up; -1 with a message. */
int scanner_open(struct scanner *scanner, const char *name,
    struct scan_result *result, char *err, size_t err_len);
void scanner_feed(struct scanner *scanner, const void *bytes, size_t len);
void scanner_cannot(struct scanner *scanner, const char *why);	/* a part lacks */
void scanner_close(struct scanner *scanner);

/* Where a record begins in its segment's file. */
struct scan_place {
	uint64_t index, offset;
};

/* The records first to last of the ledger in a directory, as they stand in its
 * segments, also while it is written; at most max bytes of them.  place is where some
 * record before them begins, zeros where none is known: their segment is read from
 * there on instead of from its beginning.  One that lies nearer is put there. */
int scanner_scan_records(struct scanner *scanner, const char *ledger,
    uint64_t first, uint64_t last, uint64_t max, struct scan_place *place,
    struct scan_result *result, char *err, size_t err_len);

#endif
