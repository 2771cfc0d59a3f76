/* How fast the pure functions on a request's way are: nanoseconds a head, and
 * megabytes a second of redaction beside what memcpy does on this machine. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <sodium.h>

#include "http/chunk.h"
#include "http/head.h"
#include "inject/inject.h"
#include "redact/redact.h"

#define BLOCK 16384
#define BYTES (64u << 20)

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 682 bytes and 21 fields, as a browser-like client sends them. */
static const char HEAD[] =
    "GET /repos/example/project/issues?state=open&per_page=50 HTTP/1.1\r\n"
    "Host: api.example.com\r\n"
    "Connection: keep-alive\r\n"
    "Cache-Control: max-age=0\r\n"
    "Authorization: Bearer tok_0123456789abcdef\r\n"
    "Accept: application/json, text/plain;q=0.5\r\n"
    "Accept-Language: en;q=0.8, fr;q=0.5\r\n"
    "Accept-Encoding: gzip, deflate, br\r\n"
    "User-Agent: example-client/1.2 (linux; x86_64) runtime/18\r\n"
    "X-Api-Version: 2022-11-28\r\n"
    "X-Request-Id: 5b3f6f0c\r\n"
    "Referer: https://app.example.com/\r\n"
    "Origin: https://app.example.com\r\n"
    "If-None-Match: \"abcdef0123456789\"\r\n"
    "DNT: 1\r\n"
    "Pragma: no-cache\r\n"
    "Sec-Fetch-Site: same-site\r\n"
    "Sec-Fetch-Mode: cors\r\n"
    "Sec-Fetch-Dest: empty\r\n"
    "Priority: u=1, i\r\n"
    "Via-Client: example\r\n"
    "X-Pad: aaaa\r\n\r\n";

static void
bench_head(void)
{
	enum { ROUNDS = 1000000 };
	const struct binding bearer = { .placement = { PLACE_HEADER,
	    (char *)"Authorization", (char *)"Bearer ", (char *)"", NULL } };
	struct head head;
	struct head_error err;
	struct target target;
	char buf[TARGET_BUF_MAX], out[4096];
	struct inject in = { &head, &target, &bearer,
	    SLICE("tok_abcdefghijklmnopqrstuvwxyz012345"), false, false };
	size_t used = 0, bad = 0;
	double t0 = now(), t1, t2, t3;

	for (int i = 0; i < ROUNDS; i++)
		bad += head_parse_request(HEAD, sizeof(HEAD) - 1, &head, &used,
		    &err) != HEAD_DONE;
	t1 = now();
	for (int i = 0; i < ROUNDS; i++) {
		bad += target_from_authority(head.host, 443, &target) != NULL;
		bad += target_set_path(&target, head.target, buf, sizeof(buf)) != NULL;
	}
	t2 = now();
	for (int i = 0; i < ROUNDS; i++)
		bad += inject_request_head(&in, out, sizeof(out)) < 0;
	t3 = now();
	printf("head: %zu bytes, %zu fields: parse %.0f ns, target %.0f ns, inject %.0f ns%s\n",
	    sizeof(HEAD) - 1, head.n_fields, (t1 - t0) * 1e9 / ROUNDS,
	    (t2 - t1) * 1e9 / ROUNDS, (t3 - t2) * 1e9 / ROUNDS,
	    bad > 0 ? " (FAILED)" : "");
}

enum kind { TEXT, BASE64, ESCAPED, BINARY, KINDS };
static const char *const kinds[] = { "text", "base64", "escaped", "binary" };

static void
fill(char *p, size_t n, enum kind kind)
{
	static const char words[] = "{\"id\":12345,\"name\":\"an example of a record\","
	    "\"url\":\"https://api.example.com/v1/things/12345\",\"state\":\"open\"},\n";
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static const char hex[] = "0123456789abcdef";

	randombytes_buf(p, n);
	for (size_t i = 0; i < n && kind != BINARY; i++) {
		unsigned char c = (unsigned char)p[i];
		p[i] = kind == TEXT ? words[i % (sizeof(words) - 1)] :
		    kind == BASE64 ? digits[c & 63] :
		    i % 3 == 0 ? '%' : hex[c & 15];
	}
}

static double
redact_rate(const char *block, size_t piece, char *out)
{
	char secret[40] = "tok_";
	struct redact_needles *needles;
	struct redact *r;
	double t0;

	fill(secret + 4, sizeof(secret) - 4, BASE64);
	needles = redact_needles_new((struct slice){ secret, sizeof(secret) }, "x-access-token");
	r = needles != NULL ? redact_new(needles) : NULL;
	redact_needles_unref(needles);
	if (r == NULL)
		return 0;
	t0 = now();
	for (size_t n = 0; n < BYTES; n += piece)
		redact_feed(r, block + n % BLOCK, piece, false, out);
	t0 = now() - t0;
	redact_free(r);
	return BYTES / t0 / 1e6;
}

static double
memcpy_rate(const char *block, char *out)
{
	double t0 = now();

	for (size_t n = 0; n < 16 * (size_t)BYTES; n += BLOCK) {
		memcpy(out, block, BLOCK);
		__asm__ volatile("" : : "r"(out) : "memory");
	}
	return 16.0 * BYTES / (now() - t0) / 1e6;
}

static void
bench_redact(void)
{
	static char block[BLOCK], out[8 * BLOCK];
	double base = memcpy_rate(block, out), rate;

	printf("memcpy of %d KiB blocks: %.0f MB/s\n", BLOCK / 1024, base);
	for (unsigned kind = 0; kind < KINDS; kind++) {
		fill(block, sizeof(block), (enum kind)kind);
		rate = redact_rate(block, BLOCK, out);
		printf("redact %-8s: %5.0f MB/s (%.3f of memcpy), pieces of 1 KiB: %5.0f MB/s\n",
		    kinds[kind], rate, rate / base, redact_rate(block, 1024, out));
	}
}

static void
bench_needles(void)
{
	static char key[16384];
	double t0 = now(), t1;

	fill(key, sizeof(key), BASE64);
	for (int i = 0; i < 100; i++)
		redact_needles_unref(redact_needles_new((struct slice){ key, 40 }, "user"));
	t1 = now();
	for (int i = 0; i < 100; i++)
		redact_needles_unref(redact_needles_new((struct slice){ key, sizeof(key) }, "user"));
	printf("needles: %.0f us for 40 bytes, %.0f us for 16 KiB\n",
	    (t1 - t0) * 1e6 / 100, (now() - t1) * 1e6 / 100);
}

static void
bench_chunks(void)
{
	static char body[BLOCK];
	struct chunk_decoder d;
	struct slice in, data;
	size_t n = 0, bytes = 0, len = 4096;
	double t0;

	for (; n + len + 32 < sizeof(body); n += len + 2) {
		n += chunk_head(len, body + n);
		memset(body + n, 'x', len);
		memcpy(body + n + len, "\r\n", 2);
	}
	t0 = now();
	for (int i = 0; i < 200000; i++) {
		chunk_init(&d);
		in = (struct slice){ body, n };
		while (chunk_decode(&d, &in, &data) == CHUNK_DATA)
			bytes += data.n;
	}
	printf("chunks of %zu: %.0f ns each\n", len,
	    (now() - t0) * 1e9 / (double)(bytes / len));
}

/* bench_http [head|chunks|needles|redact] */
int
main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(void); } all[] = {
		{ "head", bench_head }, { "chunks", bench_chunks },
		{ "needles", bench_needles }, { "redact", bench_redact } };

	if (sodium_init() < 0)
		return 1;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (argc < 2 || strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	return 0;
}
