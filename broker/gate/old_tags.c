/* Tags that nobody fetched: a run that was closed by the API, by its time or by
 * its starter's end leaves them in the broker's own folder. */
#include "gate/impl.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KEPT_S (30 * 24 * 3600)

static bool
is_tags(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".tags") == 0;
}

void
gate_tags_tidy(const char *dir, time_t now)
{
	DIR *all = opendir(dir);
	struct dirent *entry;
	struct stat st;

	while (all != NULL && (entry = readdir(all)) != NULL)
		if (is_tags(entry->d_name) && fstatat(dirfd(all), entry->d_name, &st,
		    AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		    st.st_mtime < now - KEPT_S)
			(void)unlinkat(dirfd(all), entry->d_name, 0);
	if (all != NULL)
		closedir(all);
}
