#include "ledger/anchor/trust.h"
#include "ledger/anchor/stamp.h"
#include "ledger/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#define AGE_MAX_S (UINT64_C(100) * 366 * 86400)

struct reader {
	struct trust *trust;
	const char *dir;
	char *err;
	size_t err_len;
};

static int
refuse(struct reader *reader, const char *member, const char *rule)
{
	snprintf(reader->err, reader->err_len, "%s must be %s", member, rule);
	return -1;
}

static int
unknown(struct reader *reader, const char *where, const char *member)
{
	snprintf(reader->err, reader->err_len, "unknown member %.64s%.64s",
	    where, member);
	return -1;
}

static int
read_key(struct reader *reader, const char *member, const json_t *value,
    enum note_type type, struct note_key *out)
{
	const char *text = json_string_value(value);

	if (text == NULL || note_key_parse(out, text, strlen(text)) != 0 ||
	    out->type != type)
		return refuse(reader, member, type == NOTE_ED25519 ?
		    "a vkey of Ed25519 (name+id+key)" :
		    "the vkey of a witness (name+id+key, cosignature/v1)");
	return 0;
}

static int
read_number(struct reader *reader, const char *member, const json_t *value,
    uint64_t least, uint64_t most, uint64_t *out)
{
	json_int_t n = json_integer_value(value);
	char rule[64];

	if (!json_is_integer(value) || n < 0 || (uint64_t)n < least ||
	    (uint64_t)n > most) {
		snprintf(rule, sizeof(rule), "an integer from %" PRIu64 " to %"
		    PRIu64, least, most);
		return refuse(reader, member, rule);
	}
	*out = (uint64_t)n;
	return 0;
}

/* --- logs ---------------------------------------------------------------- */

static int
read_epoch(struct reader *reader, json_t *object, const char *origin,
    struct trust_epoch *out)
{
	bool number = false, key = false;
	const char *name;
	json_t *value;
	int status = 0;

	if (!json_is_object(object))
		return refuse(reader, "epochs", "made of objects");
	json_object_foreach(object, name, value) {
		if (strcmp(name, "epoch") == 0) {
			status = read_number(reader, "epochs.epoch", value, 1,
			    INT32_MAX, &out->epoch);
			number = true;
		} else if (strcmp(name, "key") == 0) {
			status = read_key(reader, "epochs.key", value,
			    NOTE_ED25519, &out->key);
			key = true;
		} else {
			status = unknown(reader, "epochs.", name);
		}
		if (status != 0)
			return -1;
	}
	if (!number || !key || strcmp(out->key.name, origin) != 0)
		return refuse(reader, "epochs", "made of epoch and key, the "
		    "key's name the log's");
	return 0;
}

static int
read_epochs(struct reader *reader, const json_t *list, struct trust_log *log)
{
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > TRUST_EPOCHS_MAX)
		return refuse(reader, "epochs", "an array of at most 16");
	for (i = 0; i < json_array_size(list); i++) {
		if (read_epoch(reader, json_array_get(list, i), log->key.name,
		    &log->epoch[i]) != 0)
			return -1;
		for (size_t k = 0; k < i; k++)
			if (log->epoch[k].epoch == log->epoch[i].epoch)
				return refuse(reader, "epochs.epoch", "another for each");
		log->epochs++;
	}
	return 0;
}

static int
read_log(struct reader *reader, json_t *object, struct trust_log *log)
{
	const char *name;
	json_t *value;

	if (!json_is_object(object) || json_object_get(object, "key") == NULL)
		return refuse(reader, "logs", "made of objects with a key");
	if (read_key(reader, "logs.key", json_object_get(object, "key"),
	    NOTE_ED25519, &log->key) != 0)
		return -1;
	if (trust_log(reader->trust, log->key.name) != NULL)
		return refuse(reader, "logs.key", "of an origin that has none "
		    "yet: later keys are epochs");
	json_object_foreach(object, name, value) {
		if (strcmp(name, "key") == 0)
			continue;
		if (strcmp(name, "epochs") != 0)
			return unknown(reader, "logs.", name);
		if (read_epochs(reader, value, log) != 0)
			return -1;
	}
	return 0;
}

