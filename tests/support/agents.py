"""Coding agents inside a run, as they are: what the tests of each have in common.

    from agents import Agent
    with Agent("anthropic", hosts=["api.anthropic.com"], shape="sk-ant-api03-{93}AA") as a:
        a.asks(t, ["claude", "-p", a.prompt])

An agent is run where it is installed, and never installed by a test.  Its service is the stand-in of
model_api.py; telemetry, updates and look-ups of the agent are refused by the policy as they are by default.
"""
import os
import random
import re
import shutil

from harness import BASE62, Bench
from tap import T

TOOL = "printf 'tool-%d' 42"


def made_up(shape):
    """A secret of a shape: {N} stands for N random letters and digits."""
    draw = random.SystemRandom().choice
    return re.sub(r"\{(\d+)\}", lambda m: "".join(draw(BASE62) for _ in range(int(m.group(1)))), shape)


class Agent(Bench):
    prompt = f"please [[{TOOL}]]"

    def __init__(self, service, hosts, shape, **kw):
        super().__init__(hosts=hosts, service="model_api.py", **kw)
        self.bound, self.secret = service, made_up(shape)

    def __enter__(self):
        super().__enter__()
        self.must("secret", "put", "key", "--from-stdin", stdin=self.secret + "\n")
        self.must("bind", "key", "--service", self.bound)
        os.mkdir(self.path("work"))
        return self

    def run_agent(self, argv, *options, **kw):
        return self.cs("run", *options, "--", *argv, cwd=self.path("work"), timeout=240, **kw)

    def asks(self, t, argv, said="tool-42", **kw):
        """One prompt, a tool's call, an answer: with the secret at the service and nowhere else."""
        name = os.path.basename(argv[0])
        out = self.run_agent(argv, **kw)
        if not t.ok(out.returncode == 0 and said in out.stdout, f"{name}: the model answers, the tool runs", (out.returncode, out.stdout[-600:])):
            print("# " + out.stderr[-3000:].replace("\n", "\n# "), flush=True)
        asked = [a["auth"] for a in self.access() if a["method"] == "POST"]
        t.ok(asked and set(asked) == {"good"}, f"{name}: every call of the model had the real key", self.access()[-5:])
        t.lacks(out.stdout + out.stderr, self.secret, f"{name}: nobody saw it")
        t.eq(self.keepers(), [], f"{name}: no file of the agent's has it")
        t.eq(self.cs("verify").returncode, 0, f"{name}: the run's evidence is complete")
        return out

    def keepers(self):
        """Files outside of the broker's home with the secret in them."""
        out = []
        for base, dirs, names in os.walk(self.dir):
            if base == self.dir:
                dirs.remove("home")
            for one in names:
                path = os.path.join(base, one)
                if path != self.path("secret") and os.path.isfile(path):
                    with open(path, "rb") as f:
                        out += [path] if self.secret.encode() in f.read() else []
        return out


def scenarios(program, *all_of_it):
    """Run them where the program is installed."""
    if shutil.which(program):
        T().run(*all_of_it)
    t = T()
    t.skip(f"{program} is not installed", program)
    t.done()
