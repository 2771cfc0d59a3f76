package countersign_test

import data.countersign

bindings := {
	"github": {
		"secret": "github",
		"scheme": "https",
		"hosts": ["api.github.example"],
		"port": 443,
		"allow": [
			"GET /repos/**",
			"POST /repos/o/r/issues",
			"POST /o/r.git/git-receive-pack",
			"GET /projects/group%2Fproject/*",
			"GET /projects/*%2Fopen",
			"GET /one/*",
			"POST /team%2F*/git-receive-pack",
		],
	},
	"local": {"secret": "local", "scheme": "http", "hosts": ["localhost"], "port": 8080, "allow": ["* /**"]},
}

request(method, path) := {
	"v": 1,
	"now_ns": 1700000000000000000,
	"action": {"kind": "http", "verb": method},
	"target": {"scheme": "https", "host": "api.github.example", "port": 443, "path": path},
	"secret": {"name": "github", "binding": "github"},
	"budget": {"requests": 1, "bytes_out": 0, "cost": 0, "wall_ms": 1},
}

patched(input_document, patches) := json.patch(input_document, patches)

# The decision under these bindings, and its rule.
judged(document) := d if {
	d := countersign.decision with input as document
		with data.bindings as bindings
		with data.egress.allow as ["*.debian.example:443", "plain.example", "localhost:9000", "[2001:db8::1]", "[::1]:8080"]
		with data.tools as {"deny": ["WebFetch", "Bash(rm *)"], "ask": ["Bash"]}
		with data.files as {"write": ["/workspace/**"], "read": ["/**"]}
		with data.dns.allow as ["*.names.example"]
		with data.limits as {"requests": 10, "bytes_out": 1000, "wall_ms": 5000, "cost": 3}
		with data.grant as {"ttl_s": 60, "uses": 2}
}

rule_of(document) := d.rule if d := judged(document)

verdict_of(document) := d.decision if d := judged(document)

test_allowed if {
	d := judged(request("GET", "/repos/o/r"))
	d.decision == "allow"
	d.rule == "binding/allow"
	d.obligations == [{"max_bytes": 1000}]
}

test_get_covers_head if rule_of(request("HEAD", "/repos/o/r")) == "binding/allow"

test_cost_of_a_binding if {
	d := countersign.decision with input as request("GET", "/repos/o/r")
		with data.bindings as {"github": object.union(bindings.github, {"cost": 7})}
		with data.limits as {"cost": 100}
	d.rule == "binding/allow"
	d.obligations == [{"cost": 7}]
}

test_grant_costs_nothing if {
	d := countersign.decision with input as grant("http:GET")
		with data.bindings as {"github": object.union(bindings.github, {"cost": 7})}
	d.rule == "grant/allow"
	every o in d.obligations {
		not o.cost
	}
}

test_method if rule_of(request("DELETE", "/repos/o/r")) == "binding/method"

test_path if rule_of(request("POST", "/repos/o/other/issues")) == "binding/path"

test_escaped_slash if {
	rule_of(request("GET", "/projects/group%2Fproject/issues")) == "binding/allow"
	rule_of(request("HEAD", "/projects/group%2Fproject/issues")) == "binding/allow"
	rule_of(request("GET", "/projects/any%2Fopen")) == "binding/allow"
	rule_of(request("GET", "/repos/a%2Fb/c")) == "binding/allow"
	rule_of(request("POST", "/projects/group%2Fproject/issues")) == "binding/path"
	rule_of(request("GET", "/projects/group/project/issues")) == "binding/path"
	rule_of(request("GET", "/projects/group%2Fproject")) == "binding/path"
}

test_star_ends_at_an_escaped_slash if {
	rule_of(request("GET", "/one/a")) == "binding/allow"
	rule_of(request("GET", "/one/a%2Fb")) == "binding/path"
	rule_of(request("GET", "/one/a%2F")) == "binding/path"
	rule_of(request("GET", "/projects/a%2Fb%2Fopen")) == "binding/path"
	rule_of(request("GET", "/projects/group%2Fproject/a%2Fb")) == "binding/path"
}

