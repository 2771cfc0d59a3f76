#include "gate/approvals.h"

#include "gate/impl.h"
#include "gate/words.h"

#include <stdio.h>
#include <stdlib.h>

enum state { WAITING, GIVEN, DENIED };

struct approval {
	struct approval *next;
	struct run *run;		/* referenced */
	char id[GATE_ID_MAX];
	uint8_t key[KEYED_LEN];		/* of what is asked */
	char policy[POLICY_DIGEST_LEN + 1];
	enum state state;
	bool answering;			/* somebody has answered; its record is on its way */
	bool for_run;
	unsigned held;			/* requests that wait for it just now */
	int64_t asked_s, until_ns;	/* Unix; clock_boot_ns */
	struct ledger_receipt receipt;	/* of the answer */
	/* They lie behind. */
	char *action, *target, *secret, *binding, *rule, *reason, *input;
};

int
approvals_init(struct approvals *approvals)
{
	*approvals = (struct approvals){ .first = NULL };
	return pthread_mutex_init(&approvals->lock, NULL);
}

static void
forget(struct approval **at)
{
	struct approval *one = *at;

	*at = one->next;
	run_unref(one->run);
	free(one);
}

void
approvals_free(struct approvals *approvals)
{
	while (approvals->first != NULL)
		forget(&approvals->first);
	pthread_mutex_destroy(&approvals->lock);
}

static void
sweep(struct approvals *approvals)
{
	struct approval **at = &approvals->first;
	const int64_t now = clock_boot_ns();

	while (*at != NULL) {
		/* What requests wait for is asked all the while. */
		if (!(*at)->answering && (!run_open_p((*at)->run) ||
		    ((*at)->until_ns < now && ((*at)->state != WAITING ||
		    (*at)->held == 0))))
			forget(at);
		else
			at = &(*at)->next;
	}
}

const struct approval_no *
approvals_no(enum approval_answer answer)
{
	static const struct approval_no denied = { 403, "ask/denied",
	    "a person did not agree to this", "do without it, or ask them why" };
	static const struct approval_no many = { 429, "ask/too-many",
	    "the run has asked a person too many things: they wait, or were answered a short while ago",
	    "wait for the answers (`countersign approve` lists the questions); what was denied counts for a quarter of an hour" };
	static const struct approval_no full = { 429, "ask/too-many",
	    "too many questions of all runs wait for a person, and this run has asked one",
	    "wait until people have answered some; `countersign approve` lists the questions" };
	static const struct approval_no crowded = { 429, "ask/too-many",
	    "too many requests of the run wait for the same answer",
	    "wait for it; `countersign approve` lists the questions" };
	static const struct approval_no unwritable = { 400, "record/unwritable",
	    "the request is too long for a record, or not UTF-8",
	    "shorten the path" };
	static const struct approval_no memory = { 503, "gate/memory",
	    "out of memory", "try again" };

	return answer == APPROVAL_DENIED ? &denied :
	    answer == APPROVAL_TOO_MANY ? &many :
	    answer == APPROVAL_FULL ? &full :
	    answer == APPROVAL_CROWDED ? &crowded :
	    answer == APPROVAL_UNWRITABLE ? &unwritable : &memory;
}

/* --- asking ------------------------------------------------------------ */

/* Where it leads, as a person reads it. */
static int
target_text(const struct approval_question *question, char *out, size_t cap)
{
	const struct target *target = question->target;
	const unsigned usual = target->https ? 443 : 80;
	const bool six = strchr(target->host, ':') != NULL;
	char port[8] = "";

	if (target->port != usual)
		snprintf(port, sizeof(port), ":%u", target->port);
	return snprintf(out, cap, "%s://%s%s%s%s%.*s%s%.*s",
	    target->https ? "https" : "http", six ? "[" : "", target->host,
	    six ? "]" : "", port, (int)target->path_len, target->path,
	    question->query.n > 0 ? "?" : "", (int)question->query.n,
	    question->query.n > 0 ? question->query.p : "");
}

static char *
keep(char **at, const char *text, size_t len)
{
	char *out = *at;

	if (len > 0)
		memcpy(out, text, len);
	out[len] = '\0';
	*at += len + 1;
	return out;
}

static size_t
len_of(const char *text)
{
	return text != NULL ? strlen(text) : 0;
}

