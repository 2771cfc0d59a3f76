#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <openssl/evp.h>
#include <sodium.h>

#include "ledger/scan/tags/tags.h"
#include "ledger/scan/tags/tags_impl.h"
#include "ledger/scan/view/classes.h"

#define SPARSE 256	/* bits of the filter for each tag, which sets two */
#define FILTER_MIN 16384
#define BATCH 512	/* windows hashed at once: what is hashed stays near */
#define BLOCK 16	/* of AES */
#define BLOCKS 16	/* words of bits at a time */

struct scan_tags {
	uint8_t key[SCAN_TAG_KEY_LEN];
	uint8_t canary[SCAN_TAG_LEN];
	size_t n;
	uint8_t (*tag)[SCAN_TAG_LEN];	/* sorted */
	uint64_t *bitmap;
	uint32_t bits;		/* of it: small, so that it stays near */
	bool digit;		/* every window that is tagged holds one */
};

struct scan_tags_room {
	const struct scan_tags *tags;
	EVP_CIPHER_CTX *aes;
	const struct scan_tag_engine *engine;	/* NULL: the library */
	struct scan_tag_keys keys;
	uint8_t first[BATCH * BLOCK], second[BATCH * BLOCK], state[BATCH * BLOCK];
	const uint8_t *text;
	size_t at[BATCH], n;	/* where in the text they are */
};

/* ---- the hash ---- */

/*
 * Matyas-Meyer-Oseas with a fixed key: h = E(x1) ^ x1, tag = E(h ^ x2) ^ h ^ x2,
 * where x2 holds the window's last 8 bytes, a 1 bit, and its length.
 */
static void
put(struct scan_tags_room *room, unsigned i)
{
	const uint8_t *window = room->text + room->at[i];
	uint8_t *second = room->second + i * BLOCK;

	memcpy(room->first + i * BLOCK, window, BLOCK);
	memset(second, 0, BLOCK);
	memcpy(second, window + BLOCK, SCAN_TAG_WIDTH - BLOCK);
	second[SCAN_TAG_WIDTH - BLOCK] = 0x80;
	second[BLOCK - 1] = SCAN_TAG_WIDTH;
}

/* By the library. */
static int
hash_plain(struct scan_tags_room *room, size_t n)
{
	size_t k, bytes = n * BLOCK;
	unsigned i;
	int len;

	for (i = 0; i < n; i++)
		put(room, i);
	if (EVP_EncryptUpdate(room->aes, room->state, &len, room->first,
	    (int)bytes) != 1)
		return -1;
	for (k = 0; k < bytes; k++)
		room->second[k] ^= room->state[k] ^ room->first[k];
	if (EVP_EncryptUpdate(room->aes, room->state, &len, room->second,
	    (int)bytes) != 1)
		return -1;
	for (k = 0; k < bytes; k++)
		room->state[k] ^= room->second[k];
	return 0;
}

/* The tags of n windows, into state. */
static int
hash(struct scan_tags_room *room, size_t n)
{
	if (room->engine == NULL)
		return hash_plain(room, n);
	room->engine->hash(&room->keys, room->text, room->at, n, room->state);
	return 0;
}

static struct scan_tags_room *
room_new(const uint8_t key[SCAN_TAG_KEY_LEN])
{
	struct scan_tags_room *room = sodium_malloc(sizeof(*room));

	if (room == NULL)
		return NULL;
	memset(room, 0, sizeof(*room));
	if ((room->engine = scan_tag_engine()) != NULL)
		scan_tag_keys_make(key, &room->keys);
	room->aes = EVP_CIPHER_CTX_new();
	if (room->aes != NULL && EVP_EncryptInit_ex(room->aes, EVP_aes_128_ecb(), NULL,
	    key, NULL) == 1 && EVP_CIPHER_CTX_set_padding(room->aes, 0) == 1)
		return room;
	scan_tags_room_free(room);
	return NULL;
}

struct scan_tags_room *
scan_tags_room_new(const struct scan_tags *tags)
{
	struct scan_tags_room *room = room_new(tags->key);

	if (room != NULL)
		room->tags = tags;
	return room;
}

void
scan_tags_room_free(struct scan_tags_room *room)
{
	if (room == NULL)
		return;
	EVP_CIPHER_CTX_free(room->aes);
	sodium_free(room);
}

int
scan_tag_make(const uint8_t key[SCAN_TAG_KEY_LEN], const uint8_t *window,
    uint8_t tag[SCAN_TAG_LEN])
{
	struct scan_tags_room *room = room_new(key);
	int result = -1;

	if (room == NULL)
		return -1;
	/* the library's own words here: a mistake in the quicker way would make
	 * tags that nobody else finds, and the canary tells the other way round */
	room->text = window;
	if (hash_plain(room, 1) == 0) {
		memcpy(tag, room->state, SCAN_TAG_LEN);
		result = 0;
	}
	scan_tags_room_free(room);
	return result;
}

