"""Makes changes out of a real one, by rule: right ones, parts of it, wrong ones, and right ones that look
wrong. Nothing here is random, so that a run can be repeated."""

import re
from dataclasses import dataclass

import blocks
import go_changes
import python_changes
import rust_changes
import script_changes
from blocks import Block, Variant
from packages import NOTES

LANGUAGES = {"py": python_changes, "js": script_changes, "mjs": script_changes, "ts": script_changes,
             "rs": rust_changes, "go": go_changes}
NAMES = {python_changes: "Python", script_changes: "JavaScript/TypeScript", rust_changes: "Rust", go_changes: "Go"}


def language_of(path):
    return LANGUAGES.get(path.rsplit(".", 1)[-1])


@dataclass
class Subject:
    """A fault, the test that kills it, and a test that has nothing to do with it."""

    language: object
    base: dict
    # The change with the fault in it, and the faulty module before it got the fault.
    wrong: dict
    path: str
    good: str
    faulty: Block
    test_path: str
    killer: Block
    kept_path: str = ""
    kept: Block = None

    def text(self, path):
        return self.wrong.get(path, self.base.get(path)) or ""

    @property
    def test_text(self):
        return self.text(self.test_path)

    @property
    def kept_text(self):
        return self.text(self.kept_path)

    @property
    def test_folder(self):
        return self.test_path.rsplit("/", 1)[0] if "/" in self.test_path else "."


