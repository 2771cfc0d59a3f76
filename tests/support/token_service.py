"""Token endpoints and the API that their tokens are for, on one TLS port, written from RFC 6749, RFC 7523 and GitHub's
documentation of installations; signatures are checked by openssl.

    service = TokenService(b)                  # serves every host of the bench, also http://127.0.0.1:PORT/ where tls=False
    service.asked    # [{"path", "form" or "json", "authorization", "problem"}, ...]: what came to a token endpoint; problem None: answered
    service.seen     # [(path, Authorization), ...]: what came to the API
    service.live     # tokens that the API takes now
    service.withdrawn   # [(hint, token, problem), ...]: what came to /revoke (RFC 7009)

Switches: life (seconds), rotating (a refresh token counts once), answer (status, body: said instead of a token), alter (makes
these of the answer that gives one), away (what /revoke answers instead of 200), hold (a threading.Event to be set before a token endpoint answers).
"""
import base64
import json
import secrets
import subprocess
import threading
import time
import urllib.parse

from service import Quiet, Server

CLIENT, CLIENT_SECRET, REFRESH = "client-1", "client/secret+for:tests", "1//refresh-" + "Q7" * 12
ISSUER, APP, INSTALLATION = "robot@project.example.com", "4711", "815"


def decoded(part):
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


class TokenService(Server):
    def __init__(self, bench, public_key=None, tls=True):
        self.bench, self.public_key = bench, public_key
        self.asked, self.seen, self.live, self.refresh = [], [], set(), {REFRESH}
        self.life, self.rotating, self.answer, self.alter, self.hold, self.prefix = 3600, False, None, None, None, "ya29."
        self.withdrawn, self.away = [], None
        self.lock = threading.Lock()
        super().__init__(bench, Handler, tls)
        if tls:
            bench.config(upstream={"resolve": [f"{host}:443:127.0.0.1:{self.port}" for host in bench.hosts]})

    def good_signature(self, token, wanted):
        """None where it is signed rightly and says what is wanted; else what is wrong."""
        head, body, mark = token.split(".")
        claims, algorithm, raw = json.loads(decoded(body)), json.loads(decoded(head))["alg"], decoded(mark)
        if algorithm == "ES256":
            raw = der(raw)
        self.bench.write("jwt.txt", f"{head}.{body}")
        open(self.bench.path("jwt.sig"), "wb").write(raw)
        said = subprocess.run(["openssl", "dgst", "-sha256", "-verify", self.public_key, "-signature", self.bench.path("jwt.sig"), self.bench.path("jwt.txt")],
                              capture_output=True, text=True)
        if said.returncode != 0:
            return "another signature"
        if not claims["iat"] - 90 <= time.time() <= claims["exp"] <= time.time() + 600:
            return "another time"
        return next((f"another {k}" for k, v in wanted.items() if claims.get(k) != v), None)


def der(raw):
    def number(b):
        b = b.lstrip(b"\0") or b"\0"
        b = (b"\0" if b[0] & 0x80 else b"") + b
        return b"\x02" + bytes([len(b)]) + b
    inner = number(raw[:32]) + number(raw[32:])
    return b"\x30" + bytes([len(inner)]) + inner


class Handler(Quiet):
    def send(self, status, body, extra=()):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text)

    def client_problem(self, form):
        basic = "Basic " + base64.b64encode(f"{urllib.parse.quote(CLIENT, safe='')}:{urllib.parse.quote(CLIENT_SECRET, safe='')}".encode()).decode()
        sent = self.headers.get("Authorization")
        good = sent == basic if sent else (form.get("client_id"), form.get("client_secret")) == (CLIENT, CLIENT_SECRET)
        return None if good else "invalid_client"

    def refresh(self, form, answer):
        s = self.server
        with s.lock:
            if self.client_problem(form) is None and form.get("refresh_token") in s.refresh:
                if s.rotating:
                    s.refresh.remove(form["refresh_token"])
                    answer["refresh_token"] = "1//next-" + secrets.token_hex(16)
                    s.refresh.add(answer["refresh_token"])
                return None
        return "invalid_grant"

    def token(self, form):
        """What is given, and the problem."""
        s = self.server
        answer = {"access_token": s.prefix + secrets.token_urlsafe(40), "token_type": "Bearer", "expires_in": s.life}
        grant = form.get("grant_type")
        if grant == "refresh_token":
            problem = self.refresh(form, answer)
        elif grant == "client_credentials":
            problem = self.client_problem(form)
        elif grant == "urn:ietf:params:oauth:grant-type:jwt-bearer":
            host = f"https://{self.headers['Host']}{self.path}"
            problem = s.good_signature(form["assertion"], {"iss": ISSUER, "aud": host})
        else:
            problem = "unsupported_grant_type"
        return answer, problem

    def revoke(self, form):
        s = self.server
        problem = s.away or self.client_problem(form)
        s.withdrawn.append((form.get("token_type_hint"), form["token"], problem))
        if problem:
            return self.send(503 if s.away else 401, {"error": problem})
        s.live.discard(form["token"])
        s.refresh.discard(form["token"])
        return self.send(200, b"")

    def installation(self, body):
        s, sent = self.server, self.headers.get("Authorization") or ""
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + s.life))
        return {"token": "ghs_" + secrets.token_hex(18), "expires_at": end}, s.good_signature(sent.removeprefix("Bearer "), {"iss": APP})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        s = self.server
        if self.path == "/revoke":
            return self.revoke(dict(urllib.parse.parse_qsl(body)))
        if self.path == "/token":
            form = dict(urllib.parse.parse_qsl(body))
            answer, problem = self.token(form)
        elif self.path == f"/app/installations/{INSTALLATION}/access_tokens":
            form = json.loads(body)
            answer, problem = self.installation(form)
        else:
            return self.do_GET()
        if s.hold:
            s.hold.wait(60)
        s.asked.append({"path": self.path, "form": form, "authorization": self.headers.get("Authorization"), "problem": problem})
        if s.answer:
            return self.send(*s.answer)
        if problem:
            return self.send(400, {"error": problem})
        s.live.add(answer.get("access_token") or answer["token"])
        return self.send(*(s.alter(answer) if s.alter else (200, answer)))

    def do_GET(self):
        sent = self.headers.get("Authorization") or ""
        self.server.seen.append((self.path, sent))
        if sent.removeprefix("Bearer ") not in self.server.live:
            return self.send(401, {"error": "unknown token"})
        return self.send(200, {"ok": True, "echo": sent} if self.path == "/echo" else {"ok": True})
