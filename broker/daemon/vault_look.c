#include "daemon/vault_look.h"

#include "log.h"

#define AGAIN_LOOKS 10

static void *
read_again(void *arg)
{
	struct vault_look *look = arg;

	gate_secrets_again(look->gate);
	atomic_store(&look->reading, false);
	return NULL;
}

void
vault_look_end(struct vault_look *look)
{
	if (look->made)
		pthread_join(look->thread, NULL);
	look->made = false;
}

static void
tell(struct vault_look *look, struct gate *gate, bool partial)
{
	char why[GATE_WHY_MAX];

	look->told = partial;
	if (partial) {
		gate_secrets_why(gate, why, sizeof(why));
		log_event(LOG_WARNING, "vault_partial", "not every secret of the "
		    "vault could be read: those are recognised nowhere, and not "
		    "used: %s", why);
	} else
		log_event(LOG_INFO, "vault_whole", "every secret of the vault has "
		    "been read");
}

void
vault_look(struct vault_look *look, struct gate *gate)
{
	const bool partial = gate_secrets_partial(gate);

	if (partial != look->told)
		tell(look, gate, partial);
	if (!partial)
		look->looks = 0;
	else if (++look->looks > AGAIN_LOOKS && !atomic_load(&look->reading)) {
		vault_look_end(look);
		look->looks = 0;
		look->gate = gate;
		atomic_store(&look->reading, true);
		look->made = pthread_create(&look->thread, NULL, read_again,
		    look) == 0;
		if (!look->made)
			atomic_store(&look->reading, false);
	}
}
