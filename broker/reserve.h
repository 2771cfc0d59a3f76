/*
 * A little of the disk is kept back in HOME/run/reserve (dir: HOME/run).  On a full one nothing new
 * can be stored, which is right for what gives rights and wrong for what takes them
 * away: that may have this room.
 */
#ifndef BROKER_RESERVE_H
#define BROKER_RESERVE_H

#include <stdbool.h>

/* Make it, where it is not there and there is plenty of space beside it.  For the
 * daemon, now and then. */
void reserve_keep(const char *dir);

/* Give it up.  Was there one?  Then what found no space may be tried once more. */
bool reserve_release(const char *dir);

#endif