static int
read_logs(struct reader *reader, const json_t *list)
{
	struct trust *trust = reader->trust;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > TRUST_LOGS_MAX)
		return refuse(reader, "logs", "an array of at most 64");
	for (i = 0; i < json_array_size(list); i++) {
		if (read_log(reader, json_array_get(list, i),
		    &trust->log[i]) != 0)
			return -1;
		trust->logs++;
	}
	return 0;
}

/* --- who else -------------------------------------------------------------- */

/* Somebody counts once, by whatever name: the key is what he is. */
static bool
listed(const struct note_key *keys, unsigned n, const struct note_key *key)
{
	for (unsigned i = 0; i < n; i++) {
		if (memcmp(keys[i].pk, key->pk, NOTE_PK_LEN) == 0)
			return true;
	}
	return false;
}

/* Both lists have room for 32. */
static int
read_keys(struct reader *reader, const char *member, const json_t *list,
    enum note_type type, struct note_key *keys, unsigned *n)
{
	struct note_key key;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > TRUST_WITNESSES_MAX)
		return refuse(reader, member, "an array of at most 32");
	for (i = 0; i < json_array_size(list); i++) {
		if (read_key(reader, member, json_array_get(list, i), type, &key) != 0)
			return -1;
		if (listed(keys, *n, &key))
			return refuse(reader, member, "different: one key "
			    "stands there twice");
		keys[(*n)++] = key;
	}
	return 0;
}
_Static_assert(TRUST_WITNESSES_MAX == 32 && TRUST_OBSERVERS_MAX == 32, "read_keys");

/* The log's owner, who wrote what is to be held against them. */
static bool
is_a_logs(const struct trust *trust, const struct note_key *key)
{
	for (unsigned i = 0; i < trust->logs; i++) {
		const struct trust_log *log = &trust->log[i];

		if (listed(&log->key, 1, key))
			return true;
		for (unsigned k = 0; k < log->epochs; k++)
			if (listed(&log->epoch[k].key, 1, key))
				return true;
	}
	return false;
}

static int
read_ca_file(struct reader *reader, const json_t *value,
    struct trust_authority *out)
{
	const char *text = json_string_value(value);
	int n;

	if (text == NULL || text[0] == '\0')
		return refuse(reader, "authorities.ca_file", "a path");
	if (text[0] == '/')
		n = snprintf(out->ca_file, TRUST_PATH_MAX, "%s", text);
	else
		n = snprintf(out->ca_file, TRUST_PATH_MAX, "%s/%s",
		    reader->dir, text);
	if (n < 0 || n >= TRUST_PATH_MAX)
		return refuse(reader, "authorities.ca_file", "shorter");
	return stamp_authorities(out->ca_file) > 0 ? 0 :
	    refuse(reader, "authorities.ca_file",
	    "a file of certificates (PEM) that can be read");
}

static int
read_authority(struct reader *reader, json_t *object,
    struct trust_authority *out)
{
	const char *name, *text;
	json_t *value;

	if (!json_is_object(object))
		return refuse(reader, "authorities", "made of objects");
	json_object_foreach(object, name, value) {
		text = json_string_value(value);
		if (strcmp(name, "name") == 0) {
			if (text == NULL || !anchors_who_valid(text))
				return refuse(reader, "authorities.name",
				    "letters, digits, - and _");
			snprintf(out->name, sizeof(out->name), "%s", text);
		} else if (strcmp(name, "ca_file") == 0) {
			if (read_ca_file(reader, value, out) != 0)
				return -1;
		} else {
			return unknown(reader, "authorities.", name);
		}
	}
	if (out->name[0] == '\0' || out->ca_file[0] == '\0')
		return refuse(reader, "authorities", "made of name and ca_file");
	return 0;
}

