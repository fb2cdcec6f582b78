"""Prints what became of the cases: as lines, as a summary, and as the tables of docs/verdict.md."""

import difflib

LONGEST = 10


def line_of(case):
    verdict = "accepted" if case["accepted"] else "refused: " + ", ".join(case["by"] or [case["said"]])
    is_expected = case["accepted"] != case["wrong"]
    mark = "  " if is_expected or case["beyond"] else "! "
    return f"{mark}{'wrong' if case['wrong'] else 'right'}  {case['kind']:<48} {verdict}  {case['seconds']:.1f} s"


def short_diff(package, variant):
    """What a variant adds to the right change, without the package's own lines."""
    theirs = {line.strip() for text in [*package.base.values(), *package.change.values()] for line in (text or "").split("\n")}
    out = []
    for path, text in sorted(variant.files.items()):
        right = package.change.get(path, package.base.get(path)) or ""
        if (text or "") == right:
            continue
        hunks = by_hunk(right.split("\n"), (text or "").split("\n"))
        added = [line for gone, lines in hunks for line in lines if line.strip() and line.strip() not in theirs and not (gone and len(lines) == 1)]
        out += [f"+++ {path}"] * bool(added) + [f"+{line[:120]}" for line in added]
    out += [f"$ {line}" for line in variant.lines]
    return "\n".join(out[:LONGEST]) + ("\n…" if len(out) > LONGEST else "")


def by_hunk(before, after):
    """The lines that each hunk takes out and puts in."""
    codes = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(before[i1:i2], after[j1:j2]) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def print_summary(cases):
    wrong = [c for c in cases if c["wrong"] and not c["beyond"]]
    right = [c for c in cases if not c["wrong"]]
    beyond = [c for c in cases if c["wrong"] and c["beyond"]]
    print(f"wrong and accepted: {sum(c['accepted'] for c in wrong)} of {len(wrong)}")
    for case in wrong:
        if case["accepted"]:
            findings = f" (reviewers: {'; '.join(case['findings'])})" if case["findings"] else ""
            print(f"  {case['package']}: {case['kind']}{findings}")
    print(f"right and refused: {sum(not c['accepted'] for c in right)} of {len(right)}")
    for case in right:
        if not case["accepted"]:
            print(f"  {case['package']}: {case['kind']}: {case['by'] or case['said']}")
    print(f"wrong, and no test of the project can tell: {sum(c['accepted'] for c in beyond)} of {len(beyond)} accepted")
    print_times(right)


def print_times(right):
    ratios = sorted(c["seconds"] / c["bare"] for c in right if c["bare"] and c["accepted"])
    if ratios:
        seconds = sorted(c["seconds"] for c in right if c["accepted"])
        print(f"right and accepted: median {seconds[len(seconds) // 2]:.1f} s, {ratios[len(ratios) // 2]:.1f} times the bare tests")


def print_figures(cases):
    """The tables of docs/verdict.md."""
    languages = sorted({c["language"] for c in cases})
    print("| language | changes | wrong, accepted | right, refused | no test can tell, accepted | seconds, right and accepted (median) | times the bare tests |")
    print("|---|---|---|---|---|---|---|")
    for language in languages + ["all"]:
        mine = [c for c in cases if language in ("all", c["language"])]
        wrong = [c for c in mine if c["wrong"] and not c["beyond"]]
        right = [c for c in mine if not c["wrong"]]
        beyond = [c for c in mine if c["beyond"]]
        fine = sorted((c["seconds"], c["seconds"] / c["bare"]) for c in right if c["accepted"] and c["bare"])
        ratios = sorted(ratio for _, ratio in fine)
        times = (f"{fine[len(fine) // 2][0]:.1f}", f"{ratios[len(ratios) // 2]:.1f}") if fine else ("", "")
        count = len({c["package"] for c in mine})
        print(f"| {language} | {count} | {share(wrong, True)} | {share(right, False)} | {share(beyond, True)} | {times[0]} | {times[1]} |")
    print_goals(cases)
    for is_wrong in (True, False):
        print(f"\n| {'wrong' if is_wrong else 'right'} | " + " | ".join(languages) + " | by |\n|---|" + "---|" * (len(languages) + 1))
        kinds = dict.fromkeys(c["kind"] for c in sorted(cases, key=lambda c: c["kind"]) if c["wrong"] == is_wrong)
        for kind in kinds:
            mine = [c for c in cases if c["kind"] == kind and c["wrong"] == is_wrong]
            rules = sorted({name for c in mine for name in c["by"]})
            cells = [share([c for c in mine if c["language"] == language], is_wrong) for language in languages]
            print(f"| {kind} | " + " | ".join(cells) + f" | {', '.join(rules)} |")
    print_exceptions(cases)


