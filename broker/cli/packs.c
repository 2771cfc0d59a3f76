#include "cli/packs.h"
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 8
#define COPY_CHUNK (1u << 20)

static int
copy_file(const char *from, const char *to)
{
	int in = -1, out = -1, rc = -1;
	ssize_t n = -1;

	in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (in != -1 && out != -1) {
		while ((n = sendfile(out, in, NULL, COPY_CHUNK)) > 0)
			;
		rc = n == 0 ? 0 : -1;
	}
	if (in != -1)
		close(in);
	if (out != -1 && close(out) != 0)
		rc = -1;
	return rc;
}

/* Regular files and directories; anything else in a pack is an error. */
static int
copy_tree(const char *from, const char *to, unsigned depth)
{
	char source[PATH_MAX], target[PATH_MAX];
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int rc = 0, a, b;

	if (depth > DEPTH_MAX || (dir = opendir(from)) == NULL)
		return -1;
	while (rc == 0 && (entry = readdir(dir)) != NULL) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		a = snprintf(source, sizeof(source), "%s/%s", from, entry->d_name);
		b = snprintf(target, sizeof(target), "%s/%s", to, entry->d_name);
		if (a < 0 || b < 0 || a >= PATH_MAX || b >= PATH_MAX ||
		    lstat(source, &st) != 0)
			rc = -1;
		else if (S_ISDIR(st.st_mode))
			rc = mkdir(target, 0700) == 0 ?
			    copy_tree(source, target, depth + 1) : -1;
		else
			rc = S_ISREG(st.st_mode) ? copy_file(source, target) : -1;
	}
	closedir(dir);
	return rc;
}

static void
remove_tree(const char *path, unsigned depth)
{
	char inner[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int n;

	if (depth <= DEPTH_MAX && (dir = opendir(path)) != NULL) {
		while ((entry = readdir(dir)) != NULL) {
			n = snprintf(inner, sizeof(inner), "%s/%s", path,
			    entry->d_name);
			if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' ||
			    strcmp(entry->d_name, "..") == 0))
				continue;
			if (n > 0 && n < PATH_MAX && unlink(inner) != 0)
				remove_tree(inner, depth + 1);
		}
		closedir(dir);
	}
	(void)rmdir(path);
}

/* The copy is read again: what is kept has the digest that it is kept under,
 * even if somebody edited the pack in between. */
static int
copy_pack(const char *pack, const char *packs, char *err, size_t err_len)
{
	char temp[PATH_MAX], final[PATH_MAX];
	struct policy_pack *copy = NULL;
	int rc = -1;

	if (snprintf(temp, sizeof(temp), "%s/.new.XXXXXX", packs) >= PATH_MAX ||
	    mkdtemp(temp) == NULL) {
		snprintf(err, err_len, "%.900s: %s", packs, strerror(errno));
		return -1;
	}
	if (copy_tree(pack, temp, 0) != 0) {
		snprintf(err, err_len, "%.900s: cannot be copied: %s", pack,
		    strerror(errno));
	} else if ((copy = policy_pack_load(temp, err, err_len)) != NULL &&
	    snprintf(final, sizeof(final), "%s/%s", packs,
	    policy_pack_digest(copy) + 7) < PATH_MAX) {
		rc = rename(temp, final) == 0 || errno == ENOTEMPTY ||
		    errno == EEXIST ? 0 : -1;
		if (rc != 0)
			snprintf(err, err_len, "%.900s: %s", final,
			    strerror(errno));
	}
	policy_pack_unref(copy);
	remove_tree(temp, 0);
	return rc;
}

int
packs_keep(char *err, size_t err_len)
{
	char pack[PATH_MAX], packs[PATH_MAX], there[PATH_MAX];
	struct policy_pack *loaded;
	int rc = 0;

	cli_home_path("pack", pack, sizeof(pack));
	cli_home_path("packs", packs, sizeof(packs));
	if (mkdir(packs, 0700) != 0 && errno != EEXIST) {
		snprintf(err, err_len, "%.900s: %s", packs, strerror(errno));
		return -1;
	}
	if ((loaded = policy_pack_load(pack, err, err_len)) == NULL)
		return -1;
	if (snprintf(there, sizeof(there), "%s/%s", packs,
	    policy_pack_digest(loaded) + 7) >= PATH_MAX || access(there, F_OK) != 0)
		rc = copy_pack(pack, packs, err, err_len);
	policy_pack_unref(loaded);
	return rc;
}

static bool
is_hex(const char *name)
{
	return strlen(name) == PACKS_HEX_LEN &&
	    strspn(name, "0123456789abcdef") == PACKS_HEX_LEN;
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
