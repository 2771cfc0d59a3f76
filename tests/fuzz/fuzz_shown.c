/*
 * What people and other tools are shown of outside text.  Whatever the bytes
 * are: a page gets text and nothing that is markup, a terminal's line and a
 * syslog message have no control in them, and no end of line but their own; a
 * header of tar is refused, or is the one that would be written.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ledger/bundle/tar.h"
#include "ledger/export/canonical.h"
#include "ledger/export/export.h"
#include "ledger/output/shown.h"
#include "ledger/report/html_escape.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
require(int condition)
{
	if (!condition)
		abort();
}

static void
no_controls(const char *text)
{
	for (; *text != '\0'; text++)
		require((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* The only elements are our own. */
static void
only_text(const char *page)
{
	const char *p = page;

	for (; (p = strchr(p, '<')) != NULL; p++)
		require(strncmp(p, "<i>", 3) == 0 || strncmp(p, "</i>", 4) == 0 ||
		    strncmp(p, "<b>", 3) == 0 || strncmp(p, "</b>", 4) == 0);
	require(strchr(page, '"') == NULL && strchr(page, '\'') == NULL);
}

static void
as_page(const char *text, size_t len)
{
	char *page = NULL;
	size_t size;
	FILE *out = open_memstream(&page, &size);

	require(out != NULL);
	html_text(out, text, len);
	fflush(out);
	no_controls(page);
	html_attr(out, text, len);
	html_json(out, text, len, 100, true);
	html_json(out, text, len, len, false);
	fclose(out);
	only_text(page);
	free(page);
}

static void
as_line(const char *text)
{
	char *line = NULL;
	size_t size;
	FILE *out = open_memstream(&line, &size);

	require(out != NULL);
	shown_put(out, text, 80);
	fclose(out);
	no_controls(line);
	free(line);
}

static void
as_event(const char *text)
{
	static char buf[EXPORT_LINE_MAX];
	static struct facts f;
	struct export_item item = { .facts = &f };
	struct canonical c;

	memset(&f, 0, sizeof(f));
	snprintf(f.type, sizeof(f.type), "use");
	snprintf(f.time, sizeof(f.time), "2026-11-29T15:36:01.123456Z");
	snprintf(f.host, sizeof(f.host), "%.200s", text);
	snprintf(f.reason, sizeof(f.reason), "%.400s", text);
	snprintf(f.rule, sizeof(f.rule), "%.100s", text);
	memset(item.prev, '0', 64);
	require(cef_format(&item, text, buf, sizeof(buf)) > 0);
	no_controls(buf);
	require(ocsf_format(&item, &(struct ocsf_options){ text, text, true }, buf,
	    sizeof(buf)) > 0);
	no_controls(buf);
	require(otlp_format(&item, buf, sizeof(buf)) > 0);
	no_controls(buf);
	canonical_begin(&c, buf, sizeof(buf), true);
	canonical_text(&c, NULL, text);
	require(canonical_end(&c) > 0 || strlen(text) > sizeof(buf) / 8);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t block[TAR_BLOCK], again[TAR_BLOCK];
	struct tar_entry entry;
	char *text;

	if (len > 65536 || (text = malloc(len + 1)) == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	as_page(text, len);
	as_line(text);
	as_event(text);
	memset(block, 0, sizeof(block));
	memcpy(block, data, len < sizeof(block) ? len : sizeof(block));
	if (tar_parse(&entry, block) == NULL) {
		require(tar_compose(again, &entry) == 0);
		require(memcmp(again, block, sizeof(block)) == 0);
	}
	free(text);
	return 0;
}
