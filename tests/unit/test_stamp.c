/*
 * Time stamps by an authority made here with OpenSSL, and real ones of real
 * authorities where the shared data is present.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <openssl/pkcs7.h>
#include <openssl/pem.h>
#include <openssl/ts.h>
#include <sodium.h>

#include "ledger/anchor/stamp.h"
#include "ledger_maker.h"

static char dir[64], ca_path[128], other_ca_path[128];
static const char text[] = "ledger.example/test\n5\nAAAA\n";
static uint8_t digest[STAMP_DIGEST_LEN], nonce[STAMP_NONCE_LEN] = { 1, 2, 3 };
static struct stamp out;
static char why[256];

static int
shell(const char *command)
{
	char line[1024];

	snprintf(line, sizeof(line), "cd %s && { %s; } >log 2>&1", dir, command);
	return system(line);
}

static void
write_text(const char *name, const char *content)
{
	write_file(dir, name, content, strlen(content));
}

#define CA(name) "openssl req -x509 -newkey rsa:2048 -nodes -keyout " name ".key -out " name ".pem -days 2 -subj /CN=" name
#define TSA "openssl req -newkey rsa:2048 -nodes -keyout tsa.key -out tsa.csr -subj /CN=tsa && " \
	"openssl x509 -req -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -extfile tsa.ext -out tsa.pem"

static int
set_up(void **state)
{
	if (sodium_init() < 0)
		return -1;
	make_temp_dir(dir);
	snprintf(ca_path, sizeof(ca_path), "%s/ca.pem", dir);
	snprintf(other_ca_path, sizeof(other_ca_path), "%s/other.pem", dir);
	stamp_digest(text, strlen(text), digest);
	write_text("tsa.ext", "extendedKeyUsage=critical,timeStamping\n");
	write_text("serial", "01\n");
	write_text("tsa.cnf", "[tsa]\ndefault_tsa=t\n[t]\nserial=serial\n"
	    "crypto_device=builtin\nsigner_cert=tsa.pem\nsigner_key=tsa.key\n"
	    "signer_digest=sha256\ndefault_policy=1.2.3.4\n"
	    "digests=sha256\nordering=yes\ntsa_name=no\n"
	    "ess_cert_id_alg=sha256\ncerts=ca.pem\n");
	return shell(CA("ca") " && " CA("other") " && " TSA) == 0 ? 0 : -1;
}

static int
tear_down(void **state)
{
	remove_tree(dir);
	return 0;
}

/* What the authority answers; to be freed. */
static uint8_t *
reply_to(const uint8_t *der, size_t len, size_t *reply_len)
{
	write_file(dir, "q.tsq", der, len);
	assert_int_equal(shell("openssl ts -reply -config tsa.cnf "
	    "-section t -queryfile q.tsq -out r.tsr"), 0);
	return (uint8_t *)read_file(dir, "r.tsr", reply_len);
}

static uint8_t *
stamped(size_t *len)
{
	size_t n = 0;
	uint8_t *request = stamp_request(digest, nonce, &n), *reply;

	assert_non_null(request);
	reply = reply_to(request, n, len);
	free(request);
	return reply;
}

static void
test_good(void **state)
{
	size_t len = 0;
	uint8_t *reply = stamped(&len);
	time_t now = time(NULL);

	assert_int_equal(stamp_check(reply, len, digest, nonce, ca_path, &out,
	    why, sizeof(why)), 0);
	assert_true(out.time_s >= now - 60 && out.time_s <= now + 1);
	assert_true(out.serial[0] != '\0');
	assert_int_equal(stamp_check(reply, len, digest, NULL, ca_path, &out,
	    why, sizeof(why)), 0);
	assert_int_equal(stamp_check(reply, len, digest, nonce, NULL, &out,
	    why, sizeof(why)), 0);
	/* and the program agrees */
	write_text("data", text);
	assert_int_equal(shell("openssl ts -verify -in r.tsr -data data "
	    "-CAfile ca.pem"), 0);
	free(reply);
}

