#include "ledger/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int
problem_set(struct problem *problem, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(problem->text, sizeof(problem->text), format, ap);
	va_end(ap);
	return -1;
}

int
problem_errno(struct problem *problem, const char *format, ...)
{
	char number[64];
	const char *name = strerrordesc_np(errno);
	size_t len;
	va_list ap;

	snprintf(number, sizeof(number), "error %d", errno);
	va_start(ap, format);
	vsnprintf(problem->text, sizeof(problem->text), format, ap);
	va_end(ap);
	len = strlen(problem->text);
	snprintf(problem->text + len, sizeof(problem->text) - len, ": %s",
	    name != NULL ? name : number);
	return -1;
}
