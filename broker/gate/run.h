/* Runs, as admin_run.c makes and ends them; the rest is in gate.h and impl.h. */
#ifndef BROKER_GATE_RUN_H
#define BROKER_GATE_RUN_H

#include "gate/budget.h"
#include "gate/impl.h"

/* A placeholder for each binding whose secret there is. */
int run_allowances_make(struct gate *gate, struct rules *rules,
    struct run *run);

/* Not open and in no table yet; NULL with a problem. */
struct run *run_new(struct gate *gate, struct rules *rules,
    const struct gate_run_options *options, struct run *parent,
    const char *token, struct gate_problem *why);

/* The caller holds gate->lock for writing.  Into the tables, open; the tables
 * take a reference of their own. */
bool run_enter_locked(struct gate *gate, struct run *run);

/*
 * The last records of a run that is not open any more, or never came to be: what was
 * only counted, `run` (closed), a `scan`, a sealed `teardown`.  0, or -1 with a
 * problem: then the rest of them is owed, as after run_end_owe.
 */
int run_end(struct gate *gate, struct ledger_port *port, struct run *run,
    const struct gate_closer *closer, struct gate_run_summary *out,
    struct gate_problem *why);
/* For gate_ends_pay to write. */
void run_end_owe(struct gate *gate, struct run *run, const struct gate_closer *closer);
void run_ends_forget(struct gate *gate);

/* It is open below its parents, in processes of its own; or not any more. */
void run_below_add(struct run *run);
void run_below_remove(struct run *run);
/* Is the process in one of them, and so none of this run's any more?  Whoever finds a
 * wider token there must not use it. */
bool run_below_has(struct run *run, int64_t pid);

/* Drop the oldest closed runs above the number that is kept. */
void run_forget_locked(struct gate *gate);

#endif
