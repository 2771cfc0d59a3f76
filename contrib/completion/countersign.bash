# bash completion for countersign: made by `countersign completion bash`
_countersign()
{
	local cur=${COMP_WORDS[COMP_CWORD]} path='' words='' kind='' i
	for ((i = 1; i < COMP_CWORD; i++)); do
		[ "${COMP_WORDS[i]}" = -- ] && { COMPREPLY=(); return; }
		case "$path ${COMP_WORDS[i]}" in
		" init"|" secret"|" secret put"|" secret mint"|" secret rotate"|" secret revoke"|" secret list"|" bind"|" unbind"|" bindings"|" egress"|" egress allow"|" egress deny"|" egress list"|" run"|" grant"|" approve"|" policy"|" policy check"|" policy eval"|" policy test"|" policy build"|" policy explain"|" policy replay"|" policy diff"|" policy compare"|" policy reload"|" policy renew"|" bundle"|" verify"|" scan"|" coverage"|" coverage import"|" coverage key"|" coverage sign"|" coverage reconcile"|" coverage show"|" ledger"|" ledger tail"|" ledger query"|" ledger stats"|" ledger export"|" ledger publish"|" ledger rotate-key"|" ledger restart-origin"|" ca"|" ca renew"|" passphrase"|" witness"|" witness init"|" witness add"|" witness show"|" witness serve"|" start"|" status"|" stop"|" credential"|" credential git"|" completion"|" version"|" help")
			path="$path ${COMP_WORDS[i]}" ;;
		esac
	done
	case "$path" in
	"") words="init secret bind unbind bindings egress run grant approve policy bundle verify scan coverage ledger ca passphrase witness start status stop credential completion version help --help" ;;
	" init") words="--passphrase-file --origin --help" ;;
	" secret") words="put mint rotate revoke list --help" ;;
	" secret put") words="--from-stdin --from-file --help" ;;
	" secret mint") words="--as --from-stdin --from-file --token-url --revocation-url --client-id --client-secret-file --client-auth --scope --audience --issuer --subject --key-id --app-id --installation-id --repository --permission --api --rotate --help" ;;
	" secret rotate") words="--from-stdin --from-file --help" ;;
	" secret revoke") words="--version --superseded --help" ;;
	" secret list") words="--json --help" ;;
	" bind") words="--service --services --host --header --basic --query --sigv4 --allow --ask --name --port --http --env --no-env --requests --cost --escaped-slash --replace --add --help" ;;
	" unbind") words="--help" ;;
	" bindings") words="--json --help" ;;
	" egress") words="allow deny list --help" ;;
	" egress allow") words="--private --help" ;;
	" egress deny") words="--private --help" ;;
	" egress list") words="--json --help" ;;
	" run") words="--budget-requests --budget-bytes --budget-cost --budget-time --scope --ttl --within --agent --principal --keep-env --direct-loopback --hide-credentials --no-hide --json --quiet --help" ;;
	" grant") words="--secret --binding --uses --ttl --show --revoke --json --help" ;;
	" approve") words="--for-run --deny --watch --json --help" ;;
	" policy") words="check eval test build explain replay diff compare reload renew --help" ;;
	" policy check") words="--help" ;;
	" policy eval") words="--help" ;;
	" policy test") words="--help" ;;
	" policy build") words="--help" ;;
	" policy explain") words="--help" ;;
	" policy replay") words="--help" ;;
	" policy diff") words="--help" ;;
	" policy compare") words="--help" ;;
	" policy reload") words="--help" ;;
	" policy renew") words="--help" ;;
	" bundle") words="--output --directory --coverage --truth --ledger --help" ;;
	" verify") words="--key --trust --epochs --head --save-head --since --truth --truth-window --no-scan --tags --json --html --sarif --no-progress --threads --color --version --help" ;;
	" scan") words="--tags --tags-commitment --no-vault --baseline --write-baseline --advisory --json --sarif --quiet --color --version --help" ;;
	" coverage") words="import key sign reconcile show --help" ;;
	" coverage import") words="--format --source --instance --base --field --client --resolve --protocol --exhaustive --from --to --sign --output --help" ;;
	" coverage key") words="--name --help" ;;
	" coverage sign") words="--key --output --help" ;;
	" coverage reconcile") words="--truth --trust --window --json --help" ;;
	" coverage show") words="--json --help" ;;
	" ledger") words="tail query stats export publish rotate-key restart-origin --help --lines --follow --run --type --stream --target --decision --since --until --json --ledger --help" ;;
	" ledger tail") words="--lines --follow --run --type --stream --target --decision --since --until --json --ledger --help" ;;
	" ledger query") words="--run --type --stream --target --decision --since --until --from --limit --count --json --ledger --help" ;;
	" ledger stats") words="--json --ledger --help" ;;
	" ledger export") words="--to --ca --header --follow --position --tries --record-integrity --adapter --run --type --stream --target --decision --since --until --ledger --help" ;;
	" ledger publish") words="--entries --ledger --help" ;;
	" ledger rotate-key") words="--help" ;;
	" ledger restart-origin") words="--origin --help" ;;
	" ca") words="renew --help" ;;
	" ca renew") words="--help" ;;
	" passphrase") words="--passphrase-file --new-passphrase-file --help" ;;
	" witness") words="init add show serve --help" ;;
	" witness init") words="--name --help" ;;
	" witness add") words="--help" ;;
	" witness show") words="--help" ;;
	" witness serve") words="--listen --help" ;;
	" start") words="--help" ;;
	" status") words="--json --help" ;;
	" stop") words="--help" ;;
	" credential") words="git --help" ;;
	" credential git") words="--help" ;;
	" completion") words="--help" ;;
	" version") words="--json --help" ;;
	" help") words="--help" ;;
	esac
	case "${COMP_WORDS[COMP_CWORD-1]}" in
	"--secret") kind=secrets words='' ;;
	"--binding") kind=bindings words='' ;;
	"--scope") kind=bindings words='' ;;
	"--run") kind=runs words='' ;;
	"--pack") kind=packs words='' ;;
	"--service") kind=services words='' ;;
	-*) ;;
	*) case "$path" in
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
	[[ -n $kind && $cur != -* ]] && words="$words $(countersign completion names "$kind" 2>/dev/null)"
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _countersign countersign
