/* What a hexadecimal digit stands for, in either case. */
#ifndef BROKER_HEX_DIGIT_H
#define BROKER_HEX_DIGIT_H

/* 0 to 15, or -1. */
static inline int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
