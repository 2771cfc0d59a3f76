/*
 * How the witnesses and authorities of a ledger are doing: written by the
 * anchoring process into memory that it shares with the daemon, read by
 * /healthz, /metrics and whoever asks.  Numbers only: that process reads what
 * strangers send.
 */
#ifndef BROKER_ANCHOR_STATUS_H
#define BROKER_ANCHOR_STATUS_H

#include "conf/conf.h"

#include <stdatomic.h>
#include <stdint.h>

#define ANCHOR_PARTIES_MAX (CONF_WITNESSES_MAX + CONF_AUTHORITIES_MAX)

enum anchor_reason {
	ANCHOR_WAITING,		/* not asked yet */
	ANCHOR_GOOD,		/* the last answer was what was asked for */
	ANCHOR_UNREACHED,	/* no answer */
	ANCHOR_UNKNOWN_LOG,	/* 404: it does not watch this origin */
	ANCHOR_UNKNOWN_KEY,	/* 403: it does not know the key in force */
	ANCHOR_REFUSED,		/* another status */
	ANCHOR_BAD_ANSWER,	/* no signature by its key, no size, no time stamp */
	ANCHOR_NO_PROOF,	/* ours: the hashes beside the records are not whole */
	ANCHOR_NOT_KEPT,	/* ours: the answer could not be written */
	ANCHOR_EQUIVOCATION,	/* alarm: it cosigned another root of that size */
	ANCHOR_INCONSISTENT,	/* alarm: what it cosigned is not where ours begins */
	ANCHOR_ROLLED_BACK,	/* alarm: it has cosigned more than is here */
	ANCHOR_REASONS
};

struct anchor_party {
	_Atomic uint32_t reason;
	_Atomic uint64_t size;		/* of the largest tree it vouched for */
	_Atomic uint64_t time_s;	/* when it did, by its own clock */
	_Atomic uint64_t good, failed;	/* answers */
};

/* Witnesses first, then authorities, in the order of the settings. */
struct anchor_shared {
	struct anchor_party party[ANCHOR_PARTIES_MAX];
};

/* A word for machines and a sentence for people; of any number. */
const char *anchor_reason_word(uint32_t reason);
const char *anchor_reason_text(uint32_t reason);
bool anchor_reason_alarm(uint32_t reason);

#endif
