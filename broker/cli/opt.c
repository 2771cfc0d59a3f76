#include "cli/opt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 32	/* longest word that is worth a guess */
#define WORDS_MAX 64

/* Levenshtein distance of two words, each shorter than WORD_MAX. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[WORD_MAX + 1], n = strlen(b), i, j, left, corner, best;

	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1] != '\0'; i++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			left = row[j - 1];
			best = corner + (a[i - 1] != b[j - 1]);
			corner = row[j];
			if (left + 1 < best)
				best = left + 1;
			if (corner + 1 < best)
				best = corner + 1;
			row[j] = best;
		}
	}
	return row[n];
}

const char *
opt_nearest(const char *text, const char *const *words)
{
	const char *best = NULL;
	size_t least = 6, len = strlen(text), d;	/* three typos are another word */

	if (len < 2 || len >= WORD_MAX)
		return NULL;
	for (; *words != NULL; words++) {
		if (strlen(*words) >= WORD_MAX)
			continue;
		if (strncmp(*words, text, len) == 0)
			return *words;
		/* Of two as near, the one with the same first letter. */
		d = 2 * distance(text, *words) + (text[0] != **words);
		if (d < least && d < 2 * len) {
			least = d;
			best = *words;
		}
	}
	return best;
}

static const struct opt *
find(const struct opt *table, const char *name, size_t len)
{
	for (; table->name != NULL; table++)
		if (strlen(table->name) == len &&
		    memcmp(table->name, name, len) == 0)
			return table;
	return NULL;
}

static const struct opt *
find_letter(const struct opt *table, char letter)
{
	for (; table->name != NULL; table++)
		if (table->letter == letter)
			return table;
	return NULL;
}

static int
unknown(const struct opt *table, const char *name, size_t len, char *err,
    size_t err_len)
{
	const char *words[WORDS_MAX + 1], *near;
	char word[WORD_MAX];
	size_t n = 0;

	snprintf(word, sizeof(word), "%.*s", (int)(len < WORD_MAX ? len : 0),
	    name);
	for (; table->name != NULL && n < WORDS_MAX; table++)
		words[n++] = table->name;
	words[n] = NULL;
	near = opt_nearest(word, words);
	/* Whatever stands behind '=' might be a secret: it is not repeated. */
	snprintf(err, err_len, "unknown option --%.*s%s%s%s",
	    (int)(len < 64 ? len : 64), name,
	    near != NULL ? " (did you mean --" : "", near != NULL ? near : "",
	    near != NULL ? "?)" : "");
	return -1;
}

static int
add(struct opts *out, const struct opt *opt, const char *value, char *err,
    size_t err_len)
{
	size_t i;

	for (i = 0; i < out->n_given && !opt->repeat; i++)
		if (out->given[i].opt == opt) {
			snprintf(err, err_len, "--%s is given twice", opt->name);
			return -1;
		}
	if (out->n_given == OPT_GIVEN_MAX) {
		snprintf(err, err_len, "more than %d options", OPT_GIVEN_MAX);
		return -1;
	}
	out->given[out->n_given++] = (struct opt_given){ opt, value };
	return 0;
}

/* One "--name[=value]" or "-x [value]" at argv[*i]; moves *i past its value. */
static int
take(struct opts *out, int argc, char **argv, int *i, char *err, size_t err_len)
{
	const char *word = argv[*i], *name, *value = NULL;
	const struct opt *opt;
	size_t len;

	if (word[1] == '-') {
		name = word + 2;
		value = strchr(name, '=');
		len = value != NULL ? (size_t)(value - name) : strlen(name);
		if ((opt = find(out->table, name, len)) == NULL)
			return unknown(out->table, name, len, err, err_len);
		value = value != NULL ? value + 1 : NULL;
	} else {
		opt = word[2] == '\0' ? find_letter(out->table, word[1]) : NULL;
		if (opt == NULL) {
			snprintf(err, err_len, "unknown option -%c", word[1]);
			return -1;
		}
	}
	if (opt->arg == NULL && value != NULL) {
		snprintf(err, err_len, "--%s takes no value", opt->name);
		return -1;
	}
	if (opt->arg != NULL && value == NULL) {
		if (*i + 1 >= argc) {
			snprintf(err, err_len, "--%s needs a value (%s)",
			    opt->name, opt->arg);
			return -1;
		}
		value = argv[++*i];
	}
	return add(out, opt, value, err, err_len);
}

int
opt_parse(const struct opt *table, bool stop_at_operand, int argc, char **argv,
    struct opts *out, char *err, size_t err_len)
{
	bool ended = false;
	int i;

	memset(out, 0, sizeof(*out));
	out->table = table;
	out->rest = argv;
	for (i = 0; i < argc; i++) {
		if (!ended && strcmp(argv[i], "--") == 0) {
			ended = true;
		} else if (!ended && argv[i][0] == '-' && argv[i][1] != '\0') {
			if (take(out, argc, argv, &i, err, err_len) != 0)
				return -1;
		} else {
			out->rest[out->n_rest++] = argv[i];
			ended = ended || stop_at_operand;
		}
	}
	/* The operands may be a command to execute: they end where it ends. */
	if (out->n_rest < argc)
		out->rest[out->n_rest] = NULL;
	return 0;
}

const char *
opt_next(const struct opts *opts, const char *name, size_t *cursor)
{
	for (; *cursor < opts->n_given; ++*cursor)
		if (strcmp(opts->given[*cursor].opt->name, name) == 0)
			return opts->given[(*cursor)++].value;
	return NULL;
}

const char *
opt_value(const struct opts *opts, const char *name)
{
	size_t cursor = 0;

	return opt_next(opts, name, &cursor);
}

bool
opt_flag(const struct opts *opts, const char *name)
{
	size_t i;

	for (i = 0; i < opts->n_given; i++)
		if (strcmp(opts->given[i].opt->name, name) == 0)
			return true;
	return false;
}

int
opt_number(const struct opts *opts, const char *name, long long min,
    long long max, long long *out, char *err, size_t err_len)
{
	const char *text = opt_value(opts, name);
	char *end = NULL;
	long long value;

	if (text == NULL)
		return 0;
	errno = 0;
	value = strtoll(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
	    value < min || value > max) {
		snprintf(err, err_len,
		    "--%s wants a whole number from %lld to %lld", name, min, max);
		return -1;
	}
	*out = value;
	return 0;
}