test_discovery_with_an_escaped_slash if {
	rule_of(patched(request("GET", "/team%2Fr/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-receive-pack"}])) == "binding/allow"
	rule_of(patched(request("GET", "/team%2Fr%2Fs/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-receive-pack"}])) == "binding/path"
}

test_path_is_the_method_s_own if rule_of(request("POST", "/repos/o/r")) == "binding/path"

test_wrong_host if {
	d := judged(patched(request("GET", "/repos/a"), [{"op": "replace", "path": "/target/host", "value": "evil.example"}]))
	d.decision == "deny"
	d.rule == "binding/host"
	contains(d.reason, "evil.example")
}

test_wrong_scheme if {
	rule_of(patched(request("GET", "/repos/a"), [
		{"op": "replace", "path": "/target/scheme", "value": "http"},
		{"op": "replace", "path": "/target/port", "value": 443},
	])) == "binding/scheme"
}

test_wrong_port if {
	rule_of(patched(request("GET", "/repos/a"), [{"op": "replace", "path": "/target/port", "value": 444}])) == "binding/port"
}

test_wrong_secret if {
	rule_of(patched(request("GET", "/repos/a"), [{"op": "replace", "path": "/secret/name", "value": "other"}])) == "binding/secret"
}

test_unknown_binding if {
	rule_of(patched(request("GET", "/repos/a"), [{"op": "replace", "path": "/secret/binding", "value": "no"}])) == "binding/unknown"
}

test_receive_pack_covers_discovery if {
	rule_of(patched(request("GET", "/o/r.git/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-receive-pack"}])) == "binding/allow"
}

test_discovery_of_another_service if {
	rule_of(patched(request("GET", "/o/r.git/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-upload-pack"}])) == "binding/path"
}

test_discovery_of_another_repository if {
	rule_of(patched(request("GET", "/o/s.git/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-receive-pack"}])) == "binding/path"
}

bare(method, path) := patched(request(method, path), [{"op": "remove", "path": "/secret"}])

test_bound_host_without_credential if rule_of(bare("GET", "/repos/o")) == "bound-host/allow"

test_bound_host_without_credential_other_path if rule_of(bare("GET", "/user")) == "bound-host/path"

test_unbound_host if {
	d := judged(patched(bare("GET", "/"), [{"op": "replace", "path": "/target/host", "value": "other.example"}]))
	d.decision == "deny"
	d.rule == "egress/default"
}

tunnel(host, port) := {
	"action": {"kind": "connect", "verb": "CONNECT"},
	"target": {"host": host, "port": port},
}

test_tunnel_by_glob if rule_of(tunnel("deb.debian.example", 443)) == "egress/allow"

test_tunnel_glob_is_one_label if rule_of(tunnel("a.deb.debian.example", 443)) == "egress/default"

test_tunnel_without_port_is_443 if rule_of(tunnel("plain.example", 443)) == "egress/allow"

test_tunnel_to_ipv6_without_port if rule_of(tunnel("2001:db8::1", 443)) == "egress/allow"

test_tunnel_to_ipv6_with_port if rule_of(tunnel("::1", 8080)) == "egress/allow"

test_tunnel_to_ipv6_other_port if {
	d := judged(tunnel("::1", 80))
	d.rule == "egress/default"
	startswith(d.reason, "[::1]:80 has no binding")
}

test_tunnel_other_port if rule_of(tunnel("plain.example", 22)) == "egress/default"

test_tunnel_to_bound_host if rule_of(tunnel("api.github.example", 443)) == "egress/bound"

grant(name) := patched(request("GET", "/repos/o/r"), [{
	"op": "replace",
	"path": "/action",
	"value": {"kind": "credential", "verb": "use", "name": name},
}])

test_grant if {
	d := judged(grant("http:GET"))
	d.rule == "grant/allow"
	d.obligations == [{"ttl_s": 60}, {"uses": 2}]
}

