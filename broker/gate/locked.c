#include "gate/locked.h"

#include <stdio.h>
#include <sys/resource.h>

/* Rounded up, for secrets of up to some hundred bytes. */
#define BASE_KIB 64
#define VERSION_KIB 4
#define USED_KIB 20

void
locked_want(size_t versions, size_t used, char *buf, size_t cap)
{
	const size_t want_kib = BASE_KIB + VERSION_KIB * versions +
	    USED_KIB * used;
	struct rlimit limit;

	buf[0] = '\0';
	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
	    limit.rlim_cur == RLIM_INFINITY || want_kib <= limit.rlim_cur / 1024)
		return;
	snprintf(buf, cap, "; %zu versions of secrets, %zu in use, want about %zu "
	    "KiB of locked memory, and the limit is %zu KiB: raise it (ulimit -l, "
	    "LimitMEMLOCK=)", versions, used, want_kib,
	    (size_t)limit.rlim_cur / 1024);
}
