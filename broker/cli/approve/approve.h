/*
 * What people are asked, and how they answer (/v1/approvals).  What a question
 * holds was chosen by an agent: it is cleaned for the terminal, what the broker
 * knows stands before what the agent said, and what is cut off is said.
 */
#ifndef BROKER_CLI_APPROVE_APPROVE_H
#define BROKER_CLI_APPROVE_APPROVE_H

#include "cli/client.h"

#include <stdbool.h>

#define APPROVE_ID_SHOWN 10	/* bytes of an id that people see, and may give */

enum approve_answer { APPROVE_ONCE, APPROVE_RUN, APPROVE_DENY };

/* The questions that the daemon has, in reply->json; *list is borrowed from it.
 * Release the reply whatever was returned. */
enum client_result approve_fetch(struct client_reply *reply, const json_t **list);

bool approve_waits(const json_t *question);
size_t approve_waiting(const json_t *list);

/* One question, a line: the id's beginning first, which answers it. */
void approve_print(const json_t *question);

/* Answer it: an exit status.  What was done is printed unless done takes it, an
 * array. */
int approve_answer(const char *id, enum approve_answer answer, json_t *done);

/* Print questions as they come, also of a daemon that is started after the one that was
 * there; where both standard input and
 * output are a terminal, ask for the answers, until there are no more. */
int approve_watch(bool json);

#endif
