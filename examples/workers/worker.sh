#!/bin/sh
# In plain sh, with curl and jq: FENCEPOST_TOKEN="$(fencepost token create counter --role worker)" ./worker.sh http://127.0.0.1:8580
base=${1:-http://127.0.0.1:8580}
worker=sh-$(od -An -N8 -tx1 /dev/urandom | tr -d ' \n') # new at each start: a name belongs to one process
folder=$(mktemp -d) main=$$ stopping= known='[]' # fences of runs that were given up or not receipted
trap 'rm -rf "$folder"' EXIT
trap 'stopping=1' INT TERM
(umask 077 && printf 'Authorization: Bearer %s\n' "$FENCEPOST_TOKEN" >"$folder/token") # no secret in arguments

# call PATH BODY SECONDS ANSWER: the status, 000 where nobody knows whether the call was carried out.
call() {
    curl -s -m "$3" -o "$folder/$4" -w '%{http_code}' -H @"$folder/token" -H 'Content-Type: application/json' \
        -d "$2" "$base/api/v1/$1"
}

# The work itself: the result on stdout, progress in a file.
count() {
    to=$(jq .payload.to "$folder/run") pause_s=$(jq '.payload.pause_s // 0.1' "$folder/run") n=0
    while [ "$n" -lt "$to" ]; do
        sleep "$pause_s"
        n=$((n + 1))
        jq -cn "{progress: ($n / $to), note: \"counted to $n\"}" >"$folder/new" && mv "$folder/new" "$folder/said"
    done
    jq -cn "{result: {counted: $to}}"
}

# Heartbeats for as long as this worker lives; the work is ended where the run is lost or asked to stop.
beat() {
    silent_s=0
    while sleep "$every_s" && kill -0 "$main" 2>/dev/null; do
        case $(call "$path/heartbeat" "$(jq -c --argjson t "$ticket" '$t + .' "$folder/said")" "$every_s" beat) in
            200) silent_s=0 && jq -e '.cancel_requested | not' "$folder/beat" >/dev/null || kill "$1" 2>/dev/null ;;
            409) touch "$folder/lost" && kill "$1" 2>/dev/null ;;
            *) silent_s=$((silent_s + 2 * every_s)) ;;
        esac
        [ "$silent_s" -lt "$alive_s" ] || { touch "$folder/lost" && kill "$1" 2>/dev/null; } # another's by now?
    done
}

while [ -z "$stopping" ]; do
    asked=$(jq -cn --arg w "$worker" --argjson k "$known" '{worker: $w, jobs: ["count"], wait_s: 20, known: $k}')
    if [ "$(call claims "$asked" 30 claims)" != 200 ]; then echo "no claims: $base" >&2 && sleep 1 && continue; fi
    jq -ce '.claims[0] // empty' "$folder/claims" >"$folder/run" || continue
    ticket=$(jq -c '{attempt, fence}' "$folder/run") path=runs/$(jq -r '.run_key | @uri' "$folder/run")
    every_s=$(jq '.heartbeat_every_s | ceil' "$folder/run") alive_s=$(jq '.alive_for_s | floor' "$folder/run")
    echo '{}' >"$folder/said" && rm -f "$folder/lost"
    count >"$folder/outcome" & work=$!
    beat "$work" & beating=$!
    while wait "$work"; code=$?; kill -0 "$work" 2>/dev/null; do :; done # a signal ends a wait early
    verb=complete told=
    [ "$code" = 0 ] || { verb=fail && echo '{"error": "Stopped: asked to, or it broke"}' >"$folder/outcome"; }
    # Repeated until it is answered, also if a heartbeat finds the run ended: that may be by this very report.
    [ -e "$folder/lost" ] || while :; do
        told=$(call "$path/$verb" "$(jq -c --argjson t "$ticket" '$t + .' "$folder/outcome")" 10 report)
        case $told in 000 | 5*) sleep 1 ;; *) break ;; esac
    done
    [ "$told" = 200 ] || known=$(jq -c --argjson k "$known" '$k[-999:] + [.fence]' "$folder/run") # begun: never again
    kill "$beating" 2>/dev/null
done
