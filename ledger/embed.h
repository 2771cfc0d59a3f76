/* A file within the program, from symbol_begin to symbol_end; a NUL stands behind it.  The
 * assembler reads it: path is from the top of the source tree, where make runs. */
#ifndef LEDGER_EMBED_H
#define LEDGER_EMBED_H

#define EMBED(symbol, path) \
	__asm__(".pushsection .rodata\n" \
	    ".type " #symbol "_begin, @object\n" \
	    #symbol "_begin:\n" \
	    ".incbin \"" path "\"\n" \
	    ".type " #symbol "_end, @object\n" \
	    #symbol "_end:\n" \
	    ".byte 0\n" \
	    ".popsection\n"); \
	extern const char symbol##_begin[], symbol##_end[]

#endif
