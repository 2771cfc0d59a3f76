/* What a token endpoint said (RFC 6749, section 5), or GitHub of an installation. Pure. */
#ifndef BROKER_MINT_ANSWER_H
#define BROKER_MINT_ANSWER_H

#include "mint/source.h"
#include "secret.h"

#include <stdint.h>

#define MINT_LIFE_DEFAULT_S 600	/* where it does not say how long */
#define MINT_LIFE_MAX_S (366 * 86400)

struct mint_answer {
	struct secret *token;		/* referenced */
	struct secret *refresh_token;	/* another one from now on; NULL: the same */
	int64_t life_s;			/* from now; above 0 */
	bool final;			/* of a refusal: asked again, it would be the same */
	int64_t retry_s;		/* or: not before so long (Retry-After); 0: it does not say */
};

/* status: HTTP's; now_s: Unix, where it names a moment.  0, or -1 with a message that has
 * nothing of the answer but a known word; then refresh_token may be there all the same, as
 * what counts from now on.  To be released in either case. */
int mint_answer_read(enum mint_flow flow, long status, const char *body, size_t len,
    int64_t now_s, struct mint_answer *out, char *err, size_t err_len);
void mint_answer_release(struct mint_answer *answer);

#endif