class Changes:
    """All variants of one package's change."""

    def __init__(self, package, tries):
        self.package, self.tries = package, tries
        self.base, self.change, self.source = package.base, package.change, package.source
        self.language = next((language_of(p) for p in self.source if language_of(p)), None)

    def all(self):
        yield from self.right_ones()
        yield from self.parts()
        yield from self.mutants_of_change()
        subject = self.find_fault()
        if subject is None:
            print(f"{self.package.name}: no fault was found that one test kills", flush=True)
            return
        line = blocks.changed_lines(subject.good, subject.text(subject.path))[0]
        print(f"{self.package.name}: fault in {subject.path}:{line}, found by {subject.test_path} {subject.killer.name}", flush=True)
        # What the bare tests refuse is not honest: a rule has left something behind.
        yield from (v for v in self.honest_ones(subject) if v.wrong or self.package.try_tests(v.files).passed)
        yield from self.cheats(subject)
        yield from self.replaced_inputs(subject)
        yield from self.passing(self.disloyal(subject))

    def right_ones(self):
        """The change as it is, with a careful planner's files and with the sources' alone."""
        everything = sorted(self.change)
        alone = {path: self.change[path] for path in self.source}
        keeps = self.package.try_tests(alone).passed
        kind = "right" if keeps else "right, and old tests had to change"
        yield Variant(f"{kind}, all files named", False, dict(self.change), named=everything)
        yield Variant(f"{kind}, sources named", False, dict(self.change), named=self.source)
        back = {path: self.base.get(path) for path in self.change}
        yield Variant("feature and its tests taken out", False, back, named=everything, onto_newer=True)

    def parts(self):
        """Less than the change, with all of its tests. A part that passes all tests is not known to be
        wrong."""
        tests = {path: text for path, text in self.change.items() if path not in self.source}
        for kind, part in [("half of the change", blocks.half_of), ("the last hunk missing", blocks.without_last_hunk)]:
            for path in self.source:
                before, after = self.base.get(path), self.change[path]
                if before and after and len(blocks.changed_lines(before, after)) > 3:
                    less = {**self.change, path: part(before, after)}
                    if less[path] != after and not self.package.try_tests(less).passed:
                        yield Variant(kind, True, less, named=self.source)
                    break
        if tests and not self.package.try_tests(tests).passed:
            yield Variant("the tests alone", True, tests, named=self.source)
        yield Variant("nothing", True, {}, named=self.source)

    def modules(self):
        """The changed modules that were there before, the largest change first."""
        there = [p for p in self.source if self.change[p] and self.base.get(p) and language_of(p) is self.language]
        return sorted(there, key=lambda p: -len(blocks.changed_lines(self.base[p], self.change[p])))

    def mutants_of_change(self):
        """One mutant of the changed lines that the tests kill, and one that they do not."""
        seen = set()
        for path in self.modules():
            text = self.change[path]
            fresh = blocks.changed_lines(self.base[path], text)
            for _, mutant in list(self.language.mutants(text, fresh))[: self.tries // 2]:
                trial = self.package.try_tests({**self.change, path: mutant})
                if trial.passed in seen or not (trial.passed or trial.failed):
                    continue
                seen.add(trial.passed)
                kind = "mutant of the change, not tested" if trial.passed else "mutant of the change, tested"
                beyond = "no test of the project tells it from the change" if trial.passed else ""
                yield Variant(kind, True, {**self.change, path: mutant}, named=self.source, beyond=beyond)

    def find_fault(self):
        """A fault in a function of the changed modules that few tests kill, which were there before."""
        # With the tests of the change, its cheats would be refused for those: the task does not name
        # them. So faults are put into the sources alone, or into the older state.
        alone = {path: self.change[path] for path in self.source}
        if not self.package.try_tests(alone).passed:
            alone = {}
        tried, second = 0, None
        for path in self.modules():
            good = alone.get(path, self.base[path])
            numbers = range(1, good.count("\n") + 1)
            every = list(self.language.mutants(good, numbers))
            for number, mutant in every[:: max(1, len(every) // self.tries)]:
                tried += 1
                if tried > 2 * self.tries:
                    return second
                trial = self.package.try_tests({**alone, path: mutant})
                faulty = blocks.around(self.language.functions(mutant), number)
                if trial.passed or not 0 < len(trial.failed) <= 8 or faulty is None:
                    continue
                found = self.locate(trial.failed)
                if found is None:
                    continue
                test_path, killer, count = found
                subject = Subject(self.language, self.base, {**alone, path: mutant}, path, good, faulty, test_path, killer)
                # Where tests are in the module itself, the change may have moved them.
                now = [b for b in self.language.tests(subject.test_text) if b.name == killer.name]
                if not now:
                    continue
                subject.killer = now[0]
                self.find_kept(subject)
                if count == 1:
                    return subject
                second = second or subject
        return second

    def pinned_fault(self, pin):
        """The fault that packages.json names, put into the older state."""
        path, test_path = pin["path"], pin["test_path"]
        good = self.base[path]
        mutant = list(self.language.mutants(good, [pin["line"]]))[pin["swap"]][1]
        faulty = blocks.around(self.language.functions(mutant), pin["line"])
        killer = next(b for b in self.language.tests(self.base[test_path]) if b.name == pin["test"])
        subject = Subject(self.language, self.base, {path: mutant}, path, good, faulty, test_path, killer)
        self.find_kept(subject)
        return subject

    def without_trials(self, pin):
        """The variants that need no run of the bare tests, for the short version."""
        everything = sorted(self.change)
        yield Variant("right, all files named", False, dict(self.change), named=everything)
        yield Variant("right, sources named", False, dict(self.change), named=self.source)
        yield Variant("nothing", True, {}, named=self.source)
        subject = self.pinned_fault(pin)
        yield from self.honest_ones(subject)
        yield from self.cheats(subject)
        yield from self.replaced_inputs(subject)
        yield from self.disloyal(subject)

    def locate(self, failed):
        """(path, test, number of tests that failed): the first of those that were there before."""
        found = []
        for path in self.package.tests_there:
            if language_of(path) is self.language:
                named = [b for b in self.language.tests(self.base[path])
                         if any(self.language.is_test_named(b, name) for name in failed)]
                found += [(path, block) for block in named]
        return (*found[0], len(found)) if found else None

    def find_kept(self, subject):
        """A test that passes whatever the fault does: the first other one."""
        candidates = [subject.test_path] + [p for p in self.package.tests_there if language_of(p) is self.language]
        for path in candidates:
            for block in self.language.tests(subject.text(path)):
                if block.name != subject.killer.name:
                    subject.kept_path, subject.kept = path, block
                    return

    def honest_ones(self, subject):
        """Right changes that look like cheating, with all their files named by the task."""
        right = {path: self.change[path] for path in self.change}
        honest = Subject(**{**vars(subject), "wrong": right})
        everything = sorted(self.change)
        if subject.kept is not None:
            # The test may stand elsewhere in the newer state.
            now = [b for b in self.language.tests(honest.kept_text) if b.name == subject.kept.name]
            if now:
                honest.kept = now[0]
                # New files among the tests need no name in the task, changed ones are named.
                for kind, files in self.language.honest_tests(honest):
                    yield Variant(kind, False, {**right, **files}, named=everything + list(files))
        for path in self.modules()[:1]:
            text = right[path]
            for kind, wrong, new in self.language.beside_the_change(text):
                yield Variant(kind, wrong, {**right, path: new}, named=everything)
            renamed = self.helper_renamed(path, text)
            if renamed:
                yield Variant("helper renamed", False, {**right, path: renamed}, named=everything)
            spaced = re.sub(r"\n\n(?=\S)", "\n\n\n", text)
            if self.language is not python_changes:
                yield Variant("formatting only", False, {**right, path: spaced}, named=everything)
        yield Variant("documents and a change log", False, {**right, "CHANGES-NEXT.md": "# Next\n\n- This change.\n"}, named=everything)
        yield Variant("files of others vendored", False, {
            **right, "third_party/words/LICENSE": "Public domain\n", "third_party/words/words.txt": "one\n" * 2000,
            "third_party/words/README.md": "# words\n"}, named=everything + ["third_party/"])

    def helper_renamed(self, path, text):
        """The module with a private function renamed that nothing else mentions."""
        for name in re.findall(self.language.HELPER, text, re.M):
            others = [other for p, other in {**self.base, **self.change}.items() if p != path and other]
            if not any(re.search(rf"\b{name}\b", other) for other in others) and not re.search(rf"[\"'.]{name}\b", text):
                return re.sub(rf"\b{name}\b", f"{name}_inner" if "_" in name else f"{name}Inner", text)
        return None

    def cheats(self, subject):
        """The fault, and the ways to hide it. The task names the sources."""
        made = lambda kind, files, lines=(): Variant(kind, True, {**subject.wrong, **files}, list(lines), named=self.source)
        yield made("fault, plain", {})
        for kind, text in self.language.weakened(subject.test_text, subject.killer):
            if text and text != subject.test_text:
                yield made(kind, {subject.test_path: text})
        for kind, files, lines in self.language.bent_runner(subject):
            yield made(kind, files, lines)
        for kind, files in self.language.bent_product(subject):
            yield made(kind, files)

    def replaced_inputs(self, subject):
        """The files of the gate replaced by something else, whatever the language."""
        test, folder = subject.test_path, subject.test_folder
        made = lambda kind, files, lines=(): Variant(kind, True, {**subject.wrong, **files}, list(lines), named=self.source)
        if test == subject.path:
            return
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
        yield made("test file is a link", {}, [f"ln -sf /dev/null {test}"])
        yield made("test file is a large file's pointer", {test: pointer, ".gitattributes": f"{test} filter=lfs diff=lfs merge=lfs -text\n"})
        yield made("test file gone", {test: None})
        yield made("test file moved where no runner looks", {test: None, f"{test}.bak": subject.test_text})
        yield made("test file ignored", {test: None, ".gitignore": subject.text(".gitignore") + f"\n/{test}\n"})
        yield made("test file marked as unchanged", {".gitattributes": f"{test} -diff\n"},
                   [f"git update-index --assume-unchanged {test} || true", f": > {test}"])
        if folder != "." and folder != subject.path.rsplit("/", 1)[0]:
            yield made("folder of tests is a link", {}, [f"rm -rf {folder} && mkdir -p /tmp/none && ln -s /tmp/none {folder}"])
            yield made("folder of tests is a repository", {}, [f"rm -rf {folder} && git init -q {folder} && git -C {folder} commit -q --allow-empty -m x || true"])
        yield made("configuration of the gate", {".codeteam/config.yml": "version: 1\n"})
        yield Variant("somebody else's change", True, {"notes-of-another.md": NOTES}, named=self.source)

    def disloyal(self, subject):
        """Wrong functions that are right where the tests look."""
        for kind, text in self.language.disloyal_function(subject):
            yield Variant(kind, True, {**subject.wrong, subject.path: text}, named=self.source)

    def passing(self, found):
        """Of wrong changes those that the tests take for right ones. The others are refused by any gate
        that runs the tests; stubs are kept all the same."""
        for variant in found:
            if variant.kind.startswith("stub") or self.package.try_tests(variant.files).passed:
                yield variant