def print_goals(cases):
    """What the figures are to be, and whether they are. A proof takes further runs of the tests, which the
    seconds of a case do not tell apart from what codeteam itself takes."""
    wrong = [c for c in cases if c["wrong"] and not c["beyond"]]
    right = [c for c in cases if not c["wrong"]]
    untold = sum(c["accepted"] and not c["findings"] for c in wrong)
    accepted = sum(c["accepted"] for c in wrong)
    refused = sum(not c["accepted"] for c in right)
    ratios = sorted(c["seconds"] / c["bare"] for c in right if c["bare"] and c["accepted"])
    verdict = lambda is_met: "ok" if is_met else "**MISSED**"
    print("\n| goal | measured | |\n|---|---|---|")
    print(f"| no wrong change is accepted | {accepted} of {len(wrong)}, {untold} of them without a finding | {verdict(not accepted)} |")
    if right:
        print(f"| at most 1 % of the right changes are refused | {refused} of {len(right)}: {100 * refused / len(right):.0f} % | {verdict(100 * refused <= len(right))} |")
    if ratios:
        times = ratios[len(ratios) // 2]
        print(f"| 1.3 times the bare tests, and what a proof needs | {times:.1f} times, proofs included | {verdict(times <= 1.3)} |")


def share(cases, accepted):
    """How many of the cases ended the wrong way; of wrong ones that were accepted, how many with a
    finding for reviewers."""
    if not cases:
        return ""
    ended = [c for c in cases if c["accepted"] == accepted]
    told = sum(bool(c["findings"]) for c in ended) if accepted else 0
    return f"{len(ended)} of {len(cases)}" + (f" ({told} told)" if told else "")


def print_exceptions(cases):
    print("\n### Wrong and accepted\n")
    for case in cases:
        if case["wrong"] and case["accepted"] and not case["beyond"]:
            told = f"; reviewers are told: {'; '.join(case['findings'])}" if case["findings"] else ""
            print(f"**{case['kind']}** ({case['package']}{told})\n\n```diff\n{case['diff']}\n```\n")
    print("### Right and refused\n")
    print("| change | kind | rule | it says |\n|---|---|---|---|")
    for case in cases:
        if not case["wrong"] and not case["accepted"]:
            for rule, says in (case["by"] or {"-": case["said"]}).items():
                first = " ".join(says.split())[:220].replace("|", "\\|")
                print(f"| {case['package']} | {case['kind']} | {rule} | {first} |")


def print_comparison(before, after):
    """What became of each kind, with two programs, of the cases that both judged."""
    key = lambda c: (c["package"], c["kind"])
    known = {key(c) for c in before} & {key(c) for c in after}
    kinds = dict.fromkeys((c["wrong"], c["kind"]) for c in sorted(after, key=lambda c: (not c["wrong"], c["kind"])) if key(c) in known)
    for is_wrong in (True, False):
        print(f"\n| {'wrong' if is_wrong else 'right'} | {'accepted' if is_wrong else 'refused'} before | after |\n|---|---|---|")
        for wrong, kind in kinds:
            if wrong == is_wrong:
                cells = [share([c for c in cases if c["kind"] == kind and c["wrong"] == wrong and key(c) in known], is_wrong) for cases in (before, after)]
                print(f"| {kind} | {cells[0]} | {cells[1]} |")