static struct approval *
approval_new(const struct approval_question *question)
{
	const int target_len = target_text(question, NULL, 0);
	const size_t len = len_of(question->action) + (size_t)target_len +
	    len_of(question->secret) + len_of(question->binding) +
	    len_of(question->rule) + len_of(question->reason) +
	    question->input_len + 8;
	struct approval *one = target_len < 0 ? NULL : calloc(1, sizeof(*one) + len);
	char *at;

	if (one == NULL)
		return NULL;
	at = (char *)(one + 1);
	one->action = keep(&at, question->action, len_of(question->action));
	one->target = at;
	target_text(question, at, (size_t)target_len + 1);
	at += target_len + 1;
	one->secret = keep(&at, question->secret, len_of(question->secret));
	one->binding = keep(&at, question->binding, len_of(question->binding));
	one->rule = keep(&at, question->rule, len_of(question->rule));
	one->reason = keep(&at, question->reason, len_of(question->reason));
	one->input = keep(&at, question->input, question->input_len);
	gate_text_copy(one->policy, sizeof(one->policy), question->policy);
	one->run = run_ref(question->run);
	return one;
}

/* Of everything that makes two of them the same; each text ends in a NUL. */
static void
key_of(const struct gate *gate, struct approval *one)
{
	char *end = one->rule + strlen(one->rule) + 1;
	const struct slice texts = { one->action, (size_t)(end - one->action) };

	keyed_digest(gate->keyed->query, texts, one->key);
}

/* From now, or from when the last request leaves. */
static void
ask_on(struct approval *one)
{
	one->until_ns = clock_boot_ns() + APPROVAL_ASKED_S * INT64_C(1000000000);
}

/* A question that is the same, of the same run. */
static struct approval *
same(struct approvals *approvals, const struct approval *asked)
{
	struct approval *one = approvals->first;

	while (one != NULL && (one->run != asked->run ||
	    memcmp(one->key, asked->key, sizeof(one->key)) != 0))
		one = one->next;
	return one;
}

/* Of a new question; APPROVAL_WAITING: there is room.  What a person agreed to for a
 * run is no burden on other runs. */
static enum approval_answer
room_for(const struct approvals *approvals, const struct run *run)
{
	const struct approval *one;
	unsigned all = 0, own = 0, kept = 0;

	for (one = approvals->first; one != NULL; one = one->next) {
		const bool mine = run_top(one->run) == run_top(run);

		all += !one->for_run;
		own += mine && !one->for_run;
		kept += mine && one->for_run;
	}
	if (own >= APPROVALS_OF_RUN_MAX || kept >= APPROVALS_KEPT_MAX)
		return APPROVAL_TOO_MANY;
	return own > 0 && all >= APPROVALS_MAX ? APPROVAL_FULL : APPROVAL_WAITING;
}

static void
enter(struct approvals *approvals, struct approval *one)
{
	struct approval **at = &approvals->first;

	keyed_mint("q_", 16, one->id, sizeof(one->id));
	one->asked_s = clock_wall_ns() / 1000000000;
	ask_on(one);
	while (*at != NULL)
		at = &(*at)->next;
	*at = one;
}

/* What is known of it; a consent to one is used up. */
static enum approval_answer
answer_of(struct approvals *approvals, struct approval *one,
    struct ledger_receipt *receipt)
{
	struct approval **at = &approvals->first;

	if (one->state == DENIED)
		return APPROVAL_DENIED;
	if (one->state == WAITING)
		return one->held < APPROVAL_HELD_MAX ? APPROVAL_WAITING :
		    APPROVAL_CROWDED;
	*receipt = one->receipt;
	if (!one->for_run) {
		while (*at != one)
			at = &(*at)->next;
		forget(at);
	}
	return APPROVAL_GIVEN;
}

static void
count_refused(struct approvals *approvals, enum approval_answer answer)
{
	if (answer == APPROVAL_TOO_MANY)
		approvals->refused[APPROVAL_OF_RUN]++;
	else if (answer == APPROVAL_FULL)
		approvals->refused[APPROVAL_OF_ALL]++;
	else if (answer == APPROVAL_CROWDED)
		approvals->refused[APPROVAL_OF_ONE]++;
}

