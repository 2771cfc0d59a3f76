#include "cli/data.h"
#include "binding/binding.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "conf/conf.h"
#include "home.h"
#include "private_file.h"
#include "reserve.h"
#include "trouble.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA_MAX (4u << 20)	/* bytes of a data document */

struct data {
	char path[PATH_MAX];
	int lock;		/* -1: on a file system that cannot be written */
	uint8_t *old;		/* the file as it was */
	size_t old_len;
	json_t *root;
};

/* The lock lies outside the pack, whose files are its digest. */
static int
take_lock(struct data *data)
{
	char path[PATH_MAX], err[CLI_ERR_MAX] = "";

	if (home_make_rooms(err, sizeof(err)) == 0) {
		cli_home_path("run/data", path, sizeof(path));
		if ((data->lock = private_file_lock(path, 1)) != -1)
			return 0;
		if (errno == EROFS)
			return 0;	/* nobody writes there: it can be read all the same */
		(void)trouble(err, sizeof(err), path, errno);
	}
	cli_err("%s", err);
	return -1;
}

/* Those whose members the commands change. */
static int
check_members(const struct data *data)
{
	static const char *const names[] = { "bindings", "egress" };
	const json_t *member;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		member = json_object_get(data->root, names[i]);
		if (member == NULL || json_is_object(member))
			continue;
		cli_err("%s: %s is no object", data->path, names[i]);
		return -1;
	}
	return 0;
}

static int
load(struct data *data)
{
	json_error_t where;

	cli_home_path("pack/data.json", data->path, sizeof(data->path));
	data->old = private_file_read(data->path, PRIVATE_SETTINGS, DATA_MAX,
	    &data->old_len);
	if (data->old == NULL) {
		cli_err("%s %s%s", data->path, private_file_why(errno),
		    errno == ENOENT ? ": put it back (packs/ in the home keeps "
		    "the packs that were in force), or write {} for none" : "");
		return -1;
	}
	data->root = json_loadb((const char *)data->old, data->old_len,
	    JSON_REJECT_DUPLICATES, &where);
	if (json_is_object(data->root))
		return check_members(data);
	cli_err("%s, line %d: %s", data->path, where.line,
	    data->root == NULL ? where.text : "not an object");
	return -1;
}

struct data *
data_open(void)
{
	struct data *data = calloc(1, sizeof(*data));

	if (data == NULL) {
		cli_err("out of memory");
		return NULL;
	}
	data->lock = -1;
	if (take_lock(data) == 0 && load(data) == 0)
		return data;
	data_close(data);
	return NULL;
}

void
data_close(struct data *data)
{
	if (data == NULL)
		return;
	json_decref(data->root);
	free(data->old);
	if (data->lock != -1)
		close(data->lock);
	free(data);
}

/* The same parser that the broker uses, so that what is written is read.  *asks:
 * must a person agree to something? */
static int
readable(const char *text, size_t len, bool *asks, char *err, size_t err_len)
{
	struct bindings *bindings = bindings_parse(text, len, err, err_len);

	if (bindings == NULL)
		return -1;
	*asks = bindings_asking(bindings) != NULL;
	bindings_free(bindings);
	return 0;
}

int
data_pack_readable(const struct policy_pack *pack, char *err, size_t err_len)
{
	size_t len;
	const char *text = policy_pack_data(pack, &len);
	struct bindings *bindings = bindings_parse(text, len, err, err_len);
	int rc = bindings == NULL ? -1 :
	    bindings_ask_heeded(bindings, pack, err, err_len);

	bindings_free(bindings);
	return rc;
}

int
data_check(struct data *data, char *err, size_t err_len)
{
	char why[CLI_ERR_MAX] = "";
	bool asks;

	if (readable((const char *)data->old, data->old_len, &asks, why,
	    sizeof(why)) == 0)
		return 0;
	snprintf(err, err_len, "%s: %s", data->path, cli_clean(why));
	return -1;
}

json_t *
data_root(struct data *data)
{
	return data->root;
}

const uint8_t *
data_bytes(const struct data *data, size_t *len)
{
	*len = data->old_len;
	return data->old;
}

