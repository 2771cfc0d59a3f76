"""Small Rego modules, generated: partial rules, defaults, else chains, functions of several heads, every, some, with,
comprehensions within comprehensions, references into virtual documents.  Conflicts happen and are compared, too."""

INPUT = {
    "n": [3, 1, 2, 2, 0], "s": ["b", "a", "", "é", "a"], "o": {"b": 1, "a": {"x": [1, {"y": 2}]}, "c": None}, "m": [1, "a", None, True, [1], {"k": 1}],
    "t": True, "f": False, "deep": [[1, [2]], [], [[3]]], "users": [{"name": "u", "age": 3, "tags": ["x", "y"]}, {"name": "v", "age": 1, "tags": []}, {"name": "w"}],
}
PLACES = ["input.n", "input.s", "input.o", "input.m", "input.deep", "input.users", "input.users[0].tags", "input.o.a.x", "input.nope", "input.users[_].tags", "data.oracle.base.list", "data.oracle.base.map"]
BASE = 'package oracle.base\n\nlist := [1, "a", {"k": [1, 2]}, 2]\n\nmap := {"a": 1, "b": {"c": [3]}, "z": [1, 2]}\n'
LITERALS = ["0", "1", "2", "3", '"a"', '"b"', '"x"', "null", "true", "false", "[]", "{}", "set()", "[1]", '{"k": 1}', "{1, 2}", "1.5", "-1"]


