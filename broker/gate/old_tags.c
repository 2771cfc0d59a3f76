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
#define AGAIN_S 3600

static bool
is_tags(const char *name)
{
	size_t len = strlen(name);

	return len > 5 && strcmp(name + len - 5, ".tags") == 0;
}

/* One caller at a time, and not soon after the last: where thousands of runs were
 * closed, looking through their files took longer than closing one more. */
static bool
is_due(struct gate *gate, time_t now)
{
	int64_t last = atomic_load(&gate->tidied_s);

	return (now < last || now - last >= AGAIN_S) &&
	    atomic_compare_exchange_strong(&gate->tidied_s, &last, now);
}

void
gate_tags_tidy(struct gate *gate, time_t now)
{
	DIR *all = is_due(gate, now) ? opendir(gate->tags_dir) : NULL;
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
