"""A service that takes AWS signatures, and the check of them, written from the user guide ("Create a signed AWS API request")
and sharing nothing with the broker.

    from aws_service import AwsService, signed
    service = AwsService(b, {"AKIA...": ("secret key", "session token or empty")})
    service.seen      # [{"method", "path", "query", "problem", "id", "token", "body", "fields"}, ...]; problem None: signed rightly

signed(...) gives the fields of a request that is signed by hand.  Objects that are put can be fetched again, in ranges too.
"""
import datetime
import hashlib
import hmac
import re
import urllib.parse

from service import Quiet, Server

EMPTY = hashlib.sha256(b"").hexdigest()
AUTHORIZATION = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, ?"
                           r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})$")


def escaped(text, plain=""):
    return urllib.parse.quote(text, safe="-_.~" + plain)


def canonical_path(path, service):
    return escaped(urllib.parse.unquote(path) if service == "s3" else path, "/")


def canonical_query(query):
    pairs = [[escaped(urllib.parse.unquote_plus(text)) for text in p.partition("=")[::2]] for p in query.split("&") if p]
    return "&".join("=".join(pair) for pair in sorted(pairs))


def signature(key, method, path, query, fields, names, payload, time, region, service):
    """fields: {lower-case name: value}; names: those that are signed, sorted."""
    head = "".join(f"{n}:{' '.join(fields[n].split())}\n" for n in names)
    request = "\n".join([method, canonical_path(path, service), canonical_query(query), head, ";".join(names), payload])
    scope = f"{time[:8]}/{region}/{service}/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", time, scope, hashlib.sha256(request.encode()).hexdigest()])
    derived = ("AWS4" + key).encode()
    for part in scope.split("/"):
        derived = hmac.digest(derived, part.encode(), "sha256")
    return hmac.new(derived, text.encode(), "sha256").hexdigest()


