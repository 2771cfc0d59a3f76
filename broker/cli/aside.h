/* A part of the home that is made anew: the old one is moved aside, never removed. */
#ifndef BROKER_CLI_ASIDE_H
#define BROKER_CLI_ASIDE_H

#include <limits.h>
#include <stddef.h>

struct aside {
	char old[PATH_MAX];	/* HOME/what */
	char next[PATH_MAX];	/* HOME/what.new, where the new one is made */
	char aside[PATH_MAX];	/* HOME/what-<UTC time>: nothing is there yet */
};

/* 0, or -1 with a message. */
int aside_name(const char *what, struct aside *paths, char *err, size_t err_len);

#endif
