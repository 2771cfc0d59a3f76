/* An observer's key, and what he signs with it. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>

#include "ledger/command/main_impl.h"
#include "ledger/command/options.h"
#include "ledger/coverage/given.h"
#include "ledger/coverage/signed.h"
#include "ledger/coverage/truth.h"
#include "ledger/output/shown.h"
#include "ledger/tree/note_secret.h"

static const char key_help[] =
"The key with which an observer signs what he saw, so that it can establish\n"
"coverage for an auditor who pins it (observers, in a trust policy).  Prints the\n"
"public key (vkey) of the key in KEYFILE.\n"
"\n"
"Options:\n"
"      --name=NAME       make KEYFILE first: a new key of that name, such as\n"
"                        api.example.com/access-log; never over another file\n"
"  -h, --help\n";

static const char sign_help[] =
"Sign ground truth: the file with a signature behind it (a C2SP signed note).  It\n"
"must say that it misses nothing of what it sees (exhaustive) from when to when\n"
"(from, to), and every line must be an action.  TRUTH is a file, or - or nothing for\n"
"standard input.\n"
"\n"
"Options:\n"
"  -k, --key=KEYFILE     the key (coverage key makes it)\n"
"  -o, --output=FILE     default standard output; never over another file\n"
"  -h, --help\n";

/* ---- writing ---- */

static int
write_new(const char *path, const char *text, size_t len)
{
	FILE *out = fopen(path, "wxe");
	int bad;

	if (out == NULL)
		return -1;
	bad = fwrite(text, 1, len, out) != len;
	if (fclose(out) != 0 || bad) {
		unlink(path);
		return -1;
	}
	return 0;
}

int
coverage_put(const struct coverage_defaults *d, const char *command, const char *path,
    const char *text, size_t len)
{
	const bool bad = path != NULL ? write_new(path, text, len) != 0 :
	    fwrite(text, 1, len, stdout) != len || fflush(stdout) != 0;

	if (bad)
		shown_complain("%s coverage %s: %s: %s", d->program, command,
		    path != NULL ? path : "standard output", strerror(errno));
	return bad ? EXIT_USAGE_OR_IO : 0;
}

/* NULL, or why nobody should sign it. */
static const char *
judge(const char *text, size_t len, char why[160])
{
	struct truth t;
	const char *result = why;

	if (signed_text_len(text, len) != len)
		return "it is signed already";
	if (truth_parse(&t, text, len, why, 160) != 0)
		;
	else if (t.bad > 0)
		snprintf(why, 160, "line %" PRIu64 ": %s", t.bad_line, t.bad_why);
	else if (t.beyond > 0)
		snprintf(why, 160, "line %" PRIu64 ": an action that its own sees has not",
		    t.beyond_line);
	else if (!t.exhaustive || t.from_us == INT64_MIN || t.to_us == INT64_MAX)
		result = "what is signed says that nothing is missing from when to when "
		    "(--exhaustive, --from, --to)";
	else if (t.to_us > (int64_t)time(NULL) * 1000000 + 1000000)
		result = "it speaks for a time that is not over (to)";
	else
		result = NULL;
	truth_free(&t);
	return result;
}

static int
sign_text(const char *keyfile, const char *text, size_t len, char **out, size_t *out_len,
    struct problem *problem)
{
	uint8_t *sk = sodium_malloc(NOTE_SK_LEN);
	struct note_key key;
	int status = -1;

	if (sk == NULL)
		problem_set(problem, "no memory that can be locked for the key");
	else if (note_secret_load(keyfile, NOTE_ED25519, &key, sk, problem) == 0) {
		*out = signed_make(text, len, &key, sk, out_len);
		status = *out != NULL ? 0 : problem_set(problem, "it cannot be signed: control "
		    "characters, or no memory");
	}
	sodium_free(sk);
	return status;
}

int
coverage_put_signed(const struct coverage_defaults *d, const char *command,
    const char *keyfile, const char *path, const char *text, size_t len)
{
	struct problem problem = { .text = "" };
	char why[160] = "", *out = NULL;
	const char *bad = judge(text, len, why);
	size_t out_len = 0;
	int status;

	if (bad == NULL && sign_text(keyfile, text, len, &out, &out_len, &problem) != 0)
		bad = problem.text;
	status = bad != NULL ? coverage_complain(d, command, bad) :
	    coverage_put(d, command, path, out, out_len);
	free(out);
	return status;
}

/* ---- coverage key ---- */

