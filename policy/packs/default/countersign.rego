# The default pack: what a run may do, judged from data.json.
#
# Every answer carries the rule that gave it and a reason for people. What most
# people change is data (see DATA.md); change these rules when data is not
# enough, and recompile:
#
#	opa build -t plan -e countersign/decision .
#
# Rules that depend on data alone (the indexes at the end) are evaluated once,
# when the pack is loaded.
package countersign

decision := refusal if {
	refusal := delegation_refusal
} else := refusal if {
	refusal := budget_refusal
} else := answer

answer := http_answer if {
	input.action.kind == "http"
} else := tunnel_answer if {
	input.action.kind in {"connect", "egress"}
} else := grant_answer if {
	input.action.kind == "credential"
} else := tool_answer if {
	input.action.kind == "tool"
} else := file_answer if {
	input.action.kind == "file"
} else := dns_answer if {
	input.action.kind == "dns"
} else := allow("budget/ok", "within the limits of the run") if {
	input.action.kind == "budget"
} else := deny("action/kind", sprintf("no rule knows the action kind %q", [kind]))

default kind := ""

kind := input.action.kind

# --- requests -----------------------------------------------------------

# With a credential the binding must cover everything about the request.
http_answer := request_objection(binding_objection(input.secret.binding)) if {
	input.secret.binding
} else := {
	"decision": "allow",
	"rule": "binding/allow",
	"reason": sprintf("binding %s allows %s %s", [input.secret.binding, method, path]),
	"obligations": array.concat(bytes_left, cost_of(input.secret.binding)),
} if {
	input.secret.binding
} else := object.union(
	ask("bound-host/ask", sprintf("a binding of %s", [host])),
	{"obligations": bytes_left},
) if {
	# Without one, a host that somebody bound is still judged by its bindings.
	covered_here
	some id in bound_here
	asked(id)
} else := allow_request(
	"bound-host/allow",
	sprintf("a binding of %s allows %s %s", [host, method, path]),
) if {
	covered_here
} else := deny(
	"bound-host/path",
	sprintf("no binding of %s allows %s %s", [host, method, path]),
) if {
	count(bound_here) > 0
} else := allow_request("egress/allow", sprintf("data.egress.allow has %s", [authority])) if {
	egress_allowed
} else := deny(
	"egress/default",
	sprintf("%s has no binding and is not in data.egress.allow", [authority]),
)

tunnel_answer := deny(
	"egress/bound",
	sprintf("%s has a binding: its requests are inspected, never tunnelled", [authority]),
) if {
	count(bound_here) > 0
} else := allow_request("egress/allow", sprintf("data.egress.allow has %s", [authority])) if {
	egress_allowed
} else := deny(
	"egress/default",
	sprintf("%s has no binding and is not in data.egress.allow", [authority]),
)

# Leave to use a secret later: the same rules, now.
grant_answer := grant_objection(binding_objection(input.secret.binding)) if {
	input.secret.binding
} else := {
	"decision": "allow",
	"rule": "grant/allow",
	"reason": sprintf("binding %s allows %s %s", [input.secret.binding, method, path]),
	"obligations": grant_terms,
} if {
	input.secret.binding
} else := deny("grant/binding", "a grant needs a binding, and none was named")

grant_terms := [{"ttl_s": grant_ttl_s}, {"uses": grant_uses}]

default grant_ttl_s := 300

grant_ttl_s := data.grant.ttl_s

default grant_uses := 1

grant_uses := data.grant.uses