class Program:
    """One module of package p<number>; rules refer to rules before them only, so that nothing recurs."""

    def __init__(self, r, number):
        self.r, self.number, self.fresh = r, number, 0
        self.rules, self.text = [], ["package p%d\n" % number]
        self.entries = []

    def variable(self):
        self.fresh += 1
        return "v%d" % self.fresh

    def reference(self):
        """A rule before this one, as a whole or looked into; or a place of the input."""
        r = self.r
        if self.rules and r.random() < 0.5:
            kind, name = r.choice(self.rules)
            full = r.choice(["data.p%d.%s" % (self.number, name), name])
            if kind == "function":
                return "%s(%s, %s)" % (full, self.term([], 1), self.term([], 1))
            if kind in ("object", "set") and r.random() < 0.4:
                return "%s[%s]" % (full, r.choice(["_", '"a"', '"b"', "1", "2"]))
            return full
        return r.choice(PLACES)

    def term(self, bound, depth=2):
        r = self.r
        kind = r.randrange(9 if depth > 0 else 3)
        if kind == 0 or (kind == 1 and not bound):
            return r.choice(LITERALS)
        if kind in (1, 7) and bound:
            return r.choice(bound)
        if kind == 2:
            return self.reference()
        if kind == 3:
            return "[%s]" % ", ".join(self.term(bound, depth - 1) for _ in range(r.randrange(3)))
        if kind == 4:
            return '{"a": %s, "b": %s}' % (self.term(bound, depth - 1), self.term(bound, depth - 1))
        if kind == 5:
            return self.comprehension(bound, depth - 1)
        if kind == 6:
            return "object.get(%s, %s, %s)" % (r.choice(["input.o", "input", "data.oracle.base.map"]), r.choice(['"a"', '"n"', '["a", "x"]']), self.term(bound, 0))
        return "%s(%s)" % (r.choice(["count", "type_name", "to_number", "json.marshal", "sort", "max"]), r.choice(bound) if bound else self.reference())

    def comprehension(self, bound, depth):
        r = self.r
        inner = list(bound)
        body = self.body(inner, depth)
        head = self.term(inner, 0)
        if r.random() < 0.25:
            return "{%s: %s | %s}" % (self.term(inner, 0), head, body)
        return ("[%s | %s]" if r.random() < 0.6 else "{%s | %s}") % (head, body)

    def literal(self, bound, depth):
        """One expression; what it binds is added to bound."""
        r = self.r
        kind = r.randrange(13)
        if kind < 3:
            key, value = self.variable(), self.variable()
            place = self.reference()
            if r.random() < 0.5:
                bound.append(value)
                return "some %s in %s" % (value, place)
            bound += [key, value]
            return "some %s, %s in %s" % (key, value, place)
        if kind < 5:
            name, value = self.variable(), self.term(bound, depth)
            bound.append(name)
            return "%s := %s" % (name, value)
        if kind == 5:
            name = self.variable()
            inner = bound + [name]
            return "every %s in %s { %s }" % (name, self.reference().replace("_", "0"), self.every_body(inner, name))
        if kind == 6:
            # Never two arrays: of unequal length, negated, opa's planner makes nothing at all of them.
            return "not %s == %s" % (self.reference().replace("_", "0"), self.term(bound, 0).replace("_", "1"))
        if kind == 7:
            return "%s in %s" % (self.term(bound, 0), self.reference())
        if kind == 8 and bound:
            index = self.variable()
            bound.append(index)
            return "some %s; %s[%s]" % (index, r.choice(PLACES[:6]), index)
        if kind == 9:
            return "%s %s %s with input.%s as %s" % (self.reference(), r.choice(["==", "!="]), self.term(bound, 0), r.choice(["n", "o.b", "nope", "users"]), r.choice(LITERALS[:15]))
        if kind == 10:
            return self.reference()
        return "%s %s %s" % (self.term(bound, 1), r.choice(["==", "!=", "<", "<=", ">", ">="]), self.term(bound, 1))

    def every_body(self, bound, name):
        return "%s %s %s" % (name, self.r.choice(["!=", ">=", "<", "=="]), self.term(bound, 0))

    def body(self, bound, depth=2):
        return "; ".join(self.literal(bound, depth) for _ in range(self.r.randrange(1, 4)))

    def add(self, *lines):
        self.text += list(lines) + [""]

    def complete(self, name):
        r = self.r
        if r.random() < 0.4:
            self.add("default %s := %s" % (name, r.choice(LITERALS)))
        for _ in range(r.randrange(1, 3)):
            bound = []
            body = self.body(bound)
            line = "%s := %s if { %s }" % (name, self.term(bound, 1), body)
            for _ in range(r.choice([0, 0, 1, 2])):
                bound = []
                body = self.body(bound)
                line += " else := %s if { %s }" % (self.term(bound, 1), body)
            self.add(line)

    def function(self, name):
        r = self.r
        for _ in range(r.randrange(1, 4)):
            heads = [r.choice([self.variable(), self.variable(), "1", '"a"', "[%s, _]" % self.variable(), '{"k": %s}' % self.variable()]) for _ in range(2)]
            bound = [v for h in heads for v in ("v%d" % i for i in range(1, self.fresh + 1)) if v in h.replace("[", " ").replace(",", " ").replace("]", " ").replace("}", " ").split()]
            body = self.body(bound, 1)
            self.add("%s(%s) := %s if { %s }" % (name, ", ".join(heads), self.term(bound, 0), body))

    def partial(self, kind, name):
        for _ in range(self.r.randrange(1, 3)):
            bound = []
            body = self.body(bound)
            if kind == "set":
                self.add("%s contains %s if { %s }" % (name, self.term(bound, 1), body))
            else:
                self.add("%s[%s] := %s if { %s }" % (name, self.term(bound, 0), self.term(bound, 0), body))

    def module(self):
        for i in range(self.r.randrange(2, 6)):
            kind = self.r.choice(["complete", "complete", "set", "object", "function"])
            name = "%s%d" % (kind[0], i)
            if kind == "complete":
                self.complete(name)
            elif kind == "function":
                self.function(name)
            else:
                self.partial(kind, name)
            self.rules.append((kind, name))
        for i, (kind, name) in enumerate(self.rules):
            use = name if kind != "function" else "[x | some a in [0, 1, \"a\", [1, 2], {\"k\": 1}]; x := %s(a, a)]" % name
            self.add("# METADATA", "# entrypoint: true", 'show%d := {"v": %s, "t": sprintf("%%v", [[%s]])}' % (i, use, use))
            self.entries.append("p%d/show%d" % (self.number, i))
        return "\n".join(self.text)