/* ---- scanning ---- */

/* The alphabet of every window that is ever tagged. */
static const bool alphabet[256] = {
	['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
	['+'] = true, ['/'] = true, ['_'] = true, ['-'] = true,
};

bool
scan_tag_char(uint8_t c)
{
	return alphabet[c];
}

/* Its places in the filter, the first and the second; mask: of the bits that the
 * filter has. */
static uint32_t
bit_of(const uint8_t *tag, unsigned which, uint32_t mask)
{
	uint32_t bits;

	memcpy(&bits, tag + which * sizeof(bits), sizeof(bits));
	return bits & mask;
}

static bool
has_bit(const uint64_t *bitmap, uint32_t bit)
{
	return (bitmap[bit / 64] >> bit % 64 & 1) != 0;
}

static void
set_bit(uint64_t *bitmap, uint32_t bit)
{
	bitmap[bit / 64] |= UINT64_C(1) << bit % 64;
}

static int
by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, SCAN_TAG_LEN);
}

/* What the filter lets pass. */
static void
look_up(const struct scan_tags *tags, const uint8_t *tag, size_t at,
    void (*found)(void *context, size_t at, const char *id), void *context)
{
	char id[24];

	if (bsearch(tag, tags->tag, tags->n, SCAN_TAG_LEN, by_bytes) == NULL)
		return;
	snprintf(id, sizeof(id), "tag-%02x%02x%02x%02x", tag[0], tag[1], tag[2], tag[3]);
	found(context, at, memcmp(tag, tags->canary, SCAN_TAG_LEN) == 0 ?
	    SCAN_TAG_CANARY : id);
}

static int
flush(struct scan_tags_room *room, void (*found)(void *context, size_t at,
    const char *id), void *context)
{
	const uint64_t *bitmap = room->tags->bitmap;
	const uint32_t mask = room->tags->bits - 1;
	const uint8_t *tag = room->state;
	size_t n = room->n, i;

	room->n = 0;
	if (n > 0 && hash(room, n) != 0)
		return -1;
	for (i = 0; i < n; i++, tag += SCAN_TAG_LEN)
		if (has_bit(bitmap, bit_of(tag, 0, mask)) &&
		    has_bit(bitmap, bit_of(tag, 1, mask)))
			look_up(room->tags, tag, room->at[i], found, context);
	return 0;
}

static struct scan_table kinds;	/* alphabet, decimal digit */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
fill_kinds(void)
{
	unsigned c;

	for (c = 0; c < 256; c++)
		kinds.of[c] = (uint8_t)(alphabet[c] | (c >= '0' && c <= '9') << 1);
	scan_table_made(&kinds);
}

/* Where windows begin that may be tagged: of the alphabet throughout, and, where
 * the file says that all of its are, with a digit among them. */
static uint64_t
windows_of(const struct scan_planes *block, bool digit)
{
	unsigned __int128 m = (unsigned __int128)block[1].plane[1] << 64 | block->plane[1];
	uint64_t starts = scan_row(block->plane[0], block[1].plane[0], SCAN_TAG_WIDTH);

	if (starts == 0 || !digit)
		return starts;
	m |= m >> 1;
	m |= m >> 2;
	m |= m >> 4;
	return starts & (uint64_t)(m | m >> 8 | m >> 16);
}

/* Windows at the bits, to the others that wait; there is room for them. */
static void
add_windows(struct scan_tags_room *room, uint64_t starts, size_t at)
{
	size_t n = room->n, k;

	if (starts == UINT64_MAX) {	/* base64 */
		for (k = 0; k < SCAN_LANE; k++)
			room->at[n + k] = at + k;
		room->n = n + SCAN_LANE;
		return;
	}
	for (; starts != 0; starts &= starts - 1)
		room->at[n++] = at + (size_t)__builtin_ctzll(starts);
	room->n = n;
}

int
scan_tags_run(struct scan_tags_room *room, const uint8_t *text, size_t len,
    void (*found)(void *context, size_t at, const char *id), void *context)
{
	struct scan_planes block[BLOCKS + 1];
	size_t at, n, k, left;
	uint64_t starts;

	pthread_once(&once, fill_kinds);
	room->text = text;
	room->n = 0;
	for (at = 0; at < len; at += BLOCKS * SCAN_LANE) {
		left = len - at;
		n = left < sizeof(block) / sizeof(*block) * SCAN_LANE ? left :
		    sizeof(block) / sizeof(*block) * SCAN_LANE;
		memset(block + n / SCAN_LANE, 0, sizeof(block) - n / SCAN_LANE * sizeof(*block));
		scan_planes_of(&kinds, text + at, n, block);
		for (k = 0; k < BLOCKS; k++) {
			starts = windows_of(block + k, room->tags->digit);
			if (starts == 0)
				continue;
			add_windows(room, starts, at + k * SCAN_LANE);
			if (room->n > BATCH - SCAN_LANE && flush(room, found, context) != 0)
				return -1;
		}
	}
	return flush(room, found, context);
}

