#!/bin/sh
# The floor for one step: the fewest processes that take a task from a branch to a verified commit
# on it. A worktree, a worker that changes one file, the collected tree, a check, a commit, the
# branch moved, the worktree gone. No events, no reports, no safety.
#
# usage: floor.sh REPOSITORY WORKTREE COUNT
set -eu
repository=$1 worktree=$2 count=$3
cd "$repository"
git update-ref refs/heads/floor HEAD
n=0
while [ "$n" -lt "$count" ]; do
    n=$((n + 1))
    git worktree add --quiet --detach "$worktree" floor
    (
        cd "$worktree"
        sh -c "echo $n > file-$n"
        git add -A
        tree=$(git write-tree)
        sh -c true
        commit=$(git commit-tree "$tree" -p floor -m "task $n")
        git update-ref refs/heads/floor "$commit"
    )
    git worktree remove --force "$worktree"
done
