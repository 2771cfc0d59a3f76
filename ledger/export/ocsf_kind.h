/* Which class and activity of OCSF a record is.  Private to ocsf*.c; pure. */
#ifndef LEDGER_EXPORT_OCSF_KIND_H
#define LEDGER_EXPORT_OCSF_KIND_H

#include <stdbool.h>

#include "ledger/evidence/facts.h"

enum ocsf_class { BASE = 0, FINDING = 2004, NETWORK = 4001, HTTP = 4002, CONFIG = 5019,
	LIFECYCLE = 6002, API = 6003 };
enum { OTHER = 99 };
enum { INFORMATIONAL = 1, LOW = 2, MEDIUM = 3, HIGH = 4 };
enum { SUCCESS = 1, FAILURE = 2 };

struct ocsf_kind {
	enum ocsf_class class;
	int activity;
	const char *activity_name;
	int severity;
	int status;		/* 0: not told */
};

/* Its activity_name is a constant, or the facts'. */
struct ocsf_kind ocsf_kind(const struct facts *f);

/* Is it a method that the schema's closed list has? */
bool ocsf_has_method(const char *verb);

#endif
