"""Tokens signed with fresh RSA, EC and Ed25519 keys (the openssl command makes them), and calls that verify them."""
import os
import subprocess

from rego_calls import b64, q

ALGORITHMS = {"RS256": "rsa", "RS384": "rsa", "RS512": "rsa", "PS256": "rsa", "PS384": "rsa", "PS512": "rsa", "ES256": "p256", "ES384": "p384", "ES512": "p521",
              "EdDSA": "ed"}
KINDS = {"rsa": ["RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "p256": ["EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "p384": ["EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
         "p521": ["EC", "-pkeyopt", "ec_paramgen_curve:P-521"], "ed": ["ED25519"]}
COORDINATE = {"p256": 32, "p384": 48, "p521": 66}
STRANGE = ["", "x", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", '{"kty":"RSA","n":"AQAB","e":"AQAB"}', '{"keys":[]}', '{"kty":"oct","k":"c2VjcmV0"}']


class Signer:
    def __init__(self, tmp):
        self.tmp, self.public = tmp, {}
        for name, kind in KINDS.items():
            self.run("genpkey", "-algorithm", *kind, "-out", name + ".key")
            self.public[name] = [self.run("pkey", "-in", name + ".key", "-pubout").decode(),
                                 self.run("req", "-x509", "-new", "-key", name + ".key", "-subj", "/CN=%s.example.com" % name, "-days", "3650").decode()]

    def run(self, *args):
        return subprocess.run(["openssl", *args], capture_output=True, check=True, cwd=self.tmp).stdout

    def token(self, algorithm, header):
        name = ALGORITHMS[algorithm]
        text = b64(header.encode()) + "." + b64(b'{"iss":"me","exp":1900000000}')
        with open(os.path.join(self.tmp, "signed"), "w") as f:
            f.write(text)
        if name == "ed":
            return text + "." + b64(self.run("pkeyutl", "-sign", "-rawin", "-inkey", "ed.key", "-in", "signed"))
        pss = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:-1"] if algorithm.startswith("PS") else []
        signature = self.run("dgst", "-sha" + algorithm[2:], *pss, "-sign", name + ".key", "signed")
        return text + "." + b64(coordinates(signature, COORDINATE[name]) if name in COORDINATE else signature)


def coordinates(der, size):
    """The two integers of an ECDSA signature, as JWS has them."""
    at, out = 2 + (der[1] & 127 if der[1] & 128 else 0), b""
    for _ in range(2):
        end = at + 2 + der[at + 1]
        out += int.from_bytes(der[at + 2:end], "big").to_bytes(size, "big")
        at = end
    return out


def calls(r, tmp):
    """Each algorithm with its key, its certificate and others, whole and broken."""
    signer = Signer(tmp)
    others = [k for pair in signer.public.values() for k in pair] + STRANGE + [signer.public["rsa"][0] + "x", signer.public["rsa"][1] + signer.public["p256"][1]]
    out = []
    for algorithm, name in ALGORITHMS.items():
        for header in ('{"alg":"%s"}' % algorithm, r.choice(['{"alg":"HS256"}', '{"alg":7}', "[]", '{"alg":"%s","kid":"k"}' % algorithm])):
            token = signer.token(algorithm, header)
            for key in signer.public[name] + [r.choice(others)]:
                out += [("io.jwt.verify_" + algorithm.lower(), [q(token), q(key)]), ("io.jwt.verify_" + r.choice(list(ALGORITHMS)).lower(), [q(token), q(key)]),
                        ("io.jwt.decode_verify", [q(token), '{"cert": %s, "iss": "me"}' % q(key)]), ("io.jwt.verify_" + algorithm.lower(), [q(token[:-8] + "AAAAAAAA"), q(key)])]
    return out
