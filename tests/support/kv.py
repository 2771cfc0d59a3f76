"""A mock of the API of KV version 2 (HashiCorp Vault, OpenBao), which can be made bad, or slow."""
import datetime
import http.server
import json
import os
import ssl
import threading
import time
import urllib.parse

TOKEN = "hvs.made-up-token"


class Engine:
    """KV version 2 as its documentation describes it: one mount, versions, check-and-set, destroy."""

    def __init__(self):
        self.objects, self.seen, self.broken = {}, [], None
        self.breaks = ""                               # the part of a path where it is broken; "": all but the token's
        self.answers = threading.Event()               # cleared: none until it is set again
        self.answers.set()
        self.waiting = threading.Semaphore(0)          # released by each that waits for it
        self.delay = 0                                 # seconds, before each answer

    def versions(self, name):
        return self.objects.setdefault(name, [])

    def answer(self, method, path, query, body):
        parts = path.split("/", 5)                     # '', v1, secret, data, countersign, NAME
        if path == "/v1/auth/token/lookup-self":
            return 200, {"data": {"id": "x"}}
        if parts[:3] != ["", "v1", "secret"] or parts[4] != "countersign":
            return 404, {"errors": []}
        kind, name = parts[3], parts[5] if len(parts) > 5 else ""
        if kind == "metadata" and "list" in query:
            return (200, {"data": {"keys": sorted(self.objects) + ["folder/"]}}) if self.objects else (404, {"errors": []})
        if name not in self.objects and method == "GET":
            return 404, {"errors": []}
        return getattr(self, kind)(method, name, query, body)

    def metadata(self, _method, name, _query, _body):
        versions = {str(i): {"created_time": v["time"], "deletion_time": v["deleted"], "destroyed": v["data"] is None}
                    for i, v in reversed(list(enumerate(self.objects[name], 1)))}      # nobody promised an order
        return 200, {"data": {"current_version": len(versions), "versions": versions}}

    def data(self, method, name, query, body):
        if method == "POST":
            if body["options"]["cas"] != len(self.versions(name)):
                return 400, {"errors": ["check-and-set parameter did not match the current version"]}
            now = datetime.datetime.utcnow().isoformat() + "Z"
            self.versions(name).append({"data": body["data"], "time": now, "deleted": ""})
            return 200, {"data": {"version": len(self.versions(name)), "created_time": now, "deletion_time": "", "destroyed": False}}
        number = int(query.get("version", [len(self.objects[name])])[0])
        version = self.objects[name][number - 1]
        if version["data"] is None or version["deleted"] and version["deleted"] < datetime.datetime.utcnow().isoformat():
            return 404, {"data": {"data": None, "metadata": {"version": number}}}
        return 200, {"data": {"data": version["data"], "metadata": {"version": number}}}

    def destroy(self, method, name, _query, body):
        for n in body["versions"]:
            self.objects[name][n - 1]["data"] = None
        return 204, None


class Server:
    def __init__(self, engine, tls=None):
        self.engine = engine

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def serve(self):
                url = urllib.parse.urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                engine.seen.append((self.command, url.path, self.headers.get("X-Vault-Namespace")))
                if not engine.answers.is_set():
                    engine.waiting.release()
                    engine.answers.wait()
                time.sleep(engine.delay)
                status, reply = 403, {"errors": ["permission denied"]}
                if self.headers.get("X-Vault-Token") == TOKEN:
                    status, reply = engine.answer(self.command, url.path, urllib.parse.parse_qs(url.query), json.loads(body or "null"))
                raw = b"" if reply is None else json.dumps(reply).encode()
                if engine.broken and (engine.breaks or "lookup-self" not in url.path) and engine.breaks in url.path:
                    status, raw = engine.broken
                self.send_response(status)
                if status == 307:
                    self.send_header("Location", "/v1/elsewhere")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_PUT = serve

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(os.path.join(tls, "cert.pem"), os.path.join(tls, "key.pem"))
            self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.http.handle_error = lambda *_: None       # a client that hangs up on an endless answer
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.shutdown()
        self.http.server_close()