static void
test_refused(void **state)
{
	uint8_t other[STAMP_DIGEST_LEN] = { 1 };
	uint8_t another[STAMP_NONCE_LEN] = { 9 };
	size_t len = 0;
	uint8_t *reply = stamped(&len);

	assert_int_equal(stamp_check(reply, len, other, nonce, ca_path, &out,
	    why, sizeof(why)), -1);
	assert_int_equal(stamp_check(reply, len, digest, another, ca_path, &out,
	    why, sizeof(why)), -1);
	/* whoever signed it: it was not asked for */
	assert_int_equal(stamp_check(reply, len, other, nonce, NULL, &out,
	    why, sizeof(why)), -1);
	assert_int_equal(stamp_check(reply, len, digest, another, NULL, &out,
	    why, sizeof(why)), -1);
	assert_int_equal(stamp_check(reply, len, digest, nonce, other_ca_path,
	    &out, why, sizeof(why)), -1);
	assert_int_equal(stamp_check(reply, len, digest, nonce,
	    "/nonexistent", &out, why, sizeof(why)), -1);
	assert_string_equal(why, why[0] != '\0' ? why : "a reason");
	free(reply);
}

/* Every cut and every changed byte: never accepted as another time or digest. */
static void
test_altered(void **state)
{
	size_t len = 0, wrong = 0;
	uint8_t *reply = stamped(&len), *copy = malloc(len + 1);
	struct stamp good;

	assert_int_equal(stamp_check(reply, len, digest, nonce, ca_path, &good,
	    why, sizeof(why)), 0);
	for (size_t cut = 0; cut < len; cut += 7)
		assert_int_equal(stamp_check(reply, cut, digest, nonce, ca_path,
		    &out, why, sizeof(why)), -1);
	memcpy(copy, reply, len);
	copy[len] = 0;
	assert_int_equal(stamp_check(copy, len + 1, digest, nonce, ca_path,
	    &out, why, sizeof(why)), -1);
	for (size_t i = 0; i < len; i += 5) {
		memcpy(copy, reply, len);
		copy[i] ^= 0x10;
		if (stamp_check(copy, len, digest, nonce, ca_path, &out, why,
		    sizeof(why)) == 0 && (out.time_s != good.time_s ||
		    strcmp(out.serial, good.serial) != 0))
			wrong++;
	}
	assert_int_equal(wrong, 0);
	/* the signature stands at its end: without a CA it must be somebody's, too */
	memcpy(copy, reply, len);
	copy[len - 1] ^= 1;
	assert_int_equal(stamp_check(copy, len, digest, nonce, NULL, &out, why,
	    sizeof(why)), -1);
	assert_non_null(strstr(why, "is not signed"));
	free(copy);
	free(reply);
}

static void
test_not_granted(void **state)
{
	uint8_t *request, *reply;
	size_t n = 0, len = 0;

	/* an authority that takes no SHA-256 rejects with a well-formed answer */
	assert_int_equal(shell("cp tsa.cnf keep && sed -i "
	    "s/^digests=sha256/digests=sha512/ tsa.cnf"), 0);
	request = stamp_request(digest, nonce, &n);
	reply = reply_to(request, n, &len);
	assert_int_equal(stamp_check(reply, len, digest, nonce, ca_path, &out,
	    why, sizeof(why)), -1);
	assert_non_null(strstr(why, "granted no time stamp"));
	assert_int_equal(shell("cp keep tsa.cnf"), 0);
	free(request);
	free(reply);
}

/* A certificate of that authority that is for something else. */
static void
test_wrong_purpose(void **state)
{
	size_t len = 0;
	uint8_t *reply;

	assert_int_equal(shell("cp tsa.pem keep.pem && "
	    "printf 'extendedKeyUsage=critical,timeStamping\\n' >a.ext && "
	    "openssl x509 -req -in tsa.csr -CA other.pem -CAkey other.key "
	    "-CAcreateserial -days 1 -extfile a.ext -out tsa.pem"), 0);
	reply = stamped(&len);
	assert_int_equal(stamp_check(reply, len, digest, nonce, ca_path, &out,
	    why, sizeof(why)), -1);
	assert_int_equal(stamp_check(reply, len, digest, nonce, other_ca_path,
	    &out, why, sizeof(why)), 0);
	assert_int_equal(shell("cp keep.pem tsa.pem"), 0);
	free(reply);
}

