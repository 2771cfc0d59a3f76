package countersign_test.github_read_only

import data.countersign

call(binding, host, method, path) := {
	"v": 1,
	"now_ns": 1700000000000000000,
	"action": {"kind": "http", "verb": method},
	"target": {"scheme": "https", "host": host, "port": 443, "path": path},
	"secret": {"name": "github", "binding": binding},
	"budget": {"requests": 1, "bytes_out": 0, "cost": 0, "wall_ms": 1},
}

api(method, path) := call("github", "api.github.com", method, path)

git(method, path) := call("github-git", "github.com", method, path)

test_reading if {
	every path in ["/repos/o/r", "/repos/o/r/issues/1", "/search/issues", "/user"] {
		d := countersign.decision with input as api("GET", path)
		d.decision == "allow"
	}
}

test_head_is_reading if {
	d := countersign.decision with input as api("HEAD", "/repos/o/r")
	d.decision == "allow"
}

test_nothing_is_written if {
	every method in ["POST", "PUT", "PATCH", "DELETE"] {
		d := countersign.decision with input as api(method, "/repos/o/r/issues")
		d.rule == "binding/method"
	}
}

test_no_graphql if {
	d := countersign.decision with input as api("POST", "/graphql")
	d.decision == "deny"
}

test_cloning if {
	d := countersign.decision with input as git("POST", "/o/r.git/git-upload-pack")
	d.decision == "allow"
	refs := json.patch(git("GET", "/o/r.git/info/refs"), [
		{"op": "add", "path": "/target/query", "value": "service=git-upload-pack"},
	])
	before := countersign.decision with input as refs
	before.decision == "allow"
}

test_no_push if {
	d := countersign.decision with input as git("POST", "/o/r.git/git-receive-pack")
	d.rule == "binding/path"
	refs := json.patch(git("GET", "/o/r.git/info/refs"), [
		{"op": "add", "path": "/target/query", "value": "service=git-receive-pack"},
	])
	before := countersign.decision with input as refs
	before.decision == "deny"
}
