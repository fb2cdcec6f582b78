#!/usr/bin/env bash
# Records what the real CLIs print against the scripted model server: the inputs of the dialects'
# tests. One file per case: <case>.jsonl (stdout), <case>.stderr where there is something, and
# <case>.exit. Paths, ports and ids are replaced by fixed ones; nothing else is changed.
#
#   CLIS=/path/to/node_modules/.bin crates/codeteam-e2e/record.sh [claude|codex|gemini [case …]]
#
# Needs the CLIs, Node, perl and a built `codeteam-models`.
set -euo pipefail

crate=$(cd "$(dirname "$0")" && pwd)
workspace=$(cd "$crate/../.." && pwd)
out=$workspace/crates/codeteam-engine/src/dialect/recorded
models=${MODELS:-$workspace/target/debug/codeteam-models}
# Outside of /tmp, where codex warns about a home.
base=${BASE:-/var/tmp/codeteam-record}
clis=${CLIS:?where the CLIs are: node_modules/.bin}
path=$clis:$(dirname "$(command -v node)"):/usr/local/bin:/usr/bin:/bin
schema='{"type":"object","properties":{"summary":{"type":"string"},"files":{"type":"array","items":{"type":"string"}}},"required":["summary","files"],"additionalProperties":false}'
prompt='Role: coder
Step: code
Task: task-001
Round: 1
Attempt: 1

Greet the team.'

# The one place that knows how each CLI is called. $1: the prompt; the rest: more arguments.
call_claude() {
    local said=$1
    shift
    sealed IS_SANDBOX=1 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 "${key:-ANTHROPIC_API_KEY=sk-dummy}" \
        "ANTHROPIC_BASE_URL=$url" "${vars[@]}" \
        claude -p --output-format stream-json --verbose --model "${model:-claude-sonnet-4-5}" \
        --permission-mode "${mode:-bypassPermissions}" --setting-sources '' "$@" "$said"
}
call_codex() {
    local said=$1
    shift
    sealed CODEX_API_KEY=sk-dummy "${vars[@]}" \
        codex exec "${sub[@]}" --json --skip-git-repo-check -m "${model:-gpt-5.5}" \
        -c sandbox_mode='"danger-full-access"' -c approval_policy='"never"' \
        -c "openai_base_url=\"$url/v1\"" "$@" "$said"
}
call_gemini() {
    local said=$1
    shift
    sealed GEMINI_API_KEY=dummy "GOOGLE_GEMINI_BASE_URL=$url" "${vars[@]}" \
        gemini -m "${model:-gemini-2.5-pro}" -o stream-json --approval-mode yolo --skip-trust \
        "$@" -p "$said"
}
sealed() {
    (cd "$base/tree" && exec env -i "PATH=$path" "HOME=$base/home" "TMPDIR=$base/tmp" LANG=C.UTF-8 \
        timeout "${patience:-300}" env "$@" </dev/null)
}

fresh() {
    rm -rf "$base"
    mkdir -p "$base/home/.gemini" "$base/tree" "$base/tmp"
    git -C "$base/tree" init -q
    echo 'hello world' >"$base/tree/greeting.txt"
    printf '%s' "$schema" >"$base/home/schema.json"
    cp "$crate/recording/mcp-submit.mjs" "$base/home/"
    gemini_settings '{}'
    vars=() sub=() model='' patience='' key='' mode=''
}
gemini_settings() {
    node -e 'const more = JSON.parse(process.argv[1]);
        console.log(JSON.stringify({security: {auth: {selectedType: "gemini-api-key"}}, ...more}))' \
        "$1" >"$base/home/.gemini/settings.json"
}

# $1: a scenario, as a file of `recording/` or as text.
serve() {
    local scenario=$base/scenario.yml
    if [ -f "$crate/recording/$1" ]; then cp "$crate/recording/$1" "$scenario"; else printf '%s' "$1" >"$scenario"; fi
    : >"$base/server.log"
    "$models" --scenario "$scenario" --record "$base/requests.jsonl" >"$base/server.log" 2>&1 &
    server=$!
    # The server says where it is before it does anything else.
    until grep -q '^ANTHROPIC_BASE_URL=' "$base/server.log"; do
        kill -0 "$server" || { cat "$base/server.log" >&2; exit 1; }
    done
    url=$(sed -n 's/^ANTHROPIC_BASE_URL=//p' "$base/server.log")
}
unserve() {
    kill "$server" 2>/dev/null || true
    wait "$server" 2>/dev/null || true
    if [ -n "${SHOW:-}" ]; then tail -n +5 "$base/server.log" >&2; fi
    if grep -q PROBLEM "$base/server.log"; then
        echo "  the scenario did not foresee: $(grep -o 'PROBLEM.*' "$base/server.log" | head -1)" >&2
    fi
}

