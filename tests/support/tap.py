"""Points in TAP, for scenario scripts.

    from tap import T
    t = T()
    t.ok(status == 200, "the request is allowed")
    t.skip("node is not installed", "node fetches")
    t.done()

A failed point prints what it was given, so pass `got=` something telling (never a secret).  What the last of our
commands said stands beside it: an exit status alone tells nobody why.
"""
import sys
import traceback

LAST = []   # the last command of Bench.cs, as subprocess.run gives it


def told():
    return "".join(f"#   last command: {' '.join(map(str, out.args))[-300:]}\n#     status {out.returncode}, said {(out.stdout or '')[-1500:]!r}, "
                   f"{(out.stderr or '')[-700:]!r}\n" for out in LAST)


class T:
    def __init__(self):
        self.n = self.failed = 0

    def ok(self, passed, name, got=None):
        self.n += 1
        print(f"{'ok' if passed else 'not ok'} {self.n} - {name}", flush=True)
        if not passed:
            self.failed += 1
            if got is not None:
                print("#   got: " + repr(got)[:2000].replace("\n", "\\n"), flush=True)
            print(told(), end="", flush=True)
        return bool(passed)

    def eq(self, got, want, name):
        return self.ok(got == want, name, None if got == want else (got, "wanted", want))

    def has(self, text, part, name):
        return self.ok(part in text, name, None if part in text else (text[-1500:], "lacks", part))

    def lacks(self, text, part, name):
        return self.ok(part not in text, name, None if part not in text else "(it is there)")

    def skip(self, why, name="scenario"):
        self.n += 1
        print(f"ok {self.n} - {name} # SKIP {why}", flush=True)

    def run(self, *scenarios):
        """Run each function; one that raises is a failed point and the rest go on."""
        for scenario in scenarios:
            try:
                scenario(self)
            except Exception:  # noqa: BLE001 - whatever it is, it is a failure of this scenario
                print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
                self.ok(False, f"{scenario.__name__} ran to its end")
        self.done()

    def done(self):
        print(f"1..{self.n}", flush=True)
        sys.exit(1 if self.failed else 0)
