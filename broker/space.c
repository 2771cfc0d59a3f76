#include "space.h"

#include <stddef.h>
#include <sys/statvfs.h>

int64_t
space_left(const char *path)
{
	struct statvfs is;
	int64_t bytes;

	if (path == NULL || statvfs(path, &is) != 0 ||
	    __builtin_mul_overflow(is.f_bavail, is.f_frsize, &bytes))
		return -1;
	return bytes;
}