/* Whoever has any certificate of an authority's CA can sign a statement with it that binds
 * itself to it: what the certificate is for decides, and from when to when. */
static void
test_signers(void **state)
{
	static const struct { const char *usage, *time; bool good; } all[] = {
		{ "extendedKeyUsage=critical,timeStamping", NULL, true },
		{ "extendedKeyUsage=critical,timeStamping\nkeyUsage=digitalSignature", NULL, true },
		{ "extendedKeyUsage=timeStamping", NULL, false },
		{ "extendedKeyUsage=critical,timeStamping,serverAuth", NULL, false },
		{ "extendedKeyUsage=serverAuth", NULL, false },
		{ "extendedKeyUsage=critical,timeStamping\nkeyUsage=keyEncipherment", NULL, false },
		{ "basicConstraints=CA:FALSE", NULL, false },
		{ "basicConstraints=CA:TRUE", NULL, false },
		{ "extendedKeyUsage=critical,timeStamping", "2019", false },
		{ "extendedKeyUsage=critical,timeStamping", "2048", false },
	};
	char line[512], path[160];
	uint8_t *token;
	size_t len;

	snprintf(path, sizeof(path), "%s/any.pem", dir);
	assert_int_equal(shell("openssl req -newkey rsa:2048 -nodes -keyout any.key -out any.csr "
	    "-subj /CN=any"), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(line, sizeof(line), "printf '%s\\n' >any.ext && openssl x509 -req -in any.csr "
		    "-CA ca.pem -CAkey ca.key -CAcreateserial -days 1 -extfile any.ext -out any.%zu",
		    all[i].usage, i);
		assert_int_equal(shell(line), 0);
	}
	/* behind their beginning */
	free(stamped(&len));
	assert_int_equal(shell("openssl ts -reply -in r.tsr -token_out -out r.tst && "
	    "openssl cms -verify -noverify -inform DER -in r.tst -out whole.der"), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		snprintf(line, sizeof(line), "cp any.%zu any.pem", i);
		assert_int_equal(shell(line), 0);
		snprintf(line, sizeof(line), "LC_ALL=C sed 's/20[0-9][0-9]\\([0-9]\\{10\\}Z\\)/%s\\1/' whole.der "
		    ">tst.der", all[i].time != NULL ? all[i].time : "");
		assert_int_equal(shell(all[i].time != NULL ? line : "cp whole.der tst.der"), 0);
		assert_int_equal(shell("openssl cms -sign -binary -nodetach -nosmimecap -cades "
		    "-econtent_type 1.2.840.113549.1.9.16.1.4 -md sha256 -signer any.pem "
		    "-inkey any.key -outform DER -in tst.der -out any.tst"), 0);
		print_message("%s %s\n", all[i].usage, all[i].time != NULL ? all[i].time : "");
		token = (uint8_t *)read_file(dir, "any.tst", &len);
		assert_int_equal(stamp_check(token, len, digest, NULL, ca_path, &out, why,
		    sizeof(why)), all[i].good ? 0 : -1);
		/* nor where the certificate itself is what the verifier names */
		assert_int_equal(stamp_check(token, len, digest, NULL, path, &out, why,
		    sizeof(why)), all[i].good ? 0 : -1);
		free(token);
	}
}

