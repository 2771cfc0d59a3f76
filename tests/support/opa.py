"""OPA servers for scenarios: a real one where opa is installed, and one of our own that answers as a test wants."""
import http.client
import http.server
import json
import os
import shutil
import socket
import socketserver
import ssl
import subprocess
import threading
import time

from api import UnixConnection

ALLOW = {"decision": "allow", "rule": "test/allow", "reason": "the test allows it", "obligations": []}


def find_opa():
    opa = shutil.which("opa")
    if opa is None and shutil.which("go"):
        path = subprocess.run(["go", "env", "GOPATH"], capture_output=True, text=True).stdout.strip()
        opa = os.path.join(path, "bin", "opa")
    return opa if opa and os.access(opa, os.X_OK) else None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "local"

    def log_message(self, *args):
        pass

    def do_POST(self):  # noqa: N802 - its name is given
        fake = self.server.fake
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fake.asked.append({"path": self.path, "type": self.headers["Content-Type"], "body": body,
                           "authorization": self.headers.get("Authorization"),
                           "input": json.loads(body)["input"]})
        fake.arrived.release()
        status, answer = fake.answer(fake.asked[-1]["input"])
        if answer is None:
            self.close_connection = True
            return
        if not isinstance(answer, bytes):
            answer = json.dumps(answer).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)
        except OSError:
            pass    # the broker waited no longer


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def process_request(self, request, client_address):
        self.fake.connections.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


class TcpServer(Server):
    address_family = socket.AF_INET
    tls = None

    def get_request(self):
        request, address = super().get_request()
        return (self.tls.wrap_socket(request, server_side=True, do_handshake_on_connect=False) if self.tls else request), address


class FakeOpa:
    """Answers on a Unix socket; set .answer to a function from an input to (status, document, bytes or None)."""

    def __init__(self, path):
        self.path, self.asked, self.server, self.connections = path, [], None, []
        self.arrived = threading.Semaphore(0)   # released once for each question
        self.answer = lambda document: (200, {"result": ALLOW})
        self.start()

    def start(self):
        self.serve(Server(self.path, Handler))

    def serve(self, server):
        self.server = server
        self.server.fake = self
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.connections = []

    def stop(self):
        self.close()
        os.unlink(self.path)

    def says(self, status=200, **members):
        """One answer for everything: says(result={...}), says(result=..., decision_id=...)."""
        self.answer = lambda document: (status, members)

    def raw(self, text, status=200):
        self.answer = lambda document: (status, text)


class FakeOpaTcp(FakeOpa):
    """The same on a loopback port, over TLS where there is a certificate."""

    def __init__(self, cert=None, key=None):
        self.cert, self.key, self.port = cert, key, 0
        super().__init__(None)

    def start(self):
        server = TcpServer(("127.0.0.1", self.port), Handler)
        if self.cert:
            server.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            server.tls.load_cert_chain(self.cert, self.key)
        self.port = server.server_address[1]
        self.serve(server)

    stop = FakeOpa.close


def start_real(bench, opa, path, bundle):
    """opa run --server on a Unix socket, with a bundle's policy and data, naming its decisions."""
    bench.spawn(opa, "run", "--server", "--addr", "unix://" + path, "--log-level=error", "--set=decision_logs.console=true",
                "--disable-telemetry", "--bundle", bundle, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(1200):
        try:
            c = UnixConnection(path, timeout=5)
            c.request("GET", "/health?bundles")
            if c.getresponse().status == 200:
                return
        except (OSError, http.client.HTTPException, socket.error):
            pass
        time.sleep(0.05)
    raise AssertionError("opa did not come up")
