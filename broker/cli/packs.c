#include "cli/packs.h"
#include "cli/cli.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
is_hex(const char *name)
{
	return strlen(name) == PACKS_HEX_LEN &&
	    strspn(name, "0123456789abcdef") == PACKS_HEX_LEN;
}

void
packs_again(const char *digest)
{
	char packs[PATH_MAX], kept[PATH_MAX], pack[PATH_MAX],
	    there[POLICY_DIGEST_LEN + 1] = "", err[CLI_ERR_MAX];
	struct policy_pack *loaded = NULL;
	int len;

	cli_home_path("packs", packs, sizeof(packs));
	cli_home_path("pack", pack, sizeof(pack));
	len = snprintf(kept, sizeof(kept), "%s/%s", packs,
	    strlen(digest) == POLICY_DIGEST_LEN ? digest + 7 : "");
	if (len < 0 || (size_t)len >= sizeof(kept) || access(kept, F_OK) == 0 ||
	    policy_pack_digest_at(pack, there, err, sizeof(err)) != 0 ||
	    strcmp(there, digest) != 0)
		return;
	/* Where it cannot be, the verifier says that it is missing. */
	if ((loaded = policy_pack_load(pack, err, sizeof(err))) != NULL)
		(void)policy_pack_keep(loaded, packs, err, sizeof(err));
	policy_pack_unref(loaded);
}

size_t
packs_since(const char *digest, time_t since, size_t max,
    struct packs_kept **out)
{
	char packs[PATH_MAX], path[PATH_MAX];
	struct packs_kept *list = calloc(max, sizeof(*list));
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	size_t n = 0;
	int len;

	*out = list;
	cli_home_path("packs", packs, sizeof(packs));
	if (list == NULL || (dir = opendir(packs)) == NULL)
		return 0;
	while (n < max && (entry = readdir(dir)) != NULL) {
		len = snprintf(path, sizeof(path), "%s/%s", packs, entry->d_name);
		if (!is_hex(entry->d_name) || len < 0 ||
		    (size_t)len >= sizeof(list[n].dir) || stat(path, &st) != 0)
			continue;
		if (st.st_mtime < since && (strlen(digest) != POLICY_DIGEST_LEN ||
		    strcmp(digest + 7, entry->d_name) != 0))
			continue;
		snprintf(list[n].digest, sizeof(list[n].digest), "sha256:%.64s",
		    entry->d_name);
		memcpy(list[n].dir, path, (size_t)len + 1);
		n++;
	}
	closedir(dir);
	return n;
}