/* ---- files ---- */

void
scan_tags_commitment(const void *file, size_t len,
    char commitment[SCAN_TAGS_COMMITMENT_MAX])
{
	uint8_t digest[32];

	crypto_generichash(digest, sizeof(digest), file, len, NULL, 0);
	memcpy(commitment, "blake2b:", 9);
	sodium_bin2hex(commitment + 8, SCAN_TAGS_COMMITMENT_MAX - 8, digest,
	    sizeof(digest));
}

unsigned
scan_tags_count(const struct scan_tags *tags)
{
	return (unsigned)tags->n;
}

void
scan_tags_free(struct scan_tags *tags)
{
	if (tags == NULL)
		return;
	free(tags->tag);
	free(tags->bitmap);
	free(tags);
}

static bool
unhex(const json_t *value, uint8_t *out, size_t len)
{
	size_t n = 0;

	return json_is_string(value) && json_string_length(value) == 2 * len &&
	    sodium_hex2bin(out, len, json_string_value(value), 2 * len, NULL, &n,
	    NULL) == 0 && n == len;
}

static const char *
fill(struct scan_tags *tags, const json_t *root)
{
	const json_t *list = json_object_get(root, "tags");
	json_int_t version = json_integer_value(json_object_get(root, "v"));
	const char *type = json_string_value(json_object_get(root, "type"));
	size_t i;

	if (type == NULL || strcmp(type, SCAN_TAGS_TYPE) != 0)
		return "no file of scan tags";
	if (version != 1 || json_integer_value(json_object_get(root, "width")) !=
	    SCAN_TAG_WIDTH)
		return "scan tags of a version that this program does not know";
	if (!unhex(json_object_get(root, "key"), tags->key, sizeof(tags->key)) ||
	    !json_is_array(list) || json_array_size(list) == 0 ||
	    json_array_size(list) > SCAN_TAGS_MAX)
		return "scan tags without key or tags, or with too many";
	tags->digit = json_is_true(json_object_get(root, "digit"));
	tags->tag = calloc(json_array_size(list), SCAN_TAG_LEN);
	for (tags->bits = FILTER_MIN; tags->bits < SPARSE * json_array_size(list);)
		tags->bits *= 2;
	tags->bitmap = calloc(tags->bits / 64, sizeof(*tags->bitmap));
	if (tags->tag == NULL || tags->bitmap == NULL)
		return "out of memory";
	for (i = 0; i < json_array_size(list); i++) {
		uint8_t *tag = tags->tag[tags->n];

		if (!unhex(json_array_get(list, i), tag, SCAN_TAG_LEN))
			return "a scan tag that is not 32 hexadecimal digits";
		if (tags->n > 0 && by_bytes(tags->tag[tags->n - 1], tag) >= 0)
			return "scan tags that are not in order";
		set_bit(tags->bitmap, bit_of(tag, 0, tags->bits - 1));
		set_bit(tags->bitmap, bit_of(tag, 1, tags->bits - 1));
		tags->n++;
	}
	return NULL;
}

static void
note_canary(void *context, size_t at, const char *id)
{
	if (strcmp(id, SCAN_TAG_CANARY) == 0 && at == 1)
		*(bool *)context = true;
}

/* A file whose tags do not find what everybody knows finds nothing. */
static const char *
works(struct scan_tags *tags)
{
	static const char text[] = "=" SCAN_TAG_FIXTURE "=";
	struct scan_tags_room *room;
	bool hit = false;

	if (scan_tag_make(tags->key, (const uint8_t *)SCAN_TAG_FIXTURE,
	    tags->canary) != 0 || (room = scan_tags_room_new(tags)) == NULL)
		return "out of memory";
	if (scan_tags_run(room, (const uint8_t *)text, sizeof(text) - 1, note_canary,
	    &hit) != 0)
		hit = false;
	scan_tags_room_free(room);
	return hit ? NULL : "scan tags that do not find their canary: they find nothing";
}

struct scan_tags *
scan_tags_read(const char *text, size_t len, char *err, size_t err_len)
{
	struct scan_tags *tags = calloc(1, sizeof(*tags));
	json_error_t error;
	json_t *root = len > SCAN_TAGS_FILE_MAX ? NULL : json_loadb(text, len,
	    JSON_REJECT_DUPLICATES, &error);
	const char *why = tags == NULL ? "out of memory" : root == NULL ?
	    "no file of scan tags" : fill(tags, root);

	json_decref(root);
	if (why == NULL)
		why = works(tags);
	if (why == NULL)
		return tags;
	snprintf(err, err_len, "%s", why);
	scan_tags_free(tags);
	return NULL;
}