# Paths, ports and ids become fixed ones.
fixed() {
    BASE=$base CLIS=$(dirname "$(dirname "$clis")") URL=$url perl -pe '
        BEGIN { ($port) = $ENV{URL} =~ /:(\d+)$/; ($dashed = $ENV{BASE}) =~ s{[/.]}{-}g; }
        s{\Q$ENV{BASE}\E/tree}{/tree}g; s{\Q$ENV{BASE}\E/home}{/home/agent}g;
        s{\Q$ENV{BASE}\E/tmp}{/tmp}g; s{\Q$dashed\E-tree}{-tree}g; s{\Q$ENV{CLIS}\E}{/opt/clis}g;
        s{127\.0\.0\.1:$port\b}{127.0.0.1:8080}g; s{\bremotePort: $port\b}{remotePort: 8080};
        s{\blocalPort: \d+}{localPort: 40000};
        s{\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b}
         {sprintf "00000000-0000-4000-8000-%012d", $ids{$1} //= ++$n}ge'
}

# $1: the case; the rest: the arguments of the CLI after its prompt.
record() {
    local name=$1 code=0 begun
    shift
    begun=$(date +%s%N)
    "call_$cli" "${said:-$prompt}" "$@" >"$base/stdout" 2>"$base/stderr" || code=$?
    local took=$((($(date +%s%N) - begun) / 1000000))
    # Both streams together, so that an id is the same in both.
    { cat "$base/stdout"; printf '\n\001\n'; cat "$base/stderr"; } | fixed >"$base/both"
    perl -0777 -ne 'print((split /\n\001\n/)[0])' "$base/both" >"$dir/$name.jsonl"
    perl -0777 -ne 'print((split /\n\001\n/)[1] // "")' "$base/both" >"$dir/$name.stderr"
    [ -s "$dir/$name.stderr" ] || rm -f "$dir/$name.stderr"
    echo "$code" >"$dir/$name.exit"
    local asked
    asked=$(grep -c '"method":"POST"' "$base/requests.jsonl" || true)
    printf '%-8s %-28s exit %-3s %6s ms, %s requests\n' "$cli" "$name" "$code" "$took" "$asked"
}

# A scenario that fails at its first turn, and answers afterwards.
failing() {
    printf 'plays:\n  - name: failing\n    turns:\n      - fault: %s\n        submit: {summary: it went well at last, files: []}\n' "$1"
}

# The answer's road of each CLI, and what limits its retries.
structured() {
    case $cli in
    claude) structured=(--json-schema "$schema") ;;
    codex) structured=(--output-schema "$base/home/schema.json") ;;
    gemini) structured=() ;;
    esac
}
few_retries() {
    case $cli in
    claude) vars+=(CLAUDE_CODE_MAX_RETRIES=2) ;;
    # The built-in provider's numbers cannot be set; one of our own has them.
    codex) few=(-c 'model_providers.codeteam.name="codeteam"' -c "model_providers.codeteam.base_url=\"$url/v1\""
        -c 'model_providers.codeteam.wire_api="responses"' -c 'model_providers.codeteam.env_key="CODEX_API_KEY"'
        -c model_providers.codeteam.request_max_retries=1 -c model_providers.codeteam.stream_max_retries=1
        -c 'model_provider="codeteam"') ;;
    gemini) gemini_settings '{"general": {"maxAttempts": 2}}' ;;
    esac
}