enum approval_answer
approvals_ask(struct gate *gate, const struct approval_question *question,
    char id[GATE_ID_MAX], struct ledger_receipt *receipt)
{
	struct approvals *approvals = &gate->approvals;
	struct approval *asked = approval_new(question), *one;
	enum approval_answer answer = APPROVAL_NO_MEMORY;

	id[0] = '\0';
	if (asked == NULL)
		return answer;
	key_of(gate, asked);
	pthread_mutex_lock(&approvals->lock);
	sweep(approvals);
	one = same(approvals, asked);
	if (one == NULL &&
	    (answer = room_for(approvals, asked->run)) == APPROVAL_WAITING) {
		enter(approvals, one = asked);
		asked = NULL;
	}
	if (one != NULL) {
		memcpy(id, one->id, GATE_ID_MAX);
		answer = answer_of(approvals, one, receipt);
	}
	count_refused(approvals, answer);
	pthread_mutex_unlock(&approvals->lock);
	if (asked != NULL)
		run_unref(asked->run);
	free(asked);
	return answer;
}

static struct approval *
by_id(struct approvals *approvals, struct slice id)
{
	struct approval *one = approvals->first;

	while (one != NULL && !slice_eq(id, slice_of(one->id)))
		one = one->next;
	return one;
}

bool
gate_approval_held(struct gate *gate, const char *id, int more)
{
	struct approvals *approvals = &gate->approvals;
	struct approval *one;
	bool waits;

	pthread_mutex_lock(&approvals->lock);
	one = by_id(approvals, slice_of(id));
	waits = one != NULL && one->state == WAITING;
	if (one != NULL)
		one->held += (unsigned)more;
	if (waits)
		ask_on(one);
	pthread_mutex_unlock(&approvals->lock);
	return waits;
}

unsigned
approvals_waiting(struct approvals *approvals)
{
	const struct approval *one;
	unsigned n = 0;

	pthread_mutex_lock(&approvals->lock);
	sweep(approvals);
	for (one = approvals->first; one != NULL; one = one->next)
		n += one->state == WAITING;
	pthread_mutex_unlock(&approvals->lock);
	return n;
}

void
approvals_refused(struct approvals *approvals, uint64_t out[APPROVAL_LIMITS])
{
	pthread_mutex_lock(&approvals->lock);
	memcpy(out, approvals->refused, sizeof(approvals->refused));
	pthread_mutex_unlock(&approvals->lock);
}

/* --- looking ------------------------------------------------------------ */

static void
fill(const struct approval *one, struct gate_approval_info *out)
{
	static const char *const states[] = { "waiting", "approved", "denied" };
	const int64_t now = clock_boot_ns();
	const int64_t left_ns = one->until_ns > now ? one->until_ns - now : 0;

	*out = (struct gate_approval_info){ .id = one->id,
	    .state = states[one->state], .run = one->run->id,
	    .principal = one->run->principal, .agent = one->run->agent_name,
	    .action = one->action, .target = one->target,
	    .secret = one->secret, .binding = one->binding,
	    .rule = one->rule, .reason = one->reason,
	    .asked_s = one->asked_s, .waiting = one->held,
	    .for_run = one->for_run, .receipt = one->receipt };
	out->expires_s = one->for_run ? -1 :
	    clock_wall_ns() / 1000000000 + left_ns / 1000000000;
}

void
gate_approvals_each(struct gate *gate,
    void (*each)(void *arg, const struct gate_approval_info *info), void *arg)
{
	struct approvals *approvals = &gate->approvals;
	struct gate_approval_info info;
	const struct approval *one;

	pthread_mutex_lock(&approvals->lock);
	sweep(approvals);
	for (one = approvals->first; one != NULL; one = one->next) {
		fill(one, &info);
		each(arg, &info);
	}
	pthread_mutex_unlock(&approvals->lock);
}

/* --- answering ---------------------------------------------------------- */

