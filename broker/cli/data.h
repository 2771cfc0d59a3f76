/*
 * HOME/pack/data.json, the part of the policy that people edit
 * (policy/packs/DATA.md): loaded, checked, replaced whole, put in force.
 */
#ifndef BROKER_CLI_DATA_H
#define BROKER_CLI_DATA_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct policy_pack;
struct data;		/* the document and the lock that is held on it */

/* Take the lock and load.  NULL: what is wrong is said, and the exit status is
 * CLI_USAGE. */
struct data *data_open(void);
void data_close(struct data *data);	/* NULL-safe */

/* What the broker would read: 0, or -1 where a part of it is no good. */
int data_check(struct data *data, char *err, size_t err_len);

/* A pack's data document as the broker reads it: 0, or -1 and what is wrong. */
int data_pack_readable(const struct policy_pack *pack, char *err,
    size_t err_len);

json_t *data_root(struct data *data);
/* The file as it was read; valid while data is. */
const uint8_t *data_bytes(const struct data *data, size_t *len);
/* data[name], made where it is not there; NULL where it is of another type. */
json_t *data_object(json_t *parent, const char *name);
json_t *data_array(json_t *parent, const char *name);

/*
 * Check, replace the file, tell a running daemon.  What the daemon refuses is
 * put back as it was.  An exit status; what went wrong is said.  What only takes
 * rights away may have the room that is kept back for that (reserve.h).
 */
enum data_change { DATA_GIVES, DATA_TAKES };
int data_commit(struct data *data, enum data_change change);

/*
 * Have a running daemon decide by what now stands in HOME/pack.  What it refuses
 * put_back takes back (0: done); `done` is said then, `kept` where it stays.  An
 * exit status.
 */
int data_put_in_force(int (*put_back)(void *), void *arg, const char *done,
    const char *kept);

#endif
