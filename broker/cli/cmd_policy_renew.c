/*
 * countersign policy renew: the rules of this version's default pack in a home
 * that an older version made.  What people edit, data.json, stays.
 */
#include "cli/aside.h"
#include "cli/cmd.h"
#include "cli/data.h"
#include "policy/policy.h"
#include "private_file.h"
#include "trouble.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

const char cmd_policy_renew_details[] =
"The pack that was in force is moved to HOME/pack-<time>: where its rules were\n"
"changed, or others took their place, look there.";

struct renew {
	struct aside paths;
	char err[CLI_ERR_MAX];
};

/* What a failure left, now or the last time: files only. */
static void
clean_next(const struct renew *renew)
{
	struct dirent *entry;
	DIR *dir = opendir(renew->paths.next);

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		(void)unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	(void)rmdir(renew->paths.next);
}

static int
make_next(struct renew *renew, const struct data *data)
{
	char path[PATH_MAX + 16];
	const uint8_t *bytes;
	size_t len;

	clean_next(renew);
	if (policy_default_pack_write(renew->paths.next, renew->err,
	    sizeof(renew->err)) != 0)
		return -1;
	snprintf(path, sizeof(path), "%s/data.json", renew->paths.next);
	bytes = data_bytes(data, &len);
	return private_file_replace(path, bytes, len) == 0 ? 0 :
	    trouble(renew->err, sizeof(renew->err), path, errno);
}

/* 1: they are the same; 0: they are not, and the new one can be used. */
static int
compare(struct renew *renew)
{
	char why[CLI_ERR_MAX];
	struct policy_pack *old = policy_pack_load(renew->paths.old, why, sizeof(why));
	struct policy_pack *next = policy_pack_load(renew->paths.next, why, sizeof(why));
	int rc = -1;

	if (next == NULL)
		snprintf(renew->err, sizeof(renew->err), "the default rules "
		    "cannot be used with this pack's data.json: %.*s; nothing "
		    "was changed", CLI_ERR_MAX / 2, cli_clean(why));
	else	/* one that cannot be used is no reason to keep it */
		rc = old != NULL && strcmp(policy_pack_digest(old),
		    policy_pack_digest(next)) == 0;
	policy_pack_unref(old);
	policy_pack_unref(next);
	return rc;
}

static int
put_in_place(struct renew *renew)
{
	if (rename(renew->paths.old, renew->paths.aside) != 0)
		return trouble(renew->err, sizeof(renew->err), renew->paths.aside, errno);
	if (rename(renew->paths.next, renew->paths.old) == 0)
		return 0;
	(void)trouble(renew->err, sizeof(renew->err), renew->paths.old, errno);
	if (rename(renew->paths.aside, renew->paths.old) != 0)
		cli_err("the pack is in %s", renew->paths.aside);
	return -1;
}

static int
put_back(void *arg)
{
	const struct renew *renew = arg;

	return rename(renew->paths.old, renew->paths.next) == 0 ?
	    rename(renew->paths.aside, renew->paths.old) : -1;
}

/* A daemon that runs decides by it at once; what it refuses is put back. */
static int
tell_daemon(struct renew *renew)
{
	char kept[2 * PATH_MAX + 80];

	snprintf(kept, sizeof(kept), "%s is renewed; the daemon still decides by "
	    "the old one, in %s", renew->paths.old, renew->paths.aside);
	return data_put_in_force(put_back, renew,
	    "the pack was put back as it was", kept);
}

static int
renew_pack(struct renew *renew, const struct data *data)
{
	int same, rc;

	if (aside_name("pack", &renew->paths, renew->err, sizeof(renew->err)) != 0 ||
	    make_next(renew, data) != 0)
		return CLI_USAGE;
	if ((same = compare(renew)) < 0)
		return CLI_REFUSED;
	if (same) {
		puts("The pack's rules are this version's already.");
		return CLI_OK;
	}
	if (put_in_place(renew) != 0)
		return CLI_USAGE;
	if ((rc = tell_daemon(renew)) == CLI_OK)
		printf("The pack has this version's rules, and its own data.\n"
		    "The old one is in %s\n", renew->paths.aside);
	return rc;
}

int
cmd_policy_renew(const struct opts *opts)
{
	static struct renew renew;
	struct data *data;
	int rc;

	if (opts->n_rest > 0)
		return cli_usage("policy renew takes no operand");
	if ((rc = cli_need_home()) != 0)
		return rc;
	if ((data = data_open()) == NULL)
		return CLI_USAGE;
	rc = renew_pack(&renew, data);
	if (renew.err[0] != '\0')
		cli_err("%s", renew.err);
	clean_next(&renew);
	data_close(data);
	return rc;
}