/* Keys and digests that others than the authority may have made a signature fit. */
static void
test_weak(void **state)
{
	static const struct { const char *make; bool good; } all[] = {
		{ "sed 's/^signer_digest=.*/signer_digest=sha384/' keep >tsa.cnf", true },
		{ "sed 's/^signer_digest=.*/signer_digest=sha1/' keep >tsa.cnf", false },
		{ "sed 's/^signer_digest=.*/signer_digest=md5/' keep >tsa.cnf", false },
		{ "openssl x509 -req -md5 -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
		    "-days 1 -extfile tsa.ext -out tsa.pem", false },
		{ "openssl x509 -req -sha1 -in tsa.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
		    "-days 1 -extfile tsa.ext -out tsa.pem", false },
		{ "openssl req -newkey rsa:1024 -nodes -keyout tsa.key -out weak.csr -subj /CN=weak && "
		    "openssl x509 -req -in weak.csr -CA ca.pem -CAkey ca.key -CAcreateserial "
		    "-days 1 -extfile tsa.ext -out tsa.pem", false },
	};

	assert_int_equal(shell("cp tsa.cnf keep && cp tsa.pem keep.pem && cp tsa.key keep.key"), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t len = 0;
		uint8_t *reply;

		assert_int_equal(shell(all[i].make), 0);
		reply = stamped(&len);
		assert_int_equal(stamp_check(reply, len, digest, nonce, ca_path, &out, why,
		    sizeof(why)), all[i].good ? 0 : -1);
		assert_int_equal(shell("cp keep tsa.cnf && cp keep.pem tsa.pem && "
		    "cp keep.key tsa.key"), 0);
		free(reply);
	}
}

#define TAKEN_BACK(reason, when) "openssl ca -config ca.cnf -revoke tsa.pem -crl_reason " reason \
	" && sed -i 's/^\\(R\t[^\t]*\t\\)[0-9]*/\\1" when "/' index && cat index"

/* With an authority's certificates may stand what it took back of them. */
static void
test_revoked(void **state)
{
	static const struct { const char *make; bool good; } all[] = {
		{ "true", true },	/* a list of nothing */
		{ "openssl ca -config ca.cnf -revoke other.pem -crl_reason keyCompromise", true },
		{ TAKEN_BACK("superseded", "491231235959"), true },
		{ TAKEN_BACK("superseded", "200101000000"), false },
		{ TAKEN_BACK("keyCompromise", "491231235959"), false },
		{ "openssl ca -config ca.cnf -revoke tsa.pem -crl_reason keyCompromise", false },
		{ "openssl ca -config ca.cnf -revoke tsa.pem", false },
		{ "openssl ca -config ca.cnf -revoke ca.pem -crl_reason CACompromise", false },
	};
	char path[160];
	uint8_t *reply;
	size_t len = 0;

	snprintf(path, sizeof(path), "%s/lists.pem", dir);
	write_text("ca.cnf", "[ca]\ndefault_ca=c\n[c]\ndatabase=index\ncertificate=ca.pem\n"
	    "private_key=ca.key\ndefault_md=sha256\ndefault_crl_days=1\n");
	reply = stamped(&len);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(shell(": >index"), 0);
		assert_int_equal(shell(all[i].make), 0);
		assert_int_equal(shell("openssl ca -config ca.cnf -gencrl -out list.pem && "
		    "cat ca.pem list.pem >lists.pem"), 0);
		print_message("%s\n", all[i].make);
		assert_int_equal(stamp_check(reply, len, digest, nonce, path, &out, why,
		    sizeof(why)), all[i].good ? 0 : -1);
		assert_int_equal(stamp_authorities(path), 1);
	}
	/* one that cannot be read tells nothing, so nothing counts */
	assert_int_equal(shell("sed 3d list.pem >cut.pem && cat ca.pem cut.pem >lists.pem"), 0);
	assert_int_equal(stamp_check(reply, len, digest, nonce, path, &out, why,
	    sizeof(why)), -1);
	assert_int_equal(stamp_authorities(path), 0);
	free(reply);
}

/* The time is between those that the authority's clock may have meant. */
static void
test_accuracy(void **state)
{
	static const struct { const char *set; int64_t want; int status; } all[] = {
		{ "accuracy=secs:3", 3, 0 }, { "accuracy=secs:3,millisecs:1", 4, 0 },
		{ "accuracy=microsecs:1", 1, 0 }, { "accuracy=secs:90000", 0, -1 },
		{ "", 0, 0 },
	};
	char line[128];

	assert_int_equal(shell("cp tsa.cnf keep"), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		size_t len = 0;
		uint8_t *reply;

		snprintf(line, sizeof(line), "cp keep tsa.cnf && echo %s >>tsa.cnf", all[i].set);
		assert_int_equal(shell(line), 0);
		reply = stamped(&len);
		assert_int_equal(stamp_check(reply, len, digest, nonce, ca_path, &out, why,
		    sizeof(why)), all[i].status);
		if (all[i].status == 0)
			assert_int_equal(out.accuracy_s, all[i].want);
		free(reply);
	}
	assert_int_equal(shell("cp keep tsa.cnf"), 0);
}

