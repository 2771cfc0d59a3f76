#!/usr/bin/env python3
"""A service for tests: HTTPS (or HTTP) with an access log, standing in for an API and a git host.

    upstream.py --log FILE --secret-file FILE [--cert PEM --key PEM] [--port N] [--git DIR]

It prints its port on standard output once it listens.  Each request adds one JSON line to the log:
method, path, host, auth ("good", "none", "other"), the id header echoed, and body bytes.  The log is
written by code that shares nothing with the broker: it is the ground truth of the tests.

    /repos/...  /anything    200 JSON; 401 without the right credential
    POST /repos/o/r/issues   201
    /echo/KIND               answers with the credential in it: head, body, chunks, base64, base64url,
                             hex, percent, json, gzip, br, basic, split, trailer, big, cookie, utf16, base32,
                             numbers, hexdump, quoted, octal; gzip-file, events;
                             coded otherwise: deflate, raw-deflate, zstd, twice
    /public/...              200 without a credential
    /big?n=N                 N bytes; /chunked?n=N the same, chunked; POST /upload counts and hashes
    /sse?n=N&ms=M            server-sent events; /slow?ms=M; /truncate; /reset; /early (answers before the body)
    /meet?n=N                answers when N are there at once
    /broken/chunk|gzip|small[/later]  a malformed body, with later behind a good piece, once /open was asked
    /elsewhere (with Alt-Svc)  /unlike-http (two lengths)
    /status/NNN  /redirect?to=URL  /100 (sends 103 first)  /until-close
    /git/REPO.git/...        git smart HTTP, Basic with the secret as password
"""
import argparse
import base64
import gzip
import hashlib
import hmac
import http.server
import json
import os
import select
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse
import zlib


