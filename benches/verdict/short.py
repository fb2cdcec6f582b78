"""The short version for ./check: kinds that are refused today must be refused, and right ones accepted."""

import json
import pathlib
import time

import figures
from changes import Changes
from packages import Package


def run(bench):
    """Returns the exit code."""
    listed = json.loads((pathlib.Path(__file__).resolve().parent / "packages.json").read_text())
    begun, worse, count = time.monotonic(), [], 0
    for about in listed["packages"]:
        package = Package(bench, about)
        wanted = about["short"]
        known = {v.kind: v for v in Changes(package, 0).without_trials(about["fault"])}
        for kind in wanted["refused"] + wanted["accepted"]:
            result = package.judge(known[kind], count)
            count += 1
            case = {"kind": kind, "wrong": known[kind].wrong, "beyond": "", **result}
            print(f"{package.name}: {figures.line_of(case).strip()}", flush=True)
            if result["accepted"] != (kind in wanted["accepted"]):
                worse.append(f"{package.name}: {kind} was {'accepted' if result['accepted'] else 'refused'}: {result['by'] or result['said']}")
    print(f"{count} changes in {time.monotonic() - begun:.0f} s")
    for line in worse:
        print(f"worse than before: {line}")
    return 1 if worse else 0
