# A policy of the size that is measured: grants, globs, regex, budgets, scopes.
package countersign

default decision := {"decision": "deny", "rule": "default", "reason": "nothing allows it", "obligations": []}

decision := answer("deny", "budget", sprintf("over the limit: %s", [concat(", ", exceeded)]), []) if {
	count(exceeded) > 0
} else := answer("deny", "delegation", "the delegation has expired", []) if {
	input.delegation.expires * 1000000000 <= input.now_ns
} else := answer("deny", "scope", sprintf("the scopes do not cover %s", [wanted_scope]), []) if {
	not scope_covered
} else := answer("deny", "path", sprintf("%s is not a plain path", [input.target.path]), []) if {
	not plain_path
} else := answer("allow", "grant", sprintf("grant %s: %s", [grant.id, grant.action]), obligations) if {
	grant.action
} else := answer("ask", "sensitive", sprintf("%s is sensitive", [input.target.path]), []) if {
	sensitive
} else := answer("allow", "binding", sprintf("binding %s allows it", [binding.name]), obligations) if {
	some line in binding.allow
	covers(line)
}

answer(verdict, rule, reason, more) := {"decision": verdict, "rule": rule, "reason": reason, "obligations": more}

binding := object.union(found, {"name": input.secret.binding}) if {
	found := data.bindings[input.secret.binding]
	input.target.host in found.hosts
	found.secret == input.secret.name
}

grant := g if {
	some id in input.grant.ids
	g := data.grants[id]
	g.expires > input.now_ns / 1000000000
	g.host == input.target.host
	g.action == sprintf("http:%s", [input.action.verb])
	glob.match(g.path, ["/"], input.target.path)
}

covers(line) if {
	[method, pattern] := split(line, " ")
	method in {input.action.verb, "*"}
	glob.match(pattern, ["/"], input.target.path)
}

plain_path if {
	regex.match(`^(/[A-Za-z0-9._~%-]+)*/?$`, input.target.path)
	not contains(input.target.path, "/../")
	not contains(input.target.path, "//")
}

sensitive if {
	some pattern in data.sensitive
	regex.match(pattern, input.target.path)
}

exceeded contains name if {
	some name, most in data.limits
	input.budget[name] > most
}

wanted_scope := sprintf("%s:%s", [input.secret.binding, lower(input.action.verb)])

scope_covered if {
	some scope in input.delegation.scopes
	startswith(wanted_scope, scope)
}

scope_covered if "*" in input.delegation.scopes

obligations := [{"max_bytes": left}, {"cost": price}] if {
	left := data.limits.bytes_out - input.budget.bytes_out
	left > 0
	price := object.get(data.prices, input.action.verb, 1)
}