# Why a request is not simply allowed: a refusal, or a person must agree.
binding_objection(id) := deny("binding/unknown", sprintf("there is no binding %s", [id])) if {
	not data.bindings[id]
} else := deny(
	"binding/host",
	sprintf("binding %s covers %s, not %s", [id, concat(", ", data.bindings[id].hosts), host]),
) if {
	not host in data.bindings[id].hosts
} else := deny(
	"binding/scheme",
	sprintf("binding %s is for %s, not %s", [id, scheme_of[id], scheme]),
) if {
	scheme_of[id] != scheme
} else := deny(
	"binding/port",
	sprintf("binding %s is for port %d, not %d", [id, port_of[id], port]),
) if {
	port_of[id] != port
} else := deny(
	"binding/secret",
	sprintf("binding %s is for the secret %s, not %s", [id, data.bindings[id].secret, input.secret.name]),
) if {
	input.secret.name != data.bindings[id].secret
} else := deny(
	"binding/method",
	sprintf("binding %s allows no %s requests", [id, method]),
) if {
	not method_covered(id)
} else := deny(
	"binding/path",
	sprintf("binding %s does not allow %s %s", [id, method, path]),
) if {
	not rule_covers(id)
} else := ask("binding/ask", sprintf("binding %s", [id])) if {
	ask_rules[id]
	asked(id)
}

# A question has the terms that the answer "yes" would have.
request_objection(objection) := objection if {
	objection.decision == "deny"
} else := object.union(
	objection,
	{"obligations": array.concat(bytes_left, cost_of(input.secret.binding))},
)

grant_objection(objection) := objection if {
	objection.decision == "deny"
} else := object.union(objection, {"rule": "grant/ask", "obligations": grant_terms})

default_port := {"https": 443, "http": 80}

method_covered(id) if {
	some rule in rules[id]
	rule.method in methods
}

method_covered(id) if discovery_covered(id)

rule_covers(id) if {
	some rule in rules[id]
	rule.method in methods
	glob.match(rule.path, ["/", "#"], slashed(path))
}

rule_covers(id) if discovery_covered(id)

# A grant for a method on the whole binding: each use is judged by itself.
rule_covers(id) if {
	input.action.kind == "credential"
	not input.target.path
	method_covered(id)
}

# What a person must agree to, whether `allow` covers it too or not; in either
# way to read an escaped slash, since one of them may be the server's.
asked(id) if {
	some rule in ask_rules[id]
	rule.method in methods
	some reading in {path, replace(path, "%2F", "/")}
	glob.match(rule.path, ["/"], reading)
}

# A grant for a method on the whole binding is for what is asked, too.
asked(id) if {
	input.action.kind == "credential"
	not input.target.path
	some rule in ask_rules[id]
	rule.method in methods
}

# git asks for GET .../info/refs?service=X before POST .../X: who may do the
# one may do the other.  It changes nothing, so nobody is asked about it where a
# person must agree to the POST.
discovery_covered(id) if {
	method == "GET"
	endswith(path, "/info/refs")
	some service in {"git-receive-pack", "git-upload-pack"}
	input.target.query == concat("", ["service=", service])
	some rule in rules[id]
	rule.method in {"POST", "*"}
	glob.match(rule.path, ["/", "#"], slashed(concat("", [trim_suffix(path, "info/refs"), service])))
}

# An escaped slash ends a segment, so that * means the same to a server that reads
# it as a slash and to one that does not.  No path holds a '#'.
slashed(text) := replace(text, "%2F", "#")

# The methods of rules that cover this request. GET covers HEAD.
methods := {"GET", "HEAD", "*"} if {
	method == "HEAD"
} else := {method, "*"}

# Requests carry the method as verb; grants name it, as "http:POST" or "POST".
method := trim_prefix(input.action.name, "http:") if {
	input.action.kind == "credential"
	input.action.verb == "use"
	input.action.name
} else := trim_prefix(input.action.verb, "http:")

# Members are named one by one, also where they may be missing: a rule that
# takes the input as a whole is run anew for every request (policy/DESIGN.md).
default host := ""

host := input.target.host

default scheme := "https"

scheme := input.target.scheme

default path := ""

path := input.target.path

port := input.target.port

port := default_port[scheme] if {
	not input.target.port
}

# As data.egress.allow spells it: an IPv6 address stands in brackets.
authority := sprintf("[%s]:%d", [host, port]) if {
	contains(host, ":")
} else := sprintf("%s:%d", [host, port])

# The bindings that cover scheme, host and port.
bound_here contains id if {
	some id in bindings_by_host[host]
	scheme_of[id] == scheme
	port_of[id] == port
}

