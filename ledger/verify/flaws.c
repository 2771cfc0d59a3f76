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

static void
flaw(const struct chain *chain, const struct load *load,
    const struct chain_event *e, struct verify_result *result)
{
	struct verify_finding *f = NULL;

	switch (e->kind) {
	case CHAIN_UNREADABLE:
		f = verify_find(result, VERIFY_GAP, "malformed", "signed, but no record: %s",
		    e->rule);
		break;
	case CHAIN_PREV:
		f = verify_find(result, VERIFY_GAP, "chain",
		    "signed, but its prev is not the leaf of its stream's record before");
		break;
	case CHAIN_MISSING:
		f = verify_find(result, VERIFY_GAP, "missing",
		    "seq %" PRIu64 " to %" PRIu64 " were never signed, before this record",
		    e->expected, e->seq - 1);
		f->count = e->seq - e->expected;
		break;
	case CHAIN_BACK:
		f = verify_find(result, VERIFY_GAP, "reordered",
		    "signed, but seq %" PRIu64 " stands where %" PRIu64 " belongs",
		    e->seq, e->expected);
		break;
	case CHAIN_START:
		f = verify_find(result, VERIFY_GAP, "chain",
		    "its stream does not begin with seq 0 and a prev of zeros");
		break;
	case CHAIN_UNOPENED:
		f = verify_find(result, VERIFY_GAP, "unopened",
		    "a record of a stream that is not open");
		break;
	case CHAIN_CUT:
		f = verify_find(result, VERIFY_NOT_ESTABLISHED, "no_close",
		    "opened again without a close: the writer ended without one, and "
		    "what it had not yet written is not known");
		break;
	case CHAIN_CLOSE:
		f = verify_find(result, VERIFY_GAP, "chain",
		    "a close that names another last seq than its own");
		break;
	case CHAIN_OPEN:
		f = verify_find(result, VERIFY_GAP, "chain", "an open that names another "
		    "origin, size or last seq than this ledger has");
		break;
	case CHAIN_NO_HOLE:
		f = verify_find(result, VERIFY_GAP, "chain",
		    "a drop that stands behind no such hole as it declares");
		break;
	case CHAIN_DROP:
		f = verify_find(result, VERIFY_GAP, "dropped",
		    "%" PRIu64 " records declared as dropped before this one", e->dropped);
		f->count = e->dropped;
		break;
	case CHAIN_HEADS:
		f = verify_find(result, VERIFY_GAP, "heads",
		    "a table of heads that the streams do not fit");
		break;
	case CHAIN_CLOCK:
		f = verify_find(result, VERIFY_GAP, "clock", "earlier than the record "
		    "before it in its stream, and no clock record says so");
		break;
	case CHAIN_PACK_OTHER:
		f = verify_find(result, VERIFY_GAP, "policy", "it says that another policy pack "
		    "was in force before than the one that it names itself");
		break;
	case CHAIN_PACK:
		f = verify_find(result, VERIFY_GAP, "policy", "it names a policy pack that no "
		    "open and no policy record before it brings into force");
		break;
	case CHAIN_PACK_BEFORE:
		f = verify_find(result, VERIFY_NOT_ESTABLISHED, "policy", "it names a policy "
		    "pack that no policy record here brings into force: %s", load->kind ==
		    VERIFY_BUNDLE ? "whether one before the run's opening does, the ledger tells" :
		    "more of them are named in the session than are kept");
		break;
	case CHAIN_CROWDED:
		f = verify_find(result, VERIFY_NOT_ESTABLISHED, "too_many_streams",
		    "more than %u streams: this one was not followed", CHAIN_STREAMS_MAX);
		break;
	}
	if (f != NULL)
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
		    e->kind != CHAIN_CUT && e->kind != CHAIN_DROP &&
		    e->kind != CHAIN_CROWDED && e->kind != CHAIN_PACK_BEFORE)
			foreign(chain, load, e, result);
		else
			flaw(chain, load, e, result);
	}
	if (chain->event_count > chain->events)
		verify_find(result, VERIFY_GAP, "more", "%" PRIu64
		    " more places where streams do not fit", chain->event_count - chain->events);
}
