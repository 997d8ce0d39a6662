#!/bin/sh
# A walk through a fleet that runs: schedules made, changed and removed over HTTP, and its leader killed.
set -eu
cd "$(dirname "$0")"
. "${FLEET_DATA:-data}/fleet.env"
python=${PYTHON:-python3}
fencepost="$python -m fencepost"

call() { # METHOD PATH [BODY]
    curl --silent --show-error --fail-with-body --request "$1" "$SERVER/api/v1/$2" \
        --header "Authorization: Bearer $FENCEPOST_TOKEN" \
        ${3:+--header "If-Match: *" --header "Content-Type: application/json" --data "$3"}
}
ran() { # SCHEDULE: how many of its ticks have succeeded
    call GET "runs?schedule=$1&state=succeeded&limit=500" |
        $python -c 'import json, sys; print(len(json.load(sys.stdin)["items"]))'
}
until_ran() { # SCHEDULE COUNT
    tries=0
    while [ "$(ran "$1")" -lt "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 240 ] || { echo "$1 did not run $2 times" >&2; exit 1; }
        sleep 0.5
    done
}
holder() { # SHARD: the node that leads it
    $fencepost leases --json |
        $python -c 'import json, sys; print(json.load(sys.stdin)["shards"][int(sys.argv[1])]["holder"] or "")' "$1"
}
until_led_by_another() { # SHARD NODE
    tries=0
    while now=$(holder "$1"); [ -z "$now" ] || [ "$now" = "$2" ]; do
        tries=$((tries + 1))
        [ $tries -lt 240 ] || { echo "nobody took over shard $1" >&2; exit 1; }
        sleep 0.5
    done
    echo "$now"
}

echo "1. Two schedules, over HTTP"
call PUT schedules/pulse '{"job": "report", "every": "2s", "payload": {"about": "the pulse"}}' >/dev/null
call PUT schedules/noise '{"job": "report", "every": "1s", "payload": {"about": "noise"}}' >/dev/null
until_ran pulse 3
until_ran noise 3

echo "2. One is changed, and one removed"
call PATCH schedules/pulse '{"every": "1s", "reason": "twice as often"}' >/dev/null
call DELETE schedules/noise >/dev/null

echo "3. The leader of shard 0 is killed"
leader=$(until_led_by_another 0 "")
pid=$(echo "$leader" | $python -c 'import re, sys; print(re.search(r"-(\d+)-[0-9a-f]+$", sys.stdin.read().strip())[1])')
kill -9 "$pid"
heir=$(until_led_by_another 0 "$leader")
echo "   $leader was killed, $heir took over"
grep --no-filename --extended-regexp "leads shards=0\b" "$DATA"/scheduler-*.log | sort | tail -n 1
until_ran pulse $(($(ran pulse) + 10))

echo "4. No tick is missing, none is doubled"
$fencepost audit
