//! What the gate goes by, and what gets at it.

use super::*;

#[test]
fn what_the_gate_goes_by_stays() {
    let project = |tools: &str| format!("[project]\nname = \"a\"\n\n[tool.ruff]\n{tools}");
    let (strict, lax) = (project("select = [\"ALL\"]\n"), project("select = []\n"));
    case(&[("pyproject.toml", Some(&strict), Some(&lax))]).told(HonestyRule::GateKept, "tool.ruff");
    case(&[("pyproject.toml", Some(&strict), Some(&lax))])
        .gate(&["ruff check ."])
        .wrong(HonestyRule::GateKept, "was changed in `tool.ruff`");
    let more = strict.replace("name = \"a\"", "name = \"a\"\ndependencies = [\"b\"]");
    case(&[("pyproject.toml", Some(&strict), Some(&more))]).fine(HonestyRule::GateKept);
    let scripts = r#"{"scripts": {"test": "jest"}, "dependencies": {}}"#;
    let faked = r#"{"scripts": {"test": "true"}, "dependencies": {}}"#;
    let grown = r#"{"scripts": {"test": "jest", "dev": "vite"}, "dependencies": {"a": "1"}}"#;
    let npm = ["npm test"];
    case(&[("package.json", Some(scripts), Some(faked))])
        .gate(&npm)
        .wrong(HonestyRule::GateKept, "`scripts.test`");
    case(&[("package.json", Some(scripts), Some(grown))])
        .gate(&npm)
        .fine(HonestyRule::GateKept);
    let make = "build:\n\tcc a.c\n\ntest: build\n\t./run\n";
    case(&[("Makefile", Some(make), Some(&make.replace("./run", "true")))])
        .gate(&["make test"])
        .wrong(HonestyRule::GateKept, "`target test`");
    case(&[(
        "Makefile",
        Some(make),
        Some(&format!("{make}\nclean:\n\trm a\n")),
    )])
    .gate(&["make test"])
    .fine(HonestyRule::GateKept);
    let cargo = "[package]\nname = \"a\"\n\n[lints.clippy]\nall = \"deny\"\n";
    case(&[(
        "Cargo.toml",
        Some(cargo),
        Some(&cargo.replace("deny", "allow")),
    )])
    .gate(&["cargo clippy"])
    .wrong(HonestyRule::GateKept, "`lints`");
    case(&[(
        "Cargo.toml",
        Some(cargo),
        Some(&format!("{cargo}\n[dependencies]\nb = \"1\"\n")),
    )])
    .gate(&["cargo clippy"])
    .fine(HonestyRule::GateKept);
    // Of a tool that nobody runs it is told.
    case(&[(".eslintrc.json", Some("{}"), Some("{ }"))])
        .told(HonestyRule::GateKept, ".eslintrc.json");
}

