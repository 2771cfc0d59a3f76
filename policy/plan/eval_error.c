/* What builtins say of what they cannot do. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "policy/plan/eval.h"

const struct value *
eval_error(struct eval *eval, const char *format, ...)
{
	va_list ap;

	eval->status = EVAL_BUILTIN_ERROR;
	if (eval->strict) {
		va_start(ap, format);
		vsnprintf(eval->error, sizeof(eval->error), format, ap);
		va_end(ap);
	}
	return NULL;
}

const struct value *
eval_operand_error(struct eval *eval, unsigned operand, const char *format, ...)
{
	char what[160];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	eval_error(eval, "operand %u %s", operand, what);
	eval->status = EVAL_TYPE_ERROR;
	return NULL;
}

const struct value *
eval_type_error(struct eval *eval, unsigned operand, const char *wanted,
    const struct value *got)
{
	const char *name = value_type_name(got);

	eval_error(eval, "operand %u must be %s%s%s but got %s", operand,
	    strchr(wanted, ',') != NULL ? "one of {" : "", wanted,
	    strchr(wanted, ',') != NULL ? "}" : "", name);
	eval->status = EVAL_TYPE_ERROR;
	return NULL;
}
