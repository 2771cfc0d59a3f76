#include "ledger/command/proof_main.h"
#include "ledger/anchor/trust.h"
#include "ledger/command/options.h"
#include "ledger/output/shown.h"
#include "ledger/record/record.h"
#include "ledger/tree/epochs.h"
#include "ledger/tree/proof.h"
#include "ledger/input.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#define AHEAD_MAX_S 86400	/* a clock that is further ahead says nothing */

enum { SHOWN = 0, REFUTED = 1, NOT_ESTABLISHED = 2, USAGE_OR_IO = 3 };

static const char help[] =
"Usage: %s proof --key=KEY|--trust=FILE [OPTION]... PROOF [RECORD]\n"
"\n"
"Does PROOF (c2sp.org/tlog-proof@v1, from GET /v1/ledger/proof/INDEX) show that\n"
"RECORD is in the log with this key?  RECORD is a file with the record's line.\n"
"\n"
"  -k, --key=KEY     the log's public key: a vkey, or a file that holds it\n"
"      --trust=FILE  a trust policy instead: the log's keys, and witnesses of whom a\n"
"                    quorum must have cosigned the proof's checkpoint, not longer ago\n"
"                    than it says; where it wants time stamps, or records within a\n"
"                    time (max_width_s), no proof is enough\n"
"      --epochs=FILE what GET /v1/ledger/epochs gave: how later keys follow from KEY\n"
"      --leaf=HEX    the record's leaf hash, from a receipt, instead of RECORD\n"
"  -h, --help\n"
"\n"
"Exit status: 0 shown; 1 refuted; 2 not established: no record was given, or too\n"
"few witnesses cosigned; 3 usage or I/O error.\n";

struct args {
	const char *program, *key, *trust, *epochs, *leaf, *proof, *record;
};

static int
complain(const struct args *args, const char *what, const char *why)
{
	shown_complain("%s proof: %s: %s", args->program, what, why);
	return USAGE_OR_IO;
}

static char *
read_all(const struct args *args, const char *path, FILE *in, size_t max, size_t *len)
{
	char *text = malloc(max + 2);

	*len = 0;
	if (text == NULL || (*len = fread(text, 1, max + 1, in)) > max || ferror(in)) {
		complain(args, path, *len > max ? "too long" : strerror(errno));
		free(text);
		return NULL;
	}
	text[*len] = '\0';
	return text;
}

/* The whole of a file that has at most max bytes, to be freed; NULL and said. */
static char *
slurp(const struct args *args, const char *path, size_t max, size_t *len)
{
	FILE *in;
	char *text;

	if (strcmp(path, "-") == 0)
		return read_all(args, path, stdin, max, len);
	if ((in = input_open(path)) == NULL) {
		complain(args, path, input_why(errno));
		return NULL;
	}
	text = read_all(args, path, in, max, len);
	fclose(in);
	return text;
}

static int
read_key(const struct args *args, struct note_key *key)
{
	char *text;
	size_t len;
	int status;

	if (note_key_parse(key, args->key, strlen(args->key)) == 0)
		return 0;
	text = slurp(args, args->key, NOTE_VKEY_MAX + 2, &len);
	if (text == NULL)
		return -1;
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	status = note_key_parse(key, text, len);
	free(text);
	if (status != 0 || key->type != NOTE_ED25519) {
		complain(args, args->key, "no vkey of a log");
		return -1;
	}
	return 0;
}

/* The leaf of the one line in the file, its LF cut. */
static int
leaf_of_record(const struct args *args, uint8_t leaf[TREE_HASH_LEN])
{
	size_t len;
	char *line = slurp(args, args->record, RECORD_LINE_MAX + 1, &len);

	if (line == NULL)
		return -1;
	if (len > 0 && line[len - 1] == '\n')
		len--;
	if (len == 0 || memchr(line, '\n', len) != NULL) {
		complain(args, args->record, "not one record's line");
		free(line);
		return -1;
	}
	tree_leaf(line, len, leaf);
	free(line);
	return 0;
}

/* 1: there is none. */
static int
read_leaf(const struct args *args, uint8_t leaf[TREE_HASH_LEN])
{
	size_t len = 0;

	if (args->record != NULL)
		return leaf_of_record(args, leaf);
	if (args->leaf == NULL)
		return 1;
	if (strlen(args->leaf) != 2 * TREE_HASH_LEN ||
	    sodium_hex2bin(leaf, TREE_HASH_LEN, args->leaf,
	    strlen(args->leaf), NULL, &len, NULL) != 0 ||
	    len != TREE_HASH_LEN) {
		complain(args, "--leaf", "64 hexadecimal digits are wanted");
		return -1;
	}
	return 0;
}

