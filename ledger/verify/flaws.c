/* What the chain shows in a ledger whose root is as signed. */
#include <inttypes.h>

#include "ledger/verify/locate.h"

/* Behind the signed records, where a recorder writes nothing but records that
 * continue their streams. */
static void
foreign(const struct chain *chain, const struct load *load,
    const struct chain_event *e, struct verify_result *result)
{
	const char *why = "its prev is not the leaf of its stream's record before";

	if (e->kind == CHAIN_UNREADABLE)
		why = e->rule;
	else if (e->kind == CHAIN_MISSING || e->kind == CHAIN_BACK)
		why = "its seq is not the one that its stream continues with";
	else if (e->kind == CHAIN_START)
		why = "its stream does not begin with seq 0 and a prev of zeros";
	else if (e->kind != CHAIN_PREV)
		why = "it does not fit its stream";
	locate_at_event(chain, load, e, verify_find(result, VERIFY_GAP, "foreign",
	    "a foreign line behind the signed records: %s", why));
}

/* What a kind of event is called where there is nothing more to be said of it. */
static const struct plain {
	enum verify_verdict verdict;
	const char *code, *what;
} plain[] = {
	[CHAIN_PREV] = { VERIFY_GAP, "chain",
	    "signed, but its prev is not the leaf of its stream's record before" },
	[CHAIN_START] = { VERIFY_GAP, "chain",
	    "its stream does not begin with seq 0 and a prev of zeros" },
	[CHAIN_UNOPENED] = { VERIFY_GAP, "unopened", "a record of a stream that is not open" },
	[CHAIN_CUT] = { VERIFY_NOT_ESTABLISHED, "no_close", "opened again without a close: the "
	    "writer ended without one, and what it had not yet written is not known" },
	[CHAIN_CLOSE] = { VERIFY_GAP, "chain", "a close that names another last seq than its own" },
	[CHAIN_OPEN] = { VERIFY_GAP, "chain",
	    "an open that names another origin, size or last seq than this ledger has" },
	[CHAIN_NO_HOLE] = { VERIFY_GAP, "chain",
	    "a drop that stands behind no such hole as it declares" },
	[CHAIN_HEADS] = { VERIFY_GAP, "heads", "a table of heads that the streams do not fit" },
	[CHAIN_CLOCK] = { VERIFY_GAP, "clock",
	    "earlier than the record before it in its stream, and no clock record says so" },
	[CHAIN_PACK_OTHER] = { VERIFY_GAP, "policy", "it says that another policy pack "
	    "was in force before than the one that it names itself" },
	[CHAIN_PACK] = { VERIFY_GAP, "policy", "it names a policy pack that no "
	    "open and no policy record before it brings into force" },
};

/* The finding, but for its place and count. */
static struct verify_finding *
name_flaw(const struct load *load, const struct chain_event *e, struct verify_result *result)
{
	switch (e->kind) {
	case CHAIN_UNREADABLE:
		if (e->rule == record_other_version)
			return verify_find(result, VERIFY_NOT_ESTABLISHED, "unknown_value",
			    "a record %s, which is the one that is known here", e->rule);
		return verify_find(result, VERIFY_GAP, "malformed", "signed, but no record: %s",
		    e->rule);
	case CHAIN_MISSING:
		return verify_find(result, VERIFY_GAP, "missing",
		    "seq %" PRIu64 " to %" PRIu64 " were never signed, before this record",
		    e->expected, e->seq - 1);
	case CHAIN_BACK:
		return verify_find(result, VERIFY_GAP, "reordered",
		    "signed, but seq %" PRIu64 " stands where %" PRIu64 " belongs",
		    e->seq, e->expected);
	case CHAIN_DROP:
		return verify_find(result, VERIFY_GAP, "dropped",
		    "%" PRIu64 " records declared as dropped before this one", e->dropped);
	case CHAIN_PACK_BEFORE:
		return verify_find(result, VERIFY_NOT_ESTABLISHED, "policy", "it names a policy "
		    "pack that no policy record here brings into force: %s", load->kind ==
		    VERIFY_BUNDLE ? "whether one before the run's opening does, the ledger tells" :
		    "more of them are named in the session than are kept");
	case CHAIN_CROWDED:
		return verify_find(result, VERIFY_NOT_ESTABLISHED, "too_many_streams",
		    "more than %u streams: this one was not followed", CHAIN_STREAMS_MAX);
	case CHAIN_PREV: case CHAIN_START: case CHAIN_UNOPENED: case CHAIN_CUT:
	case CHAIN_CLOSE: case CHAIN_OPEN: case CHAIN_NO_HOLE: case CHAIN_HEADS:
	case CHAIN_CLOCK: case CHAIN_PACK_OTHER: case CHAIN_PACK:
		break;
	}
	return verify_find(result, plain[e->kind].verdict, plain[e->kind].code, "%s",
	    plain[e->kind].what);
}

static void
flaw(const struct chain *chain, const struct load *load,
    const struct chain_event *e, struct verify_result *result)
{
	struct verify_finding *f = name_flaw(load, e, result);

	if (e->kind == CHAIN_MISSING)
		f->count = e->seq - e->expected;
	else if (e->kind == CHAIN_DROP)
		f->count = e->dropped;
	locate_at_event(chain, load, e, f);
}

void
locate_flaws(const struct chain *chain, const struct load *load,
    struct verify_result *result)
{
	const struct chain_event *e;
	unsigned i;

	for (i = 0; i < chain->events; i++) {
		e = &chain->event[i];
		if (load->kind == VERIFY_LEDGER && e->index >= load_sealed(load) &&
		    e->rule != record_other_version && e->kind != CHAIN_CUT && e->kind != CHAIN_DROP &&
		    e->kind != CHAIN_CROWDED && e->kind != CHAIN_PACK_BEFORE)
			foreign(chain, load, e, result);
		else
			flaw(chain, load, e, result);
	}
	if (chain->event_count > chain->events)
		verify_find(result, VERIFY_GAP, "more", "%" PRIu64
		    " more places where streams do not fit", chain->event_count - chain->events);
}
