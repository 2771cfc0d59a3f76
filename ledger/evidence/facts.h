/*
 * What a record says, picked out of its body (broker/gate/RECORDS.md) for those
 * who show or export it.  Text is copied as it stands and cut where it does not
 * fit, at a character's beginning; it is outside text: escape it where it goes.
 */
#ifndef LEDGER_EVIDENCE_FACTS_H
#define LEDGER_EVIDENCE_FACTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "ledger/record/record.h"

#define FACTS_TEXT_MAX 1024
#define FACTS_URL_MAX (FACTS_TEXT_MAX + 320)
#define FACTS_PERSON_MAX 160

/* How a record counts for somebody who wants to see what was let through.  A person's
 * answer lets nothing through by itself: what then is allowed has a record of its own.
 * Failed: what was to come about and did not; an outcome with an error, a scan
 * that found something, a policy pack that was not adopted. */
enum facts_kind { FACTS_NEUTRAL, FACTS_ALLOWED, FACTS_REFUSED, FACTS_FAILED };

/* What an outcome says of a request that had been allowed and was not carried
 * out: it is no allowed one any more, as in its run's teardown. */
enum facts_ended { FACTS_CARRIED_OUT, FACTS_WITHDRAWN, FACTS_UNREACHED };

struct facts {
	char stream[RECORD_NAME_MAX + 1], type[RECORD_NAME_MAX + 1];
	char run[RECORD_NAME_MAX + 1];	/* "" where there is none */
	char time[RECORD_TIME_LEN + 1], policy[RECORD_POLICY_LEN + 1];
	uint64_t seq;
	int64_t time_us;
	enum facts_kind kind;
	enum facts_ended ended;
	json_t *body;			/* to be read only; NULL where memory lacks */
	/* "" where the body has none */
	char decision[16], rule[128], reason[512], remedy[512], error[256];
	char verb[64], tool[128], scheme[16], host[256], path[FACTS_TEXT_MAX];
	char grant[128], secret[128], agent[128], state[64];
	char event[64];			/* of a secret; a scan's verdict, its why is the reason */
	char parent[65];		/* hex of a leaf */
	char by[16];			/* who decided, where it was not the policy: "gate", "person" */
	char question[64], good_for[16];	/* of a person's answer: which; "once", "run" */
	bool answer;			/* it is one */
	int64_t port, status, uid, pid;	/* -1: none */
	int64_t bytes_out, bytes_in, duration_us, redactions, version;	/* -1: none */
	int head_sent;			/* of an outcome; -1: not told */
	uint64_t count;			/* refusals that it tells by number, records that it
					 * declares as lost; 1 of all others */
};

/* Fill in from a record that record_check has passed; facts_free afterwards. */
void facts_read(struct facts *facts, const struct record_line *record);
void facts_free(struct facts *facts);

/* "https://host:port/path": an IPv6 address in brackets, the port where it is not
 * the scheme's own or with_port.  Returns buf. */
const char *facts_url(const struct facts *facts, bool with_port, char *buf,
    size_t cap);

/* "GET https://host:port/path", the tool's name, or whatever else tells best
 * what the record is about; "" where nothing does.  Returns buf. */
const char *facts_about(const struct facts *facts, char *buf, size_t cap);

/* "by a person", and of their answer to which question, and for what; "" of what no
 * person decided.  Returns buf. */
const char *facts_person(const struct facts *facts, char *buf, size_t cap);

/* How many a refusal that is told by number stands for (its body begins with "count"),
 * up to about RECORD_SEQ_MAX; 0: it is no such record. */
uint64_t facts_told(const struct record_line *record);

/* Does it declare that records are lost: a drop, or an adapter's loss? */
bool facts_tells_loss(const struct facts *facts);

/* The bytes of text that fit into max without cutting a character in two. */
size_t facts_cut(const char *text, size_t len, size_t max);

#endif
