"""Rego modules evaluated by our evaluator and by OPA, rule by rule and in both modes, and what differs."""
import http.client
import json
import os
import subprocess
import time

from api import UnixConnection
from harness import BUILD

MEMORY = "--as=6000000000"


def parse(text):
    """JSON with the spelling of numbers kept: 1.0 and 1 are two things here."""
    return json.loads(text, parse_int=lambda s: ("n", s), parse_float=lambda s: ("n", s), parse_constant=lambda s: ("n", s))


class Server:
    """opa run --server on a Unix socket, with modules and data put in by its API."""

    def __init__(self, opa, tmp):
        self.path = os.path.join(tmp, "opa.sock")
        self.child = subprocess.Popen(["prlimit", MEMORY, opa, "run", "--server", "--addr", "unix://" + self.path, "--log-level=error", "--disable-telemetry"],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1200):
            try:
                self.c = UnixConnection(self.path, timeout=120)
                if self.ask("GET", "/health")[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)
        self.stop()
        raise AssertionError("opa did not come up")

    def ask(self, method, path, body=None):
        self.c.request(method, path, body)
        r = self.c.getresponse()
        return r.status, r.read().decode("utf-8", "replace")

    def put(self, name, text):
        """None, or why the module does not compile."""
        status, answer = self.ask("PUT", "/v1/policies/" + name, text.encode("utf-8", "surrogatepass"))
        return None if status == 200 else answer

    def evaluate(self, path, strict, document=None):
        """[] (undefined), [value] or {"error": code}."""
        try:
            status, answer = self.ask("POST", "/v1/data/%s%s" % (path, "?strict-builtin-errors=true" if strict else ""),
                                      json.dumps({"input": {} if document is None else document}))
        except http.client.HTTPException:
            self.c.close()      # it panicked in this request, and is there for the next
            return {"error": "panic", "message": ""}
        document = parse(answer)
        if status == 200:
            return [document["result"]] if "result" in document else []
        errors = document.get("errors") or [{}]
        return {"error": errors[0].get("code", "?"), "message": errors[0].get("message", answer)}

    def stop(self):
        self.child.kill()
        self.child.wait()


def compiled(opa, tmp, modules):
    """plan.json of the modules (by name), or AssertionError with OPA's words."""
    folder = os.path.join(tmp, "modules")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))
    for name, text in modules.items():
        with open(os.path.join(folder, name + ".rego"), "w", encoding="utf-8") as f:
            f.write(text)
    bundle = os.path.join(tmp, "bundle.tar.gz")
    out = subprocess.run(["prlimit", MEMORY, opa, "build", "-t", "plan", "-o", bundle, folder], capture_output=True, text=True, timeout=600)
    if out.returncode != 0:
        raise AssertionError(out.stderr[:2000])
    plan = os.path.join(tmp, "plan.json")
    with open(plan, "wb") as f:
        f.write(subprocess.run(["tar", "-xzOf", bundle, "/plan.json"], capture_output=True, check=True).stdout)
    return plan


def ours(plan, *documents):
    """Answers of our evaluator by the entry point's path, each with "default" and "strict"."""
    tool = os.path.join(BUILD, "tests", "tools", "policy_plans")
    out = subprocess.run([tool, plan, *documents], capture_output=True, timeout=600)
    if out.returncode != 0:
        raise AssertionError("policy_plans: %s" % out.stderr.decode("utf-8", "replace"))
    lines = [parse(line) for line in out.stdout.decode("utf-8", "replace").split("\n") if line]
    return {line["plan"]: line for line in lines}


def same(mine, theirs):
    """Errors by their code, values to the last digit.  Where OPA panics, anything will do."""
    if isinstance(theirs, dict) and theirs["error"] == "panic":
        return True
    if isinstance(mine, dict) or isinstance(theirs, dict):
        return isinstance(mine, dict) and isinstance(theirs, dict) and mine["error"] == theirs["error"]
    return mine == theirs


def builtins(opa):
    """The names that this opa knows."""
    out = subprocess.run([opa, "capabilities", "--current"], capture_output=True, check=True, timeout=60).stdout
    return {b["name"] for b in json.loads(out)["builtins"]}
