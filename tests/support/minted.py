"""A home with a binding "api" whose tokens the daemon gets from a TokenService."""
import subprocess

from api import call, open_run
from harness import Bench, soon
from proxied import placeholder, send
from token_service import CLIENT, CLIENT_SECRET, REFRESH, TokenService

API, AUTH = "api.example.com", "login.example.com"
URL = f"https://{AUTH}/token"


class Scene:
    """A bench with its service; store() and begin() when the test has set its switches."""

    def __init__(self, key=None):
        self.key = key

    def __enter__(self):
        self.b = Bench(hosts=[API, AUTH]).__enter__()
        public = None
        if self.key:
            how = ["genpkey", "-algorithm", self.key[0], *[x for o in self.key[1:] for x in ("-pkeyopt", o)]]
            subprocess.run(["openssl", *how, "-out", self.b.path("robot.pem")], check=True, capture_output=True)
            public = self.b.path("robot.pub")
            subprocess.run(["openssl", "pkey", "-in", self.b.path("robot.pem"), "-pubout", "-out", public], check=True)
        self.service = TokenService(self.b, public)
        return self

    def __exit__(self, *unused):
        self.service.shutdown()
        self.b.__exit__(None, None, None)

    def store(self, *options, stdin=None, name="api", **kw):
        return self.b.cs("secret", "mint", name, *options, stdin=stdin, **kw)

    def refresh(self, *more):
        self.b.write("client", CLIENT_SECRET + "\n")
        said = self.store("--as", "refresh-token", "--token-url", URL, "--client-id", CLIENT, "--client-secret-file", self.b.path("client"),
                          "--from-stdin", *more, stdin=REFRESH + "\n")
        assert said.returncode == 0, said.stderr
        return self.begin()

    def begin(self, **run):
        if not hasattr(self, "daemon"):
            self.daemon = self.bind()
        self.run = open_run(self.b, **run)
        return self

    def bind(self):
        self.b.must("bind", "api", "--host", API, "--header", "Authorization: Bearer {}", "--allow", "* /**")
        return self.b.daemon()["pid"]

    def get(self, path="/x", run=None):
        run = run or self.run
        return send(self.b, run, "GET", f"https://{API}{path}", {"Authorization": "Bearer " + placeholder(run, "api")})

    def token(self):
        return self.service.seen[-1][1].removeprefix("Bearer ")

    def events(self):
        return [r["body"]["event"] for r in self.b.records("secret")]

    def listed(self):
        return [s for s in call(self.b, "GET", "/v1/secrets")[1]["secrets"] if s["state"] == "current"][0]

    def works(self):
        """Does a run that opens now get through?"""
        self.run = open_run(self.b)
        return self.run["placeholders"] != [] and self.get().status == 200

    until = staticmethod(soon)