static json_t *
member(json_t *parent, const char *name, json_t *fresh, json_type type)
{
	json_t *there = json_object_get(parent, name);

	if (there == NULL) {
		json_object_set_new(parent, name, fresh);
		return json_object_get(parent, name);
	}
	json_decref(fresh);
	return json_typeof(there) == type ? there : NULL;
}

json_t *
data_object(json_t *parent, const char *name)
{
	return member(parent, name, json_object(), JSON_OBJECT);
}

json_t *
data_array(json_t *parent, const char *name)
{
	return member(parent, name, json_array(), JSON_ARRAY);
}

static int
check(const char *text, bool *asks)
{
	char err[CLI_ERR_MAX] = "";

	if (readable(text, strlen(text), asks, err, sizeof(err)) == 0)
		return 0;
	cli_err("%s; nothing was changed", cli_clean(err));
	return -1;
}

int
data_put_in_force(int (*put_back)(void *), void *arg, const char *done,
    const char *kept)
{
	struct client_reply reply;
	enum client_result result;
	int rc = CLI_OK;

	result = client_operator("POST", "/v1/policy/reload", NULL, &reply);
	if (result == CLIENT_REFUSED || result == CLIENT_BROKEN) {
		rc = client_fail(result, &reply);
		cli_err("%s", reply.status == 422 && put_back(arg) == 0 ? done :
		    kept);
	}
	client_reply_release(&reply);
	return rc;
}

static int
put_back(void *arg)
{
	const struct data *data = arg;

	return private_file_replace(data->path, data->old, data->old_len);
}

/* The rules beside it may be those of a version that knew no `ask`: without a
 * daemon nobody else would say so before the next start. */
static int
fits_rules(struct data *data)
{
	char path[PATH_MAX], err[CLI_ERR_MAX] = "";
	struct policy_pack *pack;
	int rc = -1;

	cli_home_path("pack", path, sizeof(path));
	if ((pack = policy_pack_load(path, err, sizeof(err))) != NULL)
		rc = data_pack_readable(pack, err, sizeof(err));
	policy_pack_unref(pack);
	if (rc != 0)
		cli_err("%s; %s", cli_clean(err), put_back(data) == 0 ?
		    "nothing was changed" : "it could not be put back");
	return rc;
}

static int
tell_daemon(struct data *data)
{
	char kept[PATH_MAX + 160];

	snprintf(kept, sizeof(kept), "%s is written; the daemon still decides by "
	    "the old one: once the cause is gone, `countersign policy reload` "
	    "puts it in force, as does a restart", data->path);
	return data_put_in_force(put_back, data,
	    "the policy was put back as it was", kept);
}

/* Where a bundle decides, this text does not. */
static void
warn_of_bundle(void)
{
	char path[PATH_MAX], err[CLI_ERR_MAX];
	struct conf conf;

	cli_home_path("config.json", path, sizeof(path));
	if (conf_load(path, &conf, err, sizeof(err)) != 0)
		return;
	if (conf.policy.bundle.from != NULL)
		cli_err("note: packs come from policy.bundle in config.json; "
		    "once one is in force, this decides nothing");
	conf_free(&conf);
}

static int
replace(const struct data *data, const char *text, enum data_change change)
{
	char run[PATH_MAX];
	int error;

	if (data->lock == -1) {
		errno = EROFS;
		return -1;
	}
	if (private_file_replace(data->path, text, strlen(text)) == 0)
		return 0;
	error = errno;
	cli_home_path("run", run, sizeof(run));
	if ((error == ENOSPC || error == EDQUOT) && change == DATA_TAKES &&
	    reserve_release(run))
		return private_file_replace(data->path, text, strlen(text));
	errno = error;
	return -1;
}

int
data_commit(struct data *data, enum data_change change)
{
	char *text = json_dumps(data->root, JSON_INDENT(2));
	int rc = CLI_USAGE;
	bool asks = false;

	if (text == NULL) {
		cli_err("out of memory");
	} else if (check(text, &asks) != 0) {
		rc = CLI_REFUSED;
	} else if (replace(data, text, change) != 0) {
		cli_err("%s %s; nothing was changed", data->path,
		    private_file_why(errno));
	} else if (asks && fits_rules(data) != 0) {
		rc = CLI_REFUSED;
	} else {
		rc = tell_daemon(data);
		warn_of_bundle();
	}
	free(text);
	return rc;
}
