/* Plans drawn at random, the same ones every time; and what else is to be. */
#ifndef TESTS_RANDOM_PLAN_H
#define TESTS_RANDOM_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random_plan {
	char p[96 * 1024];	/* plan.json */
	size_t n;
};

/*
 * One entry point, countersign/decision, which allows, and whose reason is all that a
 * few functions make of the numbers of the input that move.  One that meddles puts
 * things into what others hold: the input, what was handed to it, or given back.
 */
void random_plan(struct random_plan *out, bool meddles);

/* A number below n; true once in n times. */
uint32_t random_draw(uint32_t n);
bool random_one_in(uint32_t n);

#endif
