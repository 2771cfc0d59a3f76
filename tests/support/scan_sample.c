#include "scan_sample.h"

#include <stdlib.h>
#include <string.h>

#include "ledger/scan/format/check.h"

static uint32_t
next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* Characters of a set, printable ones where it has any. */
static size_t
draw(const struct scan_pattern *pattern, uint32_t *state, char *out)
{
	char member[256];
	unsigned i, k, n, times;
	size_t len = 0;
	int c;

	for (i = 0; i < pattern->count; i++) {
		for (n = 0, c = 0x21; c < 0x7f; c++)
			if (scan_set_has(pattern->piece[i].set, (uint8_t)c))
				member[n++] = (char)c;
		if (n == 0)
			member[n++] = ' ';
		times = pattern->piece[i].min;
		if (times == 0 && pattern->piece[i].max == 1 && n == 1)
			times = next(state) & 1;
		for (k = 0; k < times; k++)
			out[len++] = member[next(state) % n];
	}
	return len;
}

/* What the checks want to see in a body that chance does not give. */
static const char *
whole_sample(const char *id)
{
	static const struct { const char *id, *text; } sample[] = {
		{ "jwt", "ey" "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibiI6MX0."
		    "Q7xk2LmZp9RtVb" },
		{ "http-basic", "Authorization: Basic dXNlcjpRN3hrMkxtWnA5" },
		{ "http-bearer", "Authorization: Bearer Q7xk2LmZp9RtVb4NcW8sYd" },
		{ "url-creds", "postgres://app:Q7xk2LmZp9@db.internal" },
		{ "generic-assign", "password = Q7xk2LmZp9RtVb" },
		{ "aws-secret", "aws_secret_access_key=Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9" },
		{ "okta", "okta: 00Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEfQ7xk2LmZp9" },
		{ "datadog", "datadog_api_key: 0123456789abcdef0123456789abcdef" },
		{ "pem-private", "-----BEGIN" " PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" },
		{ "gcp-sa-json", "\"private_key\": \"-----BEGIN" " PRIVATE KEY-----\\n"
		    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ" },
		{ "pem-private-b64", "LS0tLS1CRUdJTi" "BQUklWQVRFIEtFWS0tLS0tCk1JSUV2UUlCQURBTkJna3Foa2lHOXcwQkFR" },
	};
	size_t i;

	for (i = 0; i < sizeof(sample) / sizeof(sample[0]); i++)
		if (strcmp(sample[i].id, id) == 0)
			return sample[i].text;
	return NULL;
}

size_t
scan_sample(const struct scan_anchor *anchor, unsigned seed,
    char out[SCAN_SAMPLE_MAX])
{
	const char *ready = whole_sample(anchor->format->id);
	uint32_t state = seed * 7919 + 17;
	size_t len, prefix;

	if (ready != NULL) {
		memcpy(out, ready, strlen(ready) + 1);
		return strlen(ready);
	}
	len = draw(anchor->before, &state, out);
	memcpy(out + len, anchor->text, anchor->len);
	prefix = anchor->before->count == 0 ? anchor->len : 0;
	len += anchor->len;
	len += draw(anchor->after, &state, out + len);
	out[len] = '\0';
	scan_check_fix(anchor->format->check, (uint8_t *)out, len, prefix);
	return len;
}
