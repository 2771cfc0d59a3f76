/* Walking any tree of files, however large.  Private to the scanner. */
#ifndef LEDGER_SCAN_TREE_H
#define LEDGER_SCAN_TREE_H

#include <stdint.h>

#define SCAN_TREE_DEPTH_MAX 200

struct scan_tree_calls {
	void (*file)(void *context, const char *path, int fd);
	void (*link)(void *context, const char *path);
	/* an empty directory; what is neither file nor directory nor link */
	void (*empty)(void *context, const char *path);
	void (*special)(void *context, const char *path);
	void (*failed)(void *context, const char *path, const char *why);
	void *context;
};

/* Every regular file below the directory, by name; takes dirfd.  Links are not
 * followed, special files not opened. */
void scan_tree_walk(int dirfd, const struct scan_tree_calls *calls);

#endif