covered_here if {
	some id in bound_here
	rule_covers(id)
}

egress_allowed if authority in egress_exact

egress_allowed if {
	some pattern in egress_globs
	glob.match(pattern, ["."], authority)
}

# --- tools, files, names ------------------------------------------------

default tool := ""

tool := input.action.name

# A list names tools, or a tool and its command: "Bash(rm *)".
tool_subjects := {tool, sprintf("%s(%s)", [tool, input.action.args.command])} if {
	is_string(input.action.args.command)
} else := {tool}

first_listed(list) := [pattern |
	some pattern in data.tools[list]
	some subject in tool_subjects
	glob.match(pattern, null, subject)
][0]

tool_answer := deny("tools/deny", sprintf("data.tools.deny has %s", [first_listed("deny")])) if {
	first_listed("deny")
} else := {
	"decision": "ask",
	"rule": "tools/ask",
	"reason": sprintf("data.tools.ask has %s: a person must agree", [first_listed("ask")]),
	"obligations": [],
} if {
	first_listed("ask")
} else := allow("tools/allow", sprintf("the tool %s is on no list", [tool]))

file_path := input.target.path if {
	is_string(input.target.path)
} else := tool

file_list := "read" if {
	input.action.verb == "read"
} else := "write"

file_answer := deny("files/path", sprintf("%q is not an absolute path without . and ..", [file_path])) if {
	not plain_path(file_path)
} else := allow(
	sprintf("files/%s", [file_list]),
	sprintf("data.files.%s covers %s", [file_list, file_path]),
) if {
	some pattern in data.files[file_list]
	glob.match(pattern, ["/"], file_path)
} else := deny(
	sprintf("files/%s", [file_list]),
	sprintf("%s is not covered by data.files.%s", [file_path, file_list]),
)

plain_path(name) if {
	startswith(name, "/")
	not contains(name, "/../")
	not contains(name, "/./")
	not contains(name, "//")
	not endswith(name, "/..")
	not endswith(name, "/.")
}

dns_asked := input.target.host if {
	is_string(input.target.host)
} else := tool

dns_name := trim_suffix(lower(dns_asked), ".")

first_name_glob(list) := [pattern |
	some pattern in list
	glob.match(pattern, ["."], dns_name)
][0]

# What may be reached may be resolved.
dns_answer := allow("dns/bound", sprintf("%s has a binding", [dns_name])) if {
	bindings_by_host[dns_name]
} else := allow("dns/allow", sprintf("data.dns.allow has %s", [pattern])) if {
	pattern := first_name_glob(data.dns.allow)
} else := allow("dns/egress", sprintf("data.egress.allow has %s", [pattern])) if {
	pattern := first_name_glob(egress_hosts)
} else := deny("dns/default", sprintf("%s is in none of data.dns.allow, data.egress.allow and the bindings", [dns_name]))

# --- budgets ------------------------------------------------------------

# The run's own limit stands before the pack's; no limit at all is none.
limits[name] := limit if {
	some name in ["requests", "bytes_out", "wall_ms", "cost"]
	limit := limit_of(name)
}

limit_of(name) := input.limits[name] if {
	input.limits[name]
} else := data.limits[name]

budget_refusal := over("requests", "requests") if {
	input.budget.requests > limits.requests
} else := over("bytes_out", "bytes sent") if {
	input.budget.bytes_out > limits.bytes_out
} else := over("wall_ms", "milliseconds since the run was opened") if {
	input.budget.wall_ms > limits.wall_ms
} else := over("cost", "units of cost") if {
	input.budget.cost > limits.cost
}

over(name, what) := deny(
	sprintf("budget/%s", [name]),
	sprintf("%v %s are more than the limit of %v", [input.budget[name], what, limits[name]]),
)

bytes_left := [{"max_bytes": limits.bytes_out - input.budget.bytes_out}] if {
	limits.bytes_out >= input.budget.bytes_out
} else := []

# What a request under this binding costs; the broker books it on the run.
cost_of(id) := [{"cost": data.bindings[id].cost}] if {
	data.bindings[id].cost > 0
} else := []

