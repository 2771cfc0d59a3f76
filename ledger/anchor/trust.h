/*
 * A trust policy: what a verifier demands before it believes a ledger.  A JSON
 * file of the verifier's own, version 1:
 *
 *   {
 *     "v": 1,
 *     "logs": [{"key": "VKEY",                 its name is the origin
 *               "epochs": [{"epoch": 2, "key": "VKEY"}]}],   also pinned: a ledger
 *                                              that does not reach it is cut, a bundle
 *                                              or a proof is not established
 *     "witnesses": ["VKEY", ...],              cosignature/v1
 *     "quorum": 2,                             so many of them
 *     "authorities": [{"name": "example", "ca_file": "tsa.pem"}],
 *     "stamps": 1,                             so many of them (RFC 3161)
 *     "max_age_s": 86400,                      and not longer ago
 *     "max_width_s": 7200,                     a run's records made within so long,
 *                                              by anchors before and behind it
 *     "observers": ["VKEY", ...],              who may sign ground truth
 *     "observed": 1                            so many of them must establish coverage
 *   }
 *
 * ca_file is a path, relative to the policy's own directory.  Unknown members,
 * duplicates, demands that cannot be met (a quorum beyond the witnesses), a
 * witness or an observer whose key is a log's, witnesses without a quorum, authorities
 * without stamps, and one certificate in the files of two authorities where more than
 * one is wanted are refused.  Absent members demand nothing.  A policy that was read is
 * constant: any thread.
 */
#ifndef LEDGER_ANCHOR_TRUST_H
#define LEDGER_ANCHOR_TRUST_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/anchor/anchors.h"
#include "ledger/tree/note.h"

#define TRUST_BYTES_MAX 65536
#define TRUST_LOGS_MAX 64
#define TRUST_EPOCHS_MAX 16
#define TRUST_WITNESSES_MAX 32
#define TRUST_AUTHORITIES_MAX 16
#define TRUST_OBSERVERS_MAX 32
#define TRUST_PATH_MAX 1024

struct trust_epoch {
	uint64_t epoch;		/* 1 or more: 0 is the log's own key */
	struct note_key key;
};

struct trust_log {
	struct note_key key;
	struct trust_epoch epoch[TRUST_EPOCHS_MAX];
	unsigned epochs;
};

struct trust_authority {
	char name[ANCHORS_WHO_MAX];
	char ca_file[TRUST_PATH_MAX];
};

struct trust {
	char sha256[65];	/* of the file's bytes, hex: which policy it was */
	struct trust_log log[TRUST_LOGS_MAX];
	unsigned logs;
	struct note_key witness[TRUST_WITNESSES_MAX];
	unsigned witnesses, quorum;
	struct trust_authority authority[TRUST_AUTHORITIES_MAX];
	unsigned authorities, stamps;
	uint64_t max_age_s;	/* 0: whatever age */
	uint64_t max_width_s;	/* 0: whenever they were made */
	struct note_key observer[TRUST_OBSERVERS_MAX];
	unsigned observers, observed;
};

/* To be freed with free(); NULL with a message that names the member. */
struct trust *trust_load(const char *path, char *err, size_t err_len);

/* The same from bytes; dir is where ca_file starts from. */
struct trust *trust_parse(const char *bytes, size_t len, const char *dir,
    char *err, size_t err_len);

/* NULL where the policy says nothing about that origin. */
const struct trust_log *trust_log(const struct trust *trust,
    const char *origin);

#endif
