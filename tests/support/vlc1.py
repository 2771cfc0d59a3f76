"""The structural requirements of VLC-1 (levels 1 to 4), for the mechanism sha256-chain-canonical: written from the rules, and held
against the published vectors before anything else is judged by it."""
import hashlib
import json


class Bad(Exception):
    pass


def once(pairs):
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Bad("a name twice in one object")
    return value


def nothing(token):
    raise Bad("a number that JSON has not: " + token)


def records(text):
    out = []
    for line in text.split("\n"):
        if line:
            value = json.loads(line, object_pairs_hook=once, parse_constant=nothing)
            if not isinstance(value, dict):
                raise Bad("a line that is no object")
            out.append(value)
    return out


def binding(head, record):
    rest = {k: v for k, v in record.items() if k != "hash"}
    return hashlib.sha256((head + json.dumps(rest, sort_keys=True, separators=(",", ":"))).encode()).hexdigest()


def tamper_evident(recs, adapter):
    """Level 1: every record bound to the one before, an end that asserts the last value."""
    integrity = adapter["integrity"]
    if integrity["mechanism"] != "sha256-chain-canonical":
        return False
    root = integrity["root"]
    rest = recs
    if root["kind"] == "constant":
        head = root["value"]
    else:
        head = hashlib.sha256(str(recs[0][root["field"]]).encode()).hexdigest()
        if recs[0].get("hash") != head:
            return False
        rest = recs[1:]
    end = rest[-1]
    if end["class"] != integrity["end_marker"]["class"]:
        return False
    for record in rest[:-1]:
        head = binding(head, record)
        if record.get("hash") != head:
            return False
    return end.get(integrity["end_marker"]["head_field"]) == head and end.get("hash") == binding(head, end)


def whole(value):
    return isinstance(value, int) and not isinstance(value, bool)


def accounted(recs, adapter):
    """Level 2: what was delivered and what is declared as lost are what was produced."""
    loss = adapter["loss"]
    events = [r for r in recs if r["class"] not in adapter["non_event_classes"]]
    end = recs[-1]
    fields = [end.get(f) for f in loss["produced"]["fields"]]
    if not all(whole(f) for f in fields):
        return False
    lost = 0
    seen = {r.get(loss["event_ordinal_field"]) for r in events}
    for r in recs:
        if r["class"] == loss["declaration_class"]:
            n, first, last = r.get(loss["count_field"]), *(r.get(f) for f in loss["interval_fields"])
            if not (whole(n) and whole(first) and whole(last)) or n < 0 or last - first + 1 != n or seen & set(range(first, last + 1)):
                return False
            lost += n
    return len(events) + lost == sum(fields)


def items(value):
    return [x for x in value.replace(" ", ",").split(",") if x]


def covered(recs, adapter):
    """Level 3: what is observed is declared, before the first event, in three lists that do not overlap."""
    coverage = adapter["coverage"]
    if coverage.get("mode") != "enumerated":
        return False
    where = [i for i, r in enumerate(recs) if r["class"] == coverage["declaration_class"]]
    events = [i for i, r in enumerate(recs) if r["class"] not in adapter["non_event_classes"]]
    if not where or (events and where[0] > events[0]):
        return False
    for i in where:
        lists = [recs[i].get(coverage[k]) for k in ("attached_field", "unattached_field", "by_design_field")]
        if any(x is None for x in lists) or not items(lists[0]):
            return False
        names = [name for x in lists for name in items(x)]
        if len(names) != len(set(names)):
            return False
    return coverage["declaration_class"] in adapter["non_event_classes"]


def policy_bound(recs, adapter):
    """Level 4: the policy's digest roots the chain; a change says before and after."""
    policy = adapter["policy"]
    root = adapter["integrity"]["root"]
    if policy.get("mode") != "chain_root" or root.get("field") != policy["digest_field"]:
        return False
    if len(str(recs[0].get(policy["digest_field"], ""))) != 64:
        return False
    return all(r.get(policy.get("change_before_field", "before")) and r.get(policy.get("change_after_field", "after"))
               for r in recs if r["class"] == policy["change_class"])


def level(text, adapter):
    try:
        recs = records(text)
    except (Bad, ValueError):
        return 0
    n = 0
    for check in (tamper_evident, accounted, covered, policy_bound):
        try:
            if not recs or not check(recs, adapter):
                return n
        except (KeyError, TypeError, IndexError, AttributeError):
            return n
        n += 1
    return n
