"""What a person is asked, and their answers, by the API: for scenarios in which requests are held."""
import time

from api import call
from proxied import Reply


def questions(b, state="waiting"):
    return [q for q in call(b, "GET", "/v1/approvals")[1]["approvals"] if q["state"] == state]


def wait_for(what, seconds=30):
    """what() once it is true."""
    for _ in range(seconds * 50):
        got = what()
        if got:
            return got
        time.sleep(0.02)
    raise AssertionError("it does not happen")


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
