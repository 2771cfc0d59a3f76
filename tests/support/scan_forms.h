/* One token in each of the forms in which a secret leaves by accident or on
 * purpose, for the scanner's tests and its comparison with other scanners. */
#ifndef TESTS_SCAN_FORMS_H
#define TESTS_SCAN_FORMS_H

#include <stddef.h>
#include <stdint.h>

#define SCAN_FORMS 40
#define SCAN_FORM_MAX 8192

const char *scan_form_name(unsigned form);

/* A small file with the token so encoded and ordinary text around it.  out has
 * SCAN_FORM_MAX bytes; returns its length. */
size_t scan_form_make(unsigned form, const char *token, uint8_t *out);

#endif
