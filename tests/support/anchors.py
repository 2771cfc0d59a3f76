"""Witnesses and time stamping authorities for tests, all on loopback."""
import http.server
import json
import os
import signal
import subprocess
import threading

from api import UnixConnection
from harness import BUILD, soon


class Witness:
    """`countersign witness` with a directory of its own, which survives a restart."""

    def __init__(self, bench, name="witness.example.com/w1", folder="w1"):
        self.bench, self.dir, self.port, self.child = bench, bench.path(folder), 0, None
        out = bench.cs("witness", "init", "--name", name, self.dir)
        assert out.returncode == 0, out.stderr
        self.vkey = out.stdout.strip()

    def watch(self, vkey_file):
        out = self.bench.cs("witness", "add", self.dir, vkey_file)
        assert out.returncode == 0, out.stderr

    def start(self):
        log = open(self.dir + ".log", "ab")  # noqa: SIM115 - the child keeps it
        self.child = self.bench.spawn(os.path.join(BUILD, "countersign"), "witness", "serve", "--listen", f"127.0.0.1:{self.port}",
                                      self.dir, stdout=subprocess.PIPE, stderr=log)
        line = self.child.stdout.readline().decode()
        assert line.startswith("listening on "), open(self.dir + ".log").read()
        self.port = int(line.split()[2].split(":")[1])
        return self

    def stop(self, sig=signal.SIGTERM):
        self.child.send_signal(sig)
        self.child.wait(60)
        self.child.stdout.close()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def conf(self):
        return {"url": self.url, "key": self.vkey}


class Fake(http.server.BaseHTTPRequestHandler):
    """Answers every POST with server.answer: (status, body) or a function of the request's body."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(body)
        answer = self.server.answer
        status, out = answer(body) if callable(answer) else answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(out)))
        self.end_headers()
        try:
            self.wfile.write(out)
        except OSError:
            pass

    def log_message(self, *args):
        pass


def fake_server(answer):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Fake)
    server.answer, server.asked = answer, []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


TSA_CONF = """[tsa]
default_tsa=t
[t]
serial=serial
crypto_device=builtin
signer_cert=tsa.pem
signer_key=tsa.key
signer_digest=sha256
default_policy=1.2.3.4
digests=sha256
ess_cert_id_alg=sha256
certs=ca.pem
"""


class Authority:
    """A time stamping authority: `openssl ts -reply` behind HTTP."""

    def __init__(self, bench, name="tsa"):
        self.dir = bench.path(name)
        os.mkdir(self.dir)
        for file, text in (("tsa.cnf", TSA_CONF), ("serial", "01\n"), ("tsa.ext", "extendedKeyUsage=critical,timeStamping\n")):
            with open(os.path.join(self.dir, file), "w") as f:
                f.write(text)
        self.openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", f"/CN={name} CA")
        self.openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "tsa.key", "-out", "tsa.csr", "-subj", f"/CN={name}")
        self.openssl("x509", "-req", "-in", "tsa.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1",
                     "-extfile", "tsa.ext", "-out", "tsa.pem")
        self.ca = os.path.join(self.dir, "ca.pem")
        self.server = fake_server(self.reply)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def openssl(self, *argv):
        subprocess.run(["openssl", *argv], cwd=self.dir, check=True, capture_output=True)

    def reply(self, body):
        with open(os.path.join(self.dir, "q.tsq"), "wb") as f:
            f.write(body)
        self.openssl("ts", "-reply", "-config", "tsa.cnf", "-section", "t", "-queryfile", "q.tsq", "-out", "r.tsr")
        with open(os.path.join(self.dir, "r.tsr"), "rb") as f:
            return 200, f.read()

    def replay_url(self):
        """One that answers everything with a stamp made before: of other bytes, for another nonce."""
        with open(os.path.join(self.dir, "data"), "wb") as f:
            f.write(b"other bytes")
        self.openssl("ts", "-query", "-data", "data", "-sha256", "-cert", "-out", "old.tsq")
        with open(os.path.join(self.dir, "old.tsq"), "rb") as f:
            answer = self.reply(f.read())
        return f"http://127.0.0.1:{fake_server(answer).server_port}"


def health(bench):
    c = UnixConnection(os.path.join(bench.home, "run", "operator.sock"))
    c.request("GET", "/healthz")
    out = json.loads(c.getresponse().read())
    c.close()
    return out


def wait_state(bench, name, *states, behind=None):
    """The party's entry in /healthz once it is in one of the states (and as far behind); else as it is at last."""
    entry = {}

    def reached():
        nonlocal entry
        entry = next((a for a in health(bench)["anchors"] if a["name"] == name), {})
        return entry.get("state") in states and (behind is None or entry["behind"] == behind)
    soon(reached)
    return entry
