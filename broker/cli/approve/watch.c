/* countersign approve --watch: the daemon is asked once a second. */
#include "cli/approve/approve.h"
#include "cli/cli.h"

#include <ctype.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LOOK_EVERY_MS 1000

struct watch {
	bool json, asks;	/* whether a person is there */
	json_t *seen;		/* ids that were shown: an object of nulls */
	char asked[64];		/* the id that is asked about, "" where none is */
	bool met, gone;		/* a daemon was there; and is not now */
};

/* What was shown before it disappeared is forgotten. */
static void
forget(struct watch *watch, const json_t *list)
{
	json_t *left = json_object(), *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (json_object_get(watch->seen, client_str(one, "id")) != NULL)
			json_object_set_new(left, client_str(one, "id"), json_null());
	json_decref(watch->seen);
	watch->seen = left;
}

static void
prompt(struct watch *watch, const json_t *question)
{
	snprintf(watch->asked, sizeof(watch->asked), "%s", client_str(question, "id"));
	fputs("  [y]es once, yes for the [r]un, [n]o, [s]kip? ", stdout);
	/* What was typed before it stood there is no answer to it. */
	(void)tcflush(STDIN_FILENO, TCIFLUSH);
}

static void
show(struct watch *watch, const json_t *question)
{
	json_object_set_new(watch->seen, client_str(question, "id"), json_null());
	if (watch->json) {
		cli_json(stdout, question, JSON_COMPACT);
	} else {
		approve_print(question);
		if (watch->asks)
			prompt(watch, question);
	}
}

/* Those that are new; with a person there, one after the other. */
static void
look(struct watch *watch, const json_t *list)
{
	bool still = false;
	json_t *one;
	size_t i;

	forget(watch, list);
	json_array_foreach(list, i, one)
		still = still || (approve_waits(one) &&
		    strcmp(client_str(one, "id"), watch->asked) == 0);
	if (watch->asked[0] != '\0' && !still) {
		puts("\nit was answered elsewhere, or is over");
		watch->asked[0] = '\0';
	}
	json_array_foreach(list, i, one) {
		if (watch->asked[0] != '\0')
			break;
		if (approve_waits(one) &&
		    json_object_get(watch->seen, client_str(one, "id")) == NULL)
			show(watch, one);
	}
}

/* A line was typed.  False where there are no more. */
static bool
take_line(struct watch *watch)
{
	char line[4096];	/* the longest that a terminal gives */
	const ssize_t n = read(STDIN_FILENO, line, sizeof(line));
	const int key = n > 0 ? tolower((unsigned char)line[0]) : '\0';

	if (n <= 0)
		return false;
	if (watch->asked[0] == '\0')
		return true;
	if (key == '\0' || strchr("yrns", key) == NULL) {
		fputs("  y, r, n or s? ", stdout);
		return true;
	}
	/* What went wrong is said; the question may be over. */
	if (key != 's')
		(void)approve_answer(watch->asked, key == 'y' ? APPROVE_ONCE :
		    key == 'r' ? APPROVE_RUN : APPROVE_DENY, NULL);
	watch->asked[0] = '\0';
	return true;
}

/* Until there may be news.  False where nobody listens any more. */
static bool
pass_time(struct watch *watch)
{
	struct pollfd in = { .fd = watch->asks ? STDIN_FILENO : -1, .events = POLLIN };

	if (fflush(stdout) != 0)
		return false;
	return poll(&in, 1, LOOK_EVERY_MS) <= 0 || take_line(watch);
}

/* Whoever restarts it does not think of who watches, and an agent would wait in vain. */
static bool
may_return(const struct watch *watch, enum client_result result,
    const struct client_reply *reply)
{
	return watch->met && (result != CLIENT_REFUSED || reply->status >= 500);
}

static void
say_gone(struct watch *watch)
{
	if (!watch->gone)
		cli_err("%sthe daemon does not answer: waiting until one does",
		    watch->asked[0] != '\0' ? "that is over: " : "");
	watch->gone = true;
	watch->asked[0] = '\0';
}

static void
say_back(struct watch *watch)
{
	if (watch->gone)
		cli_err("the daemon is there");
	watch->met = true;
	watch->gone = false;
}

int
approve_watch(bool json)
{
	struct watch watch = { .json = json, .seen = json_object(),
	    .asks = !json && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 };
	struct client_reply reply;
	enum client_result result;
	const json_t *list;
	int rc = CLI_OK;

	do {
		result = approve_fetch(&reply, &list);
		if (result == CLIENT_OK) {
			say_back(&watch);
			look(&watch, list);
		} else if (may_return(&watch, result, &reply)) {
			say_gone(&watch);
		} else {
			rc = client_fail(result, &reply);
		}
		client_reply_release(&reply);
	} while (rc == CLI_OK && pass_time(&watch));
	json_decref(watch.seen);
	return rc;
}