test_grant_for_another_method if rule_of(grant("http:PUT")) == "binding/method"

test_grant_without_binding if {
	rule_of(patched(grant("http:GET"), [{"op": "remove", "path": "/secret"}])) == "grant/binding"
}

test_grant_for_any_path if {
	rule_of(patched(grant("GET"), [{"op": "remove", "path": "/target/path"}])) == "grant/allow"
}

# The binding again, and what of it a person must agree to.
asking := object.union(bindings.github, {"ask": [
	"POST /repos/o/r/issues",
	"DELETE /repos/*/*",
	"GET /repos/o/secret",
	"POST /o/asked.git/git-receive-pack",
]})

judged_asking(document) := d if {
	d := countersign.decision with input as document
		with data.bindings as {"github": asking}
		with data.limits as {"bytes_out": 1000, "cost": 100}
		with data.grant as {"ttl_s": 60, "uses": 2}
}

ask_rule_of(document) := d.rule if d := judged_asking(document)

test_ask_before_allow if {
	d := judged_asking(request("POST", "/repos/o/r/issues"))
	d == {
		"decision": "ask",
		"rule": "binding/ask",
		"reason": "binding github wants a person's consent to POST /repos/o/r/issues",
		"obligations": [{"max_bytes": 1000}],
	}
}

test_ask_without_allow if ask_rule_of(request("DELETE", "/repos/o/r")) == "binding/ask"

# One way to read an escaped slash is the server's: who must ask cannot spell it away.
test_ask_reads_an_escaped_slash_both_ways if {
	wide := object.union(asking, {
		"allow": ["* /**"],
		"ask": ["DELETE /repos/*/*", "PUT /projects/*", "POST /groups/a%2Fb"],
	})
	every case in [["DELETE", "/repos/o%2Fr"], ["PUT", "/projects/a%2Fb"], ["POST", "/groups/a%2Fb"], ["POST", "/groups/a/b"]] {
		d := countersign.decision with input as request(case[0], case[1]) with data.bindings as {"github": wide}
		d.rule == "binding/ask"
		b := countersign.decision with input as bare(case[0], case[1]) with data.bindings as {"github": wide}
		b.rule == "bound-host/ask"
	}
	ask_rule_of(request("DELETE", "/repos/o%2Fr")) == "binding/path"
	ask_rule_of(bare("DELETE", "/repos/o%2Fr")) == "bound-host/path"
}

test_ask_covers_no_more_than_it_says if {
	ask_rule_of(request("DELETE", "/repos/o/r/x")) == "binding/path"
	ask_rule_of(request("PUT", "/repos/o/r")) == "binding/method"
	ask_rule_of(request("GET", "/repos/o/r")) == "binding/allow"
}

test_ask_for_get_covers_head if {
	ask_rule_of(request("HEAD", "/repos/o/secret")) == "binding/ask"
	ask_rule_of(request("HEAD", "/repos/o/r")) == "binding/allow"
}

test_ask_costs_what_it_costs if {
	d := countersign.decision with input as request("DELETE", "/repos/o/r")
		with data.bindings as {"github": object.union(asking, {"cost": 7})}
		with data.limits as {"cost": 100}
	d.decision == "ask"
	d.obligations == [{"cost": 7}]
}

test_ask_alone if {
	only := object.remove(asking, ["allow"])
	d := countersign.decision with input as request("DELETE", "/repos/o/r") with data.bindings as {"github": only}
	d.rule == "binding/ask"
	other := countersign.decision with input as request("GET", "/repos/o/r") with data.bindings as {"github": only}
	other.rule == "binding/path"
}

test_other_refusals_stand_before_ask if {
	ask_rule_of(patched(request("DELETE", "/repos/o/r"), [{"op": "replace", "path": "/target/host", "value": "evil.example"}])) == "binding/host"
	ask_rule_of(patched(request("DELETE", "/repos/o/r"), [{"op": "replace", "path": "/budget/cost", "value": 101}])) == "budget/cost"
}

