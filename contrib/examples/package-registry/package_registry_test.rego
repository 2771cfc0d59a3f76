package countersign_test.package_registry

import data.countersign

call(method, path) := {
	"v": 1,
	"now_ns": 1700000000000000000,
	"action": {"kind": "http", "verb": method},
	"target": {"scheme": "https", "host": "registry.npmjs.org", "port": 443, "path": path},
	"secret": {"name": "registry", "binding": "registry"},
	"budget": {"requests": 1, "bytes_out": 0, "cost": 0, "wall_ms": 1},
}

tunnel(host) := {
	"v": 1,
	"now_ns": 1700000000000000000,
	"action": {"kind": "connect", "verb": "CONNECT"},
	"target": {"host": host, "port": 443},
	"budget": {"requests": 1, "bytes_out": 0, "cost": 0, "wall_ms": 1},
}

test_installing if {
	every path in ["/left-pad", "/left-pad/-/left-pad-1.3.0.tgz"] {
		d := countersign.decision with input as call("GET", path)
		d.decision == "allow"
	}
}

test_nothing_is_published if {
	every method in ["PUT", "POST", "DELETE"] {
		d := countersign.decision with input as call(method, "/left-pad")
		d.rule == "binding/method"
	}
}

test_registries_without_a_token if {
	every host in ["pypi.org", "files.pythonhosted.org", "deb.debian.org"] {
		d := countersign.decision with input as tunnel(host)
		d.rule == "egress/allow"
	}
}

test_nowhere_else if {
	d := countersign.decision with input as tunnel("example.com")
	d.rule == "egress/default"
}

test_the_token_is_not_tunnelled if {
	d := countersign.decision with input as tunnel("registry.npmjs.org")
	d.rule == "egress/bound"
}
