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
        .wrong(HonestyRule::GateKept, "`make` goes by it");
    case(mk)
        .gate(&["pytest"])
        .told(HonestyRule::GateKept, "mk/common.mk");
}
