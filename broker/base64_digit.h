/* What a digit of base64 stands for, in both alphabets of RFC 4648 at once: nobody
 * mixes them, and nobody is hurt if we do. */
#ifndef BROKER_BASE64_DIGIT_H
#define BROKER_BASE64_DIGIT_H

/* 0 to 63, or -1. */
static inline int
base64_digit(unsigned char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

#endif
