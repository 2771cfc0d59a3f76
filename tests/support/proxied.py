"""Requests through the proxy by hand: absolute form, one connection each, no client library in between."""
import http.client
import json


class Reply:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body

    @property
    def rule(self):
        """Of a refusal; None of anything else."""
        if "problem+json" not in (self.fields.get("Content-Type") or ""):
            return None
        return json.loads(self.body)["rule"]


def begin(bench, run, method, url, fields=None, body=None, timeout=60):
    """The connection, its request sent."""
    c = http.client.HTTPConnection("127.0.0.1", bench.daemon()["proxy_port"], timeout=timeout)
    headers = {"Host": url.split("/")[2], "Connection": "close"}
    if run:
        headers["Proxy-Authorization"] = "Bearer " + run["token"]
    headers.update(fields or {})
    c.request(method, url, body, headers)
    return c


def send(bench, run, method, url, fields=None, body=None, timeout=60):
    c = begin(bench, run, method, url, fields, body, timeout)
    r = c.getresponse()
    text = r.read()
    c.close()
    return Reply(r.status, r.headers, text)


def until_the_end(response):
    """What still comes of a stream's body, be it cut or whole."""
    got = b""
    try:
        while piece := response.read1(4096):
            got += piece
    except (OSError, http.client.HTTPException):
        pass
    return got


def bearer(token):
    return {"Authorization": "Bearer " + token}


def placeholder(run, binding="api"):
    return next(p["value"] for p in run["placeholders"] if p["binding"] == binding)