class Upstream(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def __init__(self, address, options, handler):
        super().__init__(address, handler)
        self.options, self.door, self.meetings = options, threading.Event(), {}
        with open(options.secret_file, "rb") as f:
            self.secret = f.read().rstrip(b"\r\n").decode()
        self.log_lock = threading.Lock()
        self.log = open(options.log, "a", buffering=1)  # noqa: SIM115 - open as long as the server
        self.tls = None
        if options.cert:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(options.cert, options.key)

    def get_request(self):
        sock, address = super().get_request()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock, address

    def finish_request(self, request, client_address):
        if self.tls:
            try:
                request = self.tls.wrap_socket(request, server_side=True)
            except (ssl.SSLError, OSError):
                return
        try:
            self.RequestHandlerClass(request, client_address, self)
        except (ConnectionError, ssl.SSLError, BrokenPipeError):
            pass

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120

    def log_message(self, *args):
        pass

    # -- what came ---------------------------------------------------------
    def take(self, left):
        while left:
            piece = self.rfile.read(min(left, 65536))
            if not piece:
                raise ConnectionError
            left -= len(piece)
            yield piece

    def pieces(self):
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            yield from self.take(int(self.headers.get("Content-Length") or 0))
            return
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield from self.take(size)
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b"\n", b""):
            pass

    def read_body(self):
        """What of it is kept, how long it was, its digest."""
        digest, n, kept = hashlib.sha256(), 0, []
        for piece in self.pieces():
            digest.update(piece)
            n += len(piece)
            if n <= 1 << 26:
                kept.append(piece)
        return b"".join(kept), n, digest.hexdigest()

    def credential(self):
        """The credential as sent, wherever: header, Basic password, query key."""
        value = self.headers.get("Authorization", "")
        if value.lower().startswith("basic "):
            try:
                return base64.b64decode(value[6:]).decode().partition(":")[2]
            except ValueError:
                return value
        if " " in value:
            return value.split(" ", 1)[1]
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        return value or self.headers.get("X-Api-Key") or query.get("api_key", [""])[0]

    def auth(self):
        sent = self.credential()
        if not sent:
            return "none"
        return "good" if hmac.compare_digest(sent.encode(), self.server.secret.encode()) else "other"

    def note(self, body_bytes, status):
        line = {"t": time.time(), "method": self.command, "path": self.path.split("?")[0], "host": self.headers.get("Host"),
                "auth": self.auth(), "id": self.headers.get("X-Request-Id"), "bytes": body_bytes, "status": status,
                "copies": len(self.headers.get_all("Authorization") or []), "peer": self.client_address[1],
                "fields": sorted(k.lower() for k in self.headers)}
        with self.server.log_lock:
            self.server.log.write(json.dumps(line) + "\n")

    # -- what goes ---------------------------------------------------------
    def answer(self, status, body=b"", kind="application/json", extra=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def chunked(self, pieces, kind="application/octet-stream", extra=(), trailers=()):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        for piece in pieces:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n" + b"".join(b"%s: %s\r\n" % t for t in trailers) + b"\r\n")

    def echo(self, kind):
        secret = self.credential()
        raw = secret.encode()
        if kind == "head":
            return self.answer(200, b"{}", extra=[("X-Echo", f"you sent {secret}"), ("X-Echo-Authorization", self.headers.get("Authorization", ""))])
        if kind == "cookie":
            return self.answer(200, b"{}", extra=[("Set-Cookie", f"session={secret}; Path=/")])
        if kind == "chunks":
            return self.chunked([bytes([b]) for b in b"token=" + raw + b" end"])
        if kind == "split":
            text = b"x" * 5000 + raw + b"y" * 5000 + raw
            return self.chunked([text[i:i + 7] for i in range(0, len(text), 7)])
        if kind == "events":
            return self.chunked([b'data: {"delta":"%s"}\n\n' % raw[i:i + 3] for i in range(0, len(raw), 3)], "text/event-stream")
        if kind == "trailer":
            return self.chunked([b"body"], trailers=[(b"X-Echo", raw)])
        if kind == "big":
            text = (b"z" * 9999 + raw) * 100
            return self.answer(200, text, "text/plain")
        forms = {"body": raw, "hex": raw.hex().encode(), "base64": base64.b64encode(b"a" + raw + b"bc"),
                 "base64url": base64.urlsafe_b64encode(b"ab" + raw), "json": json.dumps({"t": "".join(f"\\u{ord(c):04x}" for c in secret)}).replace("\\\\", "\\").encode(),
                 "percent": "".join(f"%{b:02X}" for b in raw).encode(), "basic": base64.b64encode(b"x-access-token:" + raw),
                 "gzip": gzip.compress(b"zipped " + raw + b" end"), "gzip-file": gzip.compress(b"zipped " + raw + b" end"), "br": b"\x8b\x02\x80opaque\x03",
                 "utf16": ("wide " + secret + " end").encode("utf-16"), "base32": base64.b32encode(b"abc" + raw), "numbers": json.dumps(list(raw), indent=2).encode(),
                 "hexdump": raw.hex(":").encode(), "quoted": b"".join(b"=%02X" % c for c in raw[:20]) + b"=\r\n" + raw[20:], "octal": "".join(f"\\{b:03o}" for b in raw).encode()}
        bare = zlib.compressobj(wbits=-15)
        forms.update({"deflate": zlib.compress(b"zipped " + raw + b" end"), "raw-deflate": bare.compress(b"zipped " + raw + b" end") + bare.flush(),
                      "zstd": b"\x28\xb5\x2f\xfdopaque", "twice": gzip.compress(gzip.compress(raw))})
        coding = {"gzip": "gzip", "br": "br", "zstd": "zstd", "deflate": "deflate", "raw-deflate": "deflate", "twice": "gzip, gzip"}.get(kind)
        extra = [("Content-Encoding", coding)] if coding else []
        return self.answer(200, forms[kind], "text/plain", extra)

    def serve(self):
        url = urllib.parse.urlsplit(self.path)
        query = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
        number = lambda key, default: int(query.get(key, default))  # noqa: E731
        path = url.path
        if path == "/early":
            self.note(0, 403)
            self.close_connection = True
            return self.answer(403, b'{"message":"early"}', extra=[("Connection", "close")])
        if path.startswith("/git/"):
            return self.git(path, url.query)
        if self.headers.get("Expect", "").lower() == "100-continue":
            pass  # BaseHTTPRequestHandler has answered 100 already
        body, n, digest = self.read_body()
        good = self.auth() == "good"
        status = 200
        if path.startswith("/repos") or path == "/anything" or path.startswith("/echo"):
            status = 200 if good else 401
        if status == 200 and self.command == "POST" and path.endswith("/issues"):
            status = 201
        if path.startswith("/status/"):
            status = int(path.split("/")[2])
        self.note(n, status)
        if status == 401:
            return self.answer(401, b'{"message":"Bad credentials"}', extra=[("WWW-Authenticate", 'Basic realm="upstream"')])
        if path.startswith("/echo/"):
            return self.echo(path.split("/")[2])
        if path.startswith("/status/"):
            return self.answer(status, b"" if status in (204, 304) else b'{"status":%d}' % status)
        if path == "/big":
            self.send_response(200)
            self.send_header("Content-Length", str(number("n", 0)))
            self.end_headers()
            block, left = bytes(range(256)) * 256, number("n", 0)
            while left > 0:
                self.wfile.write(block[:left])
                left -= len(block)
            return None
        if path == "/chunked":
            left = number("n", 0)
            return self.chunked(b"q" * min(8192, left - i) for i in range(0, left, 8192))
        if path == "/sse":
            def events():
                for i in range(number("n", 3)):
                    yield b"data: %d\n\n" % i
                    if "door" in query:
                        self.server.door.wait(60)
                    else:
                        time.sleep(number("ms", 10) / 1000)
            return self.chunked(events(), "text/event-stream")
        if path == "/open":
            self.server.door.set()
        if path == "/meet":
            self.server.meetings.setdefault(number("n", 2), threading.Barrier(number("n", 2))).wait(60)
        if path == "/slow":
            time.sleep(number("ms", 100) / 1000)
        if path == "/redirect":
            return self.answer(302, b"", extra=[("Location", query.get("to", "https://other.example/"))])
        if path == "/100":
            self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")
        if path == "/elsewhere":
            return self.answer(200, b"{}", extra=[("Alt-Svc", 'h3=":443"'), ("X-Other", "1")])
        if path == "/unlike-http":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc")
            self.close_connection = True
            return None
        if path in ("/truncate", "/reset"):
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + b"t" * 300)
            self.wfile.flush()
            self.close_connection = True
            if path == "/reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            return None
        if path == "/truncate-chunked":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\n" + b"t" * 50)
            self.wfile.flush()
            self.close_connection = True
            return None
        if path.startswith("/broken/"):     # in one piece with the head, or (/later) behind a good one that the client has seen
            kind, _, later = path[8:].partition("/")
            good = gzip.compress(os.urandom(5000))
            head, first, bad = {"chunk": (b"Transfer-Encoding: chunked", b"2\r\nok\r\n", b"zz\r\nno\r\n0\r\n\r\n"),
                                "gzip": (b"Content-Encoding: gzip\r\nContent-Length: 6000", good[:4000], b"\xff" * 2000),
                                "small": (b"Content-Encoding: gzip\r\nContent-Length: 8", b"", b"no gzip.")}[kind]
            self.wfile.write(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n" + (first if later or kind != "gzip" else b"") + (b"" if later else bad))
            self.wfile.flush()
            if later:
                self.server.door.wait(60)
                self.wfile.write(bad)
            self.close_connection = True
            return None
        if path == "/until-close":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + b"u" * 1000)
            self.close_connection = True
            return None
        reply = {"method": self.command, "path": path, "query": url.query, "auth": self.auth(), "bytes": n, "sha256": digest,
                 "host": self.headers.get("Host"), "fields": sorted(k.lower() for k in self.headers)}
        return self.answer(status, json.dumps(reply).encode())

    def git(self, path, query):
        """git http-backend behind Basic; the body is streamed to it."""
        if self.auth() != "good":
            self.read_body()
            self.note(0, 401)
            return self.answer(401, b"", extra=[("WWW-Authenticate", 'Basic realm="git"')])
        body, n, _ = self.read_body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        env = dict(os.environ, GIT_PROJECT_ROOT=self.server.options.git, GIT_HTTP_EXPORT_ALL="1", PATH_INFO=path[4:], QUERY_STRING=query,
                   REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get("Content-Type", ""), REMOTE_USER="agent",
                   REMOTE_ADDR="127.0.0.1", CONTENT_LENGTH=str(len(body)), GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        out = subprocess.run(["git", "http-backend"], input=body, env=env, capture_output=True, check=False).stdout
        head, _, rest = out.partition(b"\r\n\r\n")
        status, extra = 200, []
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            if name == "Status":
                status = int(value.split()[0])
            elif name:
                extra.append((name, value))
        self.note(n, status)
        self.send_response(status)
        for name, value in extra:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)
        return None

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = serve


def main(handler=Handler):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--log", required=True)
    parser.add_argument("--secret-file", required=True)
    parser.add_argument("--cert")
    parser.add_argument("--key")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--git", default=".")
    options = parser.parse_args()
    server = Upstream(("127.0.0.1", options.port), options, handler)
    print(server.server_address[1], flush=True)
    threading.Thread(target=watch_parent, daemon=True).start()
    server.serve_forever()


def watch_parent():
    """End when standard input closes: no server outlives its test."""
    select.select([sys.stdin], [], [])
    os._exit(0)


if __name__ == "__main__":
    main()
