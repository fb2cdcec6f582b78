#!/bin/sh
# Runs every tests/test_*.sh in a shell of its own, from the project's root.
# Ends with 1 if one of them fails.

cd "$(dirname "$0")/.." || exit 1

status=0
for test in tests/test_*.sh; do
    if sh "$test"; then
        echo "ok   $test"
    else
        echo "FAIL $test"
        status=1
    fi
done
exit "$status"
