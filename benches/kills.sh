#!/bin/sh
# Kills the orchestrator around the moment of spawning, COUNT times in each way: the sandbox's own
# tests by bubblewrap and, where podman starts, in containers; and codeteam itself. Fails if a
# process, a mount, a container or a cgroup is left. `check` runs the short version.
#
# usage: kills.sh [COUNT]
set -eu
cd "$(dirname "$0")/.."
groups() { find /sys/fs/cgroup -maxdepth 6 -type d -name 'codeteam-*' 2>/dev/null; }
before=$(groups)
export CODETEAM_TEST_KILLS="${1:-300}"
cargo test -q -p codeteam-sandbox --test it -- whenever_it_comes
cargo test -q -p codeteam --test it -- around_the_moment_of_a_spawn
# What a killed codeteam leaves is removed when the next one starts.
cargo run -q -p codeteam -- doctor >/dev/null || true
left=$(groups | grep -vxF "$before" || true)
[ -z "$left" ] || { echo "left: $left" >&2; exit 1; }
echo "$CODETEAM_TEST_KILLS kills in each way; nothing is left"
