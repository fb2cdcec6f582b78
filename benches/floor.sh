#!/bin/sh
# The floor for one step: the fewest processes that take a task from a branch to a verified commit
# on it. A worktree, a worker that changes one file, the collected tree, a check, a commit, the
# branch moved, the worktree gone. No events, no reports, no safety.
#
# With `keep`, one worktree serves all steps: it is made if it is not there, each step begins by
# moving it to the branch, and it stays.
#
# usage: floor.sh REPOSITORY WORKTREE COUNT [keep]
set -eu
repository=$1 worktree=$2 count=$3 keep=${4:-}
cd "$repository"
git update-ref refs/heads/floor HEAD
if [ "$keep" ] && [ ! -e "$worktree" ]; then
    git worktree add --quiet --detach "$worktree" floor
fi
n=0
while [ "$n" -lt "$count" ]; do
    n=$((n + 1))
    [ "$keep" ] || git worktree add --quiet --detach "$worktree" floor
    (
        cd "$worktree"
        [ -z "$keep" ] || git reset --quiet --hard floor
        sh -c "echo $n > file-$n"
        git add -A
        tree=$(git write-tree)
        sh -c true
        commit=$(git commit-tree "$tree" -p floor -m "task $n")
        git update-ref refs/heads/floor "$commit"
    )
    [ "$keep" ] || git worktree remove --force "$worktree"
done