/* Are the keys that follow those that the policy pins, where it does? */
static bool
as_pinned(const struct trust_log *log, const struct epochs *epochs)
{
	for (unsigned i = 0; i < log->epochs; i++) {
		const struct trust_epoch *want = &log->epoch[i];

		if (want->epoch < epochs->count && memcmp(want->key.pk,
		    epochs->epoch[want->epoch].key.pk, NOTE_PK_LEN) != 0)
			return false;
	}
	return true;
}

/* Are keys enough to reach each that the policy pins?  Else the one that signed may
 * have been out of force by then, and in anybody's hands. */
static bool
reached(const struct trust_log *log, unsigned keys)
{
	for (unsigned i = 0; i < log->epochs; i++)
		if (log->epoch[i].epoch >= keys)
			return false;
	return true;
}

/* The key that signed the proof's checkpoint, if it follows from the pinned
 * one, and how many keys there are.  0; 1: refuted, and said; or -1 and said. */
static int
later_key(const struct args *args, const struct trust_log *log, const char *proof,
    size_t len, struct note_key *key, unsigned *keys)
{
	struct epochs epochs = { .count = 0 };
	struct checkpoint at;
	const char *why = "";
	size_t n;
	char *text;
	int status = -1;

	*keys = 1;
	if (args->epochs == NULL)
		return 0;
	if ((text = slurp(args, args->epochs, EPOCHS_BYTES_MAX, &n)) == NULL)
		return -1;
	if (epochs_pin(&epochs, key) != 0)
		complain(args, args->epochs, "out of memory");
	else if (epochs_follow(&epochs, text, n, &why) != 0)
		complain(args, args->epochs, why);
	else
		status = log == NULL || as_pinned(log, &epochs) ? 0 : 1;
	if (status == 1)
		puts("refuted: the key of an epoch is not the one that the policy pins");
	if (status == 0 && proof_checkpoint(proof, len, &at) == 0)
		*key = *epochs_key(&epochs, at.size);
	*keys = epochs.count;
	epochs_free(&epochs);
	free(text);
	return status;
}

/* A witness's time that the policy wants: not too long ago, and no clock's that
 * is a day ahead. */
static bool
is_recent(const struct trust *trust, uint64_t time_s)
{
	const uint64_t now = (uint64_t)time(NULL);

	return time_s > 0 && time_s <= now + AHEAD_MAX_S && (trust->max_age_s == 0 ||
	    time_s >= now || now - time_s <= trust->max_age_s);
}

/* How many of the policy's witnesses cosigned the proof's checkpoint. */
static unsigned
cosigned(const struct trust *trust, const char *proof, size_t len)
{
	const char *blank = memmem(proof, len, "\n\n", 2), *why;
	struct note note;
	uint64_t time_s;
	unsigned n = 0;

	if (blank == NULL || note_parse(&note, blank + 2,
	    len - (size_t)(blank + 2 - proof), &why) != 0)
		return 0;
	for (unsigned i = 0; i < trust->witnesses; i++)
		n += note_verify(&note, &trust->witness[i], &time_s) == NOTE_GOOD &&
		    is_recent(trust, time_s);
	return n;
}

/* Which record of which log: whoever made the log's key chose its name. */
static void
say_which(const char *verdict, const struct checkpoint *at, uint64_t index)
{
	printf("%s: the record is number %" PRIu64 " of ", verdict, index);
	shown_put(stdout, at->origin, sizeof(at->origin));
}

static int
conclude(const struct trust *trust, const char *text, size_t len,
    const struct checkpoint *at, uint64_t index)
{
	unsigned n = trust != NULL ? cosigned(trust, text, len) : 0;

	if (trust != NULL && n < trust->quorum) {
		say_which("not_established", at, index);
		printf(", but %u of the %u witnesses that the policy wants "
		    "cosigned%s\n", n, trust->quorum,
		    trust->max_age_s > 0 ? " in the time that it allows" : "");
		return NOT_ESTABLISHED;
	}
	if (trust != NULL && trust->stamps > 0) {
		say_which("not_established", at, index);
		printf(", but the policy wants %u time stamps, which no proof holds\n",
		    trust->stamps);
		return NOT_ESTABLISHED;
	}
	if (trust != NULL && trust->max_width_s > 0) {
		say_which("not_established", at, index);
		printf(", but the policy wants it made within %" PRIu64 " s, of which no "
		    "proof tells\n", trust->max_width_s);
		return NOT_ESTABLISHED;
	}
	say_which("shown", at, index);
	printf(", in the %" PRIu64 " that its key signed", at->size);
	if (n > 0)
		printf(" and %u witnesses cosigned", n);
	putchar('\n');
	return SHOWN;
}

