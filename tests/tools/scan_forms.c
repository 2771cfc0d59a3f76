/* Write one made-up token in every form of scan_forms.h into a directory, a file
 * each, and print "<file>\t<form>" for each. */
#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#include "scan_forms.h"

#define TOKEN "ghp" "_Q7xk2LmZp9RtVb4NcW8sYd1HgJ5aEf2j6fV9"

/* Other scanners tell archives by their names. */
static const char *
suffix(unsigned form)
{
	switch (form) {
	case 26:
	case 38:
		return "txt.gz";
	case 28:
	case 39:
		return "txt.zst";
	case 29:
		return "tar.gz";
	case 30:
		return "zip";
	default:
		return "txt";
	}
}

int
main(int argc, char **argv)
{
	static uint8_t text[SCAN_FORM_MAX];
	char path[4096];
	unsigned form;
	size_t len;
	FILE *out;

	if (argc != 2 || sodium_init() < 0)
		return 3;
	for (form = 0; form < SCAN_FORMS; form++) {
		len = scan_form_make(form, TOKEN, text);
		snprintf(path, sizeof(path), "%s/form-%02u.%s", argv[1], form, suffix(form));
		if ((out = fopen(path, "we")) == NULL ||
		    fwrite(text, 1, len, out) != len || fclose(out) != 0)
			return 1;
		printf("form-%02u.%s\t%s\n", form, suffix(form), scan_form_name(form));
	}
	return 0;
}
