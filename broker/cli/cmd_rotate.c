/* countersign ledger rotate-key: another signing key, the old one erased. */
#include "cli/client.h"
#include "cli/cmd.h"

const char cmd_rotate_details[] =
"The key before signs its last checkpoint, which ends with the record that\n"
"brings in the new one, and is erased.  Auditors go on pinning log.vkey, and\n"
"`countersign witness` follows by itself; tell other witnesses the vkey printed.";

int
cmd_rotate(const struct opts *opts)
{
	struct client_reply reply = { .status = 0 };
	enum client_result result;
	int rc;

	if ((rc = cli_need_home()) != 0)
		return rc;
	result = client_operator("POST", "/v1/ledger/rotate-key", NULL, &reply);
	if (result == CLIENT_OK)
		puts(client_str(reply.json, "key"));
	else
		rc = client_fail(result, &reply);
	client_reply_release(&reply);
	return rc;
}
