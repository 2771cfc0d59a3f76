/* What the command of a run gets: environment, settings of its clients; and what is
 * hidden from it. */
#include "cli/lacking.h"
#include "cli/run/node_proxy.h"
#include "cli/run/run_exposed.h"
#include "cli/run/run_session.h"
#include "cli/run_bundle.h"
#include "json_in.h"
#include "private_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Kept in HOME, so that it can be shown inside; NULL where it cannot be. */
static const char *
kept(const char *name, const char *text, size_t len, char path[PATH_MAX])
{
	size_t had = 0;
	uint8_t *old;
	bool same;

	cli_home_path(name, path, PATH_MAX);
	old = private_file_read(path, PRIVATE_SETTINGS, 1u << 20, &had);
	same = old != NULL && had == len && memcmp(old, text, len) == 0;
	free(old);
	if (same || private_file_replace(path, text, len) == 0)
		return path;
	path[0] = '\0';
	return NULL;
}

static const char *
node_preload(struct run_session *session)
{
	size_t len;
	const char *text = node_proxy_text(&len);

	return kept("run/node_proxy.cjs", text, len, session->preload);
}

/* wget takes no certificates from a variable, but its system settings' place. */
static const char *
wgetrc(struct run_session *session)
{
	char text[PATH_MAX + 32];
	int len = snprintf(text, sizeof(text), "ca_certificate = %s\n",
	    client_str(json_object_get(session->run.json, "ca"), "bundle"));

	return kept("run/wgetrc", text, (size_t)len, session->wgetrc);
}

/* PHP takes them from its settings only, too, of which there may be more files.
 * Within single quotes nothing but one of those means anything. */
static const char *
php_ini(struct run_session *session)
{
	const char *bundle = client_str(json_object_get(session->run.json, "ca"),
	    "bundle");
	char text[2 * PATH_MAX + 64];
	int len = snprintf(text, sizeof(text),
	    "curl.cainfo = '%s'\nopenssl.cafile = '%s'\n", bundle, bundle);

	if (strpbrk(bundle, "'\n") != NULL)
		return NULL;
	return kept("run/php.ini", text, (size_t)len, session->php_ini);
}

/* Real secrets, or the placeholders of the run around this one, which took the
 * secrets out. */
static int
scrub_env(struct run_session *session)
{
	if (session->token != NULL) {
		run_env_forget(&session->env);
		return 0;
	}
	if (run_env_scrub(&session->env,
	    json_object_get(session->run.json, "scrub"), session->opts) != 0) {
		cli_err("the daemon's answer has no usable scrub tags");
		return -1;
	}
	if (json_is_false(json_object_get(json_object_get(session->run.json,
	    "scrub"), "complete")))
		cli_err("note: the vault did not give all of its secrets: others "
		    "than those are not looked for in the environment");
	return 0;
}

static int
make_env(struct run_session *session)
{
	bool inside = session->token != NULL;	/* has files of that run already */
	struct run_env_tools tools = { .self = session->self,
	    .node_preload = inside ? NULL : node_preload(session),
	    .wgetrc = inside ? NULL : wgetrc(session),
	    .php_ini = inside ? NULL : php_ini(session),
	    .direct_loopback = opt_flag(session->opts, "direct-loopback") };

	run_env_init(&session->env, environ);
	if (!session->env.failed && scrub_env(session) != 0)
		return -1;
	run_env_fill(&session->env, session->run.json, &tools);
	if (session->env.bindings_left_out > 0)
		cli_err("note: %zu bindings have no room in COUNTERSIGN_BINDINGS, so git "
		    "does not find them; --scope opens a run with those it needs",
		    session->env.bindings_left_out);
	if (!session->env.failed)
		return 0;
	cli_err("out of memory");
	return -1;
}

#define OUR_MASKS 5
_Static_assert(OUR_MASKS + RUN_EXPOSED_MAX <= RUN_HIDE_MASKS, "all have room");

/* Wherever the vault's passphrase may lie, or a token of the broker's own: the
 * command could open the vault, or ask in the broker's name.  And what else it is
 * not to see. */
