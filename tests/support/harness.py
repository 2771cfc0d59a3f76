"""A home, a daemon and an upstream for one scenario; everything stopped and removed at its end.

    from harness import Bench
    with Bench(hosts=["api.example.com"]) as b:      # upstream, CA, `countersign init`, resolve overrides
        b.cs("secret", "put", "api", "--from-stdin", stdin=b.secret)
        b.cs("bind", "api", "--host", "api.example.com", "--header", "Authorization: Bearer {}", "--allow", "GET /**")
        out = b.cs("run", "--", "curl", "-sS", "https://api.example.com/anything", ...)

The upstream's secret is made up afresh for each bench; `b.secret` never appears in output of a test.
"""
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import string
import subprocess
import sys
import tempfile
import time
import zlib

import tap

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def made_up_token(prefix="ghp_"):
    """A token of GitHub's shape with a right checksum, made up on the spot."""
    body = "".join(random.SystemRandom().choice(BASE62) for _ in range(30))
    crc, tail = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        tail = BASE62[digit] + tail
    return prefix + body + tail


def test_ca(folder, hosts):
    """A CA and one certificate for hosts: ca.pem, cert.pem, key.pem."""
    run = lambda *a: subprocess.run(["openssl", *a], check=True, capture_output=True, cwd=folder)  # noqa: E731
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "ca.key", "-out", "ca.pem",
        "-days", "2", "-subj", "/CN=test authority")
    names = ",".join(("IP:" if h.replace(".", "").isdigit() else "DNS:") + h for h in hosts)
    with open(os.path.join(folder, "ext"), "w") as f:
        f.write(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out", "csr", "-subj", "/CN=test")
    run("x509", "-req", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext", "-out", "cert.pem")


def soon(what, seconds=60):
    """What what() returns once that is true; when it is not in that time, what it returns then.  A test that waits for another
    process waits by this: a machine may be as slow as it likes, and one that is quick is not kept waiting."""
    until = time.monotonic() + seconds
    while not (got := what()) and time.monotonic() < until:
        time.sleep(0.02)
    return got


def whole_lines(data):
    """Those of a file that is being written, as documents: what is behind the last line's end is half of one, or zeros."""
    return [json.loads(line) for line in data[:data.rfind(b"\n") + 1].split(b"\n") if line]


def little_may_be_locked():
    """As for users of many containers: a daemon, which has megabytes, would not start."""
    most = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    return os.geteuid() != 0 and most != resource.RLIM_INFINITY and most < 8 << 20


class Bench:
    def __init__(self, hosts=("api.example.com",), config=None, init=True, private=True, tls=True, env=None, service="upstream.py"):
        self.hosts, self.extra, self.init, self.private, self.tls = list(hosts), config or {}, init, private, tls
        self.service = service      # which of this folder answers for the hosts
        # By the session's number tests/run finds what is left of a test that was killed.
        self.dir = tempfile.mkdtemp(prefix=f"cs-{os.getsid(0)}-")
        self.home = os.path.join(self.dir, "home")
        self.secret = made_up_token()
        self.log_path = os.path.join(self.dir, "access.log")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("COUNTERSIGN_") and k.lower() not in
                    ("http_proxy", "https_proxy", "all_proxy", "no_proxy")}
        self.env.update(COUNTERSIGN_HOME=self.home, COUNTERSIGN_PASSPHRASE_FILE=os.path.join(self.dir, "pass"), HOME=self.dir,
                        PATH=BUILD + ":" + self.env["PATH"], **(env or {}))
        self.children = []

    def __enter__(self):
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # by way of close()
        try:
            self.write("pass", "correct horse battery\n", 0o600)
            self.write("secret", self.secret + "\n", 0o600)
            test_ca(self.dir, self.hosts)
            self.upstream = self.start_upstream()
            if self.init:
                self.must("init")
                self.config(**self.extra)
                if self.private:
                    self.must("egress", "allow", "--private", "127.0.0.0/8")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        with contextlib.suppress(FileNotFoundError):    # no daemon, or one that ends just now
            pid = self.daemon()["pid"]
            try:
                self.cs("stop")
            except subprocess.TimeoutExpired:   # one that has no descriptor left, for instance
                os.kill(pid, signal.SIGKILL)
        for child in self.children:
            child.terminate()
        for child in self.children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()
        if os.environ.get("KEEP"):
            print(f"# kept {self.dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    # -- files ---------------------------------------------------------------
    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text, mode=0o600):
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def resolved(self):
        """Where the hosts are: what upstream.resolve holds for them."""
        path = os.path.join(self.home, "config.json")
        with open(path) as f:
            return json.load(f)["upstream"]["resolve"]

    def config(self, **members):
        """Merge members into HOME/config.json, on top of what a test needs."""
        path = os.path.join(self.home, "config.json")
        conf = json.load(open(path)) if os.path.exists(path) else {"v": 1}
        upstream = conf.setdefault("upstream", {})
        if little_may_be_locked():
            conf["allow_unlocked_memory"] = True
        upstream["ca_file"] = self.path("ca.pem")
        upstream["resolve"] = [f"{h}:{443 if self.tls else 80}:127.0.0.1:{self.upstream}" for h in self.hosts]
        for key, value in members.items():
            if isinstance(value, dict):
                conf.setdefault(key, {}).update(value)
            else:
                conf[key] = value
        with open(path, "w") as f:
            json.dump(conf, f)
        os.chmod(path, 0o600)

    def data(self, **members):
        """Replace members of the pack's data document; a running daemon is to be told by `policy reload`."""
        path = os.path.join(self.home, "pack", "data.json")
        with open(path) as f:
            data = json.load(f)
        data.update(members)
        with open(path, "w") as f:
            json.dump(data, f)

    # -- processes -----------------------------------------------------------
    def spawn(self, *argv, **kw):
        child = subprocess.Popen(argv, env=self.env, **kw)
        self.children.append(child)
        return child

    def start_upstream(self, log=None, secret_file=None, tls=None):
        os.makedirs(self.path("git"), exist_ok=True)
        argv = [sys.executable, os.path.join(HERE, self.service), "--log", log or self.log_path, "--secret-file",
                secret_file or self.path("secret"), "--git", self.path("git")]
        if self.tls if tls is None else tls:
            argv += ["--cert", self.path("cert.pem"), "--key", self.path("key.pem")]
        child = self.spawn(*argv, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        return int(child.stdout.readline())

    def cs(self, *argv, stdin=None, timeout=60, env=None, **kw):
        """Run countersign; the CompletedProcess, text."""
        out = subprocess.run([os.path.join(BUILD, "countersign"), *argv], env=dict(self.env, **(env or {})), text=True, capture_output=True,
                             input=stdin if stdin is not None else "", timeout=timeout, check=False, **kw)
        said = ((text or "").replace(self.secret, "(the secret)") if isinstance(text or "", str) else "" for text in (out.stdout, out.stderr))
        tap.LAST[:] = [subprocess.CompletedProcess(out.args, out.returncode, *said)]
        return out

    def must(self, *argv, **kw):
        out = self.cs(*argv, **kw)
        if out.returncode != 0:
            raise AssertionError(f"countersign {argv[0]} ended with {out.returncode}: {out.stderr[-1500:]}")
        return out

    def bind(self, *allow, name="api", host=None, header="Authorization: Bearer {}", more=()):
        """Put the secret and bind it: what most scenarios begin with."""
        self.must("secret", "put", name, "--from-stdin", stdin=self.secret + "\n")
        rules = [x for rule in allow or ("* /**",) for x in ("--allow", rule)]
        self.must("bind", name, "--host", host or self.hosts[0], "--header", header, *rules, *more)

    def daemon(self):
        """daemon.json of the running daemon."""
        with open(os.path.join(self.home, "run", "daemon.json")) as f:
            return json.load(f)

    # -- what can be known ---------------------------------------------------
    def access(self, n=0):
        """The upstream's access log, the ground truth.  What was answered is there; of what was not, wait for n lines."""
        def read():
            if not os.path.exists(self.log_path):
                return []
            with open(self.log_path, "rb") as f:
                return whole_lines(f.read())
        soon(lambda: len(read()) >= n)
        return read()

    def records(self, *types):
        """The ledger's records as dictionaries, in order, of the given types."""
        folder, out = os.path.join(self.home, "ledger"), []
        for name in sorted(os.listdir(folder)):
            if name.startswith("records-"):
                with open(os.path.join(folder, name), "rb") as f:
                    out += whole_lines(f.read())
        return [r for r in out if not types or r["type"] in types]

    def wait_for(self, kind, n):
        """Records of that type once there are n of them."""
        soon(lambda: len(self.records(kind)) >= n)
        return self.records(kind)

    def outcomes(self, run=None):
        """Bodies of the outcomes, of that run or of all, once every request that was let through has its own: they are written
        when nobody waits any more, so behind the answer."""
        def let_through():
            return [r for r in self.records("use", "decision") if r["body"].get("kind") in ("http", "connect")]
        soon(lambda: len(self.records("outcome")) >= len(let_through()))
        return [r["body"] for r in self.records("outcome") if run is None or r["run"] == run["id"]]

    def everything(self):
        """Every byte below the home, save the encrypted vault: for canary searches."""
        out = []
        for base, _, names in os.walk(self.home):
            for name in names:
                full = os.path.join(base, name)
                if os.path.isfile(full):
                    with open(full, "rb") as f:
                        out.append(f.read())
        return b"\n".join(out)


def children(pid):
    out = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as f:
                if entry.isdigit() and int(f.read().rpartition(")")[2].split()[1]) == pid:
                    out.append(int(entry))
        except OSError:
            pass
    return out


def gone(pid, seconds=60):
    """Whether that process ends in that time, be it reaped or not."""
    def ended():
        try:
            with open(f"/proc/{pid}/stat") as f:
                return f.read().rsplit(")", 1)[1].split()[0] in "ZX"
        except OSError:
            return True
    return soon(ended, seconds)


NOBODY = 65534


def nobody_can(*argv):
    """Whether we may become another user (root of a name space may have none), and argv works for him."""
    return os.geteuid() == 0 and subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *argv], check=False,
                                                capture_output=True).returncode == 0


