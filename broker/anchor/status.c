#include "anchor/status.h"

static const struct {
	const char *word, *text;
} reasons[ANCHOR_REASONS] = {
	{ "waiting", "not asked yet" },
	{ "ok", "" },
	{ "unreached", "no answer came" },
	{ "unknown_log", "it does not watch this ledger: give it log.vkey" },
	{ "unknown_key", "it does not know the key in force: give it the "
	    "epoch's vkey" },
	{ "refused", "it refused" },
	{ "bad_answer", "its answer holds no signature of its key, or cannot "
	    "be understood" },
	{ "no_proof", "the hashes beside the records are not whole: start the "
	    "daemon again" },
	{ "not_kept", "its answer could not be written" },
	{ "equivocation", "it has cosigned another history of the same size" },
	{ "inconsistent", "what it has cosigned is not how this ledger begins" },
	{ "rolled_back", "it has cosigned more records than are here: the "
	    "ledger was put back" },
};

static uint32_t
within(uint32_t reason)
{
	return reason < ANCHOR_REASONS ? reason : ANCHOR_BAD_ANSWER;
}

const char *
anchor_reason_word(uint32_t reason)
{
	return reasons[within(reason)].word;
}

const char *
anchor_reason_text(uint32_t reason)
{
	return reasons[within(reason)].text;
}

bool
anchor_reason_alarm(uint32_t reason)
{
	return reason >= ANCHOR_EQUIVOCATION && reason < ANCHOR_REASONS;
}