def signed(key_id, key, method, host, path, query="", body=b"", service="s3", region="us-east-1", fields=None, payload=None):
    """The fields of such a request, signed with that key; payload: X-Amz-Content-Sha256, sent where it is given."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    out = dict(fields or {}, **{"X-Amz-Date": now}, **({"X-Amz-Content-Sha256": payload} if payload else {}))
    lower = {"host": host, **{k.lower(): v for k, v in out.items()}}
    names = sorted(lower)
    mark = signature(key, method, path, query, lower, names, payload or hashlib.sha256(body).hexdigest(), now, region, service)
    out["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={key_id}/{now[:8]}/{region}/{service}/aws4_request, "
                            f"SignedHeaders={';'.join(names)}, Signature={mark}")
    return out


class AwsService(Server):
    def __init__(self, bench, keys, plain=()):
        """plain: hosts that are asked without TLS; then this speaks none."""
        self.keys, self.seen, self.objects = keys, [], {}
        super().__init__(bench, Handler, tls=not plain)
        bench.config(upstream={"resolve": [f"{host}:{80 if plain else 443}:127.0.0.1:{self.port}" for host in plain or bench.hosts]})


class Handler(Quiet):
    # -- the signature -------------------------------------------------------
    def problem(self, body):
        """What is wrong with the request's signature, or None."""
        sent = self.headers.get_all("Authorization") or []
        match = AUTHORIZATION.match(sent[0]) if len(sent) == 1 else None
        if not match:
            return "no signature"
        key_id, day, region, service, names, mark = match.groups()
        if key_id not in self.server.keys:
            return "unknown key"
        key, token = self.server.keys[key_id]
        names, time = names.split(";"), self.headers.get("X-Amz-Date") or ""
        fields = {n: ",".join(self.headers.get_all(n) or []) for n in names}
        must = {"host"} | {n.lower() for n in self.headers if n.lower().startswith("x-amz-")}
        age = abs((datetime.datetime.strptime(time, "%Y%m%dT%H%M%SZ") - datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)).total_seconds())
        payload = self.headers.get("X-Amz-Content-Sha256") or hashlib.sha256(body).hexdigest()
        path, _, query = self.path.partition("?")
        wrong = {"a field that is not signed": not must <= set(names), "another time": age > 300 or not time.startswith(day),
                 "another token": (self.headers.get("X-Amz-Security-Token") or "") != token,
                 "another body": len(payload) == 64 and payload != hashlib.sha256(body).hexdigest(),
                 "another signature": mark != signature(key, self.command, path, query, fields, names, payload, time, region, service)}
        return next((text for text, is_so in wrong.items() if is_so), None)

    # -- the service -----------------------------------------------------------
    def content(self, body):
        """Of a body in aws-chunked, what is in it."""
        if "aws-chunked" not in (self.headers.get("Content-Encoding") or ""):
            return body
        out = b""
        while True:
            line, _, body = body.partition(b"\r\n")
            size = int(line.split(b";")[0], 16)
            if size == 0:
                return out
            out, body = out + body[:size], body[size + 2:]

    def send(self, status, text, kind="application/xml", extra=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        for name, value in extra:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    def object(self, path):
        """GET and HEAD of what was put there."""
        whole = self.server.objects.get(path)
        if whole is None:
            return self.send(404, b"<Error><Code>NoSuchKey</Code></Error>")
        part = re.match(r"bytes=(\d+)-(\d+)?$", self.headers.get("Range") or "")
        first, last = (int(part[1]), int(part[2] or len(whole) - 1)) if part else (0, len(whole) - 1)
        last = min(last, len(whole) - 1)
        extra = [("ETag", f'"{hashlib.md5(whole).hexdigest()}"'), ("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT"), ("Accept-Ranges", "bytes")]
        if part:
            extra.append(("Content-Range", f"bytes {first}-{last}/{len(whole)}"))
        return self.send(206 if part else 200, whole[first:last + 1], "application/octet-stream", extra)

    def s3(self, path, query, body):
        q = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        objects = self.server.objects
        if "uploads" in q:
            return self.send(200, b"<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>")
        if self.command == "POST" and "uploadId" in q:
            parts = sorted((k for k in objects if k.startswith(path + "#")), key=lambda k: int(k.rpartition("#")[2]))
            objects[path] = b"".join(objects.pop(k) for k in parts)
            return self.send(200, b'<CompleteMultipartUploadResult><ETag>"x"</ETag></CompleteMultipartUploadResult>')
        if self.command == "PUT":
            objects[path + (f"#{q['partNumber']}" if "partNumber" in q else "")] = self.content(body)
            return self.send(200, b"", extra=[("ETag", '"x"')])
        if self.command == "DELETE":
            objects.pop(path, None)
            return self.send(204, b"")
        if "list-type" in q:
            keys = "".join(f"<Contents><Key>{k.split('/', 2)[2]}</Key><Size>{len(v)}</Size>"
                           "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>x</ETag><StorageClass>STANDARD</StorageClass></Contents>" for k, v in objects.items()
                           if k.split("/", 2)[2].startswith(q.get("prefix", "")))
            return self.send(200, f"<ListBucketResult>{keys}<IsTruncated>false</IsTruncated></ListBucketResult>".encode())
        return self.object(path)

    def answer(self):
        body = self.body()
        path, _, query = self.path.partition("?")
        problem = self.problem(body)
        match = AUTHORIZATION.match(self.headers.get("Authorization") or "")
        self.server.seen.append({"method": self.command, "path": path, "query": query, "problem": problem, "body": body,
                                 "id": match and match[1], "service": match and match[4], "token": self.headers.get("X-Amz-Security-Token"),
                                 "fields": {k.lower(): v for k, v in self.headers.items()}})
        if problem:
            return self.send(403, f"<Error><Code>SignatureDoesNotMatch</Code><Message>{problem}</Message></Error>".encode())
        if match[4] == "s3":
            name = self.headers["Host"].partition(".")[0]      # bucket.s3.REGION..., or it is the path's first part
            return self.s3(("" if name == "s3" else "/" + name) + urllib.parse.unquote(path), query, body)
        if path == "/echo-token":
            return self.send(200, (self.headers.get("X-Amz-Security-Token") or "").encode(), "text/plain")
        if match[4] == "sts":
            return self.send(200, b"<GetCallerIdentityResponse><GetCallerIdentityResult><Account>123456789012</Account>"
                             b"</GetCallerIdentityResult></GetCallerIdentityResponse>", "text/xml")
        if match[4] == "lambda":
            return self.send(200, body or b"null", "application/json")
        return self.send(200, b'{"TableNames":["one"]}', "application/x-amz-json-1.0")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer
