"""What a person is asked, and their answers, by the API: for scenarios in which requests are held."""
from api import call
from harness import soon
from proxied import Reply


def questions(b, state="waiting"):
    return [q for q in call(b, "GET", "/v1/approvals")[1]["approvals"] if q["state"] == state]


def wait_for(what):
    """what() once it is true."""
    got = soon(what)
    if not got:
        raise AssertionError("it does not happen")
    return got


def held(b, url, n=1):
    """The question to which n requests for that URL wait."""
    return wait_for(lambda: next((q for q in questions(b) if q["target"] == url and q["waiting"] == n), None))


def answer(b, question, word="approve", **more):
    return call(b, "POST", "/v1/approvals/" + question["id"], dict(answer=word, **more))


def reply(c):
    """What comes on a connection on which a request was sent (proxied.begin)."""
    r = c.getresponse()
    out = Reply(r.status, r.headers, r.read())
    c.close()
    return out