# Each case is a function `case_<name with _ for ->`.
case_success() { serve success.yml; record success "${structured[@]}"; unserve; }
case_success_code_mode() { model=gpt-6-sol; serve success.yml; record success-code-mode "${structured[@]}"; unserve; }
case_success_fallback_model() { model=gpt-unknown; serve success.yml; record success-fallback-model "${structured[@]}"; unserve; }
mcp() {
    local server=$base/home/mcp-submit.mjs node
    node=$(command -v node)
    case $cli in
    claude) mcp=(--mcp-config "{\"mcpServers\":{\"codeteam\":{\"command\":\"$node\",\"args\":[\"$server\"]}}}" --strict-mcp-config) ;;
    codex) mcp=(-c "mcp_servers.codeteam.command=\"$node\"" -c "mcp_servers.codeteam.args=[\"$server\"]") ;;
    gemini)
        gemini_settings "{\"mcpServers\":{\"codeteam\":{\"command\":\"$node\",\"args\":[\"$server\"],\"trust\":true}}}"
        mcp=()
        ;;
    esac
}
case_mcp_submit() { mcp; serve mcp-submit.yml; record mcp-submit "${mcp[@]}"; unserve; }
case_mcp_submit_code_mode() { model=gpt-6-sol; mcp; serve mcp-submit.yml; record mcp-submit-code-mode "${mcp[@]}"; unserve; }
case_text_answer() { serve text-answer.yml; record text-answer; unserve; }
case_wrong_answer() { serve wrong-answer.yml; record wrong-answer "${structured[@]}"; unserve; }
fault() {
    local name=$1
    serve "$(failing "$2")"
    few=()
    if [ "${3:-}" = few ]; then few_retries; fi
    record "$name" "${structured[@]}" "${few[@]}"
    unserve
}
case_rate_limit_then_success() { fault rate-limit-then-success '{kind: rate_limit, times: 1}'; }
case_rate_limit_retry_after() { fault rate-limit-retry-after '{kind: rate_limit, times: 1, retry_after: 1}'; }
case_rate_limit() { fault rate-limit rate_limit few; }
case_usage_limit() { fault usage-limit usage_limit few; }
# With a login, claude reads the headers that say when the limit resets.
case_usage_limit_login() { key=CLAUDE_CODE_OAUTH_TOKEN=sk-ant-oat01-dummy; fault usage-limit-login usage_limit few; }
# A limit that resets on another day is told with its date.
case_usage_limit_days() { fault usage-limit-days '{kind: usage_limit, resets_in: 300000}' few; }
case_quota() { fault quota quota few; }
case_server_error() { fault server-error server_error few; }
case_overloaded() { fault overloaded overloaded few; }
case_overloaded_then_success() { fault overloaded-then-success '{kind: overloaded, times: 1}'; }
case_unauthorized() { fault unauthorized unauthorized few; }
case_unknown_model() { model=no-such-model; fault unknown-model unknown_model few; }
case_cut() { fault cut cut few; }
case_cut_then_success() { fault cut-then-success '{kind: cut, times: 1}'; }
case_cut_stream() { fault cut-stream cut_stream few; }
case_cut_stream_then_success() { fault cut-stream-then-success '{kind: cut_stream, times: 1}'; }
case_bad_stream() { fault bad-stream bad_stream few; }
case_refusal() { fault refusal refusal few; }
case_bad_answer() { serve bad-answer.yml; record bad-answer "${structured[@]}"; unserve; }
case_usage_limit_midway() { serve usage-limit-midway.yml; few=(); few_retries; record usage-limit-midway "${structured[@]}" "${few[@]}"; unserve; }
case_failing_command() { serve failing-command.yml; record failing-command "${structured[@]}"; unserve; }
# Nobody listens.
case_refused() {
    serve success.yml
    kill "$server" && wait "$server" 2>/dev/null || true
    few=()
    few_retries
    if [ "$cli" = codex ]; then few+=(-c features.unbounded_connection_retries=false); fi
    patience=60
    record refused "${structured[@]}" "${few[@]}"
    unserve
}
# Tools that may not be used.
case_denied() { mode=dontAsk; serve success.yml; record denied "${structured[@]}"; unserve; }
case_unknown_flag() { serve success.yml; record unknown-flag --no-such-flag; unserve; }
case_max_turns() {
    serve success.yml
    case $cli in
    claude) record max-turns --max-turns 2 ;;
    gemini) gemini_settings '{"model": {"maxSessionTurns": 2}}'; record max-turns ;;
    esac
    unserve
}
case_max_budget() { serve success.yml; record max-budget --max-budget-usd 0.001; unserve; }
case_resume() {
    serve resume.yml
    local first=$base/first id
    "call_$cli" "$prompt" "${structured[@]}" >"$first" 2>/dev/null
    said='Role: coder
Round: 2

Once more.'
    case $cli in
    claude)
        id=$(sed -n 's/.*"session_id":"\([^"]*\)".*/\1/p' "$first" | head -1)
        record resume --resume "$id" "${structured[@]}"
        ;;
    codex)
        id=$(sed -n 's/.*"thread_id":"\([^"]*\)".*/\1/p' "$first" | head -1)
        sub=(resume "$id")
        record resume "${structured[@]}"
        ;;
    gemini)
        id=$(sed -n 's/.*"session_id":"\([^"]*\)".*/\1/p' "$first" | head -1)
        record resume --resume "$id"
        ;;
    esac
    said=''
    unserve
}

common='success mcp-submit text-answer wrong-answer failing-command rate-limit-then-success
    rate-limit-retry-after rate-limit usage-limit usage-limit-midway quota server-error overloaded
    overloaded-then-success unauthorized unknown-model cut cut-then-success cut-stream
    cut-stream-then-success bad-stream refusal bad-answer refused unknown-flag resume'
cases_claude="$common max-turns max-budget usage-limit-login denied"
cases_codex="$common success-code-mode success-fallback-model mcp-submit-code-mode
    usage-limit-days"
cases_gemini="$common max-turns"

version() { "$clis/$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -1; }

run() {
    cli=$1
    shift
    dir=$out/$cli-$(version "$cli")
    mkdir -p "$dir"
    local list="cases_$cli"
    for name in ${*:-${!list}}; do
        fresh
        structured
        "case_${name//-/_}"
    done
    rm -rf "$base"
}

if [ $# -gt 0 ]; then run "$@"; else for each in claude codex gemini; do run "$each"; done; fi
