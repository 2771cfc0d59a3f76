package countersign_test.llm_api

import data.countersign

call(binding, host, method, path, spent) := {
	"v": 1,
	"now_ns": 1700000000000000000,
	"action": {"kind": "http", "verb": method},
	"target": {"scheme": "https", "host": host, "port": 443, "path": path},
	"secret": {"name": trim_suffix(binding, "-count"), "binding": binding},
	"budget": {"requests": 1, "bytes_out": 0, "cost": spent, "wall_ms": 1},
}

costs(d) := sum([o.cost | some o in d.obligations; o.cost])

test_a_message_costs_five_cents if {
	d := countersign.decision with input as call("anthropic", "api.anthropic.com", "POST", "/v1/messages", 0)
	d.decision == "allow"
	costs(d) == 5
}

test_the_other_vendor_has_a_price_of_its_own if {
	d := countersign.decision with input as call("openai", "api.openai.com", "POST", "/v1/responses", 0)
	d.decision == "allow"
	costs(d) == 4
}

test_counting_tokens_is_free if {
	d := countersign.decision with input as call(
		"anthropic-count", "api.anthropic.com", "POST", "/v1/messages/count_tokens", 0,
	)
	d.decision == "allow"
	costs(d) == 0
}

test_five_dollars_are_the_end if {
	d := countersign.decision with input as call("anthropic", "api.anthropic.com", "POST", "/v1/messages", 501)
	d.rule == "budget/cost"
}

test_no_files_no_batches if {
	every path in ["/v1/files", "/v1/messages/batches", "/v1/organizations/users"] {
		d := countersign.decision with input as call("anthropic", "api.anthropic.com", "POST", path, 0)
		d.rule == "binding/path"
	}
}

test_keys_do_not_cross if {
	d := countersign.decision with input as call("openai", "api.anthropic.com", "POST", "/v1/messages", 0)
	d.rule == "binding/host"
}
