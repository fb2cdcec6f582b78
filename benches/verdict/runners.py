"""What test runners print: whether they passed, how many tests they ran, and which ones failed."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field


@dataclass
class Trial:
    """What became of one run of the bare test command."""

    passed: bool
    seconds: float
    count: int = 0
    failed: list = field(default_factory=list)
    # The end of what was printed, if it failed.
    says: str = ""

    def as_json(self):
        return vars(self)


def read(output, junit):
    """Returns how many tests were run, and the names of those that failed."""
    if junit and junit.exists():
        return read_junit(junit)
    output = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", output)
    failed, count = [], 0
    for pattern in COUNTS:
        count += sum(int(number) for number in re.findall(pattern, output, re.M))
    for pattern in FAILED:
        failed += [name.strip() for name in re.findall(pattern, output, re.M)]
    return count, list(dict.fromkeys(failed))


# The numbers of tests in the summaries of cargo, node:test, mocha, jest and vitest. Go prints none.
COUNTS = [r"^test result: \w+\. (\d+) passed", r"^test result: \w+\. \d+ passed; (\d+) failed", r"^# (?:pass|fail) (\d+)$",
          r"^ℹ (?:pass|fail) (\d+)$", r"^\s+(\d+) (?:passing|failing)\b", r"^Tests: .*?(\d+) total$", r"^\s+Tests  .*\((\d+)\)$"]

# The lines in which cargo, go, node:test, jest, vitest and mocha name a test that failed.
FAILED = [r"^test (\S+) (?:- should panic )?\.\.\. FAILED$", r"^\s*--- FAIL: (\S+)", r"^\s*not ok \d+ - (.*?)(?: # .*)?$",
          r"^\s*✖ (.*?) \([\d.]+ms\)$", r"^  ● (.*)$", r"^ *(?:FAIL|×) +\S+ > (.*?)(?: \d+ms)?$",
          r"^  \d+\) (?:.*\n\s+)*?(\S.*):$"]


def read_junit(report):
    failed, count = [], 0
    for case in ElementTree.parse(report).iter("testcase"):
        count += 1
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(f"{case.get('classname')}::{case.get('name')}")
    return count, failed