# The push is asked about; what git looks up before it changes nothing.
test_nobody_is_asked_about_discovery if {
	ask_rule_of(request("POST", "/o/asked.git/git-receive-pack")) == "binding/ask"
	ask_rule_of(patched(request("GET", "/o/asked.git/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-receive-pack"}])) == "binding/allow"
	ask_rule_of(patched(request("GET", "/o/asked.git/info/refs"), [{"op": "add", "path": "/target/query", "value": "service=git-upload-pack"}])) == "binding/path"
}

test_ask_without_credential if {
	d := judged_asking(bare("DELETE", "/repos/o/r"))
	d == {
		"decision": "ask",
		"rule": "bound-host/ask",
		"reason": "a binding of api.github.example wants a person's consent to DELETE /repos/o/r",
		"obligations": [{"max_bytes": 1000}],
	}
	ask_rule_of(bare("GET", "/repos/o/r")) == "bound-host/allow"
	ask_rule_of(bare("GET", "/user")) == "bound-host/path"
}

test_ask_of_one_binding_of_a_host_stands_before_allow_of_another if {
	d := countersign.decision with input as bare("POST", "/repos/o/r/issues")
		with data.bindings as {"github": asking, "other": bindings.github}
	d.rule == "bound-host/ask"
}

test_ask_for_a_grant if {
	d := judged_asking(patched(grant("http:POST"), [{"op": "replace", "path": "/target/path", "value": "/repos/o/r/issues"}]))
	d == {
		"decision": "ask",
		"rule": "grant/ask",
		"reason": "binding github wants a person's consent to POST /repos/o/r/issues",
		"obligations": [{"ttl_s": 60}, {"uses": 2}],
	}
	ask_rule_of(grant("http:GET")) == "grant/allow"
}

test_ask_for_a_grant_for_any_path if {
	ask_rule_of(patched(grant("DELETE"), [{"op": "remove", "path": "/target/path"}])) == "grant/ask"
	ask_rule_of(patched(grant("PUT"), [{"op": "remove", "path": "/target/path"}])) == "binding/method"
}

spent(name, amount) := patched(request("GET", "/repos/o/r"), [{"op": "replace", "path": sprintf("/budget/%s", [name]), "value": amount}])

test_budget_at_limit if rule_of(spent("requests", 10)) == "binding/allow"

test_budget_requests if {
	d := judged(spent("requests", 11))
	d.rule == "budget/requests"
	d.reason == "11 requests are more than the limit of 10"
}

test_budget_bytes if rule_of(spent("bytes_out", 1001)) == "budget/bytes_out"

test_budget_wall if rule_of(spent("wall_ms", 5001)) == "budget/wall_ms"

test_budget_cost if rule_of(spent("cost", 4)) == "budget/cost"

test_run_limit_stands_before_the_pack_s if {
	tight := patched(spent("requests", 3), [{"op": "add", "path": "/limits", "value": {"requests": 2}}])
	rule_of(tight) == "budget/requests"
	wide := patched(spent("requests", 11), [{"op": "add", "path": "/limits", "value": {"requests": 20}}])
	rule_of(wide) == "binding/allow"
}

test_max_bytes_is_what_is_left if {
	d := judged(spent("bytes_out", 400))
	d.obligations == [{"max_bytes": 600}]
}

tool_call(name, args) := {"action": {"kind": "tool", "name": name, "args": args}}

test_tool_denied if rule_of(tool_call("WebFetch", {})) == "tools/deny"

test_tool_command_denied if rule_of(tool_call("Bash", {"command": "rm -rf /"})) == "tools/deny"

test_tool_asked if {
	d := judged(tool_call("Bash", {"command": "ls"}))
	d.decision == "ask"
}

test_tool_allowed if rule_of(tool_call("Read", {})) == "tools/allow"

file(verb, path) := {"action": {"kind": "file", "verb": verb}, "target": {"path": path}}

