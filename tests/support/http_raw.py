"""A small HTTP/1.1 client for tests that says exactly what it means and reads strictly what comes."""
import json
import re
import socket


class Response:
    def __init__(self, status, head, fields, body, interim):
        self.status, self.head, self.fields, self.body, self.interim = status, head, fields, body, interim

    def field(self, name):
        got = [v for k, v in self.fields if k.lower() == name.lower()]
        return got[0] if len(got) == 1 else got or None

    @property
    def kind(self):
        return self.field("Content-Type")

    @property
    def json(self):
        return json.loads(self.body)


def problem(response):
    """A refusal's document; {"rule": None} where it is none."""
    return response.json if response.kind == "application/problem+json" else {"rule": None}


class Broken(Exception):
    """The connection ended where it should not have."""


class Http:
    def __init__(self, port=None, sock=None, timeout=60):
        self.sock = sock or socket.create_connection(("127.0.0.1", port), timeout)
        self.sock.settimeout(timeout)
        self.buf, self.same = b"", True

    def close(self):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def request(self, method, target, body=b"", version="1.1", **fields):
        fields.setdefault("Host", "127.0.0.1" if target.startswith("/") else "x")
        if body and "Transfer_Encoding" not in fields:
            fields.setdefault("Content_Length", len(body))
        head = f"{method} {target} HTTP/{version}\r\n" + "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in fields.items() if v is not None)
        self.send(head.encode() + b"\r\n" + body)

    def ask(self, method, target, body=b"", **fields):
        self.request(method, target, body, **fields)
        return self.read(method)

    # -- reading -------------------------------------------------------------
    def more(self):
        try:
            piece = self.sock.recv(65536)
        except ConnectionResetError as e:
            raise Broken("reset") from e
        if not piece:
            raise Broken("end")
        self.buf += piece

    def until(self, mark):
        while mark not in self.buf:
            self.more()
        line, self.buf = self.buf.split(mark, 1)
        return line

    def exactly(self, n):
        parts, have = [self.buf], len(self.buf)
        while have < n:
            self.buf = b""
            self.more()
            parts.append(self.buf)
            have += len(self.buf)
        data = b"".join(parts)
        self.buf = data[n:]
        return data[:n]

    def head(self):
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        m = re.fullmatch(r"HTTP/1\.1 (\d{3}) (.*)", lines[0])
        assert m, lines[0]
        return int(m[1]), "\r\n".join(lines), [tuple(line.split(": ", 1)) for line in lines[1:]]

    def read(self, method="GET"):
        interim = []
        status, head, fields = self.head()
        while 100 <= status < 200 and status != 101:
            interim.append(status)
            status, head, fields = self.head()
        names = [k.lower() for k, _ in fields]
        assert len(set(names) & {"content-length", "transfer-encoding"}) <= 1, head
        assert names.count("content-length") <= 1 and names.count("transfer-encoding") <= 1, head
        value = dict((k.lower(), v) for k, v in fields)
        body = b""
        if method == "HEAD" or status in (101, 204, 304):
            pass
        elif "transfer-encoding" in value:
            body = self.chunks()
        elif "content-length" in value:
            body = self.exactly(int(value["content-length"]))
        else:
            body = self.rest()
        if value.get("connection") == "close":
            self.same = False
        return Response(status, head, fields, body, interim)

    def chunks(self):
        out = []
        while n := int(self.until(b"\r\n"), 16):
            out.append(self.exactly(n))
            assert self.exactly(2) == b"\r\n"
        assert self.exactly(2) == b"\r\n", "a trailer"
        return b"".join(out)

    def rest(self):
        """Until a clean end; a reset raises."""
        while True:
            try:
                self.more()
            except Broken as e:
                if str(e) != "end":
                    raise
                break
        data, self.buf = self.buf, b""
        return data
