#include "trouble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	int error;
	const char *remedy;
} remedies[] = {
	{ EACCES, "let this user in (owner, mode, and those of the directories above)" },
	{ EPERM, "let this user in (owner, mode, and those of the directories above)" },
	{ EADDRINUSE, "another program has that port: stop it, or choose another in config.json (port 0: any that is free)" },
	{ EADDRNOTAVAIL, "this machine has no such address: choose one of 127.0.0.0/8 in config.json" },
	{ EAGAIN, "too many processes or threads: raise `ulimit -u`" },
	{ EDQUOT, "free some of this user's quota" },
	{ EFBIG, "raise `ulimit -f`" },
	{ EISDIR, "a file is wanted there: move the directory away" },
	{ ELOOP, "name the file itself, not a symbolic link to it" },
	{ EMFILE, "raise `ulimit -n`, or LimitNOFILE= of the service" },
	{ ENAMETOOLONG, "choose a shorter home with COUNTERSIGN_HOME" },
	{ ENFILE, "too many files are open on this machine" },
	{ ENOMEM, "give it more memory" },
	{ ENOSPC, "free some space there" },
	{ ENOTDIR, "a directory is wanted where a file is: move the file away" },
	{ EROFS, "that file system is mounted read-only: choose another home with COUNTERSIGN_HOME, or mount it writable" },
};

const char *
trouble_remedy(int error)
{
	static _Thread_local char text[160];

	for (size_t i = 0; i < sizeof(remedies) / sizeof(*remedies); i++) {
		if (remedies[i].error != error)
			continue;
		snprintf(text, sizeof(text), "; %s", remedies[i].remedy);
		return text;
	}
	return "";
}

int
trouble(char *err, size_t err_len, const char *what, int error)
{
	snprintf(err, err_len, "%.900s: %s%s", what, strerror(error),
	    trouble_remedy(error));
	return -1;
}
