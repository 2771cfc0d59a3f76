"""An owner who holds the log's key and writes whatever he wants: ledgers, bundles and cosignatures that no recorder wrote."""
import base64
import datetime
import hashlib
import json
import os
import subprocess

# Ed25519 (RFC 8032): slow, and good enough to forge with
P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
BASE_Y = 4 * pow(5, P - 2, P) % P


def _root_x(y):
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P)
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    return P - x if x & 1 else x


BASE = (_root_x(BASE_Y), BASE_Y, 1, _root_x(BASE_Y) * BASE_Y % P)


def _add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _times(n):
    out, p = (0, 1, 1, 0), BASE
    while n:
        if n & 1:
            out = _add(out, p)
        p, n = _add(p, p), n >> 1
    z = pow(out[2], P - 2, P)
    return (out[1] * z % P | (out[0] * z % P & 1) << 255).to_bytes(32, "little")


def _int(*parts):
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little")


class Signer:
    """A key of a log (kind 1) or a witness (kind 4)."""

    def __init__(self, name, seed, kind=1):
        wide = hashlib.sha512(bytes([seed]) * 32).digest()
        self.name, self.prefix = name, wide[32:]
        self.secret = int.from_bytes(wide[:32], "little") & (1 << 254) - 8 | 1 << 254
        self.public = _times(self.secret)
        self.id = hashlib.sha256(name.encode() + b"\n" + bytes([kind]) + self.public).digest()[:4]
        self.vkey = f"{name}+{self.id.hex()}+{base64.b64encode(bytes([kind]) + self.public).decode()}"

    def sign(self, message):
        nonce = _int(self.prefix, message) % ORDER
        point = _times(nonce)
        return point + ((nonce + _int(point, self.public, message) * self.secret) % ORDER).to_bytes(32, "little")

    def line(self, blob):
        return f"\u2014 {self.name} {base64.b64encode(self.id + blob).decode()}\n"

    def note(self, text):
        return self.line(self.sign(text.encode()))

    def cosign(self, text, time_s):
        return self.line(time_s.to_bytes(8, "big") + self.sign(f"cosignature/v1\ntime {time_s}\n{text}".encode()))


def root(leaves):
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256().digest()
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root(leaves[:k]) + root(leaves[k:])).digest()


def inclusion(leaves, m):
    """RFC 6962, 2.1.1: that leaf m is one of them."""
    if len(leaves) == 1:
        return []
    k = 1 << (len(leaves) - 1).bit_length() - 1
    return inclusion(leaves[:k], m) + [root(leaves[k:])] if m < k else inclusion(leaves[k:], m - k) + [root(leaves[:k])]


def frontier(leaves):
    """The roots of the complete subtrees over them, largest first."""
    text, at = f"{len(leaves)}\n", 0
    for k in reversed(range(len(leaves).bit_length())):
        if len(leaves) >> k & 1:
            text += base64.b64encode(root(leaves[at:at + (1 << k)])).decode() + "\n"
            at += 1 << k
    return text.encode()


def dump(value):
    return json.dumps(value, separators=(",", ":"))


PACK = b"{}"
PACK_HEX = hashlib.sha256(b"policy.json\0" + len(PACK).to_bytes(8, "big") + PACK).hexdigest()
BEGAN_S = 1764500000


