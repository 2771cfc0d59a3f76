/*
 * A bundle's manifest is not signed: whoever adds a file corrects it as well.
 * So each file is named for which nothing but the manifest speaks: what is not
 * of the ledger's part, no pack, and no anchor whose signature was verified and
 * counted.  That is stated and changes no verdict: an observer's truth/ stands
 * there by right, and is exactly as good as whoever handed it over, unless he
 * signed it (ledger/coverage/).
 */
#ifndef LEDGER_VERIFY_VOUCH_H
#define LEDGER_VERIFY_VOUCH_H

#include "ledger/verify/pass.h"

/* Behind the judgement of anchors; of a bundle.  Files that cannot be listed
 * were found before. */
void vouch_files(struct pass *pass);

/* Somebody vouches for this one after all: a path as it was shown. */
void vouch_taken(struct verify_result *result, const char *path);

/* The path as it may be shown, by the options. */
const char *vouch_shown(const struct verify_options *options, const char *path);

#endif