static int
make_key(const char *name, const char *path, struct problem *problem)
{
	uint8_t seed[NOTE_SEED_LEN];
	struct note_key key;
	int status;

	if (note_secret_new(name, NOTE_ED25519, &key, seed) != 0)
		return problem_set(problem, "the name must be without spaces and '+', like "
		    "api.example.com/access-log");
	status = note_secret_create(path, &key, seed, problem);
	sodium_memzero(seed, sizeof(seed));
	return status;
}

static int
print_vkey(const char *path, struct problem *problem)
{
	uint8_t *sk = sodium_malloc(NOTE_SK_LEN);
	char vkey[NOTE_VKEY_MAX + 1];
	struct note_key key;
	int status = sk == NULL ? problem_set(problem, "no memory that can be locked") :
	    note_secret_load(path, NOTE_ED25519, &key, sk, problem);

	sodium_free(sk);
	if (status == 0 && (note_key_format(&key, vkey, sizeof(vkey)) < 0 || puts(vkey) < 0 ||
	    fflush(stdout) != 0))
		status = problem_set(problem, "standard output: cannot be written");
	return status;
}

struct key_args {
	const char *name;
};

static const struct option_row key_options[] = {
	{ "name", 0, OPTION_TEXT, offsetof(struct key_args, name), NULL },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
};

int
coverage_key(int argc, char **argv, const struct coverage_defaults *d)
{
	struct problem problem = { .text = "" };
	struct key_args args = { .name = NULL };
	const char *why;
	const enum options_status got = options_read(key_options, argc, argv, &args, &why);

	if (got == OPTIONS_HELP)
		return coverage_help(d, "key", "[--name=NAME] KEYFILE", key_help);
	if (got == OPTIONS_READ && argc - optind != 1)
		coverage_complain(d, "key", "which file?");
	if (got != OPTIONS_READ || argc - optind != 1)
		return coverage_usage(d, "key");
	if ((args.name != NULL && make_key(args.name, argv[optind], &problem) != 0) ||
	    print_vkey(argv[optind], &problem) != 0)
		return coverage_complain(d, "key", problem.text);
	return 0;
}

/* ---- coverage sign ---- */

/* All of standard input, to be freed; NULL with a message. */
static char *
read_stdin(size_t *len, char *err, size_t err_len)
{
	size_t cap = 65536, n;
	char *text = malloc(cap), *more;

	*len = 0;
	while (text != NULL && (n = fread(text + *len, 1, cap - *len, stdin)) > 0) {
		*len += n;
		if (*len < cap)
			continue;
		more = cap < TRUTH_BYTES_MAX ? realloc(text, cap *= 2) : NULL;
		if (more == NULL)
			free(text);
		text = more;
	}
	snprintf(err, err_len, text == NULL ? "standard input: too long" :
	    "standard input: cannot be read");
	if (text != NULL && ferror(stdin)) {
		free(text);
		text = NULL;
	}
	return text;
}

static int
sign(const struct coverage_defaults *d, const char *keyfile, const char *path,
    const char *output)
{
	char err[512] = "", *text;
	size_t len = 0;
	int status;

	text = path == NULL || strcmp(path, "-") == 0 ? read_stdin(&len, err, sizeof(err)) :
	    given_read(path, TRUTH_BYTES_MAX, &len, err, sizeof(err));
	if (text == NULL)
		return coverage_complain(d, "sign", err);
	status = coverage_put_signed(d, "sign", keyfile, output, text, len);
	free(text);
	return status;
}

struct sign_args {
	const char *keyfile, *output;
};

static const struct option_row sign_options[] = {
	{ "key", 'k', OPTION_TEXT, offsetof(struct sign_args, keyfile), NULL },
	{ "output", 'o', OPTION_TEXT, offsetof(struct sign_args, output), NULL },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
};

int
coverage_sign(int argc, char **argv, const struct coverage_defaults *d)
{
	struct sign_args args = { .keyfile = NULL };
	const char *why;
	const enum options_status got = options_read(sign_options, argc, argv, &args, &why);

	if (got == OPTIONS_HELP)
		return coverage_help(d, "sign", "--key=KEYFILE [OPTION]... [TRUTH]", sign_help);
	if (got != OPTIONS_READ)
		return coverage_usage(d, "sign");
	if (args.keyfile == NULL || argc - optind > 1) {
		coverage_complain(d, "sign", args.keyfile == NULL ? "with which key? (--key)" :
		    "one truth at a time");
		return coverage_usage(d, "sign");
	}
	return sign(d, args.keyfile, argv[optind], args.output);
}
