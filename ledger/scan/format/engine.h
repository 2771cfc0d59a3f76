/*
 * Finds the formats of the table in a text.  Hyperscan (or vectorscan) looks
 * for the beginnings of all formats at once; each place that it names is
 * matched and weighed by our own pattern matcher, which alone decides.  So the
 * library can cost us time, or a miss, but never a wrong bound; and since it
 * is given whole texts, never streams, it keeps no state between them.
 *
 * Every format is also looked for backwards and through rot13.
 */
#ifndef LEDGER_SCAN_FORMAT_ENGINE_H
#define LEDGER_SCAN_FORMAT_ENGINE_H

#include "ledger/scan/format/formats.h"
#include "ledger/scan/view/map.h"

enum scan_mirror { SCAN_PLAIN, SCAN_REVERSED, SCAN_ROT13, SCAN_MIRRORS };

struct scan_hit {
	struct scan_match match;	/* start and len: in the text as it stands */
	enum scan_mirror mirror;
};

struct scan_hits {
	struct scan_hit *hit;	/* by start; they do not overlap */
	size_t n, cap;
	size_t *place;		/* where compressed data or an archive may begin */
	size_t places, places_cap;
	bool deltas;		/* a member of streamed answers is there (view/deltas.h) */
};

struct scan_engine;	/* of one thread */

/* The patterns are compiled once in a process.  NULL with a message: this
 * processor lacks what the library needs, or memory. */
struct scan_engine *scan_engine_new(char *err, size_t err_len);
void scan_engine_free(struct scan_engine *engine);

/* Replaces *hits.  map may be NULL (see pattern.h).  0, or -1 where not all
 * could be looked at: memory, or more matches than anybody wants to know. */
int scan_engine_run(struct scan_engine *engine, const uint8_t *text,
    size_t len, const struct scan_map *map, struct scan_hits *hits);

void scan_hits_free(struct scan_hits *hits);

/* The engine as the scanner calls it.  Who names it links the pattern library;
 * a program that looks for secrets alone does not. */
struct scan_engine_calls {
	struct scan_engine *(*open)(char *err, size_t err_len);
	int (*run)(struct scan_engine *engine, const uint8_t *text, size_t len,
	    const struct scan_map *map, struct scan_hits *hits);
	void (*close)(struct scan_engine *engine);
};
extern const struct scan_engine_calls scan_engine_formats;

#endif
