/*
 * Regular expressions: run by bits they say what the machine says, and a kept
 * pattern does and costs what a fresh one does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/regex/pattern.h"

static const char *const patterns[] = {
	"", "a", "a*", "a+", "^a", "a$", "^a$", "^$", "^", "$", "a|$", "^a|$",
	"ab|cd", "(ab)+", "^(ab)*$", "a.c", "^(/[A-Za-z0-9._~%-]+)*/?$",
	"(?i)/(keys|secrets|hooks)(/|$)", "^/orgs/[^/]+/members", "a{2,4}b",
	"x*?y", "(a|b|c|)d", "[^a]", "[^a]$", "(?s)a.b", "a\nb", "^a^b",
	"a$b", "a$|b", "(a$)*b", "(^|x)a", "($|x)a", "\\d+\\.\\d+",
	"[[:alpha:]]+$", "(?i)k",
	/* left to the machine */
	"\\bab\\b", "(?m)^ab$", "\\Bb", "a{64}",
	"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"
};

static const char *const texts[] = {
	"", "a", "b", "aa", "ab", "ba", "abc", "acd", "a\nb", "xab", "\n",
	"ab\nab", "aaab", "aaaaab", "/repos/owner/project/issues",
	"/repos//x", "/orgs/one/members/two", "/a/KEYS/b", "/a/keysx",
	"/x/secrets", "12.5", "12", "xy", "xxy", "d", "K",
	"\xe2\x84\xaa", "a\xc3\xa9" "b", "\xc3\xa9", "/\xc3\xa9/keys",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl"
};

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct state {
	struct arena arena;	/* not armed: it has room and steps enough */
};

static int
begin(void **state)
{
	struct state *s = calloc(1, sizeof(*s));

	if (s == NULL || arena_init(&s->arena, (size_t)1 << 20,
	    (size_t)16 << 20, UINT64_MAX) != 0)
		return -1;
	*state = s;
	return 0;
}

static int
end(void **state)
{
	struct state *s = *state;

	arena_release(&s->arena);
	free(s);
	return 0;
}

static const struct pattern *
get(struct patterns *known, struct arena *arena, const char *text)
{
	const struct pattern *pattern;
	const char *why = "";

	pattern = pattern_of(known, arena, text, strlen(text), &why);
	if (pattern == NULL)
		fail_msg("%s: %s", text, why);
	return pattern;
}

static void
test_bits_agree(void **state)
{
	struct state *s = *state;
	size_t i, k, by_bits = 0;

	for (i = 0; i < N(patterns); i++) {
		const struct pattern *p = get(NULL, &s->arena, patterns[i]);

		by_bits += p->bits != NULL;
		for (k = 0; k < N(texts); k++) {
			bool found = prog_run(&s->arena, &p->regex.prog,
			    texts[k], strlen(texts[k]), 0, false, NULL);

			if (pattern_matches(p, &s->arena, texts[k],
			    strlen(texts[k])) != found)
				fail_msg("%s on %s: the machine says %d",
				    patterns[i], texts[k], found);
		}
		arena_reset(&s->arena);
	}
	assert_int_equal(by_bits, N(patterns) - 5);
}

static void
test_kept_is_fresh(void **state)
{
	struct patterns *known = patterns_new();
	struct state *s = *state;
	uint64_t steps[N(patterns)];
	size_t i;

	assert_non_null(known);
	for (i = 0; i < N(patterns); i++) {
		uint64_t before = s->arena.steps;

		get(known, &s->arena, patterns[i]);
		steps[i] = s->arena.steps - before;
	}
	arena_reset(&s->arena);
	memset(s->arena.next, 0xa5, (size_t)(s->arena.end - s->arena.next));
	for (i = 0; i < N(patterns); i++) {
		uint64_t before = s->arena.steps;
		const uint8_t *next = s->arena.next;
		const struct pattern *p = get(known, &s->arena, patterns[i]);

		assert_int_equal(s->arena.steps - before, steps[i]);
		assert_ptr_equal(next, s->arena.next);	/* nothing was made */
		assert_true(pattern_matches(p, &s->arena, texts[0], 0) ==
		    pattern_matches(get(NULL, &s->arena, patterns[i]),
		    &s->arena, texts[0], 0));
	}
	patterns_free(known);
}

static void
test_names_move_along(void **state)
{
	struct patterns *known = patterns_new();
	struct state *s = *state;
	char text[] = "(?P<first>a)(?P<second>b)";
	const struct pattern *p;

	assert_non_null(known);
	get(known, &s->arena, text);
	p = get(known, &s->arena, "(?P<first>a)(?P<second>b)");
	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(p->regex.n_groups, 3);
	assert_memory_equal(p->regex.names[1].p, "first", 5);
	assert_memory_equal(p->regex.names[2].p, "second", 6);
	patterns_free(known);
}

/* More patterns than there is room for, bad ones between: all still right. */
static void
test_room_runs_out(void **state)
{
	struct patterns *known = patterns_new();
	struct state *s = *state;
	const char *why = "";
	char text[200];
	unsigned i;

	assert_non_null(known);
	for (i = 0; i < 5000; i++) {
		const struct pattern *p;

		if (i % 7 == 0)
			patterns_begin(known);
		snprintf(text, sizeof(text), "^(x[0-9a-f]{1,%u}|y)%u$",
		    i % 90 + 1, i % 300);
		p = get(known, &s->arena, text);
		snprintf(text, sizeof(text), "y%u", i % 300);
		assert_true(pattern_matches(p, &s->arena, text,
		    strlen(text)));
		assert_false(pattern_matches(p, &s->arena, "y", 1));
		assert_null(pattern_of(known, &s->arena, "(", 1, &why));
		arena_reset(&s->arena);
	}
	patterns_free(known);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_bits_agree, begin, end),
		cmocka_unit_test_setup_teardown(test_kept_is_fresh, begin, end),
		cmocka_unit_test_setup_teardown(test_names_move_along, begin, end),
		cmocka_unit_test_setup_teardown(test_room_runs_out, begin, end)
	};

	return cmocka_run_group_tests_name("policy_pattern", tests, NULL, NULL);
}