static int
read_authorities(struct reader *reader, const json_t *list)
{
	struct trust *trust = reader->trust;
	size_t i, k;

	if (!json_is_array(list) ||
	    json_array_size(list) > TRUST_AUTHORITIES_MAX)
		return refuse(reader, "authorities", "an array of at most 16");
	for (i = 0; i < json_array_size(list); i++) {
		if (read_authority(reader, json_array_get(list, i),
		    &trust->authority[i]) != 0)
			return -1;
		for (k = 0; k < i; k++) {
			if (strcmp(trust->authority[k].name,
			    trust->authority[i].name) == 0)
				return refuse(reader, "authorities.name",
				    "another for each");
		}
		trust->authorities++;
	}
	return 0;
}

/* --- the whole ---------------------------------------------------------- */

struct wanted {
	uint64_t quorum, stamps, observed;
};

static int
read_member(struct reader *reader, const char *name, json_t *value,
    struct wanted *wanted)
{
	struct trust *trust = reader->trust;
	uint64_t version;

	if (strcmp(name, "v") == 0)
		return read_number(reader, "v", value, 1, 1, &version);
	if (strcmp(name, "logs") == 0)
		return read_logs(reader, value);
	if (strcmp(name, "witnesses") == 0)
		return read_keys(reader, name, value, NOTE_COSIGNATURE_V1, trust->witness,
		    &trust->witnesses);
	if (strcmp(name, "observers") == 0)
		return read_keys(reader, name, value, NOTE_ED25519, trust->observer,
		    &trust->observers);
	if (strcmp(name, "authorities") == 0)
		return read_authorities(reader, value);
	if (strcmp(name, "quorum") == 0)
		return read_number(reader, name, value, 0, TRUST_WITNESSES_MAX,
		    &wanted->quorum);
	if (strcmp(name, "stamps") == 0)
		return read_number(reader, name, value, 0,
		    TRUST_AUTHORITIES_MAX, &wanted->stamps);
	if (strcmp(name, "observed") == 0)
		return read_number(reader, name, value, 0, TRUST_OBSERVERS_MAX,
		    &wanted->observed);
	if (strcmp(name, "max_age_s") == 0)
		return read_number(reader, name, value, 1, AGE_MAX_S,
		    &trust->max_age_s);
	if (strcmp(name, "max_width_s") == 0)
		return read_number(reader, name, value, 1, AGE_MAX_S,
		    &trust->max_width_s);
	return unknown(reader, "", name);
}

/* How many of those who are named are wanted.  A list without a number beside it is not
 * taken for "none of them". */
static int
check_numbers(struct reader *reader, const json_t *root, const struct wanted *wanted)
{
	const struct trust *trust = reader->trust;

	if (wanted->quorum > trust->witnesses)
		return refuse(reader, "quorum", "no more than there are "
		    "witnesses");
	if (wanted->stamps > trust->authorities)
		return refuse(reader, "stamps", "no more than there are "
		    "authorities");
	if (trust->witnesses > 0 && json_object_get(root, "quorum") == NULL)
		return refuse(reader, "quorum", "there: how many of the witnesses "
		    "are wanted (0: none)");
	if (trust->authorities > 0 && json_object_get(root, "stamps") == NULL)
		return refuse(reader, "stamps", "there: how many of the authorities "
		    "are wanted (0: none)");
	return 0;
}

/* Where several are wanted, what one of them signed must not count for two. */
static int
check_authorities(struct reader *reader, uint64_t stamps)
{
	const struct trust *trust = reader->trust;

	for (unsigned i = 0; stamps > 1 && i < trust->authorities; i++) {
		for (unsigned k = 0; k < i; k++) {
			if (stamp_authorities_shared(trust->authority[i].ca_file,
			    trust->authority[k].ca_file))
				return refuse(reader, "authorities.ca_file",
				    "of others for each: two of them hold one "
				    "certificate's key");
		}
	}
	return 0;
}

static int
check_others(struct reader *reader)
{
	const struct trust *trust = reader->trust;

	for (unsigned i = 0; i < trust->witnesses; i++)
		if (is_a_logs(trust, &trust->witness[i]))
			return refuse(reader, "witnesses", "others than the log: its "
			    "own key vouches for nothing");
	for (unsigned i = 0; i < trust->observers; i++)
		if (is_a_logs(trust, &trust->observer[i]))
			return refuse(reader, "observers", "others than the log: its "
			    "own key observes nothing");
	return 0;
}

