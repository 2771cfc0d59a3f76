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

#include <openssl/evp.h>

#include "policy/pack.h"

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

/* SHA-256 of plan.json in the default packs of earlier versions, newest first: a
 * change of the plan adds the one before. */
static const char older[][65] = {
	"b3e9a103ab62b3d2d3ef6db4dbef7e6d4fe9ab1c595033405c37c3f1cee07e4e",
	"577968b7602235a5bafce25c032c8ef2c9e7b28ef1b9e484fd9ff4aaf8a19f20",
	"a784617adecf81d84766fe0557706618a6bbbff97391b2273086423d0bf3fcdf",
	"0042272a2104e5a250301d33eb8409cbd82083d934051a538dcee638d772494b",
	"2d036550e9b14d4d1b9188ff84d11530423fe8dd527d8d748cc43757ada38379",
	"7b1d4ef09a8ddba128f75822e4c6cea1b6f448c276433d3400e293a07a256dca",
	"50db26a6aaca493f3c7f108087c812e3dd06d542009951760891b50d854f4835",
	"063f74232be41488723ba1673a9bd0d1ba3c884ea4204bcec5e29c1258bb7921",
	"2106bc4b0c4221272e8c73a65cdac8ee3c2498f46735f3d244de7af8d6cf7c86",
	"8bb14096f3342144c019354590164e5d7081bbb4edb1ea12462a9185ccc15644",
};

bool
policy_default_pack_older(const char *dir)
{
	struct pack_files files = { .n = 0 };
	const struct pack_file *plan = NULL;
	unsigned char digest[32];
	char err[256], hex[65];
	bool found = false;
	size_t i;

	if (pack_files_read_dir(&files, dir, err, sizeof(err)) == 0)
		plan = pack_files_find(&files, "plan.json");
	if (plan != NULL && EVP_Digest(plan->bytes, plan->len, digest, NULL,
	    EVP_sha256(), NULL) == 1) {
		for (i = 0; i < sizeof(digest); i++)
			snprintf(hex + 2 * i, 3, "%02x", digest[i]);
		for (i = 0; i < sizeof(older) / sizeof(older[0]) && !found; i++)
			found = strcmp(hex, older[i]) == 0;
	}
	pack_files_free(&files);
	return found;
}

bool
policy_pack_is_default(const struct policy_pack *pack)
{
	const struct pack_file *plan = pack_files_find(&pack->files, "plan.json");
	const size_t len = (size_t)(policy_pack_plan_end - policy_pack_plan);

	return plan != NULL && plan->len == len &&
	    memcmp(plan->bytes, policy_pack_plan, len) == 0;
}

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
