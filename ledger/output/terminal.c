#include "ledger/output/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool
terminal_redraws(int fd)
{
	const char *term = getenv("TERM");

	return term != NULL && strcmp(term, "dumb") != 0 && isatty(fd);
}

bool
terminal_colours(int fd)
{
	const char *no = getenv("NO_COLOR");	/* no-color.org: set and not empty */

	return (no == NULL || no[0] == '\0') && terminal_redraws(fd);
}

int
terminal_colour_option(const char *when, bool *colour)
{
	if (strcmp(when, "always") == 0)
		*colour = true;
	else if (strcmp(when, "never") == 0)
		*colour = false;
	else if (strcmp(when, "auto") == 0)
		*colour = terminal_colours(STDOUT_FILENO);
	else
		return -1;
	return 0;
}
