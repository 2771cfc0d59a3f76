/*
 * The default pack, carried in the binary: `countersign init` writes it where
 * people can read and change it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/policy.h"

#define EMBED(symbol, path) \
	__asm__(".pushsection .rodata\n" \
	    ".global policy_pack_" #symbol "\n" \
	    "policy_pack_" #symbol ":\n" \
	    ".incbin \"policy/packs/default/" path "\"\n" \
	    ".global policy_pack_" #symbol "_end\n" \
	    "policy_pack_" #symbol "_end:\n" \
	    ".byte 0\n" \
	    ".popsection\n"); \
	extern const char policy_pack_##symbol[], policy_pack_##symbol##_end[]

EMBED(manifest, ".manifest");
EMBED(data_start, "data.json");
EMBED(plan, "plan.json");
EMBED(source, "countersign.rego");
EMBED(test, "countersign_test.rego");

static const struct {
	const char *name, *start, *end;
} embedded[] = {
	{ ".manifest", policy_pack_manifest, policy_pack_manifest_end },
	{ "data.json", policy_pack_data_start, policy_pack_data_start_end },
	{ "plan.json", policy_pack_plan, policy_pack_plan_end },
	{ "countersign.rego", policy_pack_source, policy_pack_source_end },
	{ "countersign_test.rego", policy_pack_test, policy_pack_test_end }
};

static int
write_file(int dir, const char *name, const char *start, const char *end)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOFOLLOW, 0600);
	ssize_t n;
	int saved;

	if (fd < 0)
		return -1;
	while (start < end) {
		n = write(fd, start, (size_t)(end - start));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		start += n;
	}
	if (start == end && fsync(fd) == 0)
		return close(fd);
	saved = errno;
	close(fd);
	errno = saved;
	return -1;
}

int
policy_default_pack_write(const char *dir, char *err, size_t err_len)
{
	const char *at = dir;
	int fd = -1, result = -1;
	size_t i;

	if (mkdir(dir, 0700) != 0)
		goto out;
	if ((fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		goto out;
	for (i = 0; i < sizeof(embedded) / sizeof(embedded[0]); i++) {
		at = embedded[i].name;
		if (write_file(fd, at, embedded[i].start, embedded[i].end) !=
		    0)
			goto out;
	}
	result = fsync(fd);
 out:
	if (result != 0 && err_len > 0)
		snprintf(err, err_len, "%s: %s", at, strerror(errno));
	if (fd >= 0)
		close(fd);
	return result;
}
