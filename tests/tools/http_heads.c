/*
 * Reads lines of "Q HEX" (a request) or "S HEX" (a response to a GET), parses
 * each and prints what it is, a line each, for comparison with other parsers:
 *
 *   bad STATUS RULE | more
 *   ok METHOD|STATUS TARGET MINOR FRAMING LENGTH KEEP-ALIVE UPGRADE USED NAME=VALUE,...
 *
 * TARGET, NAME and VALUE in hex, "-" where empty.
 */
#include <stdint.h>
#include <stdio.h>
#include <sodium.h>

#include "http/head.h"

static void
put_hex(struct slice s)
{
	if (s.n == 0)
		putchar('-');
	for (size_t i = 0; i < s.n; i++)
		printf("%02x", (unsigned char)s.p[i]);
}

static void
put_head(const struct head *head, size_t used)
{
	static const char *const framings[] = { "none", "length", "chunked",
	    "close" };

	printf("ok ");
	if (head->status != 0)
		printf("%u ", head->status);
	else
		printf("%.*s ", (int)head->method.n, head->method.p);
	put_hex(head->target);
	printf(" %u %s %llu %d %d %zu ", head->minor, framings[head->framing],
	    head->framing == HEAD_LENGTH ? (unsigned long long)head->body_len : 0,
	    head->keep_alive, head->upgrade, used);
	for (size_t i = 0; i < head->n_fields; i++) {
		if (i > 0)
			putchar(',');
		put_hex(head->fields[i].name);
		putchar('=');
		put_hex(head->fields[i].value);
	}
	putchar('\n');
}

int
main(void)
{
	static char line[2 * HEAD_BYTES_MAX + 16];
	static unsigned char text[HEAD_BYTES_MAX];
	static struct head head;
	struct head_error err;
	enum head_result r;
	size_t n, used = 0;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (sodium_hex2bin(text, sizeof(text), line + 2, strcspn(line + 2,
		    "\n"), NULL, &n, NULL) != 0)
			return 1;
		r = line[0] == 'S' ?
		    head_parse_response((char *)text, n, SLICE("GET"), &head, &used,
		    &err) :
		    head_parse_request((char *)text, n, &head, &used, &err);
		if (r == HEAD_DONE)
			put_head(&head, used);
		else if (r == HEAD_MORE)
			puts("more");
		else
			printf("bad %u %s\n", err.status, err.rule);
	}
	return 0;
}
