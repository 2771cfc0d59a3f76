/* The members whose strings the pieces of a streamed answer are: the scanner puts them
 * together, and the proxy watches them. */
#ifndef LEDGER_SCAN_VIEW_DELTAS_H
#define LEDGER_SCAN_VIEW_DELTAS_H

#define SCAN_DELTA_KEYS 13
extern const char *const scan_delta_keys[SCAN_DELTA_KEYS];

#endif
