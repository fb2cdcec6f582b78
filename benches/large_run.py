#!/usr/bin/env python3
"""Makes a project with a run of many tasks, two of which are worked on, each with a long output.

    benches/large_run.py FOLDER TASKS LINES CODETEAM

Makes a repository in FOLDER, which must not exist, and drives the run in it with scripted workers until
it is stopped with Ctrl-C. Each worker prints LINES lines and one with the word `needle`, and then waits.
"""

import os
import subprocess
import sys

FLOW = """start: tasks
roles: { coder: { kind: implementer } }
steps:
  tasks:
    each: task
    cap: 2
    next: done
    steps:
      code: { role: coder, next: commit }
      commit: { commit: branch, next: done }
"""

TEAM = """version: 1
plays:
  - match: {{ role: coder }}
    do:
      - run: "seq 1 {lines}; echo a nee''dle in the hay; seq 1 300; sleep 86400"
      - submit: {{ summary: Made it }}
"""


def plan(tasks):
    lines = ["plan_id: large", "description: Many things", "tasks:"]
    for n in range(1, tasks + 1):
        lines.append(f"  - {{ id: task-{n:04}, title: Do part {n}, files: [part{n}.txt] }}")
    return "\n".join(lines) + "\n"


def main():
    folder, tasks, lines, program = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    os.makedirs(folder)
    outside = os.path.abspath(folder) + ".files"
    os.makedirs(outside, exist_ok=True)

    def write(name, text):
        path = os.path.join(outside, name)
        with open(path, "w") as file:
            file.write(text)
        return path

    identity = ["-c", "user.name=Bench", "-c", "user.email=bench@example.org"]
    subprocess.run(["git", "init", "-q", folder], check=True)
    commit = [*identity, "commit", "-q", "--allow-empty", "-m", "Begin"]
    subprocess.run(["git", "-C", folder, *commit], check=True)
    flow = write("flow.yml", FLOW)
    team = write("team.yml", TEAM.format(lines=lines))
    arguments = ["--plan", write("plan.yml", plan(tasks)), "--workflow", flow, "--script", team]
    environment = dict(os.environ, GIT_AUTHOR_NAME="Bench", GIT_AUTHOR_EMAIL="bench@example.org")
    os.execvpe(program, [program, "-C", folder, "run", *arguments], environment)


main()