static int
answer_body(const struct approval *one, const struct gate_approval_answer *answer,
    char *buf, size_t cap)
{
	struct json_out out;

	json_out_begin(&out, buf, cap);
	json_out_object(&out, NULL);
	json_out_str(&out, "decision", answer->approve ? "allow" : "deny");
	json_out_str(&out, "rule", answer->approve ? "ask/approved" : "ask/denied");
	json_out_str(&out, "reason", answer->approve ? "a person agreed" :
	    one->state == GIVEN ? "a person took their consent back" :
	    "a person did not agree");
	json_out_str(&out, "by", "person");
	json_out_str(&out, "kind", "action");
	json_out_str(&out, "route", "api");
	json_out_hex(&out, "parent", one->run->receipt.leaf, LEDGER_LEAF_LEN);
	words_peer(&out, &answer->peer, NULL);
	json_out_object(&out, "approval");
	json_out_str(&out, "id", one->id);
	json_out_str(&out, "action", one->action);
	json_out_str(&out, "asked", one->rule);
	if (answer->approve)
		json_out_str(&out, "for", answer->for_run ? "run" : "once");
	json_out_object_end(&out);
	json_out_raw(&out, "input", one->input, strlen(one->input));
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* A consent for the run can be taken back, since it stands for long. */
static bool
answerable(const struct approval *one, bool approve)
{
	return !one->answering && (one->state == WAITING ||
	    (one->state == GIVEN && one->for_run && !approve));
}

/* NULL with a problem, or it is the caller's to answer. */
static struct approval *
take(struct approvals *approvals, struct slice id, bool approve,
    struct gate_problem *why)
{
	struct approval *one;

	pthread_mutex_lock(&approvals->lock);
	sweep(approvals);
	one = by_id(approvals, id);
	if (one == NULL) {
		gate_problem_set(why, 404, "approval/unknown",
		    "there is no such question: its run is over, it was asked too long ago, or its consent was used",
		    "see `countersign approve`");
	} else if (!answerable(one, approve)) {
		gate_problem_set(why, 409, "approval/answered",
		    "the question has its answer already",
		    "see `countersign approve`");
		one = NULL;
	} else {
		one->answering = true;
	}
	pthread_mutex_unlock(&approvals->lock);
	return one;
}

/* The record; a run that is closed has its last one. */
static int
tell(struct ledger_port *port, const struct approval *one,
    const struct gate_approval_answer *answer, struct ledger_receipt *receipt,
    struct gate_problem *why)
{
	char body[GATE_RECORD_MAX];
	int rv = -1;

	gate_run_hold(one->run);
	if (!run_open_p(one->run))
		gate_problem_set(why, 409, "run/closed", "the run is closed",
		    "nothing waits for the answer any more");
	else
		rv = gate_append(port, answer->approve ? "decision" : "refusal",
		    one->run->id, one->policy, body,
		    answer_body(one, answer, body, sizeof(body)), false,
		    receipt, why) == -1 ? -1 : 0;
	gate_outcome_done(one->run);
	return rv;
}

static void
settle(struct approval *one, const struct gate_approval_answer *answer)
{
	const int64_t seconds = !answer->approve ? APPROVAL_ASKED_S :
	    APPROVAL_GIVEN_S;

	one->state = answer->approve ? GIVEN : DENIED;
	one->for_run = answer->approve && answer->for_run;
	one->until_ns = one->for_run ? INT64_MAX :
	    clock_boot_ns() + seconds * 1000000000;
}

/* Those who wait for that answer; NULL: for any. */
static void
wake(struct approvals *approvals, const char *id)
{
	void (*told)(void *, const char *);
	void *arg;

	pthread_mutex_lock(&approvals->lock);
	told = approvals->told;
	arg = approvals->arg;
	pthread_mutex_unlock(&approvals->lock);
	if (told != NULL)
		told(arg, id);
}

void
approvals_again(struct approvals *approvals)
{
	wake(approvals, NULL);
}

int
gate_approval_answer(struct gate *gate, struct ledger_port *port, struct slice id,
    const struct gate_approval_answer *answer,
    void (*done)(void *arg, const struct gate_approval_info *info), void *arg,
    struct gate_problem *why)
{
	struct approvals *approvals = &gate->approvals;
	struct approval *one = take(approvals, id, answer->approve, why);
	struct gate_approval_info info;
	struct ledger_receipt receipt;
	char name[GATE_ID_MAX];
	int rv;

	if (one == NULL)
		return -1;
	rv = tell(port, one, answer, &receipt, why);	/* it stays: it is being answered */
	pthread_mutex_lock(&approvals->lock);
	one->answering = false;
	if (rv == 0) {
		settle(one, answer);
		one->receipt = receipt;
		memcpy(name, one->id, sizeof(name));
		fill(one, &info);
		done(arg, &info);
	}
	pthread_mutex_unlock(&approvals->lock);
	if (rv == 0)
		wake(approvals, name);
	return rv;
}

void
gate_on_answer(struct gate *gate, void (*told)(void *arg, const char *id), void *arg)
{
	pthread_mutex_lock(&gate->approvals.lock);
	gate->approvals.told = told;
	gate->approvals.arg = arg;
	pthread_mutex_unlock(&gate->approvals.lock);
}
