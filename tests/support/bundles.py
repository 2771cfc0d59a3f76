"""Policy bundles as OPA makes them: tar.gz, signed or not; and a server for them with ETags."""
import base64
import hashlib
import hmac
import http.server
import io
import json
import os
import ssl
import subprocess
import tarfile
import threading


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def files_of(folder):
    """A pack's directory as {path: bytes}."""
    out = {}
    for base, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(base, name)
            with open(full, "rb") as f:
                out[os.path.relpath(full, folder)] = f.read()
    return out


def digest(path, data):
    """OPA's: documents by structure, everything else by bytes."""
    if os.path.basename(path) in ("data.json", ".manifest"):
        data = json.dumps(json.loads(data), sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(data).hexdigest()


def rs256(key):
    return "RS256", lambda text: subprocess.run(["openssl", "dgst", "-sha256", "-sign", key], input=text, capture_output=True, check=True).stdout


def hs256(secret):
    return "HS256", lambda text: hmac.new(secret, text, hashlib.sha256).digest()


def signed(files, how):
    """files with .signatures.json by how (rs256, hs256)."""
    alg, sign = how
    listed = [{"name": p, "hash": digest(p, d), "algorithm": "SHA-256"} for p, d in sorted(files.items())]
    text = b64(json.dumps({"alg": alg}).encode()) + "." + b64(json.dumps({"files": listed}).encode())
    token = text + "." + b64(sign(text.encode()))
    return dict(files, **{".signatures.json": json.dumps({"signatures": [token]}).encode()})


def packed(files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, data in sorted(files.items()):
            info = tarfile.TarInfo("/" + path)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


class BundleServer:
    """GET of any path gives .body under an ETag of its own, or .status without one; .log has what was asked and answered."""

    def __init__(self, cert=None, key=None):
        self.cert, self.key, self.body, self.status, self.log, self.port = cert, key, b"", 200, [], 0
        self.server = None

    def start(self):
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *args):
                pass

            def do_GET(self):  # noqa: N802 - its name is given
                body, status = outer.body, outer.status
                tag = '"%s"' % hashlib.sha256(body).hexdigest()[:16]
                asked = self.headers.get("If-None-Match")
                if status == 200 and asked == tag:
                    status = 304
                outer.log.append((asked, status))
                self.send_response(status)
                if status in (200, 304):
                    self.send_header("ETag", tag)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", str(len(body) if status == 200 else 0))
                self.end_headers()
                if status == 200:
                    try:
                        self.wfile.write(body)
                    except OSError:
                        pass    # it took no more

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        if self.cert:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.cert, self.key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
