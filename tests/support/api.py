"""The local API over its Unix sockets, and runs opened without a child process."""
import http.client
import json
import os
import socket
import subprocess

from harness import BUILD, gone, soon


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def call(bench, method, path, body=None, token=None, sock="operator.sock", raw=False):
    """(status, document or text) of one API call."""
    c = UnixConnection(os.path.join(bench.home, "run", sock))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    data = None
    if body is not None:
        data = body if isinstance(body, (bytes, str)) else json.dumps(body)
        raw_bytes = isinstance(body, bytes) and path.startswith("/v1/secrets/")
        headers["Content-Type"] = "application/octet-stream" if raw_bytes else "application/json"
    c.request(method, path, data, headers)
    r = c.getresponse()
    text = r.read().decode("utf-8", "replace")
    c.close()
    if raw or "json" not in (r.headers.get("Content-Type") or ""):
        return r.status, text
    return r.status, json.loads(text)


def daemon_of(bench):
    """The number of the process that daemon.json names, or None: a daemon that was killed leaves its file behind."""
    try:
        pid = bench.daemon()["pid"]
    except FileNotFoundError:
        return None
    return None if gone(pid, 0) else pid


def start_daemon(bench, *extra):
    """The home's daemon as a child of ours, in the foreground, once its daemon.json stands.  One that a command started is stopped:
    the home has room for one, and it would be another than the one that is waited for, ended and read about."""
    if daemon_of(bench):
        bench.must("stop")
    log = open(bench.path("daemon.log"), "ab")  # noqa: SIM115 - the child keeps it
    child = bench.spawn(os.path.join(BUILD, "countersignd"), "--foreground", *extra, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    if soon(lambda: child.poll() is not None or daemon_of(bench) == child.pid, 120) and child.poll() is None:
        return child
    with open(bench.path("daemon.log")) as f:
        raise AssertionError("countersignd did not come up: " + f.read()[-1500:])


def open_run(bench, **members):
    """An open run's document (id, token, placeholders, ...)."""
    status, run = call(bench, "POST", "/v1/runs", members)
    if status != 201:
        raise AssertionError((status, run))
    return run


def close_run(bench, run):
    return call(bench, "DELETE", f"/v1/runs/{run['id']}")
