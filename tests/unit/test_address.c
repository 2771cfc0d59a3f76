/* Which addresses may not be dialled without leave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "plane/address.h"

#include <arpa/inet.h>
#include <string.h>

static void
expect(const char *text, const char *kind)
{
	union address address;
	const char *got;

	assert_int_equal(address_parse(text, 443, &address), 0);
	got = address_special(&address);
	if (kind == NULL)
		assert_null(got);
	else if (got == NULL)
		fail_msg("%s passes as public, want %s", text, kind);
	else
		assert_string_equal(got, kind);
}

static void
test_ipv4(void **state)
{
	static const struct { const char *text, *kind; } cases[] = {
		{ "8.8.8.8", NULL }, { "1.1.1.1", NULL }, { "223.255.255.255", NULL },
		{ "0.0.0.0", "unspecified" }, { "0.1.2.3", "unspecified" },
		{ "9.255.255.255", NULL }, { "10.0.0.0", "private" },
		{ "10.255.255.255", "private" }, { "11.0.0.0", NULL },
		{ "100.63.255.255", NULL }, { "100.64.0.0", "shared" },
		{ "100.127.255.255", "shared" }, { "100.128.0.0", NULL },
		{ "100.100.100.200", "metadata" },
		{ "126.255.255.255", NULL }, { "127.0.0.1", "loopback" },
		{ "127.255.255.255", "loopback" }, { "128.0.0.0", NULL },
		{ "169.253.255.255", NULL }, { "169.254.0.1", "link-local" },
		{ "169.254.169.254", "metadata" }, { "169.254.170.2", "metadata" },
		{ "169.255.0.0", NULL },
		{ "172.15.255.255", NULL }, { "172.16.0.0", "private" },
		{ "172.31.255.255", "private" }, { "172.32.0.0", NULL },
		{ "192.0.0.8", "reserved" }, { "192.0.1.0", NULL },
		{ "192.0.2.1", "documentation" }, { "192.88.99.1", "reserved" },
		{ "192.167.255.255", NULL }, { "192.168.0.1", "private" },
		{ "192.169.0.0", NULL }, { "198.17.255.255", NULL },
		{ "198.18.0.0", "benchmark" }, { "198.19.255.255", "benchmark" },
		{ "198.20.0.0", NULL }, { "198.51.100.7", "documentation" },
		{ "203.0.113.7", "documentation" }, { "224.0.0.1", "multicast" },
		{ "239.255.255.255", "multicast" }, { "240.0.0.1", "reserved" },
		{ "255.255.255.255", "reserved" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i].text, cases[i].kind);
}

static void
test_ipv6(void **state)
{
	static const struct { const char *text, *kind; } cases[] = {
		{ "2606:4700::1111", NULL }, { "2a00:1450:4001::1", NULL },
		{ "::", "unspecified" }, { "::1", "loopback" }, { "::2", "reserved" },
		{ "::7f00:1", "reserved" },	/* IPv4-compatible, long gone */
		{ "fc00::1", "private" }, { "fdff::1", "private" },
		{ "fd00:ec2::254", "metadata" }, { "fd00:ec2::253", "private" },
		{ "fe80::1", "link-local" }, { "febf::1", "link-local" },
		{ "fec0::1", "site-local" }, { "ff02::1", "multicast" },
		{ "100::1", "discard" }, { "2001:db8::1", "documentation" },
		{ "2001:2::1", "reserved" }, { "3fff::1", "documentation" },
		{ "5f00::1", "reserved" }, { "64:ff9b:1::1", "private" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i].text, cases[i].kind);
}

/* An IPv4 address hidden in an IPv6 one is judged as what it is. */
static void
test_carried(void **state)
{
	static const struct { const char *text, *kind; } cases[] = {
		{ "::ffff:127.0.0.1", "loopback" },
		{ "::ffff:169.254.169.254", "metadata" },
		{ "::ffff:8.8.8.8", NULL },
		{ "64:ff9b::10.0.0.1", "private" }, { "64:ff9b::8.8.8.8", NULL },
		{ "2002:7f00:1::", "loopback" }, { "2002:808:808::1", NULL },
		/* Teredo hides it inverted. */
		{ "2001:0:1:2:3:4:80ff:fffe", "loopback" },
		{ "2001:0:1:2:3:4:f7f7:f7f7", "reserved" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect(cases[i].text, cases[i].kind);
}

static void
test_unwrap(void **state)
{
	union address mapped, plain, want;

	address_parse("::ffff:10.1.2.3", 443, &mapped);
	address_parse("10.1.2.3", 443, &want);
	address_unwrap(&mapped, &plain);
	assert_true(address_same(&plain, &want));
	address_parse("2001:db8::1", 443, &mapped);
	address_unwrap(&mapped, &plain);
	assert_true(address_same(&plain, &mapped));
}

static void
test_parse(void **state)
{
	static const char *const bad[] = { "", "127.1", "2130706433", "0x7f.1",
	    "0177.0.0.1", "127.0.0.1 ", "1.2.3.4.5", "[::1]", "::1%lo",
	    "example.com", "::ffff:1.2.3" };
	union address a, b;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(address_parse(bad[i], 1, &a), -1);
	assert_int_equal(address_parse("127.0.0.1", 1, &a), 0);
	assert_int_equal(address_parse("127.0.0.1", 2, &b), 0);
	assert_false(address_same(&a, &b));
	assert_int_equal(ntohs(b.in.sin_port), 2);
	address_parse("::1", 2, &a);
	assert_false(address_same(&a, &b));
}

static void
test_other_family(void **state)
{
	union address address;

	memset(&address, 0, sizeof(address));
	address.sa.sa_family = AF_UNIX;
	assert_string_equal(address_special(&address), "unsupported");
	assert_int_equal(address_copy(&address, &address.sa), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4), cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_carried), cmocka_unit_test(test_unwrap),
		cmocka_unit_test(test_parse), cmocka_unit_test(test_other_family),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