def as_nobody(t, body):
    """body(t) as an unprivileged user, in a process of its own; its points are ours."""
    if os.geteuid() != 0:
        return t.skip("not root: this was it", "unprivileged user")
    if not nobody_can("true"):
        return t.skip("there is no other user to become", "unprivileged user")
    if not nobody_can("test", "-x", os.path.join(BUILD, "countersign")):
        return t.skip("the build directory is closed to other users", "unprivileged user")
    sys.stdout.flush()
    before = t.n
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            if not os.access(sys.executable, os.X_OK):
                sys.executable = "/usr/bin/python3"
            body(t)
            sys.stdout.flush()
            os._exit(min(t.n - before, 99) + (100 if t.failed else 0))
        except BaseException as e:  # noqa: BLE001 - the child must not return into the runner
            print("# " + repr(e), flush=True)
            os._exit(255)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code == 255:
        return t.ok(False, "the unprivileged scenario ran to its end")
    t.n, t.failed = before + code % 100, t.failed + (code >= 100)
    return t.n > before or t.ok(False, "the unprivileged scenario has points")


def raw(port, data, timeout=60, half_close=False):
    """Send bytes to a local port, return what comes until the peer closes or is silent."""
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as s:
        s.sendall(data)
        if half_close:
            s.shutdown(socket.SHUT_WR)
        out = b""
        try:
            while piece := s.recv(65536):
                out += piece
        except (TimeoutError, ConnectionError):
            pass
        return out
