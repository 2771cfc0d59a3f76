"""A service over TLS within the test's own process, for clients that want more than upstream.py knows.

    from service import Service
    service = Service(b, "registry.example.com", answers, "Bearer " + b.secret)
    service.seen      # [("GET", "/simple/widget/", "good"), ...]

answers(method, path, body) gives (status, type, bytes) or None for 404, and is asked only where Authorization is the
one that is wanted; "none" and "other" in `seen` are what else was sent there.
"""
import http.server
import ssl
import threading


class Server(http.server.ThreadingHTTPServer):
    """Serves from the start, in TLS with the bench's certificate unless that is not wanted."""
    daemon_threads = True

    def __init__(self, bench, handler, tls=True):
        super().__init__(("127.0.0.1", 0), handler)
        self.port = self.server_address[1]
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(bench.path("cert.pem"), bench.path("key.pem"))
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass        # a client that left


class Service(Server):
    challenge = ("WWW-Authenticate", 'Basic realm="service"')

    def __init__(self, bench, host, answers, *wanted):
        self.answers, self.wanted, self.seen = answers, wanted, []
        super().__init__(bench, Handler)
        bench.config(upstream={"resolve": [f"{host}:443:127.0.0.1:{self.port}", *bench.resolved()]})


class Quiet(http.server.BaseHTTPRequestHandler):
    """The protocol of today, nothing on standard error, a body however it is framed."""
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        out = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            out += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass        # trailers
        return out


class Handler(Quiet):
    def answer(self):
        sent, body = self.headers.get("Authorization"), self.body()
        auth = "none" if sent is None else "good" if sent in self.server.wanted else "other"
        self.server.seen.append((self.command, self.path, auth))
        status, kind, text = (401, "text/plain", b"") if auth != "good" else self.server.answers(self.command, self.path, body) or (404, "text/plain", b"")
        self.send_response(status)
        if status == 401:
            self.send_header(*self.server.challenge)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = answer
