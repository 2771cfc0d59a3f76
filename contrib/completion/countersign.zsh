#compdef countersign
# zsh completion for countersign: made by `countersign completion zsh`
local at= word
local -a offer
for word in ${words[2,CURRENT-1]}; do
	if [[ $word == -- ]]; then _files; return; fi
	case "$at $word" in
	" init"|" secret"|" secret put"|" secret mint"|" secret rotate"|" secret revoke"|" secret list"|" bind"|" unbind"|" bindings"|" egress"|" egress allow"|" egress deny"|" egress list"|" run"|" grant"|" approve"|" policy"|" policy check"|" policy eval"|" policy test"|" policy build"|" policy explain"|" policy replay"|" policy diff"|" policy compare"|" policy reload"|" policy renew"|" bundle"|" verify"|" scan"|" coverage"|" coverage import"|" coverage key"|" coverage sign"|" coverage reconcile"|" coverage show"|" ledger"|" ledger tail"|" ledger query"|" ledger stats"|" ledger export"|" ledger publish"|" ledger rotate-key"|" ledger restart-origin"|" ca"|" ca renew"|" passphrase"|" witness"|" witness init"|" witness add"|" witness show"|" witness serve"|" start"|" status"|" stop"|" credential"|" credential git"|" completion"|" version"|" help")
		at="$at $word" ;;
	esac
