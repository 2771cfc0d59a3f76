#include "cli/ledger_args.h"
#include "cli/unpacked.h"

#include "ledger/clock.h"
#include "ledger/record/record.h"

#include <stdio.h>
#include <string.h>

#define FOLLOW_NS 250000000L

static int
moment(const struct opts *opts, const char *name, int64_t *time_us)
{
	const char *text = opt_value(opts, name);

	if (text == NULL || filter_time(text, clock_wall_us(), time_us) == 0)
		return 0;
	return cli_usage("--%s %s: no time; 2026-11-29T15:36:01Z, 2026-11-29, or 10m, 2h, 7d "
	    "for so long ago", name, cli_clean(text));
}

/* A mistyped one would look like a ledger in which there is nothing. */
static int
no_such_type(const char *type)
{
	const char *known;
	char list[CLI_ERR_MAX] = "";
	size_t i, n = 0;

	for (i = 0; (known = record_type_at(i)) != NULL && n < sizeof(list); i++)
		n += (size_t)snprintf(list + n, sizeof(list) - n, "%s%s",
		    i > 0 ? ", " : "", known);
	return cli_usage("--type %s: no record is of such a type; there are %s",
	    cli_clean(type), list);
}

int
ledger_args_filter(const struct opts *opts, struct filter *f)
{
	static const char *const words[] = { "allow", "deny", "ask", "failed", NULL };
	int rc, i;

	filter_init(f);
	f->run = opt_value(opts, "run");
	f->type = opt_value(opts, "type");
	if (f->type != NULL && !record_type_known(f->type, strlen(f->type)))
		return no_such_type(f->type);
	f->stream = opt_value(opts, "stream");
	f->target = opt_value(opts, "target");
	f->decision = opt_value(opts, "decision");
	for (i = 0; f->decision != NULL && words[i] != NULL; i++)
		if (strcmp(words[i], f->decision) == 0)
			break;
	if (f->decision != NULL && words[i] == NULL)
		return cli_usage("--decision is allow, deny, ask or failed");
	if ((rc = moment(opts, "since", &f->since_us)) != 0)
		return rc;
	return moment(opts, "until", &f->until_us);
}

int
ledger_args_dir(const struct opts *opts, char *dir, size_t cap)
{
	const char *given = opt_value(opts, "ledger");
	int rc;

	if (given == NULL) {
		if ((rc = cli_need_home()) != 0)
			return rc;
		cli_home_path("ledger", dir, cap);
		return 0;
	}
	if ((given = cli_unpacked(given)) == NULL)
		return CLI_USAGE;
	if (strlen(given) >= cap)
		return cli_usage("--ledger: too long a path");
	snprintf(dir, cap, "%s", given);
	return 0;
}

int
ledger_args_open(const struct opts *opts, struct reader **reader)
{
	char dir[PATH_MAX], err[CLI_ERR_MAX];
	int rc = ledger_args_dir(opts, dir, sizeof(dir));

	if (rc != 0)
		return rc;
	if ((*reader = reader_open(dir, err, sizeof(err))) != NULL)
		return 0;
	cli_err("%s", cli_clean(err));
	return CLI_USAGE;
}

void
ledger_args_none(void)
{
	cli_err("note: no record matches");
}

int
ledger_args_wait(const struct reader *reader, bool last, char *err, size_t err_len)
{
	const struct timespec pause = { 0, FOLLOW_NS };

	if (last) {
		snprintf(err, err_len, "this ledger was put aside and grows no more: begin "
		    "again with the one that took its place");
		return -1;
	}
	if (reader_put_aside(reader))
		return 2;	/* what was written before that is read yet */
	nanosleep(&pause, NULL);
	return 1;
}