static void
masks(struct run_session *session, const char *out[RUN_HIDE_MASKS])
{
	const char *dir = getenv("CREDENTIALS_DIRECTORY");
	size_t i;
	json_t *one;
	int n;

	json_array_foreach(session->hidden_paths, i, one)
		out[OUR_MASKS + i] = json_string_value(one);

	out[0] = getenv("COUNTERSIGN_PASSPHRASE_FILE");
	out[1] = session->conf.passphrase_file;
	out[3] = session->conf.kv.token_file;
	out[4] = session->conf.policy.token_file;
	if (dir == NULL)
		return;
	n = snprintf(session->credential, sizeof(session->credential),
	    "%s/passphrase", dir);
	if (n > 0 && (size_t)n < sizeof(session->credential))
		out[2] = session->credential;
}

static int
plan_hiding(struct run_session *session)
{
	const json_t *ca = json_object_get(session->run.json, "ca");
	struct run_hide what = { .home = session->home,
	    .socket = client_str(json_object_get(session->run.json, "api"),
	    "socket") };
	size_t n = 0;

	if (opt_flag(session->opts, "no-hide") || session->token != NULL)
		return 0;
	masks(session, what.masks);
	what.files[n++] = client_str(ca, "cert");
	what.files[n++] = client_str(ca, "bundle");
	if (session->preload[0] != '\0')
		what.files[n++] = session->preload;
	if (session->wgetrc[0] != '\0')
		what.files[n++] = session->wgetrc;
	if (session->php_ini[0] != '\0')
		what.files[n++] = session->php_ini;
	session->hide = run_hide_prepare(&what, session->err,
	    sizeof(session->err));
	if (session->hide != NULL)
		return 0;
	if (access(client_str(ca, "cert"), R_OK) != 0)
		cli_err("local CA: %s: %s; restore it from a copy, or make another: "
		    "countersign ca renew", client_str(ca, "cert"),
		    strerror(errno));
	else
		cli_err("the home cannot be hidden from the command: %s; --no-hide "
		    "runs it without", cli_clean(session->err));
	return -1;
}

/* Does a binding that the run has a placeholder for leave requests to a person? */
static bool
asks(const struct run_session *session)
{
	const json_t *bindings;
	char path[PATH_MAX];
	json_t *data, *one;
	bool any = false;
	size_t i;

	cli_home_path("pack/data.json", path, sizeof(path));
	data = json_in_file(path);
	bindings = json_object_get(data, "bindings");
	json_array_foreach(json_object_get(session->run.json, "placeholders"), i, one)
		any |= json_array_size(json_object_get(json_object_get(bindings,
		    client_str(one, "binding")), "ask")) > 0;
	json_decref(data);
	return any;
}

/* What is kept in the home of the operator, who is not inside a run. */
static int
prepare_home(struct run_session *session)
{
	char path[PATH_MAX];

	if (run_bundle_remember(session->run.json, session->err,
	    sizeof(session->err)) != 0) {
		cli_err("%s", session->err);
		return -1;
	}
	snprintf(session->home, sizeof(session->home), "%s", cli_home());
	cli_home_path("config.json", path, sizeof(path));
	if (conf_load(path, &session->conf, session->err,
	    sizeof(session->err)) != 0) {
		cli_err("%s", session->err);
		return -1;
	}
	/* Before the command fails for the want of it. */
	lacking_print(stderr, json_object_get(session->run.json,
	    "placeholders_missing"), "countersign: note: ");
	/* The command will stand still without a word. */
	if (!opt_flag(session->opts, "quiet") && asks(session))
		cli_err("note: some requests of this run wait for a person's word; "
		    "`countersign approve --watch`, in another terminal, asks for it");
	return 0;
}

int
run_session_prepare(struct run_session *session)
{
	ssize_t len;

	if (session->token == NULL && prepare_home(session) != 0)
		return -1;
	len = readlink("/proc/self/exe", session->self, sizeof(session->self) - 1);
	if (len <= 0) {
		cli_err("/proc/self/exe: %s", strerror(errno));
		return -1;
	}
	session->self[len] = '\0';
	if (make_env(session) != 0)
		return -1;
	return plan_hiding(session);
}