done
case "$at" in
	'') offer=(
		'init:Make a home\: vault, ledger key, local CA, policy'
		'secret:Store, rotate, revoke and list secrets'
		'bind:Say where a secret may go'
		'unbind:Remove a binding'
		'bindings:Show the bindings'
		'egress:Hosts that may be reached without a secret'
		'run:Run an agent with placeholders, through the broker'
		'grant:Ask for leave to do one thing (inside a run)'
		'approve:Answer requests that want a person'\''s consent'
		'policy:Work on the policy'
		'bundle:Write a run'\''s evidence into one file'
		'verify:Verify a run'\''s evidence, by default the last one'\''s'
		'scan:Look for secrets in files, encoded ones too'
		'coverage:What is seen, held against what others saw'
		'ledger:Show the last records, and more'
		'ca:The local authority that runs trust'
		'passphrase:Change the passphrase'
		'witness:Be a witness to other people'\''s ledgers'
		'start:Start the daemon if none runs'
		'status:Is the daemon there, and well?'
		'stop:Stop the daemon in order'
		'credential:Helpers that programs call for a credential'
		'completion:Print a shell'\''s completion'
		'version:Print the version'
		'help:Show help'
		'--help:show help'
		) ;;
	' init') offer=(
		'--passphrase-file:read the passphrase from FILE (mode 0600) and note the path in config.json'
		'--origin:name of the ledger'\''s signing key; default\: HOST/countersign/RANDOM'
		'--help:show this and exit'
		) ;;
	' secret') offer=(
		'put:Store a new secret in the vault'
		'mint:Store what short-lived tokens are got with, which the daemon then does'
		'rotate:Store a new version, used from the next request on'
		'revoke:Erase a secret, or some versions of it, and cut what uses them'
		'list:Names, versions and ages; never values'
		'--help:show help'
		) ;;
	' secret put') offer=(
		'--from-stdin:read the value from standard input'
		'--from-file:read the value from FILE'
		'--help:show this and exit'
		) ;;
	' secret mint') offer=(
		'--as:refresh-token, client-credentials, jwt-bearer, github-app or google-service-account'
		'--from-stdin:read what is secret from standard input'
		'--from-file:read it from FILE\: a refresh token, a client secret, a key in PEM, Google'\''s JSON'
		'--token-url:where tokens are asked for'
		'--revocation-url:where the service is told when the secret is revoked (RFC 7009)'
		'--client-id:who asks'
		'--client-secret-file:of refresh-token\: the client'\''s secret, if it has one'
		'--client-auth:basic or body (the default)\: how the client'\''s secret is sent'
		'--scope:what the tokens are to be good for'
		'--audience:for whom'
		'--issuer:of jwt-bearer\: who signs'
		'--subject:of jwt-bearer\: in whose name'
		'--key-id:of jwt-bearer\: the key'\''s name'
		'--app-id:of github-app'
		'--installation-id:of github-app'
		'--repository:of github-app\: only these, without their owner; default\: all'
		'--permission:of github-app\: only these, as contents=read; default\: all'
		'--api:of github-app; default\: https\://api.github.com'
		'--rotate:NAME is there\: store its next version'
		'--help:show this and exit'
		) ;;
	' secret rotate') offer=(
		'--from-stdin:read the value from standard input'
		'--from-file:read the value from FILE'
		'--help:show this and exit'
		) ;;
	' secret revoke') offer=(
		'--version:only this version; default\: all of them'
		'--superseded:only those that a newer one took the place of'
		'--help:show this and exit'
		) ;;
	' secret list') offer=(
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' bind') offer=(
		'--service:a well-known service\: its hosts, placement, rules and variables, save those that are given here'
		'--services:show the well-known services and what each stands for'
		'--host:a host that gets it; the first serves /x/ID/ too'
		'--header:the header field and its value, {} being the secret'
		'--basic:HTTP Basic with this user name'
		'--query:a query parameter'
		'--sigv4:sign requests as AWS wants it; the secret is aws\:KEY-ID\:SECRET-KEY, or with \:SESSION-TOKEN behind'
		'--allow:what may be done\: GET allows HEAD too, * is any method; in the path * is one segment, ** any number'
		'--ask:what a person must agree to each time, whether --allow covers it or not; see `countersign approve`'
		'--name:the binding'\''s name; default\: the secret'\''s'
		'--port:default\: 443, or 80 with --http'
		'--http:plain HTTP\: the secret crosses the network unencrypted'
		'--env:an environment variable that holds the placeholder; default\: by host'
		'--no-env:no environment variable'
		'--requests:at most N requests in one run'
		'--cost:what one request costs, in units of your choice; see `run --budget-cost`'
		'--escaped-slash:let paths hold %2F, which ends a segment for * (npm'\''s @scope%2Fname, GitLab'\''s group%2Fproject)'
		'--replace:replace a binding of that name'
		'--add:add the rules of --allow and --ask to the binding of that name, and change nothing else'
		'--help:show this and exit'
		) ;;
	' unbind') offer=(
		'--help:show this and exit'
		) ;;
	' bindings') offer=(
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' egress') offer=(
		'allow:Allow hosts without a binding, or a private address range'
		'deny:Take such an entry out again'
		'list:Show the entries'
		'--help:show help'
		) ;;
	' egress allow') offer=(
		'--private:a private address range that may be dialled, such as 127.0.0.0/8'
		'--help:show this and exit'
		) ;;
	' egress deny') offer=(
		'--private:a private address range that may be dialled, such as 127.0.0.0/8'
		'--help:show this and exit'
		) ;;
	' egress list') offer=(
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' run') offer=(
		'--budget-requests:at most N requests'
		'--budget-bytes:at most N bytes of request bodies'
		'--budget-cost:at most N units of the policy'\''s cost'
		'--budget-time:no request after that time'
		'--scope:what it may do at most\: BINDING, BINDING\:METHOD, tool\:NAME, a kind of action, or *'
		'--ttl:nothing is allowed after that time; the run and those below it are closed'
		'--within:open it below the run that this command is in, with no more than that one has'
		'--agent:what the agent is called in policy and ledger; default\: the command'
		'--principal:on whose behalf; default\: your user name (the ledger keeps a keyed digest)'
		'--keep-env:leave this variable although it looks like a credential'
		'--direct-loopback:let clients reach loopback addresses directly\: neither decided nor recorded'
		'--hide-credentials:also hide the files in which other programs keep credentials (~/.netrc, ~/.aws/credentials, ...), or run nothing'
		'--no-hide:do not hide countersign'\''s home from the command'
		'--json:print the summary as JSON, on standard error'
		'--quiet:print no summary'
		'--help:show this and exit'
		) ;;
	' grant') offer=(
		'--secret:the secret wanted; default\: that of the one binding for TARGET'
		'--binding:the binding wanted'
		'--uses:how often; default\: what the policy says, else once'
		'--ttl:how long; default\: what the policy says, else 300'
		'--show:show a grant of this run instead'
		'--revoke:revoke a grant of this run instead'
		'--json:print the whole answer as JSON'
		'--help:show this and exit'
		) ;;
	' approve') offer=(
		'--for-run:approve the same request again, too, until the run ends'
		'--deny:deny instead'
		'--watch:stay, and show each question as it comes; on a terminal, ask for the answer'
		'--json:print JSON; with --watch, one question a line'
		'--help:show this and exit'
		) ;;
	' policy') offer=(
		'check:Load a pack; say what it is and what is odd'
		'eval:Decide one input; --trace says why'
		'test:Run the test_ rules of a pack'
		'build:Compile a pack'\''s plan (needs opa)'
		'explain:Why a recorded decision came out so'
		'replay:Decide recorded inputs again'
		'diff:What another pack would have decided'
		'compare:The evaluator beside an OPA server, on recorded inputs'
		'reload:Make a running daemon read the pack again'
		'renew:Take this version'\''s default rules, and keep the data'
		'--help:show help'
		) ;;
	' policy check') offer=(
		'--help:show this and exit'
		) ;;
	' policy eval') offer=(
		'--help:show this and exit'
		) ;;
	' policy test') offer=(
		'--help:show this and exit'
		) ;;
	' policy build') offer=(
		'--help:show this and exit'
		) ;;
	' policy explain') offer=(
		'--help:show this and exit'
		) ;;
	' policy replay') offer=(
		'--help:show this and exit'
		) ;;
	' policy diff') offer=(
		'--help:show this and exit'
		) ;;
	' policy compare') offer=(
		'--help:show this and exit'
		) ;;
	' policy reload') offer=(
		'--help:show this and exit'
		) ;;
	' policy renew') offer=(
		'--help:show this and exit'
		) ;;
	' bundle') offer=(
		'--output:where to; default RUN.tar.zst here'
		'--directory:a directory instead of one file'
		'--coverage:an adapter'\''s coverage manifest, or a directory of them, to go with it'
		'--truth:what an independent observer saw, or a directory, to go with it; reconciled'
		'--ledger:a ledger'\''s directory; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' verify') offer=(
		'--key:the log'\''s public key'
		'--trust:a trust policy instead of a key'
		'--epochs:a bundle\: how later keys follow'
		'--head:a checkpoint that was saved before'
		'--save-head:save this checkpoint for the next time'
		'--since:verify what is new since that checkpoint'
		'--truth:what an independent observer saw'
		'--truth-window:how far his clock may be from ours'
		'--no-scan:do not look for secrets in the files'
		'--tags:look for the secrets of this file of tags'
		'--json:one JSON object instead of text'
		'--html:also write a page to be read in a browser'
		'--sarif:also write the findings as SARIF'
		'--no-progress:no bar on standard error'
		'--threads:threads to hash with'
		'--color:always, never, auto'
		'--version:print the version'
		'--help:show this and exit'
		) ;;
	' scan') offer=(
		'--tags:look for the secrets of this file of tags'
		'--tags-commitment:what the ledger'\''s record says of them'
		'--no-vault:do not look for the vault'\''s secrets'
		'--baseline:do not count what this baseline holds'
		'--write-baseline:accept all that is found now'
		'--advisory:show low confidence, too'
		'--json:one JSON object instead of text'
		'--sarif:SARIF instead of text'
		'--quiet:no progress bar'
		'--color:always, never, auto'
		'--version:print the version'
		'--help:show this and exit'
		) ;;
	' coverage') offer=(
		'import:Make ground truth of a log that others keep'
		'key:An observer'\''s key\: make it, print its vkey'
		'sign:Sign ground truth'
		'reconcile:Hold what others saw against the records'
		'show:What a run'\''s adapters say they see, and cannot'
		'--help:show help'
		) ;;
	' coverage import') offer=(
		'--format:combined, json, egress or conntrack'
		'--source:whose log it is'
		'--instance:which one of several'
		'--base:the service, for logs that do not name the host'
		'--field:json\: what a member is called'
		'--client:that client'\''s lines only'
		'--resolve:of networks\: what an address is called'
		'--protocol:of networks\: take that protocol only'
		'--exhaustive:the log misses nothing of what it sees'
		'--from:from when'
		'--to:to when'
		'--sign:sign it with an observer'\''s key'
		'--output:default standard output'
		'--help:show this and exit'
		) ;;
	' coverage key') offer=(
		'--name:make a new key of that name first'
		'--help:show this and exit'
		) ;;
	' coverage sign') offer=(
		'--key:the observer'\''s key'
		'--output:default standard output'
		'--help:show this and exit'
		) ;;
	' coverage reconcile') offer=(
		'--truth:what an observer saw'
		'--trust:a trust policy\: whose signature counts, and how many'
		'--window:how far his clock may be from ours'
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' coverage show') offer=(
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' ledger') offer=(
		'tail:Show the last records'
		'query:Find records'
		'stats:Records, rate, size, gaps, the last checkpoint'
		'export:Records in the forms of others\: ocsf, otlp, cef, vlc1, val'
		'publish:Write the tree as tiles for a web server'
		'rotate-key:Sign with a new key, and erase the old one'
		'restart-origin:Keep the ledger as it is, and begin another'
		'--help:show help'
		'--lines:how many records; default 20'
		'--follow:go on as records are written'
		'--run:only records of this run, or of those whose id begins so'
		'--type:only records of this type, such as refusal'
		'--stream:only records of this stream'
		'--target:only records about a target that holds this text'
		'--decision:only what was decided so\: allow, deny, ask; or failed'
		'--since:not before\: 2026-11-29T15\:36\:01Z, a date, or 10m, 2h, 7d ago'
		'--until:not after'
		'--json:print the records as they stand in the ledger'
		'--ledger:a ledger'\''s or bundle'\''s directory, or a bundle'\''s file; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' ledger tail') offer=(
		'--lines:how many records; default 20'
		'--follow:go on as records are written'
		'--run:only records of this run, or of those whose id begins so'
		'--type:only records of this type, such as refusal'
		'--stream:only records of this stream'
		'--target:only records about a target that holds this text'
		'--decision:only what was decided so\: allow, deny, ask; or failed'
		'--since:not before\: 2026-11-29T15\:36\:01Z, a date, or 10m, 2h, 7d ago'
		'--until:not after'
		'--json:print the records as they stand in the ledger'
		'--ledger:a ledger'\''s or bundle'\''s directory, or a bundle'\''s file; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' ledger query') offer=(
		'--run:only records of this run, or of those whose id begins so'
		'--type:only records of this type, such as refusal'
		'--stream:only records of this stream'
		'--target:only records about a target that holds this text'
		'--decision:only what was decided so\: allow, deny, ask; or failed'
		'--since:not before\: 2026-11-29T15\:36\:01Z, a date, or 10m, 2h, 7d ago'
		'--until:not after'
		'--from:begin at the record with this index'
		'--limit:end after so many'
		'--count:print how many there are, and none of them'
		'--json:print the records as they stand in the ledger'
		'--ledger:a ledger'\''s or bundle'\''s directory, or a bundle'\''s file; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' ledger stats') offer=(
		'--json:print JSON'
		'--ledger:a ledger'\''s or bundle'\''s directory, or a bundle'\''s file; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' ledger export') offer=(
		'--to:send it\: otlp to http(s)\://HOST[\:PORT], cef to tls\://HOST[\:PORT]'
		'--ca:certificates to trust for that; default the system'\''s'
		'--header:a header for HTTP, such as '\''Authorization\: Bearer ...'\'''
		'--follow:go on as records are written'
		'--position:where the last export ended, to go on from there'
		'--tries:give a batch up after so many tries; default never'
		'--record-integrity:ocsf\: the attestation of 1.9'\''s record_integrity'
		'--adapter:vlc1\: print the adapter'\''s declaration, and end'
		'--run:only records of this run, or of those whose id begins so'
		'--type:only records of this type, such as refusal'
		'--stream:only records of this stream'
		'--target:only records about a target that holds this text'
		'--decision:only what was decided so\: allow, deny, ask; or failed'
		'--since:not before\: 2026-11-29T15\:36\:01Z, a date, or 10m, 2h, 7d ago'
		'--until:not after'
		'--ledger:a ledger'\''s or bundle'\''s directory, or a bundle'\''s file; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' ledger publish') offer=(
		'--entries:the records too, not only hashes\: they tell what your agents did'
		'--ledger:a ledger'\''s directory; default this home'\''s'
		'--help:show this and exit'
		) ;;
	' ledger rotate-key') offer=(
		'--help:show this and exit'
		) ;;
	' ledger restart-origin') offer=(
		'--origin:name of the new signing key; default\: the old one'\''s with another random end'
		'--help:show this and exit'
		) ;;
	' ca') offer=(
		'renew:Make another local authority'
		'--help:show help'
		) ;;
	' ca renew') offer=(
		'--help:show this and exit'
		) ;;
	' passphrase') offer=(
		'--passphrase-file:read the present passphrase from FILE'
		'--new-passphrase-file:read the new one from FILE (mode 0600)'
		'--help:show this and exit'
		) ;;
	' witness') offer=(
		'init:Make a witness'\''s key; print its vkey'
		'add:Watch a log'
		'show:Print the witness'\''s vkey, and what it watches'
		'serve:Cosign consistent checkpoints, over HTTP'
		'--help:show help'
		) ;;
	' witness init') offer=(
		'--name:what cosignatures call it, like witness.example.com/team'
		'--help:show this and exit'
		) ;;
	' witness add') offer=(
		'--help:show this and exit'
		) ;;
	' witness show') offer=(
		'--help:show this and exit'
		) ;;
	' witness serve') offer=(
		'--listen:default 127.0.0.1\:7380; port 0 takes any'
		'--help:show this and exit'
		) ;;
	' start') offer=(
		'--help:show this and exit'
		) ;;
	' status') offer=(
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' stop') offer=(
		'--help:show this and exit'
		) ;;
	' credential') offer=(
		'git:git'\''s credential helper'
		'--help:show help'
		) ;;
	' credential git') offer=(
		'--help:show this and exit'
		) ;;
	' completion') offer=(
		'--help:show this and exit'
		) ;;
	' version') offer=(
		'--json:print JSON'
		'--help:show this and exit'
		) ;;
	' help') offer=(
		'--help:show this and exit'
		) ;;
esac
local kind=
	case "${words[CURRENT-1]}" in
	"--secret") kind=secrets offer=() ;;
	"--binding") kind=bindings offer=() ;;
	"--scope") kind=bindings offer=() ;;
	"--run") kind=runs offer=() ;;
	"--pack") kind=packs offer=() ;;
	"--service") kind=services offer=() ;;
	-*) ;;
	*) case "$at" in
	" secret rotate") kind=secrets ;;
	" secret revoke") kind=secrets ;;
	" bind") kind=secrets ;;
	" unbind") kind=bindings ;;
	" approve") kind=approvals ;;
	" policy check") kind=packs ;;
	" policy eval") kind=packs ;;
	" policy test") kind=packs ;;
	" policy build") kind=packs ;;
	" policy diff") kind=packs ;;
	" bundle") kind=runs ;;
	" verify") kind=runs ;;
	esac ;;
	esac
if [[ -n $kind && ${words[CURRENT]} != -* ]]; then
	offer+=(${(f)"$(countersign completion names $kind 2>/dev/null)"})
fi
_describe 'countersign' offer || _files
