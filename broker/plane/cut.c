/* Connections that may not go on: what they use was revoked, or their run's time is over. */
#include "plane/conn.h"

static bool
applies(const char *wanted, const char *is)
{
	return wanted == NULL || (is != NULL && strcmp(wanted, is) == 0);
}

static bool
concerned(const struct conn *conn, const struct gate_cut *what)
{
	const struct exchange *exchange = conn->exchange;
	const struct run *whose = exchange != NULL ? exchange->run :
	    conn->front != NULL ? conn->front->run : NULL;
	const struct gate_verdict *verdict = exchange != NULL &&
	    exchange->decided ? &exchange->verdict : NULL;
	const struct binding *binding = verdict != NULL ? verdict->binding : NULL;

	if (!applies(what->run, whose != NULL ? run_id(whose) : NULL))
		return false;
	/* Of what a person is asked about, that is found out by deciding it anew. */
	return conn->state == CONN_HELD ||
	    (applies(what->grant, verdict != NULL ? verdict->grant : NULL) &&
	    applies(what->binding, binding != NULL ? binding->id : NULL) &&
	    applies(what->secret, binding != NULL ? binding->secret : NULL) &&
	    (what->version == 0 || (verdict != NULL &&
	    what->version == verdict->version)));
}

/* Which binding a request uses that is still being decided, nobody knows yet. */
static bool
undecided(const struct conn *conn)
{
	return conn->exchange != NULL && conn->exchange->asked;
}

/* An answer that says why is not cut; what carries a secret is. */
static bool
only_answers(const struct conn *conn)
{
	return conn->state == CONN_REFUSED || conn->state == CONN_ANSWER ||
	    conn->state == CONN_DRAIN || conn->state == CONN_LINGER;
}

bool
cut_overdue(struct worker *worker)
{
	struct rules *rules = gate_rules(worker->plane->gate);
	struct conn *conn, *next;
	bool limited = false;

	for (conn = worker->conns; conn != NULL; conn = next) {
		int64_t left = conn->exchange != NULL ?
		    gate_wall_left_ms(rules, conn->exchange->run) : INT64_MAX;

		next = conn->next;
		limited = limited || (left >= 0 && left != INT64_MAX);
		if (left >= 0 || only_answers(conn))
			continue;
		if (conn->state == CONN_HELD) {
			held_again(conn);
			continue;
		}
		conn->exchange->error = "budget_wall";
		conn_reset(conn);
	}
	rules_unref(rules);
	return limited;
}

void
cut_matching(struct worker *worker, const struct gate_cut *what)
{
	struct conn *conn, *next;

	for (conn = worker->conns; conn != NULL; conn = next) {
		next = conn->next;
		if (undecided(conn))
			conn->exchange->overtaken = true;
		if (only_answers(conn) || !concerned(conn, what))
			continue;
		if (conn->state == CONN_HELD) {
			held_again(conn);	/* which says why */
			continue;
		}
		if (conn->exchange != NULL)
			conn->exchange->error = "revoked";
		conn_reset(conn);
	}
}
