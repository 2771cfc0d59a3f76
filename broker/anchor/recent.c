#include "anchor/recent.h"

#include "ledger/anchor/after.h"
#include "ledger/evidence/evidence.h"
#include "ledger/record/json_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#define BASE64_MAX (AFTER_TOKEN_MAX / 3 * 4 + 8)
#define NOTE_WHOLE_MAX (COSIGN_PLAIN_MAX + CONF_WITNESSES_MAX * COSIGN_LINE_MAX + 1)

_Static_assert(ANCHOR_PARTIES_MAX <= AFTER_NOTES_MAX, "a note for each of them");
_Static_assert(CONF_AUTHORITIES_MAX <= AFTER_STAMPS_MAX, "and all their stamps of one");

static bool
take_note(struct recent *recent, unsigned i, const char *note)
{
	if (strlen(note) > COSIGN_PLAIN_MAX)
		return false;
	snprintf(recent->party[i].note, sizeof(recent->party[i].note), "%s", note);
	recent->changed = true;
	return true;
}

void
recent_cosigned(struct recent *recent, unsigned i, const char *note, const char *line)
{
	if (take_note(recent, i, note))
		snprintf(recent->party[i].line, sizeof(recent->party[i].line), "%s", line);
}

void
recent_stamped(struct recent *recent, unsigned i, const char *note,
    const uint8_t *token, size_t len)
{
	uint8_t *copy = len <= AFTER_TOKEN_MAX ? malloc(len + 1) : NULL;

	if (copy == NULL || !take_note(recent, i, note)) {
		free(copy);
		return;
	}
	memcpy(copy, token, len);
	free(recent->party[i].token);
	recent->party[i].token = copy;
	recent->party[i].token_len = len;
}

void
recent_recall(struct recent *recent, unsigned i, int anchors_fd, uint64_t size,
    const char *who)
{
	char name[128];
	size_t len = 0;
	char *note, *token = NULL;

	snprintf(name, sizeof(name), "%020" PRIu64 ".note", size);
	note = evidence_read(anchors_fd, name, COSIGN_PLAIN_MAX, &len);
	snprintf(name, sizeof(name), "%020" PRIu64 ".%s.tsr", size, who);
	if (note != NULL)
		token = evidence_read(anchors_fd, name, AFTER_TOKEN_MAX, &len);
	if (token != NULL)
		recent_stamped(recent, i, note, (const uint8_t *)token, len);
	free(note);
	free(token);
}

/* ---- the file ---- */

static void
put_token(struct json_out *out, const struct recent_party *party, const char *who)
{
	char text[BASE64_MAX];

	sodium_bin2base64(text, sizeof(text), party->token, party->token_len,
	    sodium_base64_VARIANT_ORIGINAL);
	json_out_object(out, NULL);
	json_out_str(out, "authority", who);
	json_out_str(out, "token", text);
	json_out_object_end(out);
}

/* The note of party i with all that the parties before `end` say of it. */
static void
put_anchor(struct json_out *out, const struct recent *recent, unsigned i, unsigned end,
    const struct conf_anchors *conf)
{
	const struct recent_party *party = recent->party;
	char note[NOTE_WHOLE_MAX];
	size_t len = (size_t)snprintf(note, sizeof(note), "%s", party[i].note);

	for (unsigned k = i; k < end; k++)
		if (strcmp(party[k].note, party[i].note) == 0)
			len += (size_t)snprintf(note + len, sizeof(note) - len, "%s", party[k].line);
	json_out_object(out, NULL);
	json_out_str(out, "note", note);
	json_out_array(out, "stamps");
	for (unsigned k = i; k < end; k++)
		if (party[k].token != NULL && strcmp(party[k].note, party[i].note) == 0)
			put_token(out, &party[k], conf->authority[k - conf->witnesses].name);
	json_out_array_end(out);
	json_out_object_end(out);
}

static bool
is_first(const struct recent *recent, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (strcmp(recent->party[k].note, recent->party[i].note) == 0)
			return false;
	return recent->party[i].note[0] != '\0';
}

/* The length, or -1: that is too long. */
static int
compose(const struct recent *recent, unsigned end, const struct conf_anchors *conf,
    char *buf)
{
	struct json_out out;

	json_out_begin(&out, buf, AFTER_BYTES_MAX);
	json_out_object(&out, NULL);
	json_out_array(&out, "anchors");
	for (unsigned i = 0; i < end; i++)
		if (is_first(recent, i))
			put_anchor(&out, recent, i, end, conf);
	json_out_array_end(&out);
	json_out_object_end(&out);
	return json_out_end(&out);
}

/* The last of too many are left out: whoever wants them is not served, the others are. */
void
recent_keep(struct recent *recent, int anchors_fd, const struct conf_anchors *conf)
{
	unsigned end = (unsigned)(conf->witnesses + conf->authorities);
	char *buf = recent->changed ? malloc(AFTER_BYTES_MAX) : NULL;
	struct problem problem;
	int len = -1;

	for (; buf != NULL && end > 0 && len < 0; end--)
		len = compose(recent, end, conf, buf);
	if (len > 0 && anchors_put_recent(anchors_fd, buf, (size_t)len, &problem) == 0)
		recent->changed = false;
	else if (len > 0)
		fprintf(stderr, "countersignd: anchors: %s\n", problem.text);
	free(buf);
}
