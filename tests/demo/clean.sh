#!/bin/sh
# An agent that does its work: it only ever sees placeholders.
set -eu
api=https://api.example.com
auth="Authorization: Bearer $API_TOKEN"
for n in 1 2 3 4 5; do
	curl -sSf -H "$auth" -o "issue-$n.json" "$api/repos/o/r/issues/$n"
done
curl -sSf -H "$auth" -H 'Content-Type: application/json' -d '{"title":"from the agent"}' -o made.json "$api/repos/o/r/issues"
git clone -q https://git.example.com/git/demo.git work
cd work
echo "written by the agent" >>notes
git add notes
git -c user.name=agent -c user.email=agent@example.com commit -qm "notes: from the agent"
git push -q origin HEAD
cd ..
python3 - <<'EOF'
import json, os, urllib.request
request = urllib.request.Request("https://api.example.com/repos/o/r", headers={"Authorization": "Bearer " + os.environ["API_TOKEN"]})
assert json.load(urllib.request.urlopen(request))["auth"] == "good"
EOF