class Forged:
    """A ledger with one run: opened here, and ended by end().  A member of None is left out.  before: writes what stands before the
    opening, and gives members of that."""

    def __init__(self, before=None, **opened):
        self.key = Signer("ledger.example/forged", 7)
        self.lines, self.leaves, self.us = [], [], 0
        self.streams = {}  # of each: its next seq, its last leaf
        self.sent = self.grants = 0  # as its teardown counts them
        self.record("open", {"origin": self.key.name, "version": "0", "size": 0}, run=None)
        opened = dict(before(self) if before else {}, **opened)
        self.first = len(self.lines)
        first_seq = self.streams["broker"][0]
        self.opening = self.record("run", dict({"state": "open", "pid": 7, "placeholders": 1}, **opened))
        self.ends = {"first_seq": first_seq, "first_index": self.first}

    @property
    def last(self):
        return self.streams["broker"][1]

    def record(self, kind, body, run="run_forged", after_us=1000, stream="broker", seq=None):
        """seq: where it is not the next one of the stream."""
        next_seq, last = self.streams.get(stream, (0, "0" * 64))
        seq = next_seq if seq is None else seq
        self.us += after_us
        at = datetime.datetime.fromtimestamp(BEGAN_S, datetime.timezone.utc).replace(tzinfo=None) + datetime.timedelta(microseconds=self.us)
        named = f'"run":"{run}",' if run else ""
        body = {k: v for k, v in body.items() if v is not None}
        self.sent += kind == "outcome" and body.get("bytes_out", 0)
        self.grants += kind == "grant" and body["state"] == "issued" and run == "run_forged"
        body = dump(body)
        line = (f'{{"v":1,"prev":"{last}","stream":"{stream}","seq":{seq},"t":"{at.isoformat(timespec="microseconds")}Z",'
                f'"type":"{kind}",{named}"policy":"sha256:{PACK_HEX}","body":{body}}}').encode()
        leaf = hashlib.sha256(b"\0" + line).digest()
        self.lines.append(line)
        self.leaves.append(leaf)
        self.streams[stream] = (seq + 1, leaf.hex())
        return leaf.hex()

    def use(self, after_us=1000, **more):
        """A request that was allowed, and its outcome."""
        outcome = more.pop("outcome", {})
        kind, run = more.pop("record", "use"), more.pop("run", "run_forged")
        leaf = self.record(kind, dict({"decision": "allow", "rule": "r", "reason": "x", "kind": "http", "parent": self.opening}, **more),
                           run=run, after_us=after_us)
        if outcome is not None:
            self.record("outcome", dict({"parent": leaf, "status": 200, "bytes_out": 1, "bytes_in": 1}, **outcome), run=run)
        return leaf

    def below(self, run, uses, above="run_forged", after_us=1000, counts=(), **opened):
        """A run below one, from its opening to its teardown; counts: what that says otherwise, None: there is none."""
        at, first_seq, sent = len(self.lines), self.streams["broker"][0], self.sent
        opening = self.record("run", dict({"state": "open", "parent": self.opening, "parent_run": above, "placeholders": 1}, **opened), run=run)
        for _ in range(uses):
            self.use(run=run, parent=opening, after_us=after_us)
        if counts is not None:
            closed, last_seq = len(self.lines), self.streams["broker"][0]
            self.record("run", {"state": "closed", "parent": opening, "by": "run"}, run=run)
            self.record("teardown", {"parent": opening, "first_seq": first_seq, "first_index": at, "last_seq": last_seq, "last_index": closed,
                                     "counts": dict({"allowed": uses, "refused": 0, "failed": 0, "redacted": 0, "bytes_out": self.sent - sent,
                                                     "cost": 0, "grants": 0, "unfinished": 0}, **dict(counts))}, run=run)
        return opening

    def grant(self, **more):
        return self.record("grant", dict({"state": "issued", "grant": "g", "parent": self.opening, "uses": 1, "requests": 1,
                                          "expires_s": BEGAN_S + 600}, **more))

    def end(self, closed=(), scan=(), teardown=(), **counts):
        """closed, scan and teardown: what their bodies have otherwise; None: no such record."""
        self.ends.update(last_seq=self.streams["broker"][0], last_index=len(self.lines))
        if closed is not None:
            self.record("run", dict({"state": "closed", "parent": self.opening, "by": "opener"}, **dict(closed)))
        if scan is not None:
            indexes = {k: v for k, v in self.ends.items() if k.endswith("index")}
            self.record("scan", dict({"parent": self.opening, "verdict": "clean", "found": 0, **indexes, "bytes": 100, "secrets": 1,
                                      "tagged": 1, "weak": 0, "weak_secrets": []}, **dict(scan)))
        counts = dict({"allowed": 0, "refused": 0, "failed": 0, "redacted": 0, "bytes_out": self.sent, "cost": 0,
                       "grants": self.grants, "unfinished": 0}, **counts)
        if teardown is not None:
            self.record("teardown", dict({"parent": self.opening, **self.ends, "counts": counts}, **dict(teardown)))
        self.size = len(self.lines)
        return self

    def text(self, size):
        return f"{self.key.name}\n{size}\n{base64.b64encode(root(self.leaves[:size])).decode()}\n"

    def checkpoint(self, size, *more):
        return self.text(size) + "\n" + self.key.note(self.text(size)) + "".join(more)

    def anchor(self, *cosigned):
        """What a bundle has of witnesses, (signer, time) each."""
        lines = [who.cosign(self.text(self.size), time_s) for who, time_s in cosigned]
        return {f"ledger/anchors/{self.size:020}.anchor": (f"old {self.size}\n\n" + self.checkpoint(self.size, *lines)).encode()}

    def session(self, ends, stream="broker"):
        """One of the stream ends (or broke off), and another one begins."""
        if ends:
            self.record("close", {"first_seq": 0, "last_seq": self.streams[stream][0]}, run=None, stream=stream)
        self.record("open", {"origin": self.key.name, "size": len(self.lines), "last_seq": self.streams[stream][0] - 1}, run=None, stream=stream)

    def write_ledger(self, folder):
        for stream, (seq, _) in list(self.streams.items()):
            self.record("close", {"last_seq": seq}, run=None, stream=stream)
        note = self.checkpoint(len(self.lines))
        put(folder, {"log.vkey": (self.key.vkey + "\n").encode(), f"records-{0:020}.jsonl": b"".join(x + b"\n" for x in self.lines),
                     "checkpoint": note.encode(), "checkpoints": (note + "\n").encode()})

    def write_bundle(self, folder, **more):
        own = slice(self.first, self.size)
        files = {"ledger/frontier": frontier(self.leaves[:self.first]),
                 "ledger/records.jsonl": b"".join(x + b"\n" for x in self.lines[own]), "ledger/leaves": b"".join(self.leaves[own]),
                 "ledger/checkpoint": self.checkpoint(self.size).encode(), "keys/log.vkey": (self.key.vkey + "\n").encode(),
                 f"packs/{PACK_HEX}/policy.json": PACK, **more}
        listed = [{"path": p, "bytes": len(files[p]), "sha256": hashlib.sha256(files[p]).hexdigest()} for p in sorted(files)]
        manifest = {"v": 1, "kind": "countersign-bundle", "origin": self.key.name, "run": "run_forged", "first": self.first, "size": self.size, "files": listed}
        put(folder, dict(files, **{"manifest.json": (dump(manifest) + "\n").encode()}))


def put(folder, files):
    for path, data in files.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "wb") as f:
            f.write(data)


def verdict(build, path, *options):
    """(status, what was said as JSON)"""
    out = subprocess.run([os.path.join(build, "countersign-verify"), "--json", *options, path], capture_output=True, text=True)
    return out.returncode, json.loads(out.stdout) if out.stdout else out.stderr
