/* What adapters declare that they lost: a gap of their run, by their own word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "verify_made.h"

static const char *
under(uint64_t at, const char *more)
{
	static char text[512];
	char hex[65];

	sodium_bin2hex(hex, sizeof(hex), m.line[at].leaf, 32);
	snprintf(text, sizeof(text), "{\"parent\":\"%s\"%s}", hex, more);
	return text;
}

static enum verify_verdict
end(uint64_t run)
{
	maker_add(&m, "s", "run", "r", under(run, ",\"state\":\"closed\""));
	maker_add(&m, "s", "teardown", "r", under(run, ""));
	return close_and_verify();
}

static const struct verify_finding *
only(const char *code)
{
	assert_int_equal(c.result.verdict, VERIFY_GAP);
	assert_int_equal(c.result.findings, 1);
	assert_string_equal(c.result.finding[0].code, code);
	return &c.result.finding[0];
}

static void
declared(void **state)
{
	uint64_t run, at;

	restart();
	run = maker_add(&m, "s", "run", "r", "{\"state\":\"open\"}");
	at = maker_add(&m, "s", "loss", "r", under(run, ",\"adapter\":\"hook\",\"instance\":\"two\","
	    "\"count\":12,\"reason\":\"full\",\"from\":3,\"to\":14"));
	maker_add(&m, "s", "decision", "r", under(run, ",\"decision\":\"allow\""));
	end(run);
	assert_string_equal(only("lost")->what,
	    "the adapter hook two declares 12 of its records as lost (full)");
	assert_int_equal(only("lost")->index, at);
	assert_string_equal(only("lost")->type, "loss");
	assert_int_equal(c.result.lost, 12);
	assert_int_equal(c.result.drops, 0);
	assert_int_equal(c.result.integrity.verdict, VERIFY_COMPLETE);
	assert_int_equal(c.result.completeness.verdict, VERIFY_GAP);
	assert_int_equal(c.result.stream[0].verdict, VERIFY_COMPLETE);
}

static void
odd_ones(void **state)
{
	static const struct { const char *body, *what; uint64_t lost; } odd[] = {
		{ "", "a loss that does not say how many records are lost", 1 },
		{ ",\"adapter\":\"hook\",\"count\":0,\"reason\":\"full\"",
		    "a loss that does not say how many records are lost", 1 },
		{ ",\"adapter\":\"hook\",\"count\":\"9\",\"reason\":\"full\"",
		    "a loss that does not say how many records are lost", 1 },
		{ ",\"count\":9,\"reason\":\"full\"",
		    "a loss that does not say who lost records, and why", 9 },
		{ ",\"adapter\":\"\\u001b[2J\",\"count\":9,\"reason\":\"full\"",
		    "a loss that does not say who lost records, and why", 9 },
		{ ",\"adapter\":\"hook\",\"count\":9",
		    "a loss that does not say who lost records, and why", 9 },
		{ ",\"adapter\":\"hook\",\"count\":9,\"reason\":\"some other\"",
		    "a loss that does not say who lost records, and why", 9 },
	};
	uint64_t run;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		restart();
		run = maker_add(&m, "s", "run", "r", "{\"state\":\"open\"}");
		maker_add(&m, "s", "loss", "r", under(run, odd[i].body));
		end(run);
		assert_string_equal(only("lost")->what, odd[i].what);
		assert_int_equal(c.result.lost, odd[i].lost);
	}
}

static void
sums(void **state)
{
	char body[128];
	uint64_t run;

	restart();
	run = maker_add(&m, "s", "run", "r", "{\"state\":\"open\"}");
	for (int i = 0; i < 3; i++) {
		snprintf(body, sizeof(body), ",\"adapter\":\"hook\",\"count\":%llu,\"reason\":\"ended\"",
		    (unsigned long long)RECORD_SEQ_MAX - 1);
		maker_add(&m, "s", "loss", "r", under(run, body));
	}
	end(run);
	assert_int_equal(c.result.findings, 3);
	assert_int_equal(c.result.lost, RECORD_SEQ_MAX);
}

static void
misplaced(void **state)
{
	static const char body[] = ",\"adapter\":\"hook\",\"count\":1,\"reason\":\"full\"";
	uint64_t run, other;

	restart();
	run = maker_add(&m, "s", "run", "r", "{\"state\":\"open\"}");
	other = maker_add(&m, "s", "decision", "r", under(run, ",\"decision\":\"allow\""));
	maker_add(&m, "s", "loss", "r", under(other, body));
	end(run);
	assert_int_equal(c.result.findings, 2);
	assert_string_equal(c.result.finding[0].code, "parent");

	restart();
	run = maker_add(&m, "s", "run", "r", "{\"state\":\"open\"}");
	maker_add(&m, "s", "run", "r", under(run, ",\"state\":\"closed\""));
	maker_add(&m, "s", "teardown", "r", under(run, ""));
	maker_add(&m, "s", "loss", "r", under(run, body));
	close_and_verify();
	assert_int_equal(c.result.findings, 2);
	assert_string_equal(c.result.finding[0].code, "lost");
	assert_string_equal(c.result.finding[1].code, "after_teardown");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(declared),
		cmocka_unit_test(odd_ones),
		cmocka_unit_test(sums),
		cmocka_unit_test(misplaced),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