static int
check(const struct args *args, const struct trust *trust,
    struct note_key *key, const uint8_t leaf[TREE_HASH_LEN], bool given)
{
	const struct trust_log *log = NULL;
	struct checkpoint checkpoint = { .size = 0 };
	const char *why = "";
	uint64_t index = 0;
	unsigned keys;
	char *text;
	size_t len;
	int status;

	if ((text = slurp(args, args->proof, PROOF_TEXT_MAX, &len)) == NULL)
		return USAGE_OR_IO;
	if (trust != NULL && proof_checkpoint(text, len, &checkpoint) == 0)
		log = trust_log(trust, checkpoint.origin);
	if (trust != NULL && log == NULL) {
		puts("not_established: the policy knows no key of this log");
		free(text);
		return NOT_ESTABLISHED;
	}
	if (log != NULL)
		*key = log->key;
	if ((status = later_key(args, log, text, len, key, &keys)) != 0) {
		free(text);
		return status > 0 ? REFUTED : USAGE_OR_IO;
	}
	status = proof_check(text, len, leaf, key, &index, &checkpoint, &why);
	if (status == 0 && log != NULL && !reached(log, keys)) {
		puts("not_established: the policy pins a later key of this log, and "
		    "whether the one that signed was still in force is for --epochs "
		    "to show");
		status = NOT_ESTABLISHED;
	} else if (status == 0) {
		status = conclude(trust, text, len, &checkpoint, index);
	}
	free(text);
	if (status >= 0)
		return status;
	if (given || checkpoint.size == 0) {
		printf("refuted: %s\n", why);
		return REFUTED;
	}
	printf("not_established: no record was given; the key of ");
	shown_put(stdout, checkpoint.origin, sizeof(checkpoint.origin));
	printf(" signed %" PRIu64 " records, and this is about number %" PRIu64 "\n",
	    checkpoint.size, index);
	return NOT_ESTABLISHED;
}

#define AT(member) offsetof(struct args, member)

static const struct option_row options[] = {
	{ "key", 'k', OPTION_TEXT, AT(key), NULL },
	{ "trust", 0, OPTION_TEXT, AT(trust), NULL },
	{ "epochs", 0, OPTION_TEXT, AT(epochs), NULL },
	{ "leaf", 0, OPTION_TEXT, AT(leaf), NULL },
	{ "help", 'h', OPTION_HELP, 0, NULL },
	{ NULL, 0, OPTION_HELP, 0, NULL }
};

/* Why these arguments cannot stand together; NULL: they can. */
static const char *
contradiction(const struct args *args)
{
	if (args->record != NULL && args->leaf != NULL)
		return "RECORD or --leaf, not both";
	if (args->key != NULL && args->trust != NULL)
		return "--key or --trust, not both";
	if (args->key == NULL && args->trust == NULL)
		return "--key is needed: a proof shows nothing without the log's key from "
		    "elsewhere";
	return NULL;
}

/* -1: go on. */
static int
parse(int argc, char **argv, struct args *args)
{
	const char *why;

	switch (options_read(options, argc, argv, args, &why)) {
	case OPTIONS_READ:
		break;
	case OPTIONS_HELP:
		printf(help, args->program);
		return SHOWN;
	default:
		fprintf(stderr, "Try '%s proof --help'.\n", args->program);
		return USAGE_OR_IO;
	}
	if (argc - optind < 1 || argc - optind > 2)
		return complain(args, "usage", "one proof, and the record's file");
	args->proof = argv[optind];
	args->record = argc - optind == 2 ? argv[optind + 1] : NULL;
	why = contradiction(args);
	return why != NULL ? complain(args, "usage", why) : -1;
}

int
proof_main(int argc, char **argv, const char *program)
{
	struct args args = { .program = program };
	uint8_t leaf[TREE_HASH_LEN] = { 0 };
	struct trust *trust = NULL;
	struct note_key key = { .name = "" };
	char err[512];
	int status = parse(argc, argv, &args), got;

	if (status >= 0)
		return status;
	if (sodium_init() < 0)
		return complain(&args, "libsodium", "cannot start");
	if (args.trust != NULL &&
	    (trust = trust_load(args.trust, err, sizeof(err))) == NULL)
		return complain(&args, "--trust", err);
	status = USAGE_OR_IO;
	if ((trust != NULL || read_key(&args, &key) == 0) &&
	    (got = read_leaf(&args, leaf)) >= 0)
		status = check(&args, trust, &key, leaf, got == 0);
	free(trust);
	return status;
}