# --- delegation ---------------------------------------------------------

# {"chain": [{"principal": P, "scopes": [S]}], "scopes": [S], "expires": seconds}
# A scope is "*", "<binding>", "<binding>:<METHOD>", "tool:<name>", "<kind>".
delegation_refusal := deny("delegation/expired", "the delegation has expired") if {
	input.delegation.expires * 1000000000 <= input.now_ns
} else := deny(
	"delegation/widened",
	sprintf("the delegation by %v gives more than it has", [input.delegation.chain[i].principal]),
) if {
	i := widened[0]
} else := deny(
	"delegation/scope",
	sprintf("the delegation's scopes do not cover %s", [wanted_scope]),
) if {
	input.delegation
	not covered_by(wanted_scope, object.get(input.delegation, "scopes", []))
}

# The links that hand on a scope which they do not have.
widened := [i |
	some i, link in input.delegation.chain
	some scope in next_scopes(i)
	not covered_by(scope, link.scopes)
]

next_scopes(i) := input.delegation.chain[i + 1].scopes if {
	input.delegation.chain[i + 1]
} else := object.get(input.delegation, "scopes", [])

covered_by(_, scopes) if "*" in scopes

covered_by(scope, scopes) if scope in scopes

# A tool may have any name, one with a colon too: tool:a is not for the tool a:b.
covered_by(scope, scopes) if {
	some wide in scopes
	not startswith(wide, "tool:")
	startswith(scope, sprintf("%s:", [wide]))
}

# GET covers HEAD here too, but not of a tool of that name.
covered_by(scope, scopes) if {
	endswith(scope, ":HEAD")
	not startswith(scope, "tool:")
	sprintf("%s:GET", [trim_suffix(scope, ":HEAD")]) in scopes
}

wanted_scope := sprintf("%s:%s", [input.secret.binding, method]) if {
	input.secret.binding
} else := sprintf("tool:%s", [tool]) if {
	input.action.kind == "tool"
} else := kind

# --- answers ------------------------------------------------------------

allow(rule, reason) := {"decision": "allow", "rule": rule, "reason": reason, "obligations": []}

allow_request(rule, reason) := {"decision": "allow", "rule": rule, "reason": reason, "obligations": bytes_left}

ask(rule, who) := {
	"decision": "ask",
	"rule": rule,
	"reason": sprintf("%s wants a person's consent to %s %s", [who, method, path]),
	"obligations": [],
}

deny(rule, reason) := {"decision": "deny", "rule": rule, "reason": reason, "obligations": []}

# --- indexes of the data ------------------------------------------------

scheme_of[id] := object.get(binding, "scheme", "https") if some id, binding in data.bindings

port_of[id] := object.get(binding, "port", default_port[scheme_of[id]]) if some id, binding in data.bindings

bindings_by_host[name] contains id if {
	some id, binding in data.bindings
	some name in binding.hosts
}

# What a binding speaks of, and what of it a person must agree to.
rules[id] := array.concat(rules_in(binding, "allow"), rules_in(binding, "ask")) if {
	some id, binding in data.bindings
}

ask_rules[id] := [{"method": verb, "path": reading} |
	some line in binding.ask
	[verb, pattern] := split(line, " ")
	some reading in {pattern, replace(pattern, "%2F", "/")}
] if {
	some id, binding in data.bindings
	binding.ask
}

rules_in(binding, list) := [{"method": verb, "path": slashed(pattern)} |
	some line in binding[list]
	[verb, pattern] := split(line, " ")
]

egress_entries contains with_port(lower(line)) if some line in data.egress.allow

# Without a port an entry means 443.
with_port(entry) := entry if {
	stem := trim_right(entry, "0123456789*")
	endswith(stem, ":")
	stem != entry
} else := sprintf("%s:443", [entry])

egress_globs contains entry if {
	some entry in egress_entries
	some special in ["*", "?", "{", "\\"]
	contains(entry, special)
}

egress_exact := egress_entries - egress_globs

egress_hosts contains trim_suffix(trim_right(entry, "0123456789*"), ":") if {
	some entry in egress_entries
}