test_file_write if verdict_of(file("write", "/workspace/a/b")) == "allow"

test_file_write_elsewhere if verdict_of(file("write", "/etc/passwd")) == "deny"

test_file_read if verdict_of(file("read", "/etc/passwd")) == "allow"

test_file_climbing if rule_of(file("write", "/workspace/../etc/passwd")) == "files/path"

dns(name) := {"action": {"kind": "dns", "verb": "query"}, "target": {"host": name}}

test_dns_bound if rule_of(dns("API.github.example.")) == "dns/bound"

test_dns_allowed if rule_of(dns("a.names.example")) == "dns/allow"

test_dns_of_egress if rule_of(dns("x.debian.example")) == "dns/egress"

test_two_patterns_are_no_conflict if {
	d := data.countersign.decision with input as dns("a.names.example")
		with data.dns.allow as ["*.names.example", "a.*.example"]
	d.reason == "data.dns.allow has *.names.example"
}

test_dns_default if rule_of(dns("other.example")) == "dns/default"

delegated(scopes, chain, expires) := patched(request("GET", "/repos/o/r"), [{
	"op": "add",
	"path": "/delegation",
	"value": {"chain": chain, "scopes": scopes, "expires": expires},
}])

alice := [{"principal": "alice", "scopes": ["github"]}]

test_delegation if rule_of(delegated(["github:GET"], alice, 1700000001)) == "binding/allow"

test_delegation_expired if rule_of(delegated(["github:GET"], alice, 1700000000)) == "delegation/expired"

test_delegation_scope if rule_of(delegated(["github:POST"], alice, 1700000001)) == "delegation/scope"

head_of(scopes) := patched(delegated(scopes, alice, 1700000001), [{"op": "replace", "path": "/action/verb", "value": "HEAD"}])

test_delegation_get_covers_head if rule_of(head_of(["github:GET"])) == "binding/allow"

test_delegation_post_covers_no_head if rule_of(head_of(["github:POST"])) == "delegation/scope"

test_delegation_head_covers_no_get if {
	rule_of(delegated(["github:HEAD"], alice, 1700000001)) == "delegation/scope"
}

test_delegation_hands_on_head_of_get if {
	chain := [{"principal": "alice", "scopes": ["github:GET"]}]
	rule_of(patched(head_of(["github:HEAD"]), [{"op": "replace", "path": "/delegation/chain", "value": chain}])) == "binding/allow"
}

test_delegation_a_tool_may_be_called_head if {
	tool := {"action": {"kind": "tool", "verb": "call", "name": "HEAD"}}
	rule_of(object.union(tool, {"delegation": {"chain": [], "scopes": ["tool:GET"]}})) == "delegation/scope"
}

test_delegation_a_tool_may_have_a_colon if {
	tool := {"action": {"kind": "tool", "verb": "call", "name": "Bash:x"}}
	rule_of(object.union(tool, {"delegation": {"chain": [], "scopes": ["tool:Bash"]}})) == "delegation/scope"
	every scope in ["tool:Bash:x", "tool", "*"] {
		rule_of(object.union(tool, {"delegation": {"chain": [], "scopes": [scope]}})) != "delegation/scope"
	}
}

test_delegation_widened if rule_of(delegated(["*"], alice, 1700000001)) == "delegation/widened"

test_delegation_widened_twice if {
	chain := [{"principal": "alice", "scopes": ["dns"]}, {"principal": "bob", "scopes": ["local"]}]
	d := judged(delegated(["*"], chain, 1700000001))
	d.reason == "the delegation by alice gives more than it has"
}

test_delegation_never_allows_more if {
	rule_of(patched(delegated(["github"], alice, 1700000001), [{"op": "replace", "path": "/action/verb", "value": "DELETE"}])) == "binding/method"
}

test_unknown_kind if rule_of({"action": {"kind": "dance"}}) == "action/kind"

test_no_input if verdict_of({}) == "deny"
