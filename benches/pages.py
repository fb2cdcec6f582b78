#!/usr/bin/env python3
"""Measures the pages of `codeteam web` in Debian's Chromium: first paint, events, memory, large things.

    benches/pages.py CODETEAM [MEASUREMENT…]

CODETEAM is the program. The measurements are `pages`, `events`, `tabs`, `diff`, `tasks`, `log` and
`runs`; without any, all are made, each in a project of its own below the folder of temporary files.
Needs chromium, chromedriver and bubblewrap, as `./tools` installs them.

`benches/pages.py --peer URL` measures the first paint of any other page in the same browser instead.
"""

import atexit
import datetime
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROUNDS = 9
PATIENCE = 120.0


class Browser:
    """A browser without a window, driven over the WebDriver protocol."""

    def __init__(self):
        self.driver = subprocess.Popen(
            ["/usr/bin/chromedriver", "--port=0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        atexit.register(self.end)
        found = None
        while found is None:
            found = re.search(r"started successfully on port (\d+)", self.driver.stdout.readline())
        self.base = f"http://127.0.0.1:{found.group(1)}/session"
        options = {
            "binary": "/usr/bin/chromium",
            "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,900"],
        }
        capabilities = {"alwaysMatch": {"goog:chromeOptions": options}}
        self.base += "/" + self.call("POST", "", {"capabilities": capabilities})["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:600]) from error

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def tab(self):
        handle = self.call("POST", "/window/new", {"type": "tab"})["handle"]
        self.call("POST", "/window", {"handle": handle})

    def wait_for(self, script):
        end = time.monotonic() + PATIENCE
        while not self.run(script):
            if time.monotonic() > end:
                raise RuntimeError(f"never: {script}")
            time.sleep(0.05)

    def close(self):
        self.call("DELETE", "")
        self.end()

    def end(self):
        """Ends the browser with everything that it has started, also after an error."""
        try:
            os.killpg(self.driver.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.driver.wait()


class Project:
    """A repository, a home and a state folder of its own."""

    def __init__(self, codeteam, name):
        self.codeteam = codeteam
        self.folder = tempfile.TemporaryDirectory(prefix=f"codeteam-pages-{name}-")
        top = pathlib.Path(self.folder.name)
        self.root, self.home = top / "project", top / "home"
        self.root.mkdir()
        (self.home / ".config/codeteam").mkdir(parents=True)
        (self.home / "shown").mkdir()
        self.config = self.home / ".config/codeteam/config.yml"
        shown = self.home / "shown"
        self.config.write_text(f"workflow: lean\nsandbox: {{ toolchains: [ '{shown}' ] }}\n")
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "USER": "ada",
            "LANG": "C.UTF-8",
            "CODETEAM_VERIFICATION__BASELINE": "must_pass",
        }
        self.start(["git", "init", "--quiet", "--initial-branch=main"]).wait()
        self.write("hello.txt", "hello\n")
        self.write(".codeteam/config.yml", "worker: scripted\n")
        self.commit()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def keep(self, name, value):
        path = self.home / name
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)

    def commit(self):
        self.start(["git", "add", "-A"]).wait()
        self.start(["git", "commit", "--quiet", "-m", "first"]).wait()

    def start(self, command, output=subprocess.DEVNULL):
        return subprocess.Popen(
            command,
            cwd=self.root,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT if output != subprocess.DEVNULL else subprocess.DEVNULL,
            text=True,
        )

    def run_codeteam(self, *words):
        return self.start([self.codeteam, *words])

    def serve(self):
        return Server(self.start([self.codeteam, "web"], subprocess.PIPE))


class Server:
    """A running `codeteam web`."""

    def __init__(self, process):
        self.process = process
        atexit.register(process.kill)
        found = None
        while found is None:
            found = re.search(r"(http://[^/\s]+)/in\?code=\S+", process.stdout.readline())
        self.entry, self.base = found.group(0), found.group(1)

    def memory_mb(self):
        """Private memory that was written, and memory by its share in mapped files."""
        with open(f"/proc/{self.process.pid}/smaps_rollup") as rollup:
            rows = dict(line.split()[:2] for line in rollup if line.split()[-1] == "kB")
        return f"{int(rows['Private_Dirty:']) / 1024:.1f} MB (PSS {int(rows['Pss:']) / 1024:.1f} MB)"

    def close(self):
        self.process.terminate()
        self.process.wait()


FLOW = """
start: code
roles: { coder: { kind: implementer } }
steps:
  code: { role: coder, next: judge }
  judge:
    person: Acceptable?
    answers: { accept: done, reject: { next: code, rejects: true } }
"""
TASKS = """
start: work
roles: { coder: { kind: implementer } }
steps:
  work:
    each: task
    next: done
    steps:
      code: { role: coder, next: commit }
      commit: { commit: branch, next: done }
"""


def script(doing):
    return {"version": 1, "plays": [
        {"match": {"role": "coder"}, "do": doing},
        {"match": {"kind": "scribe"}, "do": [{"submit": {"message": "Write it."}}]},
    ]}


def plan(count):
    return "plan_id: many\ndescription: Many\ntasks:\n" + "".join(
        f"  - {{ id: t{n}, title: Thing {n}, files: [f{n}.txt] }}\n" for n in range(count)
    )


def changed_run(project, files):
    """A run that waits for a person, whose worker has written these files."""
    doing = [{"write": {"path": path, "content": text}} for path, text in files.items()]
    doing.append({"submit": {"summary": "Wrote it"}})
    project.run_codeteam(
        "run", "Write files", "--script", project.keep("script.yml", script(doing)),
        "--workflow", project.keep("flow.yml", FLOW),
    ).wait()


PAINT = """
const [paint] = performance.getEntriesByName('first-contentful-paint');
const [page] = performance.getEntriesByType('navigation');
return paint && page.loadEventEnd > 0 && {
    paint: paint.startTime, reply: page.responseEnd, load: page.loadEventEnd,
    bytes: page.decodedBodySize, nodes: document.getElementsByTagName('*').length,
};
"""


def first_paint(browser, url, rounds=ROUNDS):
    """Opens a page several times, and returns the medians of what the browser measured."""
    found = []
    for _ in range(rounds):
        browser.open("about:blank")
        browser.open(url)
        browser.wait_for(PAINT)
        found.append(browser.run(PAINT))
    return {key: statistics.median(one[key] for one in found) for key in found[0]}


def tell(name, found):
    print(
        f"{name}: first paint {found['paint']:.0f} ms (the reply was there after {found['reply']:.0f} ms,"
        f" all of it after {found['load']:.0f} ms), {found['bytes'] / 1024:.0f} KB,"
        f" {found['nodes']:.0f} elements",
        flush=True,
    )


def sign_in(browser, server):
    browser.open(server.entry)
    browser.open(server.base + "/runs")
    return browser.run("return document.querySelector('a[data-run-link]').href")


def measure_pages(codeteam):
    project = Project(codeteam, "pages")
    changed_run(project, {f"src/part-{n}.txt": "a line\n" * 60 for n in range(5)})
    server, browser = project.serve(), Browser()
    run = sign_in(browser, server)
    tell("run page", first_paint(browser, run))
    tell("page of a change of 300 lines", first_paint(browser, run + "/diff/run"))
    for place in ("board", "graph", "timeline", "plan", "files", "cost", "events"):
        tell(f"page `{place}`", first_paint(browser, f"{run}/{place}", 3))
    print("server:", server.memory_mb())
    browser.close()
    server.close()


# Notes when the page first shows an event, by its number.
WATCH = """
window.seen = {};
const look = () => {
    for (const link of document.querySelectorAll('a[href*="/events/"]')) {
        const seq = link.getAttribute('href').split('/').pop();
        window.seen[seq] ??= Date.now();
    }
};
look();
window.before = Object.keys(window.seen);
new MutationObserver(() => requestAnimationFrame(look)).observe(document, {subtree: true, childList: true, attributes: true});
"""


def measure_events(codeteam):
    project, count = Project(codeteam, "events"), 40
    go = project.home / "shown/go"
    doing = [{"wait_for": {"path": str(go)}}, {"write": {"path": "x.txt", "content": "x {{task}}\n"}},
             {"submit": {"summary": "Wrote it"}}]
    run = project.run_codeteam(
        "run", "Many", "--script", project.keep("script.yml", script(doing)),
        "--workflow", project.keep("flow.yml", TASKS), "--plan", project.keep("plan.yml", plan(count)),
        "--max-parallel", "1",
    )
    server, browser = project.serve(), Browser()
    browser.open(server.entry)
    browser.open(server.base + "/runs")
    browser.wait_for("return !!document.querySelector('a[data-run-link]')")
    path = browser.run("return document.querySelector('a[data-run-link]').href")
    browser.open(path + "/timeline")
    browser.run(WATCH)
    go.touch()
    run.wait()
    time.sleep(2)
    seen, before = browser.run("return [window.seen, window.before]")
    log = subprocess.run([codeteam, "log", "--json"], cwd=project.root, env=project.env,
                         capture_output=True, text=True, check=True).stdout
    at = lambda event: datetime.datetime.fromisoformat(event["ts"]).timestamp() * 1000
    events = {str(event["seq"]): at(event) for event in map(json.loads, log.splitlines())}
    took = sorted(at - events[seq] for seq, at in seen.items() if seq not in before)
    rank = lambda part: took[min(len(took) - 1, int(len(took) * part))]
    print(f"from an event to the screen, {len(took)} events: p50 {rank(0.5):.0f} ms, p99 {rank(0.99):.0f} ms")
    print("server:", server.memory_mb())
    browser.close()
    server.close()


def measure_tabs(codeteam):
    project = Project(codeteam, "tabs")
    changed_run(project, {"a.txt": "a\n" * 50})
    server, browser = project.serve(), Browser()
    run = sign_in(browser, server)
    print("server with one tab:", server.memory_mb())
    for _ in range(49):
        browser.tab()
        browser.open(run)
    browser.wait_for("return document.readyState === 'complete'")
    print("server with 50 tabs:", server.memory_mb(), flush=True)
    connections = len(os.listdir(f"/proc/{server.process.pid}/fd"))
    print(f"open files of the server: {connections}")
    browser.close()
    server.close()


def measure_diff(codeteam):
    project = Project(codeteam, "diff")
    changed_run(project, {
        f"src/part-{n:03}.txt": "".join(f"line {m} of the file, as long as most\n" for m in range(500))
        for n in range(100)
    })
    server, browser = project.serve(), Browser()
    run = sign_in(browser, server)
    print("server before:", server.memory_mb())
    tell("change of 50,000 lines in 100 files", first_paint(browser, run + "/diff/run", 5))
    tell("the same, side by side", first_paint(browser, run + "/diff/run?split=1", 3))
    print("server:", server.memory_mb())
    browser.close()
    server.close()
    project = Project(codeteam, "file")
    changed_run(project, {"long.txt": "".join(f"line {n}\n" for n in range(50_000))})
    server, browser = project.serve(), Browser()
    run = sign_in(browser, server)
    tell("change of 50,000 lines in one file", first_paint(browser, run + "/diff/run", 5))
    tell("the same, unfolded", first_paint(browser, run + "/diff/run?file=long.txt", 3))
    print("server:", server.memory_mb())
    browser.close()
    server.close()


def measure_tasks(codeteam):
    project = Project(codeteam, "tasks")
    doing = [{"write": {"path": "x.txt", "content": "x\n"}}, {"submit": {"summary": "x"}}]
    project.run_codeteam(
        "run", "Many", "--script", project.keep("script.yml", script(doing)),
        "--workflow", project.keep("flow.yml", TASKS),
        "--plan", project.keep("plan.yml", plan(10_000)), "--max-attempts", "3", "--max-parallel", "1",
    ).wait()
    server, browser = project.serve(), Browser()
    run = sign_in(browser, server)
    print("server before:", server.memory_mb())
    for place in ("", "/board", "/graph", "/timeline", "/plan", "/cost", "/events", "/task/t1"):
        tell(f"10,000 tasks, page `{place or '/'}`", first_paint(browser, run + place, 3))
    print("server:", server.memory_mb())
    browser.close()
    server.close()


def measure_log(codeteam):
    project = Project(codeteam, "log")
    go = project.home / "shown/go"
    doing = [{"text": "The first line"}, {"wait_for": {"path": str(go)}},
             {"write": {"path": "x.txt", "content": "x\n"}}, {"submit": {"summary": "x"}}]
    run = project.run_codeteam(
        "run", "Print much", "--script", project.keep("script.yml", script(doing)),
        "--workflow", project.keep("flow.yml", FLOW),
    )
    end, line = time.monotonic() + PATIENCE, None
    while line is None:
        if time.monotonic() > end:
            raise RuntimeError("no output of a worker")
        time.sleep(0.1)
        for output in project.home.rglob(".attempts/*.jsonl"):
            lines = output.read_text().splitlines()
            line = next((one for one in lines if '\\"The first line' in one), None)
    server, browser = project.serve(), Browser()
    page = sign_in(browser, server)
    print("server before:", server.memory_mb())
    with output.open("a") as file:
        for n in range(1_000_000):
            file.write(line.replace("The first line", f"Line {n} of very many lines") + "\n")
    attempt = page + "/attempt/1"
    tell("output of 1,000,000 lines, its end", first_paint(browser, attempt, 3))
    tell("the same, from line 500,000", first_paint(browser, attempt + "?from=500000", 3))
    tell("the same, errors only", first_paint(browser, attempt + "?only=errors", 3))
    tell("the same, one line found", first_paint(browser, attempt + "?q=Line+123456+of", 3))
    print("server:", server.memory_mb())
    browser.close()
    server.close()
    go.touch()
    run.wait()


def measure_runs(codeteam):
    project = Project(codeteam, "runs")
    doing = [{"write": {"path": "x.txt", "content": "x\n"}}, {"submit": {"summary": "x"}}]
    words = ("--script", project.keep("script.yml", script(doing)),
             "--workflow", project.keep("flow.yml", FLOW))
    for n in range(200):
        project.run_codeteam("run", f"Goal number {n}", *words).wait()
    server, browser = project.serve(), Browser()
    run = sign_in(browser, server)
    print("server before:", server.memory_mb())
    for name, path in (("inbox", "/"), ("list of runs", "/runs"), ("run page", "")):
        url = run if path == "" else server.base + path
        tell(f"200 open runs, {name}", first_paint(browser, url, 5))
    metrics = browser.run("return document.querySelector('a[href$=\"/metrics\"]').href")
    tell("200 open runs, metrics", first_paint(browser, metrics, 3))
    print("server:", server.memory_mb())
    browser.close()
    server.close()


MEASUREMENTS = {
    "pages": measure_pages,
    "events": measure_events,
    "tabs": measure_tabs,
    "diff": measure_diff,
    "tasks": measure_tasks,
    "log": measure_log,
    "runs": measure_runs,
}


def main():
    words = sys.argv[1:]
    if words[:1] == ["--peer"] and len(words) == 2:
        browser = Browser()
        tell(words[1], first_paint(browser, words[1]))
        browser.close()
        return
    unknown = [word for word in words[1:] if word not in MEASUREMENTS]
    if not words or unknown:
        sys.exit(__doc__)
    for name in words[1:] or MEASUREMENTS:
        print(f"== {name}", flush=True)
        MEASUREMENTS[name](os.path.abspath(words[0]))


main()
