#include "ledger/anchor/witness_impl.h"
#include "ledger/io.h"
#include "ledger/tree/note_secret.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#define LOGS_MAX (WITNESS_KEYS_MAX * (NOTE_VKEY_MAX + 1))

/* ---- the directory ---- */

void
witness_origin_id(const char *origin, char out[33])
{
	uint8_t digest[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(digest, (const uint8_t *)origin, strlen(origin));
	sodium_bin2hex(out, 33, digest, 16);
}

static int
open_dir(const char *dir, struct problem *problem)
{
	int fd = io_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0) {
		problem_errno(problem, "cannot open %s", dir);
	} else if (st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		problem_set(problem, "%s must belong to this user and be "
		    "writable by nobody else", dir);
	} else {
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

static int
write_key(int dirfd, const struct note_key *key, const uint8_t *seed)
{
	char text[NOTE_SECRET_MAX + 1];
	const int n = note_secret_format(key, seed, text);
	const int status = io_replace(dirfd, "key", 0600, text, (size_t)n);

	sodium_memzero(text, sizeof(text));
	return status;
}

int
witness_create(const char *dir, const char *name, struct note_key *key,
    struct problem *problem)
{
	uint8_t seed[NOTE_SEED_LEN];
	int dirfd, status = -1;

	if (sodium_init() < 0)
		return problem_set(problem, "libsodium cannot start");
	if (note_secret_new(name, NOTE_COSIGNATURE_V1, key, seed) != 0)
		return problem_set(problem, "the name must be without spaces "
		    "and '+', like witness.example.com/team");
	dirfd = mkdir(dir, 0700) != 0 && errno != EEXIST ?
	    problem_errno(problem, "cannot make %s", dir) : open_dir(dir, problem);
	if (dirfd < 0)
		goto out;
	if (faccessat(dirfd, "key", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		problem_set(problem, "%s holds a witness's key already", dir);
	else if (write_key(dirfd, key, seed) != 0)
		problem_errno(problem, "cannot write %s/key", dir);
	else
		status = 0;
	close(dirfd);
out:
	sodium_memzero(seed, sizeof(seed));
	return status;
}

static int
read_key(struct witness *witness, struct problem *problem)
{
	char text[NOTE_SECRET_MAX + 1];
	struct stat st;
	ssize_t n;
	int status;

	if (fstatat(witness->dirfd, "key", &st, AT_SYMLINK_NOFOLLOW) != 0)
		return problem_errno(problem, "no witness here: key");
	if ((st.st_mode & 077) != 0)
		return problem_set(problem, "the file `key` may be readable by "
		    "its owner only (chmod 600)");
	n = io_read_file(witness->dirfd, "key", text, sizeof(text) - 1);
	if (n < 0)
		return problem_errno(problem, "key");
	text[n] = '\0';
	status = note_secret_parse(text, NOTE_COSIGNATURE_V1, &witness->key, witness->sk);
	if (status != 0)
		problem_set(problem, "the file `key` is malformed");
	sodium_memzero(text, sizeof(text));
	return status;
}

/* ---- the logs ---- */

struct watched *
witness_find(const struct witness *witness, const char *origin)
{
	for (unsigned i = 0; i < witness->logs; i++) {
		if (strcmp(witness->log[i].origin, origin) == 0)
			return &witness->log[i];
	}
	return NULL;
}

static int
add_key(struct witness *witness, const struct note_key *key)
{
	struct watched *log = witness_find(witness, key->name), *more;
	struct epochs *keys;

	if (log == NULL) {
		more = realloc(witness->log,
		    (witness->logs + 1) * sizeof(*more));
		if (more == NULL)
			return -1;
		witness->log = more;
		log = &more[witness->logs++];
		memset(log, 0, sizeof(*log));
		memcpy(log->origin, key->name, sizeof(log->origin));
		witness_origin_id(log->origin, log->id);
	}
	keys = realloc(log->key, (log->keys + 1) * sizeof(*keys));
	if (keys == NULL)
		return -1;
	log->key = keys;
	if (epochs_pin(&keys[log->keys], key) != 0)
		return -1;
	log->keys++;
	return 0;
}

/* Lines of vkeys; empty ones and those that begin with # are nothing. */
static int
parse_logs(struct witness *witness, char *text, struct problem *problem)
{
	unsigned number = 0, keys = 0;
	struct note_key key;
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")) != NULL) {
		number++;
		if (line[0] == '\0' || line[0] == '#')
			continue;
		if (note_key_parse(&key, line, strlen(line)) != 0 ||
		    key.type != NOTE_ED25519)
			return problem_set(problem, "logs, line %u: no vkey of "
			    "a log", number);
		if (++keys > WITNESS_KEYS_MAX)
			return problem_set(problem, "logs: more than %d keys",
			    WITNESS_KEYS_MAX);
		if (add_key(witness, &key) != 0)
			return problem_set(problem, "out of memory");
	}
	return 0;
}

static int
read_logs(struct witness *witness, struct problem *problem)
{
	char *text = malloc(LOGS_MAX + 1);
	ssize_t n = text != NULL ? io_read_file(witness->dirfd, "logs", text,
	    LOGS_MAX) : -1;
	int status = -1;

	if (n < 0 && !(text != NULL && errno == ENOENT)) {
		problem_errno(problem, "logs");
	} else if (n > 0 && memchr(text, '\0', (size_t)n) != NULL) {
		problem_set(problem, "logs: a NUL in it");
	} else {
		text[n > 0 ? n : 0] = '\0';
		status = parse_logs(witness, text, problem);
	}
	free(text);
	return status;
}


/* ---- states ---- */

void
witness_state_name(const struct watched *log, char out[64])
{
	snprintf(out, 64, "state-%s", log->id);
}

int
witness_take_state(struct witness *witness, struct watched *log, const char *text,
    size_t len, struct problem *problem)
{
	struct checkpoint at;
	struct note note;
	const char *why = "";

	if (note_parse(&note, text, len, &why) != 0 ||
	    checkpoint_parse(&at, note.text, note.text_len) != 0 ||
	    strcmp(at.origin, log->origin) != 0 ||
	    note_verify(&note, &witness->key, NULL) != NOTE_GOOD)
		return problem_set(problem, "state-%s is not as this witness "
		    "wrote it: it no longer knows what it has cosigned for %s",
		    log->id, log->origin);
	free(log->note);
	log->note = malloc(len + 1);
	if (log->note == NULL)
		return problem_set(problem, "out of memory");
	memcpy(log->note, text, len);
	log->note[len] = '\0';
	log->note_len = len;
	log->at = at;
	return 0;
}

static int
read_state(struct witness *witness, struct watched *log,
    struct problem *problem)
{
	char name[64], *text = malloc(WITNESS_STATE_MAX);
	ssize_t n;
	int status = -1;

	witness_state_name(log, name);
	if (text == NULL)
		return problem_set(problem, "out of memory");
	n = io_read_file(witness->dirfd, name, text, WITNESS_STATE_MAX);
	if (n < 0 && errno == ENOENT)
		status = 0;
	else if (n < 0)
		problem_errno(problem, "%s", name);
	else
		status = witness_take_state(witness, log, text, (size_t)n, problem);
	free(text);
	return status;
}

/* ---- keys that follow ---- */

/* Do the known epochs stand at the beginning of the others? */
static bool
extends(const struct epochs *known, const struct epochs *others)
{
	if (others->count < known->count)
		return false;
	for (unsigned i = 0; i < known->count; i++) {
		const struct epoch *a = &known->epoch[i], *b = &others->epoch[i];

		if (memcmp(a->key.pk, b->key.pk, NOTE_PK_LEN) != 0 ||
		    (i + 1 < known->count && a->until != b->until))
			return false;
	}
	return true;
}

/* From whichever watched key they follow: 200, 400 or 409. */
unsigned
witness_follow(struct watched *log, const char *text, size_t len, const char **why)
{
	unsigned status = 400;

	*why = "they do not follow from a key that is watched";
	for (unsigned i = 0; i < log->keys; i++) {
		struct epochs list;
		const char *rule;

		if (epochs_pin(&list, &log->key[i].epoch[0].key) != 0)
			continue;
		if (epochs_follow(&list, text, len, &rule) != 0 ||
		    list.count < 2) {
			epochs_free(&list);
			continue;
		}
		if (extends(&log->key[i], &list)) {
			epochs_free(&log->key[i]);
			log->key[i] = list;	/* transferred */
			return 200;
		}
		epochs_free(&list);
		*why = "this witness knows other keys, or more of them";
		status = 409;
	}
	return status;
}

void
witness_epochs_name(const struct watched *log, char out[64])
{
	snprintf(out, 64, "epochs-%s", log->id);
}

static int
read_epochs(struct witness *witness, struct watched *log,
    struct problem *problem)
{
	char name[64], *text = malloc(WITNESS_EPOCHS_MAX);
	const char *why = "";
	ssize_t n;
	int status = 0;

	witness_epochs_name(log, name);
	if (text == NULL)
		return problem_set(problem, "out of memory");
	n = io_read_file(witness->dirfd, name, text, WITNESS_EPOCHS_MAX);
	if (n < 0 && errno != ENOENT)
		status = problem_errno(problem, "%s", name);
	else if (n > 0 && witness_follow(log, text, (size_t)n, &why) != 200)
		status = problem_set(problem, "%s: %s", name, why);
	free(text);
	return status;
}

/* The evidence that earlier processes kept. */
static int
count_evidence(struct witness *witness, struct problem *problem)
{
	static const char begin[] = "evidence-";
	int fd = io_open(witness->dirfd, ".", O_RDONLY | O_DIRECTORY, 0);
	DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	if (names == NULL) {
		if (fd >= 0)
			close(fd);
		return problem_errno(problem, "cannot list the directory");
	}
	while ((entry = readdir(names)) != NULL) {
		const char *id = entry->d_name + sizeof(begin) - 1;

		if (strncmp(entry->d_name, begin, sizeof(begin) - 1) != 0)
			continue;
		for (unsigned i = 0; i < witness->logs; i++)
			witness->log[i].evidence += strncmp(id, witness->log[i].id,
			    sizeof(witness->log[i].id) - 1) == 0;
	}
	closedir(names);
	return 0;
}

static int
lock(struct witness *witness, struct problem *problem)
{
	witness->lock_fd = io_open(witness->dirfd, "lock", O_RDWR | O_CREAT,
	    0600);
	if (witness->lock_fd < 0)
		return problem_errno(problem, "lock");
	if (flock(witness->lock_fd, LOCK_EX | LOCK_NB) != 0)
		return problem_set(problem, "another process is this witness: "
		    "two would cosign two histories");
	return 0;
}

static int
open_all(struct witness *witness, const char *dir, struct problem *problem)
{
	if (sodium_init() < 0 ||
	    (witness->sk = sodium_malloc(NOTE_SK_LEN)) == NULL)
		return problem_set(problem, "no protected memory for the key");
	if ((witness->dirfd = open_dir(dir, problem)) < 0 ||
	    lock(witness, problem) != 0 || read_key(witness, problem) != 0 ||
	    read_logs(witness, problem) != 0)
		return -1;
	for (unsigned i = 0; i < witness->logs; i++) {
		if (read_state(witness, &witness->log[i], problem) != 0 ||
		    read_epochs(witness, &witness->log[i], problem) != 0)
			return -1;
	}
	return count_evidence(witness, problem);
}

struct witness *
witness_open(const char *dir, struct problem *problem)
{
	struct witness *witness = calloc(1, sizeof(*witness));

	if (witness == NULL) {
		problem_set(problem, "out of memory");
		return NULL;
	}
	witness->dirfd = witness->lock_fd = -1;
	if (open_all(witness, dir, problem) == 0)
		return witness;
	witness_close(witness);
	return NULL;
}

void
witness_close(struct witness *witness)
{
	if (witness == NULL)
		return;
	for (unsigned i = 0; i < witness->logs; i++) {
		for (unsigned k = 0; k < witness->log[i].keys; k++)
			epochs_free(&witness->log[i].key[k]);
		free(witness->log[i].key);
		free(witness->log[i].note);
	}
	free(witness->log);
	sodium_free(witness->sk);
	if (witness->dirfd >= 0)
		close(witness->dirfd);
	if (witness->lock_fd >= 0)
		close(witness->lock_fd);
	free(witness);
}

const struct note_key *
witness_key(const struct witness *witness)
{
	return &witness->key;
}

unsigned
witness_origins(const struct witness *witness)
{
	return witness->logs;
}

const char *
witness_latest(const struct witness *witness, const char *id, size_t *len)
{
	for (unsigned i = 0; i < witness->logs; i++) {
		const struct watched *log = &witness->log[i];

		if (strcmp(log->id, id) == 0 && log->note != NULL) {
			*len = log->note_len;
			return log->note;
		}
	}
	return NULL;
}

/* ---- without serving ---- */

/* Its key and logs, as they lie there: whoever serves has the lock. */
static struct witness *
peek(const char *dir, struct problem *problem)
{
	struct witness *witness = calloc(1, sizeof(*witness));

	if (witness == NULL) {
		problem_set(problem, "out of memory");
		return NULL;
	}
	witness->dirfd = witness->lock_fd = -1;
	if ((witness->sk = sodium_malloc(NOTE_SK_LEN)) == NULL)
		problem_set(problem, "out of memory");
	else if ((witness->dirfd = open_dir(dir, problem)) >= 0 &&
	    read_key(witness, problem) == 0 && read_logs(witness, problem) == 0)
		return witness;
	witness_close(witness);
	return NULL;
}

static bool
watches(const struct witness *witness, const struct note_key *log)
{
	const struct watched *of = witness_find(witness, log->name);

	for (unsigned i = 0; of != NULL && i < of->keys; i++)
		if (memcmp(of->key[i].epoch[0].key.pk, log->pk, NOTE_PK_LEN) == 0)
			return true;
	return false;
}

/* Behind a last line that nobody ended, on a line of its own. */
static int
append_log(int dirfd, const char *line, size_t len)
{
	int fd = io_open(dirfd, "logs", O_RDWR | O_CREAT, 0600), status = -1;
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
	char last = '\n';

	if (end >= 0 && (end == 0 || io_read(fd, &last, 1, (uint64_t)end - 1) == 1) &&
	    (last == '\n' || io_write(fd, "\n", 1, (uint64_t)end++) == 0) &&
	    io_write(fd, line, len, (uint64_t)end) == 0 && io_sync_all(fd) == 0)
		status = 0;
	if (fd >= 0)
		close(fd);
	return status;
}

int
witness_add_log(const char *dir, const struct note_key *log,
    struct problem *problem)
{
	char line[NOTE_VKEY_MAX + 2];
	int n = note_key_format(log, line, NOTE_VKEY_MAX + 1), status = 1;
	struct witness *witness;

	if (n < 0 || log->type != NOTE_ED25519)
		return problem_set(problem, "no vkey of a log");
	if ((witness = peek(dir, problem)) == NULL)
		return -1;
	line[n] = '\n';
	if (!watches(witness, log) &&
	    (status = append_log(witness->dirfd, line, (size_t)n + 1)) != 0)
		problem_errno(problem, "cannot add to %s/logs", dir);
	witness_close(witness);
	return status;
}

int
witness_look(const char *dir, struct note_key *key,
    void (*log)(void *context, const struct note_key *log,
	const struct checkpoint *at),
    void *context, struct problem *problem)
{
	struct witness *witness = peek(dir, problem);
	int status = 0;

	if (witness == NULL)
		return -1;
	*key = witness->key;
	for (unsigned i = 0; i < witness->logs && status == 0; i++) {
		struct watched *of = &witness->log[i];

		if ((status = read_state(witness, of, problem)) != 0)
			break;
		for (unsigned k = 0; log != NULL && k < of->keys; k++)
			log(context, &of->key[k].epoch[0].key, of->note != NULL ? &of->at : NULL);
	}
	witness_close(witness);
	return status;
}
