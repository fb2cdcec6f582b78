"""One change of one package: a repository in the older state, configured by `codeteam init` alone."""

import base64
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import time

import runners
from runners import Trial

# What set-ups leave in a tree. It is neither committed nor taken away between two trials.
MADE = "node_modules/\n.venv/\ntarget/\n__pycache__/\n.pytest_cache/\n"


class Package:
    """The change, the repository in which codeteam judges, and a plain copy in which the bare tests run."""

    def __init__(self, bench, about):
        self.bench, self.about = bench, about
        self.clone = about.get("clone")
        self.name = f"{about['name']}-{about['to'][:9]}" if self.clone else about["name"]
        self.folder = bench.work / bench.label / self.name
        self.repo, self.truth = self.folder / "repo", bench.work / "truth" / self.name
        bring = self.commit if self.clone else self.release
        self.older, self.newer = (bring(about[key]) for key in ("from", "to"))
        self.base, later = texts_below(self.older), texts_below(self.newer)
        is_source, is_test = (re.compile(about[key]).search for key in ("source", "tests"))
        unread = lambda p: any((folder / p).is_file() and p not in texts for folder, texts in ((self.older, self.base), (self.newer, later)))
        # Files beside sources and tests that the change needs are part of it.
        paths = [p for p in sorted(set(self.base) | set(later)) if later.get(p) != self.base.get(p) and not unread(p)]
        wanted = (lambda p: True) if self.clone else (lambda p: is_source(p) or is_test(p))
        self.change = {p: later.get(p) for p in paths if wanted(p) and not p.startswith(".github/")}
        self.is_test = is_test
        inline = about["source"] == about["tests"]
        self.source = [p for p in self.change if is_source(p) and (inline or not is_test(p))]
        self.tests_there = [p for p in self.base if is_test(p)]
        self.trials = bench.work / "trials" / self.name
        self.prepare_repository()

    def release(self, version):
        """The sources of a release, as the package registry has them."""
        downloads = self.bench.work / "downloads"
        target = downloads / f"{self.name}-{version}"
        if not target.exists():
            downloads.mkdir(parents=True, exist_ok=True)
            argv = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:",
                    "--dest", str(downloads), f"{self.name}=={version}"]
            self.bench.call(argv, downloads, env=dict(os.environ))
            wanted = re.sub(r"[-_.]+", "[-_.]", self.name)
            names = [n for n in os.listdir(downloads) if re.fullmatch(f"{wanted}-{re.escape(version)}\\.tar\\.gz", n)]
            with tarfile.open(downloads / names[0]) as archive:
                archive.extractall(downloads / "unpacked", filter="data")
            shutil.move(downloads / "unpacked" / names[0].removesuffix(".tar.gz"), target)
        return target

    def commit(self, revision):
        """The tree of a commit of the clone."""
        target = self.bench.work / "downloads" / f"{self.about['name']}-{revision.replace('^', '-before')}"
        if not target.exists():
            target.mkdir(parents=True)
            archive = subprocess.Popen(["git", "-C", self.clone, "archive", revision], stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "-C", str(target)], stdin=archive.stdout, check=True)
            if archive.wait():
                shutil.rmtree(target)
                raise SystemExit(f"{self.clone} has no {revision}")
        return target

    def prepare_repository(self):
        """Makes the repositories, unless an earlier run has made them with the same program."""
        made_by = self.folder / "made-by"
        if not (made_by.exists() and made_by.read_text() == self.bench.program_digest):
            shutil.rmtree(self.folder, ignore_errors=True)
            self.make_repository(self.repo, self.older)
            made_by.write_text(self.bench.program_digest)
        self.read_commands()

    def prepare_truth(self):
        """Makes the copy in which the bare tests run, outside of any sandbox."""
        if not (self.truth / ".git/set-up").exists():
            shutil.rmtree(self.truth, ignore_errors=True)
            shutil.copytree(self.repo, self.truth, symlinks=True)
            if self.setup:
                self.bench.call(["sh", "-c", self.setup], self.truth, env=dict(os.environ))
            (self.truth / ".git/set-up").write_text("")

    def make_repository(self, repo, state):
        leave = shutil.ignore_patterns("PKG-INFO", "*.egg-info", ".github")
        shutil.copytree(state, repo, ignore=leave, symlinks=True)
        self.bench.git(repo, "init", "--quiet")
        with open(repo / ".git/info/exclude", "a") as exclude:
            exclude.write(MADE)
        self.save(repo, "the older state")
        # Somebody else's change, which was made and taken back.
        (repo / "notes-of-another.md").write_text(NOTES)
        self.save(repo, "notes of another")
        (repo / "notes-of-another.md").unlink()
        self.save(repo, "without the notes of another")
        self.bench.codeteam(repo, "init", "--yes")
        self.bench.allow_private((repo / ".codeteam/config.yml").read_text())
        self.bench.codeteam(repo, "trust", "--yes", check=False)
        self.save(repo, "codeteam init")

    def save(self, repo, message):
        self.bench.git(repo, "add", "-A")
        self.bench.git(repo, "commit", "--quiet", "--allow-empty", "-m", message)

    def newer_repository(self):
        """A repository in the newer state, for changes that take the feature out again."""
        repo = self.folder / "repo-newer"
        if not (repo / ".git/ready").exists():
            shutil.rmtree(repo, ignore_errors=True)
            self.make_repository(repo, self.newer)
            (repo / ".git/ready").write_text("")
        return repo

    def read_commands(self):
        """Takes the set-up and the test command from what `codeteam init` wrote."""
        config = (self.repo / ".codeteam/config.yml").read_text()
        plain = "\n".join(line for line in config.split("\n") if not line.lstrip().startswith("#"))
        quoted = lambda text: text[1:-1].replace("''", "'") if text.startswith("'") else text
        commands = [quoted(c.strip()) for c in re.findall(r"command: ('(?:[^']|'')*'|[^,}\n]*)", plain)]
        installs = re.compile(r"venv|npm (?:ci|install)|yarn|pnpm i")
        self.setup = next((c for c in commands if installs.search(c)), None)
        runs = re.compile(r"pytest|unittest|npm (?:run )?test|npm run \w*test|mocha|vitest|jest|node --test|cargo test|go test")
        tests = [c for c in commands if runs.search(c) and c != self.setup]
        if not tests:
            raise SystemExit(f"codeteam init found no tests: {commands}")
        self.tests = tests[0]
        self.checks = [c for c in commands if c != self.setup]

    def try_tests(self, files):
        """Runs the bare test command on the older state with these files in it. Known results are
        not computed again."""
        wanted = json.dumps([self.tests, sorted(files.items())])
        known = self.trials / f"{hashlib.sha256(wanted.encode()).hexdigest()[:24]}.json"
        if known.exists():
            return Trial(**json.loads(known.read_text()))
        self.prepare_truth()
        self.bench.git(self.truth, "reset", "--quiet", "--hard")
        self.bench.git(self.truth, "clean", "-fdq")
        for path, text in files.items():
            place(self.truth / path, text)
        report = self.truth / ".git/tests.xml"
        report.unlink(missing_ok=True)
        env = {**self.bench.env, "PYTEST_ADDOPTS": f"--junitxml={report} -p no:cacheprovider", "PYTHONDONTWRITEBYTECODE": "1"}
        begun = time.monotonic()
        try:
            done = self.bench.call(["sh", "-c", self.tests], self.truth, check=False, env=env, limit=90)
        except subprocess.TimeoutExpired:
            trial = Trial(False, 90.0)
        else:
            count, failed = runners.read(done.stdout + "\n" + done.stderr, report)
            says = "" if done.returncode == 0 else " ".join((done.stdout + done.stderr).split())[-300:]
            trial = Trial(done.returncode == 0, round(time.monotonic() - begun, 2), count, failed, says)
        known.parent.mkdir(parents=True, exist_ok=True)
        known.write_text(json.dumps(trial.as_json()))
        return trial

    def require_passing(self):
        for what, files in (("older", {}), ("newer", self.change)):
            trial = self.try_tests(files)
            if not trial.passed:
                raise SystemExit(f"the {what} one does not pass its own tests here: {trial.says}")

    def judge(self, variant, number):
        """Has codeteam judge a variant. Returns what became of it."""
        repo = self.newer_repository() if variant.onto_newer else self.repo
        there = {**self.base, **self.change} if variant.onto_newer else self.base
        do = []
        for path, text in variant.files.items():
            if text is None:
                if there.get(path) is not None:
                    do.append({"delete": path})
            elif text != there.get(path):
                do.append(written(path, text))
        do += [{"run": line} for line in variant.lines]
        do.append({"submit": {"summary": "Done"}})
        script, plan, flow = (self.folder / name for name in ("script.yml", "plan.yml", "flow.yml"))
        script.write_text(json.dumps({"version": 1, "plays": [{"match": {"role": "coder"}, "do": do}]}))
        task = {"id": "T1", "description": f"The change of {self.name} {self.about['to']}", "files": variant.named}
        plan.write_text(json.dumps({"tasks": [task]}))
        flow.write_text(FLOW)
        begun = time.monotonic()
        done = self.bench.codeteam(repo, "run", f"Change {number}", "--plan", str(plan), "--script", str(script),
                                   "--workflow", str(flow), "--worker", "scripted", "--auto", check=False)
        seconds = time.monotonic() - begun
        failed, findings = {}, []
        log = self.bench.codeteam(repo, "log", "--json", check=False)
        if log.returncode or f"Change {number}" not in log.stdout:
            raise SystemExit(f"the run did not start: {' '.join(done.stderr.split())[-400:]}")
        for line in log.stdout.splitlines():
            event = json.loads(line).get("event", {})
            if event.get("type") == "gate_judged":
                for result in event.get("results", []):
                    findings += [f.get("title", "") for f in result.get("findings", [])]
                    if not result["passed"]:
                        failed[result["name"]] = result.get("summary", "").strip()[:600]
        said = [line for line in done.stderr.split("\n") if line.startswith(("error", "not done", "failed")) or "gave up" in line]
        said = " ".join((said or done.stderr.strip().split("\n"))[-1].split())
        return {"accepted": done.returncode == 0, "by": failed, "findings": sorted(set(findings)),
                "seconds": round(seconds, 2), "code": done.returncode, "said": said[:300]}


NOTES = "".join(f"- note {n} of another, about line {n * n}\n" for n in range(30))

FLOW = """start: tasks
roles: { coder: { kind: implementer } }
steps:
  tasks:
    each: task
    next: done
    steps:
      code: { role: coder, next: verify, retry: { max_attempts: 1 } }
      verify: { gate: project, next: commit }
      commit: { commit: branch, next: done }
"""


def written(path, text):
    """The step of a script that writes a file. Scripts have variables in braces of their own."""
    if "{{" not in text:
        return {"write": {"path": path, "content": text}}
    folder, coded = os.path.dirname(path) or ".", base64.b64encode(text.encode()).decode()
    return {"run": f"mkdir -p {shlex.quote(folder)} && base64 -d > {shlex.quote(path)} <<'END'\n{coded}\nEND"}


def place(path, text):
    if text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def texts_below(folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            try:
                found[str(path.relative_to(folder))] = path.read_text()
            except UnicodeDecodeError:
                pass
    return found