static int
read_policy(struct reader *reader, json_t *root)
{
	struct trust *trust = reader->trust;
	struct wanted wanted = { .quorum = 0 };
	const char *name;
	json_t *value;

	if (!json_is_object(root) || json_object_get(root, "v") == NULL)
		return refuse(reader, "the policy", "an object with \"v\": 1");
	json_object_foreach(root, name, value) {
		if (read_member(reader, name, value, &wanted) != 0)
			return -1;
	}
	if (trust->logs == 0)
		return refuse(reader, "logs", "there: without a key of the "
		    "verifier's own nothing is established");
	if (check_numbers(reader, root, &wanted) != 0 ||
	    check_authorities(reader, wanted.stamps) != 0)
		return -1;
	if (trust->max_age_s > 0 && wanted.quorum + wanted.stamps == 0)
		return refuse(reader, "max_age_s", "joined by a quorum or "
		    "stamps, which have an age");
	if (trust->max_width_s > 0 && wanted.quorum + wanted.stamps == 0)
		return refuse(reader, "max_width_s", "joined by a quorum or "
		    "stamps, whose times it is between");
	if (wanted.observed > trust->observers)
		return refuse(reader, "observed", "no more than there are "
		    "observers");
	if (check_others(reader) != 0)
		return -1;
	trust->quorum = (unsigned)wanted.quorum;
	trust->stamps = (unsigned)wanted.stamps;
	trust->observed = (unsigned)wanted.observed;
	return 0;
}

static void
name_policy(struct trust *trust, const char *bytes, size_t len)
{
	uint8_t digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(digest, (const uint8_t *)bytes, len);
	sodium_bin2hex(trust->sha256, sizeof(trust->sha256), digest, sizeof(digest));
}

struct trust *
trust_parse(const char *bytes, size_t len, const char *dir, char *err,
    size_t err_len)
{
	struct reader reader = { .trust = calloc(1, sizeof(struct trust)),
	    .dir = dir, .err = err, .err_len = err_len };
	json_error_t error;
	json_t *root;

	snprintf(err, err_len, "out of memory");
	if (reader.trust == NULL)
		return NULL;
	root = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &error);
	if (root == NULL)
		snprintf(err, err_len, "line %d, column %d: no JSON, or a "
		    "member twice", error.line, error.column);
	if (root == NULL || read_policy(&reader, root) != 0) {
		free(reader.trust);
		reader.trust = NULL;
	}
	if (reader.trust != NULL)
		name_policy(reader.trust, bytes, len);
	json_decref(root);
	return reader.trust;
}

struct trust *
trust_load(const char *path, char *err, size_t err_len)
{
	char dir[TRUST_PATH_MAX] = ".", why[256], *bytes, *slash;
	FILE *in = input_open(path);
	struct trust *trust = NULL;
	size_t len = 0;

	bytes = malloc(TRUST_BYTES_MAX + 1);
	if (in != NULL && bytes != NULL)
		len = fread(bytes, 1, TRUST_BYTES_MAX + 1, in);
	if (in == NULL || bytes == NULL || ferror(in)) {
		snprintf(err, err_len, "%.200s: %s", path, input_why(errno));
	} else if (len > TRUST_BYTES_MAX || strlen(path) >= sizeof(dir)) {
		snprintf(err, err_len, "%.200s: too long", path);
	} else {
		if (strrchr(path, '/') != NULL) {
			snprintf(dir, sizeof(dir), "%s", path);
			slash = strrchr(dir, '/');
			slash[slash == dir ? 1 : 0] = '\0';
		}
		trust = trust_parse(bytes, len, dir, why, sizeof(why));
		if (trust == NULL)
			snprintf(err, err_len, "%.200s: %s", path, why);
	}
	if (in != NULL)
		fclose(in);
	free(bytes);
	return trust;
}

const struct trust_log *
trust_log(const struct trust *trust, const char *origin)
{
	for (unsigned i = 0; i < trust->logs; i++) {
		if (strcmp(trust->log[i].key.name, origin) == 0)
			return &trust->log[i];
	}
	return NULL;
}
