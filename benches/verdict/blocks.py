"""Functions and tests as blocks of lines, and edits of them that no language has to itself.

Blocks of languages with braces are found by their indentation, which formatters keep: a block ends at
the first line that is indented like its first one and closes a brace. Blocks of Python come from its
own parser (see `python_changes`).
"""

import difflib
import re
from dataclasses import dataclass, field


@dataclass
class Variant:
    """One change before the gate, and whether a project that accepts it is deceived."""

    kind: str
    wrong: bool
    # Text, or None for a file that goes.
    files: dict
    # Shell lines that the worker runs after that.
    lines: list = field(default_factory=list)
    # The files that the task names: a careful planner's, or the sources alone.
    named: list = field(default_factory=list)
    # Why no test could tell, where that is so.
    beyond: str = ""
    # Whether it is made on top of the newer state, as a change that takes the feature out again.
    onto_newer: bool = False


@dataclass
class Block:
    """A function or a test: line numbers from 1, the attributes above it included in `start`."""

    name: str
    start: int
    head: int
    end: int
    indent: str


def brace_blocks(text, header, attribute=None):
    """The blocks whose first line matches `header`, which has a group `name`."""
    lines = text.split("\n")
    found = []
    for at, line in enumerate(lines):
        match = re.match(header, line)
        if not match:
            continue
        indent = line[: len(line) - len(line.lstrip())]
        end = next((n for n in range(at + 1, len(lines)) if closes(lines[n], indent)), None)
        if end is None or "{" not in "".join(lines[at:end]):
            continue
        start = at
        while attribute and start and re.match(attribute, lines[start - 1].strip()):
            start -= 1
        found.append(Block(match["name"], start + 1, at + 1, end + 1, indent))
    return found


def closes(line, indent):
    rest = line[len(indent):]
    return line.startswith(indent) and rest[:1] == "}"


def body_range(text, block):
    """The first and the last line of what is between the braces, as indices of a list of lines."""
    lines = text.split("\n")
    at = block.head - 1
    while at < block.end - 1 and not lines[at].rstrip().endswith(("{", "=> {")):
        at += 1
    return at + 1, block.end - 1


def with_body(text, block, new):
    """Puts other lines, without their indentation, in the place of a block's body."""
    lines = text.split("\n")
    first, last = body_range(text, block)
    pad = block.indent + unit_of(text)
    return "\n".join(lines[:first] + [pad + line if line else "" for line in new] + lines[last:])


def with_first(text, block, new):
    """Puts lines before the body of a block."""
    lines = text.split("\n")
    first, _ = body_range(text, block)
    pad = block.indent + unit_of(text)
    return "\n".join(lines[:first] + [pad + line for line in new] + lines[first:])


def body_of(text, block):
    first, last = body_range(text, block)
    return text.split("\n")[first:last]


def without(text, block):
    lines = text.split("\n")
    return "\n".join(lines[: block.start - 1] + lines[block.end :])


def with_line_above(text, block, line):
    lines = text.split("\n")
    return "\n".join(lines[: block.head - 1] + [block.indent + line] + lines[block.head - 1 :])


def with_head(text, block, old, new):
    """Replaces something in the first line of a block."""
    lines = text.split("\n")
    lines[block.head - 1] = lines[block.head - 1].replace(old, new, 1)
    return "\n".join(lines)


def without_lines(text, block, pattern):
    """Takes the lines of a block out that are a whole statement and match a pattern."""
    lines = text.split("\n")
    kept = [line for number, line in enumerate(lines, 1)
            if not (block.start <= number <= block.end and re.search(pattern, line) and line.rstrip().endswith((";", ")")))]
    return "\n".join(kept)


def unit_of(text):
    """What one level of indentation is."""
    for line in text.split("\n"):
        if line.startswith("\t"):
            return "\t"
        match = re.match(r"( +)\S", line)
        if match and len(match[1]) in (2, 4) and not line.lstrip().startswith("*"):
            return match[1]
    return "    "


def around(blocks, number):
    """The innermost block that a line is in."""
    inside = [b for b in blocks if b.head <= number <= b.end]
    return max(inside, key=lambda b: b.head, default=None)


def changed_lines(before, after):
    """The numbers of the lines of `after` that are not in `before`."""
    found = []
    matcher = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False)
    for tag, _, _, start, end in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            found.extend(range(start + 1, end + 1))
    return found


def half_of(before, after):
    """The first half of the hunks between two texts."""
    return by_hunks(before, after, lambda number, count: number < count // 2)


def without_last_hunk(before, after):
    """All hunks but the last one."""
    return by_hunks(before, after, lambda number, count: number < count - 1)


def by_hunks(before, after, is_kept):
    a, b = before.split("\n"), after.split("\n")
    codes = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    real = [code for code in codes if code[0] != "equal"]
    kept = [code for number, code in enumerate(real) if is_kept(number, len(real))]
    out = []
    for code in codes:
        tag, i1, i2, j1, j2 = code
        out += b[j1:j2] if tag == "equal" or code in kept else a[i1:i2]
    return "\n".join(out)


def mutants_by_swaps(text, wanted, swaps, comment, passed_over, is_valid=lambda text: True):
    """Yields (line number, text) with one of the wanted lines changed in its meaning."""
    lines = text.split("\n")
    for number in wanted:
        line = lines[number - 1]
        code = line.split(comment)[0]
        if not code.strip() or code.strip().startswith(passed_over):
            continue
        for old, new in swaps:
            if old not in code:
                continue
            changed = "\n".join(lines[: number - 1] + [code.replace(old, new, 1)] + lines[number:])
            if is_valid(changed):
                yield number, changed


def literal_pairs(text, block, call, literal):
    """What a test asks in single lines: [(function, input, answer)], as they stand in the source."""
    found = []
    for line in text.split("\n")[block.head : block.end]:
        for match in re.finditer(rf"(?:\w+\.)?(?P<name>\w+)\((?P<given>{literal})\)\)?{call}(?P<wanted>{literal})", line):
            found.append((match["name"], match["given"], match["wanted"]))
    return found
