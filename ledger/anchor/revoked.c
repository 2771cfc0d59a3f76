#include "ledger/anchor/revoked.h"
#include "ledger/input.h"

#include <stdio.h>
#include <time.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static const char unreadable[] = "a list of certificates that were taken back cannot be read";

/* The next of the file's lists.  NULL: none more, or (*bad) one that cannot be read. */
static X509_CRL *
next_list(FILE *in, bool *bad)
{
	X509_CRL *list;

	ERR_clear_error();
	list = PEM_read_X509_CRL(in, NULL, NULL, NULL);
	*bad = list == NULL && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
	ERR_clear_error();
	return list;
}

bool
revoked_readable(const char *ca_file)
{
	FILE *in = input_open(ca_file);
	bool bad = in == NULL;
	X509_CRL *list;

	while (in != NULL && (list = next_list(in, &bad)) != NULL)
		X509_CRL_free(list);
	if (in != NULL)
		fclose(in);
	return !bad;
}

/* ---- the certificates ---- */

static bool
add(STACK_OF(X509) *to, X509 *cert)
{
	return X509_add_cert(to, cert, X509_ADD_FLAG_UP_REF | X509_ADD_FLAG_NO_DUP) == 1;
}

/* Those of the token and of the file, each once. */
static STACK_OF(X509) *
all_certificates(const char *ca_file, PKCS7 *token)
{
	STACK_OF(X509) *all = sk_X509_new_null(), *own = token->d.sign->cert;
	FILE *in = input_open(ca_file);
	bool good = all != NULL && in != NULL;
	X509 *cert;

	for (int i = 0; good && i < sk_X509_num(own); i++)
		good = add(all, sk_X509_value(own, i));
	while (good && (cert = PEM_read_X509(in, NULL, NULL, NULL)) != NULL) {
		good = add(all, cert);
		X509_free(cert);
	}
	ERR_clear_error();	/* the file's end is one */
	if (in != NULL)
		fclose(in);
	if (good)
		return all;
	sk_X509_pop_free(all, X509_free);
	return NULL;
}

/* Those of them that may stand above the last one of the chain join it. */
static bool
add_above(STACK_OF(X509) *chain, STACK_OF(X509) *all)
{
	for (int at = 0; at < sk_X509_num(chain); at++)
		for (int i = 0; i < sk_X509_num(all); i++)
			if (X509_check_issued(sk_X509_value(all, i),
			    sk_X509_value(chain, at)) == X509_V_OK &&
			    !add(chain, sk_X509_value(all, i)))
				return false;
	return true;
}

/* The signer and all that may stand above it; NULL where memory lacks. */
static STACK_OF(X509) *
chain_of(const char *ca_file, PKCS7 *token)
{
	STACK_OF(X509) *signers = PKCS7_get0_signers(token, NULL, 0);
	STACK_OF(X509) *all = all_certificates(ca_file, token), *chain = sk_X509_new_null();
	bool good = signers != NULL && all != NULL && chain != NULL;

	for (int i = 0; good && i < sk_X509_num(signers); i++)
		good = add(chain, sk_X509_value(signers, i));
	good = good && add_above(chain, all);
	sk_X509_free(signers);
	sk_X509_pop_free(all, X509_free);
	if (good)
		return chain;
	sk_X509_pop_free(chain, X509_free);
	return NULL;
}

/* ---- the lists ---- */

/* Does what was signed before stay good? */
static bool
good_before(X509_REVOKED *entry)
{
	int critical;
	ASN1_ENUMERATED *reason = X509_REVOKED_get_ext_d2i(entry, NID_crl_reason, &critical,
	    NULL);
	const long code = reason != NULL ? ASN1_ENUMERATED_get(reason) : -1;

	ASN1_ENUMERATED_free(reason);
	return code == CRL_REASON_UNSPECIFIED || code == CRL_REASON_AFFILIATION_CHANGED ||
	    code == CRL_REASON_SUPERSEDED || code == CRL_REASON_CESSATION_OF_OPERATION;
}

static const char *
look_up(X509_CRL *list, X509 *cert, int64_t time_s)
{
	X509_REVOKED *entry = NULL;
	time_t at = (time_t)time_s;

	/* 2: it was on hold, and is no more */
	if (X509_CRL_get0_by_cert(list, &entry, cert) != 1)
		return NULL;
	if (!good_before(entry))
		return "the authority's certificate was taken back, and its key may be anybody's";
	/* -1: not later than that time */
	if (X509_cmp_time(X509_REVOKED_get0_revocationDate(entry), &at) > 0)
		return NULL;
	return "the authority's certificate had been taken back by then";
}

const char *
revoked_for(const char *ca_file, PKCS7 *token, int64_t time_s)
{
	FILE *in = input_open(ca_file);
	STACK_OF(X509) *chain = NULL;
	const char *why = in == NULL ? unreadable : NULL;
	bool bad = false;
	X509_CRL *list;

	while (why == NULL && (list = next_list(in, &bad)) != NULL) {
		if (chain == NULL && (chain = chain_of(ca_file, token)) == NULL)
			why = "out of memory";
		for (int i = 0; why == NULL && i < sk_X509_num(chain); i++)
			why = look_up(list, sk_X509_value(chain, i), time_s);
		X509_CRL_free(list);
	}
	if (bad)
		why = unreadable;
	if (in != NULL)
		fclose(in);
	sk_X509_pop_free(chain, X509_free);
	return why;
}