static X509_EXTENSION *
extension(int critical)
{
	ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
	ASN1_OBJECT *name = OBJ_txt2obj("1.2.3.4.5", 1);
	X509_EXTENSION *made;

	assert_int_equal(ASN1_OCTET_STRING_set(value, (const uint8_t *)"\5\0", 2), 1);
	made = X509_EXTENSION_create_by_OBJ(NULL, name, critical, value);
	ASN1_OCTET_STRING_free(value);
	ASN1_OBJECT_free(name);
	assert_non_null(made);
	return made;
}

static int is_critical;	/* OpenSSL 3 loses what it is given for the callback */

static int
add_extension(TS_RESP_CTX *context, X509_EXTENSION *asked, void *data)
{
	X509_EXTENSION *more = extension(is_critical);
	const int added = TS_TST_INFO_add_ext(TS_RESP_CTX_get_tst_info(context), more, -1);

	(void)asked;
	(void)data;
	X509_EXTENSION_free(more);
	return added;
}

static ASN1_INTEGER *
serial(TS_RESP_CTX *context, void *data)
{
	ASN1_INTEGER *one = ASN1_INTEGER_new();

	(void)context;
	(void)data;
	ASN1_INTEGER_set(one, 1);
	return one;
}

static void *
read_pem(const char *name, bool key)
{
	char path[160];
	FILE *in;
	void *read;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	in = fopen(path, "r");
	assert_non_null(in);
	read = key ? (void *)PEM_read_PrivateKey(in, NULL, NULL, NULL) :
	    (void *)PEM_read_X509(in, NULL, NULL, NULL);
	fclose(in);
	assert_non_null(read);
	return read;
}

/* A response whose statement has an extension; its length. */
static size_t
extended(uint8_t **der)
{
	TS_RESP_CTX *context = TS_RESP_CTX_new();
	X509 *cert = read_pem("tsa.pem", false);
	EVP_PKEY *key = read_pem("tsa.key", true);
	ASN1_OBJECT *policy = OBJ_txt2obj("1.2.3.4", 1);
	X509_EXTENSION *asked = extension(0);
	size_t n = 0;
	uint8_t *plain = stamp_request(digest, nonce, &n), *full = NULL;
	const uint8_t *at = plain;
	TS_REQ *request = d2i_TS_REQ(NULL, &at, (long)n);
	TS_RESP *response;
	BIO *in;
	int len;

	assert_int_equal(TS_REQ_add_ext(request, asked, -1), 1);
	len = i2d_TS_REQ(request, &full);
	in = BIO_new_mem_buf(full, len);
	assert_true(TS_RESP_CTX_set_signer_cert(context, cert) == 1 &&
	    TS_RESP_CTX_set_signer_key(context, key) == 1 &&
	    TS_RESP_CTX_set_signer_digest(context, EVP_sha256()) == 1 &&
	    TS_RESP_CTX_set_def_policy(context, policy) == 1 &&
	    TS_RESP_CTX_add_md(context, EVP_sha256()) == 1);
	TS_RESP_CTX_set_serial_cb(context, serial, NULL);
	TS_RESP_CTX_set_extension_cb(context, add_extension, NULL);
	response = TS_RESP_create_response(context, in);
	*der = NULL;
	len = i2d_TS_RESP(response, der);
	assert_true(len > 0);
	TS_RESP_free(response);
	TS_REQ_free(request);
	TS_RESP_CTX_free(context);
	X509_EXTENSION_free(asked);
	ASN1_OBJECT_free(policy);
	EVP_PKEY_free(key);
	X509_free(cert);
	BIO_free(in);
	OPENSSL_free(full);
	free(plain);
	return (size_t)len;
}