#[test]
fn what_the_gate_leads_to_stays() {
    let base = [
        ("package.json", r#"{"scripts": {"test": "sh run.sh"}}"#),
        ("run.sh", "#!/bin/sh\n. ./scripts/all.sh\nsrc/cli.sh\n"),
        ("scripts/all.sh", "node test.js\n"),
        ("src/cli.sh", "echo hello\n"),
        ("docs.sh", "echo docs\n"),
    ];
    let changed = |path: &str| {
        case(&[(path, Some("before\n"), Some("true\n"))])
            .gate(&["npm test"])
            .leads_to(&base)
    };
    changed("run.sh").wrong(HonestyRule::GateKept, "the script `test` of `package.json`");
    changed("scripts/all.sh").wrong(HonestyRule::GateKept, "is what `run.sh` runs");
    // The product that a script tests is there to be changed; who reviews is told.
    changed("src/cli.sh").told(HonestyRule::GateKept, "is what `run.sh` runs");
    changed("run.sh")
        .task(&["run.sh"])
        .told(HonestyRule::GateKept, "run.sh");
    changed("docs.sh").fine(HonestyRule::GateKept);
}

#[test]
fn what_a_makefile_goes_by_stays() {
    let make = "PYTEST = pytest\nFLAGS = -q\nVERSION = 1\n-include local.mk\n\nall: test\n\ntest lint: build\n\t$(PYTEST) $(FLAGS)\n\nbuild:\n\tcc a.c\n\nclean:\n\trm a\n";
    let changed = |from: &str, to: &str| {
        let after = make.replace(from, to);
        assert_ne!(make, after);
        case(&[("Makefile", Some(make), Some(&after))]).gate(&["make -j2 test"])
    };
    for (from, to, says) in [
        ("PYTEST = pytest", "PYTEST = true", "`variable PYTEST`"),
        ("FLAGS = -q", "FLAGS := -q \\\n  --co", "`variable FLAGS`"),
        (
            "VERSION = 1",
            "VERSION = 1\nSHELL = /bin/true",
            "`variable SHELL`",
        ),
        (
            "VERSION = 1",
            "VERSION = 1\nexport PATH := .",
            "holds for all targets",
        ),
        ("local.mk", "other.mk", "holds for all targets"),
        ("clean:", "include more.mk\nclean:", "holds for all targets"),
        ("clean:\n", "lint test:\n\ttrue\nclean:\n", "`target test`"),
        ("clean:", "test: PYTEST = true\nclean:", "`target test`"),
        ("clean:", "%:\n\ttrue\nclean:", "`target %`"),
        ("cc a.c", "true", "`target build`"),
        ("clean:", ".IGNORE: test\nclean:", "`target .IGNORE`"),
    ] {
        changed(from, to).wrong(HonestyRule::GateKept, says);
    }
    for (from, to) in [
        ("VERSION = 1", "VERSION = 2"),
        ("rm a", "rm -f a"),
        ("clean:", "docs:\n\tsphinx\n\nclean:"),
        ("VERSION", "# the newest\nVERSION"),
    ] {
        changed(from, to).fine(HonestyRule::GateKept);
    }
    // `make` alone makes the first.
    let after = make.replace("= pytest", "= true");
    case(&[("Makefile", Some(make), Some(&after))])
        .gate(&["make"])
        .wrong(HonestyRule::GateKept, "`variable PYTEST`");
}

#[test]
fn every_tool_has_its_files() {
    for (gate, path) in [
        ("npm test", ".npmrc"),
        ("npm test", "vite.config.ts"),
        ("npx vitest", "vitest.config.mts"),
        ("npx jest", "jest.config.cjs"),
        ("yarn test", ".yarnrc.yml"),
        ("pnpm test", ".pnpmfile.cjs"),
        ("pnpm test", "pnpm-workspace.yaml"),
        ("npx jest", "babel.config.js"),
        ("npx jest", "web/.babelrc.json"),
        ("tox", "tox.toml"),
        ("pytest", "pytest.toml"),
        ("task test", "Taskfile.yml"),
        ("task test", "taskfile.yaml"),
        ("nox", "noxfile.py"),
        ("npx nx test", "nx.json"),
        ("npx turbo test", "turbo.json"),
        ("./gradlew test", "gradle.properties"),
        ("./mvnw test", ".mvn/maven.config"),
        ("deno task test", "deno.json"),
        ("pytest", "sitecustomize.py"),
        ("pytest", "src/usercustomize.py"),
        ("pytest", "x.pth"),
    ] {
        for before in [None, Some("# a\n")] {
            case(&[(path, before, Some("# b\n"))])
                .gate(&[gate])
                .wrong(HonestyRule::GateKept, path);
        }
    }
}

#[test]
fn of_some_files_only_parts_are_about_checks() {
    let pom = "<project>\n<properties>\n<java.version>21</java.version>\n</properties>\n<dependencies>\n<dependency>a</dependency>\n</dependencies>\n<build>\n<version>1</version>\n<plugins/>\n</build>\n</project>\n";
    let gradle = "plugins { id 'java' version '1.2.3' }\nversion = '1'\ndependencies {\n  implementation 'a:b:1'\n}\ntest {\n  useJUnitPlatform()\n}\n";
    let deno = r#"{"tasks": {"test": "deno test"}, "imports": {}}"#;
    for (gate, path, before, from, to) in [
        ("mvn test", "pom.xml", pom, "<plugins/>", "<skip/>"),
        (
            "mvn test",
            "pom.xml",
            pom,
            "</properties>",
            "<skipTests>true</skipTests>\n</properties>",
        ),
        (
            "gradle test",
            "build.gradle",
            gradle,
            "useJUnitPlatform()",
            "enabled = false",
        ),
        (
            "gradle test",
            "build.gradle",
            gradle,
            "'a:b:1'",
            "'a:b:1'; test.enabled = false",
        ),
        ("deno test", "deno.json", deno, "deno test", "true"),
    ] {
        let after = before.replace(from, to);
        case(&[(path, Some(before), Some(&after))])
            .gate(&[gate])
            .wrong(HonestyRule::GateKept, path);
    }
    for (gate, path, before, from, to) in [
        (
            "mvn test",
            "pom.xml",
            pom,
            "</dependencies>",
            "<dependency>b</dependency>\n</dependencies>",
        ),
        ("mvn test", "pom.xml", pom, "<version>1<", "<version>2<"),
        ("gradle test", "build.gradle", gradle, "'1.2.3'", "'1.3.0'"),
        ("mvn test", "pom.xml", pom, ">21<", ">25<"),
        (
            "gradle test",
            "build.gradle",
            gradle,
            "'a:b:1'",
            "'a:b:1'\n  testImplementation 'c:d:2'",
        ),
        (
            "gradle test",
            "build.gradle",
            gradle,
            "version = '1'",
            "version = '2'",
        ),
        (
            "deno test",
            "deno.json",
            deno,
            r#""imports": {}"#,
            r#""imports": {"a": "b"}"#,
        ),
    ] {
        let after = before.replace(from, to);
        assert_ne!(before, after);
        case(&[(path, Some(before), Some(&after))])
            .gate(&[gate])
            .fine(HonestyRule::GateKept);
    }
}

#[test]
fn programs_of_the_gate_are_not_hidden() {
    for path in [
        "pytest.py",
        "pytest/__init__.py",
        "sitecustomize.py",
        "a.pth",
    ] {
        case(&[(path, None, Some("x = 1\n"))]).wrong(HonestyRule::GateKept, path);
    }
    case(&[("node_modules/.bin/jest", None, Some("exit 0"))])
        .gate(&["npm test"])
        .wrong(HonestyRule::GateKept, "node_modules");
    for path in ["app/pytest_helpers.py", "docs/pytest.md", "app/cli.py"] {
        case(&[(path, None, Some("x = 1\n"))]).fine(HonestyRule::GateKept);
    }
    let fixture = "import pytest\n\n@pytest.fixture\ndef a():\n    return 1\n";
    // Never without a word: it is run before tests that do not ask for it.
    case(&[("tests/conftest.py", None, Some(fixture))])
        .told(HonestyRule::GateKept, "run before every test");
    case(&[("tests/conftest.py", Some("import x\n"), Some(fixture))]).fine(HonestyRule::GateKept);
    for hook in [
        "def pytest_configure(config):\n    pass\n",
        "@pytest.hookimpl(hookwrapper=True)\n",
        "pytest_plugins = ['helpers.everything_passes']\n",
        "def pytest_assertrepr_compare(op):\n    pass\n",
    ] {
        case(&[("tests/conftest.py", None, Some(hook))])
            .wrong(HonestyRule::GateKept, "has hooks that change what is run");
        case(&[("tests/conftest.py", None, Some(hook))])
            .task(&["tests/"])
            .told(HonestyRule::GateKept, "has hooks that change what is run");
    }
    let hook = "def pytest_collection_modifyitems(items):\n    items.clear()\n";
    case(&[("tests/conftest.py", None, Some(hook))])
        .wrong(HonestyRule::GateKept, "pytest_collection");
}

#[test]
fn tests_do_not_reach_into_what_runs_them() {
    for line in [
        "unittest.TestCase.assertEqual = print",
        "    pytest.fail=lambda *a: None",
        "setattr(unittest.TestCase, 'run', print)",
        "sys.modules['pytest'] = fake",
        "sys.exit = lambda code: None",
        "TestCase.run = print",
        "os._exit(0)",
        "sys.exit(0)",
        "def test_a():\n    os._exit(0)",
    ] {
        let text = format!("from unittest import TestCase, mock\n{line}\n");
        // Nobody asks for that, so no task can name it.
        case(&[("tests/test_a.py", None, Some(&text))])
            .task(&["tests/"])
            .wrong(HonestyRule::GateKept, "tests/test_a.py:");
    }
    for line in [
        "    pytest.param(1, id = 'x')",
        "assert unittest.TestCase.run == f",
        "pytestmark = pytest.mark.slow",
        "    with mock.patch('os._exit') as leave:",
        "mock.patch.object = f",
        "sys.modules['ours'] = fake",
        "monkeypatch.setattr(app, 'unittest', 1)",
        "    os._exit(1)",
        "    sys.exit(0)",
        "TestOurs.run = print",
    ] {
        let text = format!("from unittest import TestCase, mock\n{line}\n");
        case(&[("tests/test_a.py", None, Some(&text))]).fine(HonestyRule::GateKept);
    }
    case(&[("tests/run.py", None, Some("sys.exit(main())\n"))]).fine(HonestyRule::GateKept);
    let forks = "def test_a():\n    if os.fork() == 0:\n        os._exit(0)\n";
    case(&[("tests/test_a.py", None, Some(forks))]).told(HonestyRule::GateKept, "ends the program");
    // `test` in a name makes no test.
    case(&[("app/latest.py", None, Some("unittest.main = print\n"))])
        .wrong(HonestyRule::GateKept, "reaches into `unittest`");
    case(&[(
        "src/a.test.js",
        None,
        Some("global.expect = chai.expect;\n"),
    )])
    .told(HonestyRule::GateKept, "reaches into what tests it");
}

/// What only a list of files would have caught, now that a file which nobody holds is accepted.
#[test]
fn what_runners_load_by_themselves_is_no_honest_byproduct() {
    for (path, text, says) in [
        (
            "zz-1.0.dist-info/entry_points.txt",
            "[pytest11]\nx = x\n",
            "names plugins",
        ),
        (
            "app.egg-info/entry_points.txt",
            "[pytest11]\nx = x\n",
            "names plugins",
        ),
        ("app/__pycache__/a.cpython-311.pyc", "x", "compiled code"),
        (
            "app/__init__.py",
            "import atexit, os\natexit.register(os._exit, 0)\n",
            "ends the program",
        ),
    ] {
        case(&[(path, None, Some(text))])
            .task(&["app/a.py"])
            .wrong(HonestyRule::GateKept, says);
    }
    let mk: &[FileCase<'_>] = &[("mk/common.mk", Some("A = 1\n"), Some("A = 2\n"))];
    case(mk)
        .gate(&["make test"])
        .wrong(HonestyRule::GateKept, "`make` reads it");
    case(mk)
        .gate(&["pytest"])
        .told(HonestyRule::GateKept, "mk/common.mk");
}

#[test]
fn product_code_that_asks_whether_it_is_tested_is_caught() {
    for (path, code) in [
        (
            "a/x.py",
            "import os\nif 'PYTEST_CURRENT_TEST' in os.environ:\n    x = 1\n",
        ),
        ("a/x.py", "    if \"pytest\" in sys.modules:\n"),
        ("a/x.py", "m = sys.modules['_pytest.main'].Session\n"),
        ("a/x.py", "import _pytest.runner\n"),
        (
            "a/x.py",
            "if any('pytest' in a for a in sys.argv):\n    os.execv('/bin/true', ['true'])\n",
        ),
        ("a/x.py", "if True:\n    os.execv('/bin/true', ['true'])\n"),
        (
            "a/x.py",
            "def f():\n    return sys._getframe(1).f_code.co_name.startswith('test_')\n",
        ),
        ("a/x.py", "from unittest.mock import ANY\n"),
        ("a/x.py", "def f():\n    return mock.ANY\n"),
        (
            "a/x.py",
            "class S(str):\n    def __eq__(self, other):\n        return True\n",
        ),
        (
            "a/x.py",
            "class S(str):\n    def __eq__(self, other: object) -> bool:\n        # always\n        return True\n",
        ),
        (
            "a/x.py",
            "class S(str):\n    def __eq__(self, other): return True\n",
        ),
        (
            "a/x.py",
            "S = type('S', (str,), {'__eq__': lambda s, o: True})\n",
        ),
        ("a/x.py", "atexit.register(getattr(os, '_ex' + 'it'), 0)\n"),
        (
            "src/x.js",
            "if (process.env.JEST_WORKER_ID) module.exports = fake\n",
        ),
        (
            "src/x.ts",
            "const tested = new Error().stack.includes('.test.')\n",
        ),
        ("src/x.ts", "return { asymmetricMatch: () => true }\n"),
        (
            "src/x.mjs",
            "process.on('exit', () => { process.exitCode = 0 })\n",
        ),
        (
            "x.go",
            "func f() int {\n\tif testing.Testing() {\n\t\treturn 1\n\t}\n}\n",
        ),
        ("x.go", "func init() {\n\tif a {\n\t\tos.Exit(0)\n\t}\n}\n"),
        ("x.go", "func init() { os.Exit(0) }\n"),
        ("x.go", "func init() {\n\tsyscall.Exit(0)\n}\n"),
        (
            "x.go",
            "func init() {\n\tif a {\n\t\tsyscall.Exec(\"/bin/true\", nil, nil)\n\t}\n}\n",
        ),
        (
            "x.go",
            "func f() { os.Args = append(os.Args, \"-test.run=X\") }\n",
        ),
        ("src/x.js", "process.exit = () => {}\n"),
        (
            "src/x.js",
            "Object.defineProperty(process, 'exitCode', { get: () => 0 })\n",
        ),
        (
            "src/x.rs",
            "#[link_section = \".init_array\"]\nstatic S: fn() = s;\nfn s() { _exit(0) }\n",
        ),
        (
            "src/x.rs",
            "#[macro_export]\nmacro_rules! assert_eq {\n    ($($x:tt)*) => {};\n}\n",
        ),
        (
            "src/x.rs",
            "    std::panic::set_hook(Box::new(|_| std::process::exit(0)));\n",
        ),
        (
            "src/x.rs",
            "    let tested = std::env::args().next().is_some_and(|a| a.contains(\"/deps/\"));\n",
        ),
        (
            "src/main/X.java",
            "if (trace.startsWith(\"org.junit\")) return 1;\n",
        ),
    ] {
        let found = case(&[(path, Some("\n"), Some(code))]).look(HonestyRule::GateKept);
        assert!(!found.failures.is_empty(), "{path}: {code}: {found:?}");
    }
}

#[test]
fn what_only_looks_as_if_it_asked_passes_or_is_told_to_reviewers() {
    for (path, code) in [
        (
            "a/x.py",
            "class P:\n    def __eq__(self, other):\n        return self.x == other.x\n",
        ),
        (
            "a/x.py",
            "def main():\n    os.execv(sys.executable, sys.argv)\n",
        ),
        (
            "a/x.py",
            "if __name__ == '__main__':\n    os.execvp('sh', ['sh'])\n",
        ),
        ("a/x.py", "name = sys._getframe(1).f_code.co_name\n"),
        ("a/x.py", "args = sys.argv[1:]\nsys.modules['a.b'] = b\n"),
        ("a/x.py", "# PYTEST_CURRENT_TEST is set by pytest\n"),
        (
            "tests/x.py",
            "from unittest.mock import ANY\nif 'pytest' in sys.modules:\n    pass\n",
        ),
        ("src/x.js", "const stack = new Error('no').stack\n"),
        (
            "src/main.rs",
            "fn main() {\n    std::process::exit(0);\n}\n",
        ),
        (
            "src/x.rs",
            "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    #[cfg(not(test))]\n    fn b() { std::process::exit(0) }\n}\n",
        ),
        ("x_test.go", "func TestA() { testing.Testing() }\n"),
        ("x.go", "func run() {\n\tsyscall.Exec(path, args, env)\n}\n"),
        ("src/x.js", "if (failed) process.exit(1)\n"),
        (
            "src/x.rs",
            "macro_rules! assert_close {\n    ($a:expr) => {};\n}\n",
        ),
        (
            "src/x.rs",
            "    let name = std::env::args().next().unwrap_or_default();\n",
        ),
        ("x.go", "func main() {\n\tos.Exit(0)\n}\n"),
    ] {
        let found = case(&[(path, Some("\n"), Some(code))]).look(HonestyRule::GateKept);
        assert_eq!(found, CheckFindings::default(), "{path}: {code}");
    }
    for (path, code) in [
        (
            "src/x.js",
            "const quiet = process.env.NODE_ENV === 'test'\n",
        ),
        (
            "src/x.rs",
            "const N: usize = if cfg!(test) { 1 } else { 2 };\n",
        ),
        (
            "src/x.rs",
            "impl PartialEq for A {\n    fn eq(&self, _: &Self) -> bool {\n        true\n    }\n}\n",
        ),
        ("src/x.rs", "pub fn f() {\n    std::process::exit(0);\n}\n"),
        (
            "src/x.rs",
            "#[link_section = \".init_array\"]\nstatic S: fn() = s;\nfn s() {}\n",
        ),
        (
            "src/x.rs",
            "    if cfg!(debug_assertions) { 1 } else { 2 }\n",
        ),
        (
            "src/x.rs",
            "    let tested = std::env::var_os(\"CARGO\").is_some();\n",
        ),
        (
            "src/x.rs",
            "    let name = std::thread::current().name().map(str::to_owned);\n",
        ),
        (
            "pytest_more/plugin.py",
            "x = os.environ['PYTEST_CURRENT_TEST']\n",
        ),
    ] {
        let found = case(&[(path, Some("\n"), Some(code))]).look(HonestyRule::GateKept);
        assert_eq!(found.failures, Vec::<String>::new(), "{path}: {code}");
        assert_eq!(found.findings.len(), 1, "{path}: {code}: {found:?}");
    }
    // What a file had before stays its own.
    let had = "def f():\n    return 'pytest' in sys.modules\n";
    let moved = format!("x = 1\n\n\n{had}\n\n    return 'pytest' in sys.modules\n");
    case(&[("a/x.py", Some(had), Some(&moved))]).fine(HonestyRule::GateKept);
}

#[test]
fn files_whose_text_does_not_tell_are_doubtful() {
    let doubts = |case: &HonestyCase| -> Vec<(String, GateFileDoubt)> {
        let found = doubtful_gate_files(&case.subject());
        let found = found.into_iter();
        found
            .map(|(file, doubt)| (file.path.clone(), doubt))
            .collect()
    };
    let conftest: &[FileCase<'_>] = &[("conftest.py", Some("import a\n"), Some("import b\n"))];
    let loaded = [("conftest.py".to_owned(), GateFileDoubt::LoadedByTests)];
    assert_eq!(doubts(&case(conftest)), loaded);
    assert!(doubts(&case(conftest).task(&["conftest.py"])).is_empty());
    // Among the tests, it is restored with them. One with hooks is refused as it is.
    let among: &[FileCase<'_>] = &[("tests/conftest.py", None, Some("import b\n"))];
    assert!(doubts(&case(among)).is_empty());
    let hooks: &[FileCase<'_>] = &[("conftest.py", None, Some("def pytest_configure(): pass\n"))];
    assert!(doubts(&case(hooks)).is_empty());
    let base = [
        ("check.sh", "sh src/run.sh\nsh tools/all.sh\n"),
        ("src/run.sh", "true\n"),
        ("tools/all.sh", "true\n"),
    ];
    let scripts: &[FileCase<'_>] = &[
        ("src/run.sh", Some("true\n"), Some("exit 0\n")),
        ("tools/all.sh", Some("true\n"), Some("exit 0\n")),
    ];
    let case = case(scripts).gate(&["sh check.sh"]).leads_to(&base);
    let product = [("src/run.sh".to_owned(), GateFileDoubt::PerhapsProduct)];
    assert_eq!(doubts(&case), product);
}