static void
test_extensions(void **state)
{
	for (is_critical = 0; is_critical < 2; is_critical++) {
		uint8_t *der;
		size_t len = extended(&der);

		assert_int_equal(stamp_check(der, len, digest, nonce, ca_path, &out, why,
		    sizeof(why)), is_critical ? -1 : 0);
		OPENSSL_free(der);
	}
	assert_non_null(strstr(why, "critical extension"));
}

static void
test_hostile(void **state)
{
	static const uint8_t bytes[] = { 0x30, 0x84, 0xff, 0xff, 0xff, 0xff };
	uint8_t big[64];

	memset(big, 0x30, sizeof(big));
	assert_int_equal(stamp_check(bytes, sizeof(bytes), digest, NULL, NULL,
	    &out, why, sizeof(why)), -1);
	assert_int_equal(stamp_check(big, sizeof(big), digest, NULL, NULL, &out,
	    why, sizeof(why)), -1);
	assert_int_equal(stamp_check(big, 0, digest, NULL, NULL, &out, why,
	    sizeof(why)), -1);
	assert_int_equal(stamp_check(big, STAMP_MAX + 1, digest, NULL, NULL,
	    &out, why, sizeof(why)), -1);
}

/* ---- real tokens ---- */

#define FIXTURES "../shared/data/val/fixtures/anchor-fixtures.json"

static uint8_t *
from_base64(const char *base64, size_t *len)
{
	size_t cap = strlen(base64);
	uint8_t *der = malloc(cap);

	assert_int_equal(sodium_base642bin(der, cap, base64, cap, NULL, len,
	    NULL, sodium_base64_VARIANT_ORIGINAL), 0);
	return der;
}

/* The certificates that the token carries, issuers only, as the file of CAs. */
static void
write_issuers(const uint8_t *der, size_t len)
{
	PKCS7 *token = d2i_PKCS7(NULL, &der, (long)len);
	char path[160];
	FILE *file;

	assert_non_null(token);
	snprintf(path, sizeof(path), "%s/issuers.pem", dir);
	file = fopen(path, "w");
	for (int i = 0; i < sk_X509_num(token->d.sign->cert); i++) {
		X509 *cert = sk_X509_value(token->d.sign->cert, i);

		if (X509_check_ca(cert) > 0)
			PEM_write_X509(file, cert);
	}
	fclose(file);
	PKCS7_free(token);
}

static void
test_real(void **state)
{
	json_t *all = json_load_file(FIXTURES, 0, NULL), *tsa;
	uint8_t root[STAMP_DIGEST_LEN], wrong[STAMP_DIGEST_LEN] = { 0 };
	char path[160];
	size_t i, n;

	if (all == NULL) {
		print_message("SKIP: no " FIXTURES "\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/issuers.pem", dir);
	sodium_hex2bin(root, sizeof(root), json_string_value(json_object_get(
	    json_object_get(all, "chain"), "merkleRoot")), 64, NULL, &n, NULL);
	json_array_foreach(json_object_get(all, "tsas"), i, tsa) {
		size_t len = 0;
		uint8_t *der = from_base64(json_string_value(
		    json_object_get(tsa, "tstBase64")), &len);
		int traced;

		write_issuers(der, len);
		/* at least by whom it names itself */
		assert_int_equal(stamp_check(der, len, root, NULL, NULL, &out,
		    why, sizeof(why)), 0);
		assert_true(out.time_s > 1780000000 && out.time_s < 1790000000);
		traced = stamp_check(der, len, root, NULL, path, &out, why,
		    sizeof(why));
		print_message("%s: %s\n", json_string_value(json_object_get(
		    tsa, "name")), traced == 0 ? "traced to its root" : why);
		assert_int_equal(stamp_check(der, len, wrong, NULL, NULL, &out,
		    why, sizeof(why)), -1);
		assert_int_equal(stamp_check(der, len, root, NULL, ca_path,
		    &out, why, sizeof(why)), -1);
		free(der);
	}
	json_decref(all);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_altered),
		cmocka_unit_test(test_not_granted),
		cmocka_unit_test(test_wrong_purpose), cmocka_unit_test(test_signers),
		cmocka_unit_test(test_weak), cmocka_unit_test(test_revoked), cmocka_unit_test(test_accuracy),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_hostile), cmocka_unit_test(test_real),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
