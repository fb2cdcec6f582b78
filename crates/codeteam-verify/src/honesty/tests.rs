//! Each rule, and what it lets pass.

mod doubts;
mod gate;

use codeteam_core::findings::Severity;

use super::*;
use crate::FileVersion;

type FileCase<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

struct HonestyCase {
    change: ChangeSet,
    tests: TestPatterns,
    files: Vec<String>,
    held: Vec<HeldFiles>,
    forbidden: Vec<String>,
    commands: Vec<String>,
    scripts: Vec<GateScript>,
    runs_old_tests: bool,
    redactor: Redactor,
}

fn case(files: &[FileCase<'_>]) -> HonestyCase {
    HonestyCase {
        change: ChangeSet::between_texts(files),
        tests: TestPatterns::new(&["tests/**".to_owned(), "**/*.test.*".to_owned()]),
        files: Vec::new(),
        held: Vec::new(),
        forbidden: Vec::new(),
        commands: vec!["pytest -q".to_owned()],
        scripts: Vec::new(),
        runs_old_tests: false,
        redactor: Redactor::new([]),
    }
}

impl HonestyCase {
    fn task(mut self, files: &[&str]) -> Self {
        self.files = files.iter().map(|&f| f.to_owned()).collect();
        self
    }

    /// Another task of the plan, which is not done.
    fn beside(mut self, task: &str, files: &[&str]) -> Self {
        self.held.push(HeldFiles {
            task: task.into(),
            files: files.iter().map(|&f| f.to_owned()).collect(),
        });
        self
    }

    fn forbid(mut self, files: &[&str]) -> Self {
        self.forbidden = files.iter().map(|&f| f.to_owned()).collect();
        self
    }

    fn gate(mut self, commands: &[&str]) -> Self {
        self.commands = commands.iter().map(|&c| c.to_owned()).collect();
        self
    }

    /// The files of the base that the gate's commands lead to.
    fn leads_to(mut self, base: &[(&str, &str)]) -> Self {
        let scripts = find_gate_scripts::<()>(&self.commands, &mut |paths| {
            let known = base.iter().filter(|(path, _)| paths.contains(*path));
            Ok(known
                .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
                .collect())
        });
        self.scripts = scripts.unwrap();
        self
    }

    fn subject(&self) -> HonestySubject<'_> {
        HonestySubject {
            change: &self.change,
            tests: &self.tests,
            files: &self.files,
            held_files: &self.held,
            forbidden: &self.forbidden,
            commands: &self.commands,
            scripts: &self.scripts,
            runs_old_tests: self.runs_old_tests,
            redactor: &self.redactor,
            has_time: &|| true,
        }
    }

    fn look(&self, rule: HonestyRule) -> CheckFindings {
        check_rule(rule, &self.subject())
    }

    #[track_caller]
    fn wrong(&self, rule: HonestyRule, says: &str) {
        let found = self.look(rule);
        assert!(
            found.failures.iter().any(|line| line.contains(says)),
            "{found:?}"
        );
    }

    #[track_caller]
    fn told(&self, rule: HonestyRule, says: &str) {
        let found = self.look(rule);
        assert!(found.failures.is_empty(), "{found:?}");
        assert!(
            found.notes.iter().any(|line| line.contains(says)),
            "{found:?}"
        );
    }

    #[track_caller]
    fn fine(&self, rule: HonestyRule) {
        assert_eq!(self.look(rule), CheckFindings::default());
    }
}

#[test]
fn a_file_that_nobody_holds_is_told_to_reviewers() {
    let files: &[FileCase<'_>] = &[
        ("src/a.py", Some("1"), Some("2")),
        ("x.py", None, Some("1")),
    ];
    case(files).fine(HonestyRule::Scope);
    case(files).task(&["."]).fine(HonestyRule::Scope);
    let found = case(files).task(&["src/"]).look(HonestyRule::Scope);
    assert_eq!(found.failures, Vec::<String>::new());
    let [finding] = &found.findings[..] else {
        panic!("{found:?}");
    };
    assert_eq!(finding.severity, Severity::Info);
    assert_eq!(finding.file.as_deref(), Some("x.py"));
    case(files)
        .task(&["x.py"])
        .told(HonestyRule::Scope, "`src/a.py` was changed");
    let lock: &[FileCase<'_>] = &[
        ("Cargo.toml", Some("1"), Some("2")),
        ("Cargo.lock", Some("1"), Some("2")),
        ("tests/new.py", None, Some("1")),
        ("src/__init__.py", None, Some("")),
    ];
    case(lock).task(&["Cargo.toml"]).fine(HonestyRule::Scope);
    case(lock)
        .task(&["src/a.rs"])
        .told(HonestyRule::Scope, "`Cargo.lock`");
    let readme: &[FileCase<'_>] = &[("README.md", Some("1"), Some("2"))];
    case(readme)
        .task(&["src/"])
        .told(HonestyRule::Scope, "README.md");
    let test: &[FileCase<'_>] = &[("tests/old.py", Some("1"), Some("2"))];
    case(test)
        .task(&["src/"])
        .told(HonestyRule::Scope, "`tests/old.py` was changed");
}

#[test]
fn files_of_other_tasks_and_forbidden_ones_are_refused() {
    let files: &[FileCase<'_>] = &[
        ("src/a.py", Some("1"), Some("2")),
        ("src/b.py", Some("1"), Some("2")),
        ("tests/b.py", None, Some("1")),
    ];
    let task = || case(files).task(&["src/a.py"]);
    task().beside("T2", &["src/b.py"]).wrong(
        HonestyRule::Scope,
        "`src/b.py` was changed, and task `T2` holds it",
    );
    task().beside("T2", &["src/"]).wrong(
        HonestyRule::Scope,
        "`src/b.py` was changed, and task `T2` holds it",
    );
    // A new test is no trespass, unless another task names that very file.
    let found = task().beside("T2", &["tests/"]).look(HonestyRule::Scope);
    assert_eq!(found.failures, Vec::<String>::new());
    task().beside("T2", &["tests/b.py"]).wrong(
        HonestyRule::Scope,
        "`tests/b.py` is new, and task `T2` holds it",
    );
    // Two tasks may name the same file: they never run side by side.
    let both = task().beside("T2", &["src/a.py"]).look(HonestyRule::Scope);
    assert_eq!(both.failures, Vec::<String>::new());
    for named in [&["src/b.py"][..], &[]] {
        case(files).task(named).forbid(&["src/b.py"]).wrong(
            HonestyRule::Scope,
            "`src/b.py` was changed, and the plan forbids",
        );
    }
}

#[test]
fn tests_that_go_are_missed_in_every_language() {
    let gone: &[(&str, &str, &str)] = &[
        (
            "tests/a.py",
            "def test_a():\n    assert a\n\ndef test_b():\n    assert b\n",
            "def test_b():\n    assert b\n",
        ),
        (
            "tests/a.rs",
            "#[test]\nfn a() { assert!(a); }\n\nfn helper() {}\n",
            "fn helper() {}\n",
        ),
        (
            "tests/a_test.go",
            "package a\nfunc TestA(t *testing.T) { t.Error() }\n",
            "package a\n",
        ),
        (
            "src/a.test.ts",
            "it('does a', () => { expect(a).toBe(1) })\n",
            "// nothing\n",
        ),
        (
            "tests/ATest.java",
            "class A {\n  @Test\n  void a() { assertTrue(a); }\n}\n",
            "class A {\n}\n",
        ),
    ];
    for (path, before, after) in gone {
        let case = case(&[(path, Some(before), Some(after))]);
        case.wrong(HonestyRule::TestsKept, "gone: ");
        case.task(&[path]).told(HonestyRule::TestsKept, "gone: ");
    }
}

#[test]
fn tests_may_come_and_change_and_move() {
    let before = "def test_a():\n    assert a == 1\n";
    for after in [
        "def test_a():\n    assert a == 2\n",
        "def test_a():\n    assert a == 1\n    assert b\n\ndef test_b():\n    pass\n",
        "import pytest\n\n\ndef test_a():\n    if not a:\n        pytest.skip()\n    assert a == 1\n",
        "@pytest.mark.skipif(WINDOWS, reason='no')\ndef test_a():\n    assert a == 1\n",
    ] {
        case(&[("tests/a.py", Some(before), Some(after))]).fine(HonestyRule::TestsKept);
    }
    case(&[
        ("tests/a.py", Some(before), None),
        ("tests/b.py", None, Some(before)),
    ])
    .fine(HonestyRule::TestsKept);
}

#[test]
fn tests_that_are_skipped_or_say_less() {
    let before = "def test_a():\n    assert a\n    assert b\n";
    for (after, says) in [
        (
            "@pytest.mark.skip\ndef test_a():\n    assert a\n    assert b\n",
            "no longer run",
        ),
        (
            "def test_a():\n    pytest.skip('x')\n    assert a\n    assert b\n",
            "no longer run",
        ),
        (
            "def test_a():\n    assert a\n",
            "it had 2 assertions and has 1",
        ),
        ("def test_a():\n    pass\n", "tests nothing any more"),
    ] {
        case(&[("tests/a.py", Some(before), Some(after))]).wrong(HonestyRule::TestsKept, says);
    }
    for (path, line) in [
        ("tests/a.rs", "#[ignore]"),
        ("src/a.test.js", "it.skip('does', () => {"),
        ("src/a.test.js", "describe.only('all', () => {"),
        ("tests/a_test.go", "\tt.Skip(\"later\")"),
        ("tests/A.java", "  @Disabled"),
    ] {
        case(&[(path, Some("x\n"), Some(&format!("{line}\nx\n")))])
            .wrong(HonestyRule::TestsKept, "no longer run");
    }
}

#[test]
fn what_needs_a_new_test_cannot_be_built_without_it() {
    let case = case(&[
        ("tests/new.c", None, Some("int main;\n")),
        (
            "CMakeLists.txt",
            Some("\n"),
            Some("add_test(tests/new.c)\n"),
        ),
        ("app/a.py", None, Some("# tests/new.c\n")),
    ]);
    let subject = case.subject();
    let found: Vec<&str> = foreign_test_changes(&subject)
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(found, ["tests/new.c"]);
    assert_eq!(
        manifest_requiring(&subject, &foreign_test_changes(&subject)),
        Some("CMakeLists.txt")
    );
    let alone = self::case(&[
        ("tests/new.py", None, Some("x\n")),
        ("app/a.py", None, Some("# tests/new.py\n")),
        ("README.md", Some("\n"), Some("tests/new.py\n")),
        ("Makefile", Some("\n"), Some("tests/new.py\n")),
    ]);
    let subject = alone.subject();
    assert_eq!(
        manifest_requiring(&subject, &foreign_test_changes(&subject)),
        None
    );
}

#[test]
fn secrets_are_found_and_never_said() {
    let key = "AKIAIOSFODNN7EXAMPLF";
    let text = format!("a = 1\nb = \"{key}\"\n");
    let found = case(&[("a.py", Some("a = 1\n"), Some(&text))]).look(HonestyRule::Secrets);
    assert_eq!(found.failures.len(), 1, "{found:?}");
    assert!(found.failures[0].starts_with("a.py:2: "));
    assert!(!format!("{found:?}").contains(key));
    let pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfo\n-----END RSA PRIVATE KEY-----\n";
    let found = case(&[("k.pem", None, Some(pem))]).look(HonestyRule::Secrets);
    assert_eq!(found.failures.len(), 1, "{found:?}");
}

#[test]
fn a_byte_hides_nothing() {
    let key = "AKIAIOSFODNN7EXAMPLF";
    let wide: Vec<u8> = format!("key = '{key}'\n")
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    for bytes in [
        format!("\0PNG\0\0{key}\0\0").into_bytes(),
        format!("a\0\nkey = '{key}'\n").into_bytes(),
        wide,
    ] {
        let mut case = case(&[]);
        let files = [(
            "a.bin".to_owned(),
            FileVersion::Absent,
            FileVersion::from_bytes(Some(&bytes)),
        )];
        case.change = ChangeSet::new(files, b"");
        case.wrong(HonestyRule::Secrets, "a.bin: what looks like a secret");
    }
    // Latin-1, and a byte that makes git take it for no text.
    for bytes in [
        b"# \xe4\ndef load(x):\n    raise NotImplementedError\n".as_slice(),
        b"# \0\ndef load(x):\n    raise NotImplementedError\n",
    ] {
        let mut case = case(&[]);
        let files = [(
            "a.py".to_owned(),
            FileVersion::Absent,
            FileVersion::from_bytes(Some(bytes)),
        )];
        case.change = ChangeSet::new(files, b"");
        case.wrong(HonestyRule::Stubs, "a.py:3: not there yet");
    }
    let mut case = case(&[]);
    let files = [("a.bin".to_owned(), FileVersion::Absent, FileVersion::Long)];
    case.change = ChangeSet::new(files, b"");
    case.told(
        HonestyRule::Secrets,
        "too long to be looked into, by any rule: `a.bin`",
    );
}

#[test]
fn who_runs_out_of_time_says_so() {
    let case = case(&[
        ("a.py", None, Some("def load(x):\n    ...\n")),
        ("tests/a.py", Some("def test_a():\n    assert a\n"), None),
    ]);
    let subject = HonestySubject {
        has_time: &|| false,
        ..case.subject()
    };
    for rule in [
        HonestyRule::Secrets,
        HonestyRule::Stubs,
        HonestyRule::TestsKept,
    ] {
        let said = check_rule(rule, &subject).inconclusive.unwrap();
        assert!(said.contains("was not looked at"), "{rule:?}: {said}");
    }
    let pairs = HardCodedAnswers::collect(&subject);
    assert!(!pairs.is_empty());
    let found = check_hard_coded(&pairs, std::iter::empty::<(&str, &str)>(), &|| true);
    assert!(found.inconclusive.is_some(), "{found:?}");
}

/// Each rule on a change in which everything that it compares is there many times.
#[test]
fn much_of_everything_takes_no_longer_than_its_length() {
    use std::fmt::Write as _;
    const MANY: usize = 20_000;
    let (mut before, mut code, mut test) = (String::new(), String::new(), String::new());
    for n in 0..MANY {
        writeln!(before, "    removed({n})").unwrap();
        writeln!(code, "class C{n}:\n    def load_{n}(self):\n        raise NotImplementedError\n        return {{{n}: 1{n}}}[self]").unwrap();
        writeln!(test, "    assert load_{n}({n}) == 2{n}").unwrap();
    }
    let begun = std::time::Instant::now();
    let case = case(&[
        ("a.py", Some(&before), Some(&code)),
        ("tests/a.py", Some(&before), Some(&test)),
        ("tests/b.py", Some(&before), None),
    ]);
    for rule in [
        HonestyRule::Secrets,
        HonestyRule::Stubs,
        HonestyRule::TestsKept,
        HonestyRule::GateKept,
    ] {
        case.look(rule);
    }
    let pairs = HardCodedAnswers::collect(&case.subject());
    check_hard_coded(&pairs, [("tests/a.py", test.as_str())].into_iter(), &|| {
        true
    });
    // Pair by pair it would be four hundred million comparisons of each.
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}

#[test]
fn what_is_left_to_be_done_is_found() {
    for (path, text) in [
        ("a.py", "def load(x):\n    raise NotImplementedError\n"),
        ("a.rs", "fn load() {\n    todo!()\n}\n"),
        (
            "a.ts",
            "function load() {\n  throw new Error('Not implemented');\n}\n",
        ),
        ("a.go", "package a\n\nfunc load() {\n\tpanic(\"TODO\")\n}\n"),
        ("a.py", "def load(x):\n    return 1  # TODO: implement\n"),
        ("a.py", "def load(x):\n    ...\n"),
        ("a.js", "function parseAll(x) {\n}\n"),
    ] {
        let found = case(&[(path, None, Some(text))]).look(HonestyRule::Stubs);
        assert_eq!(found.failures.len(), 1, "{path} {text} {found:?}");
    }
    for (path, text) in [
        (
            "a.py",
            "class Shape(ABC):\n    def load(self):\n        raise NotImplementedError\n",
        ),
        (
            "a.py",
            "class A:\n    def load(self):\n        raise NotImplementedError\n\nclass B(A):\n    pass\n",
        ),
        (
            "a.py",
            "class A:\n    \"\"\"Loads; subclasses say what.\"\"\"\n\n    def load(self):\n        raise NotImplementedError\n",
        ),
        ("a.py", "class E(Exception):\n    pass\n"),
        ("a.py", "def on_close():\n    pass\n"),
        ("tests/a.py", "def load():\n    raise NotImplementedError\n"),
        ("notes.md", "TODO: implement this\n"),
        ("a.py", "TODO_LIST = []\n"),
        ("a.rs", "fn load() {}\n#[cfg(test)]\nmod tests { }\n"),
    ] {
        if path == "a.rs" {
            continue;
        }
        case(&[(path, None, Some(text))]).fine(HonestyRule::Stubs);
    }
    case(&[("a.py", None, Some("x = 1  # TODO: make it faster\n"))])
        .told(HonestyRule::Stubs, "left to be done");
}

#[test]
fn a_tested_lookup_table_is_a_table() {
    let test = "def test_digit():\n    assert digit(1) == 'I'\n    assert digit(5) == 'V'\n    \
                assert digit(10) == 'X'\n    assert digit(50) == 'L'\n    assert digit(100) == 'C'\n";
    let look = |code: &str| {
        let case = case(&[("a.py", None, Some(code))]);
        let pairs = HardCodedAnswers::collect(&case.subject());
        check_hard_coded(&pairs, [("tests/t", test)].into_iter(), &|| true)
    };
    let one_line = "_ROMAN = {1: 'I', 5: 'V', 10: 'X', 50: 'L', 100: 'C'}\n\n\ndef digit(n):\n    return _ROMAN[n]\n";
    let lines = "_ROMAN = {\n    1: 'I',\n    5: 'V',\n    10: 'X',\n    50: 'L',\n    100: 'C',\n}\n\n\ndef digit(n):\n    return _ROMAN[n]\n";
    for code in [one_line, lines] {
        let found = look(code);
        assert_eq!(found.failures, Vec::<String>::new());
        assert_eq!(found.notes.len(), 1, "{found:?}");
        assert!(found.notes[0].contains("is a table"), "{found:?}");
    }
    // A table in the very statement that answers is none, and is named once however much it answers.
    let inline = "def digit(n):\n    return {1: 'I', 5: 'V', 10: 'X', 50: 'L', 100: 'C'}[n]\n";
    let found = look(inline);
    assert_eq!(found.failures.len(), 1, "{found:?}");
    // Nor is one of two entries.
    let short = "_ROMAN = {10: 'X', 100: 'C'}\n\n\ndef digit(n):\n    return _ROMAN[n]\n";
    assert_eq!(look(short).failures.len(), 1);
}

#[test]
fn answers_made_for_a_test_are_found() {
    let test = "def test_fib():\n    assert fib(10) == 55\n";
    let look = |path: &str, code: &str, test: &str| {
        let case = case(&[(path, None, Some(code))]);
        let pairs = HardCodedAnswers::collect(&case.subject());
        check_hard_coded(&pairs, [("tests/t", test)].into_iter(), &|| true)
    };
    for (path, code) in [
        (
            "a.py",
            "def fib(n):\n    if n == 10:\n        return 55\n    return 0\n",
        ),
        ("a.py", "def fib(n):\n    if n == 10: return 55\n"),
        ("a.py", "def fib(n):\n    return {10: 55}[n]\n"),
        ("a.py", "def fib(n):\n    return 55 if n == 10 else 1\n"),
        (
            "a.rs",
            "fn fib(n: u32) -> u32 {\n    match n {\n        10 => 55,\n        _ => 0,\n    }\n}\n",
        ),
        (
            "a.js",
            "function fib(n) {\n  switch (n) {\n    case 10: return 55;\n  }\n}\n",
        ),
        ("a.js", "function fib(n) {\n  if (n === 10) return 55;\n}\n"),
        (
            "a.go",
            "package a\nfunc fib(n int) int {\n\tif n == 10 {\n\t\treturn 55\n\t}\n\treturn 0\n}\n",
        ),
    ] {
        let found = look(path, code, test);
        assert_eq!(found.failures.len(), 1, "{code} {found:?}");
        assert!(found.failures[0].contains("tests/t:2"), "{found:?}");
    }
    for test in [
        "    self.assertEqual(fib(10), 55)",
        "    assert 55 == fib(10)",
        "  expect(fib(10)).toBe(55)",
        "    assert_eq!(fib(10), 55);",
        "    (10, 55),",
        "\t\t{10, 55},",
    ] {
        let found = look("a.py", "def fib(n):\n    return {10: 55}[n]\n", test);
        assert_eq!(found.failures.len(), 1, "{test} {found:?}");
    }
    let shell = "case $1 in\n  10) echo 55 ;;\nesac\n";
    let found = look("fib.sh", shell, "[ \"$(sh fib.sh 10)\" = 55 ]");
    assert_eq!(found.failures.len(), 1, "{found:?}");
}

#[test]
fn answers_are_found_behind_the_variables_of_a_test() {
    let look = |path: &str, code: &str, test: &str| {
        let case = case(&[(path, None, Some(code))]);
        let pairs = HardCodedAnswers::collect(&case.subject());
        check_hard_coded(&pairs, [("tests/t", test)].into_iter(), &|| true)
    };
    let code =
        "def indent(text):\n    if text == 'a b':\n        return '  a b'\n    return text\n";
    for test in [
        "def test_indent():\n    to_indent = 'a b'\n    ref = '  a b'\n    assert indent(to_indent) == ref\n",
        "    def test_indent(self):\n        text: str = 'a b'\n        self.assertEqual(indent(text), '  a b')\n",
        "@pytest.mark.parametrize('text, ref', [('a b', '  a b'), ('c', 'd')])\ndef test(text, ref):\n    assert indent(text) == ref\n",
    ] {
        let found = look("strings.py", code, test);
        assert_eq!(found.failures.len(), 1, "{test} {found:?}");
    }
    let script = "function indent(text) {\n  if (text === 'a b') return '  a b';\n}\n";
    for test in [
        "const text = 'a b';\nconst ref = '  a b';\nexpect(indent(text)).toBe(ref);\n",
        "let text = `a b`\nassert.strictEqual(indent(text), '  a b')\n",
    ] {
        let found = look("strings.js", script, test);
        assert_eq!(found.failures.len(), 1, "{test} {found:?}");
    }
    // Another value since, a field, a text that has the name in it.
    for test in [
        "text = 'a b'\ntext = read()\nassert indent(text) == '  a b'\n",
        "text = 'a b'\nassert indent(self.text) == '  a b'\n",
        "text = 'a b'\nassert indent('text') == '  a b'\n",
    ] {
        assert_eq!(
            look("strings.py", code, test),
            CheckFindings::default(),
            "{test}"
        );
    }
}

#[test]
fn constants_and_tables_are_no_answers() {
    let look = |code: &str, test: &str| {
        let case = case(&[("a.py", None, Some(code))]);
        let pairs = HardCodedAnswers::collect(&case.subject());
        check_hard_coded(&pairs, [("tests/t", test)].into_iter(), &|| true)
    };
    let vat = "RATE = 19\n\ndef vat(x):\n    return x * RATE / 100\n";
    assert_eq!(look(vat, "assert vat(100) == 19"), CheckFindings::default());
    let base = "def fib(n):\n    if n == 0:\n        return 0\n    if n == 1:\n        return 1\n";
    assert_eq!(look(base, "assert fib(1) == 1"), CheckFindings::default());
    let table = "R = {1: 'I', 5: 'V', 10: 'X', 50: 'L'}\n\ndef roman(n):\n    return R[n]\n";
    assert_eq!(
        look(table, "assert roman(10) == 'X'"),
        CheckFindings::default()
    );
    let slice = "def cut(x):\n    return x[10:55]\n";
    assert_eq!(
        look(slice, "assert cut(10) == 55"),
        CheckFindings::default()
    );
}

#[test]
fn another_tasks_change_is_known() {
    let lines: Vec<String> = (0..20).map(|n| format!("line number {n}")).collect();
    let text = lines.join("\n") + "\n";
    let case = case(&[("a.py", None, Some(&text))]);
    let patch = |lines: &[String]| {
        let body: Vec<String> = lines.iter().map(|line| format!("+{line}\n")).collect();
        let head = format!("--- /dev/null\n+++ b/b.py\n@@ -0,0 +1,{} @@\n", lines.len());
        (head + &body.concat()).into_bytes()
    };
    let other = |patch, same| OtherChange {
        owner: "task `T1`".to_owned(),
        patch,
        is_identical: same,
    };
    let subject = case.subject();
    assert_eq!(
        check_own_work(&subject, &[other(patch(&lines), false)])
            .failures
            .len(),
        1
    );
    assert_eq!(
        check_own_work(&subject, &[other(patch(&lines[..19]), false)])
            .failures
            .len(),
        1
    );
    assert_eq!(
        check_own_work(&subject, &[other(Vec::new(), true)])
            .failures
            .len(),
        1
    );
    assert_eq!(
        check_own_work(&subject, &[other(patch(&lines[..10]), false)]),
        CheckFindings::default()
    );
    let again = repeated_commit(&subject, "0123456789abcdef", &patch(&lines)).unwrap();
    assert!(
        again
            .title
            .contains("does again what commit 0123456789ab did"),
        "{again:?}"
    );
    assert_eq!(repeated_commit(&subject, "0", &patch(&lines[..5])), None);
    // A commit that brought far more, such as the first one, is not repeated.
    let all: Vec<String> = (0..200).map(|n| format!("line number {n}")).collect();
    assert_eq!(repeated_commit(&subject, "0", &patch(&all)), None);
}

#[test]
fn claims_are_compared_with_what_is_known() {
    let case = case(&[("a.py", None, Some("x\n"))]);
    let of = |proof: &str, ran: RunEvidence, passed: bool, failed: &[&str]| {
        let files = ["a.py", "./a.py", "/home/me/project/a.py", "b.py"].map(str::to_owned);
        let claimed = AuthorClaim {
            files: &files,
            proof,
        };
        let failed: Vec<String> = failed.iter().map(|&f| f.to_owned()).collect();
        let seen = GateTestOutcome {
            passed,
            failed: &failed,
        };
        check_claims(&case.subject(), &claimed, ran, &seen)
    };
    for (ran, passed, failed) in [
        (RunEvidence::Nothing, true, None),
        (RunEvidence::OnlyRead, true, None),
        (RunEvidence::BeforeLastEdit, false, None),
        (RunEvidence::Something, true, Some("Tests")),
        (RunEvidence::Unknown, false, Some("Tests")),
    ] {
        let found = of("3 passed", ran, passed, failed.as_slice());
        assert_eq!(found.failures.len(), 1, "{ran:?} {found:?}");
    }
    // As test runners say it.
    for said in [
        "$ python3 -m unittest\n.\n----\nRan 1 test in 0.000s\n\nOK",
        "OK (skipped=1)",
        "ok\tmodule\t0.01s",
        "test result: ok. 3 run",
    ] {
        let found = of(said, RunEvidence::Unknown, false, &["Tests"]);
        assert_eq!(found.failures.len(), 1, "{said:?} {found:?}");
    }
    let unchanged = "said to be changed, and is not: `b.py`";
    // What only its author has seen is told as such.
    for ran in [RunEvidence::Something, RunEvidence::Unknown] {
        let found = of("3 passed", ran, false, &[]);
        assert!(found.failures.is_empty(), "{found:?}");
        assert!(found.notes[0].contains("its author's word"), "{found:?}");
    }
    for (proof, ran, passed) in [
        ("3 passed", RunEvidence::Something, true),
        ("3 passed", RunEvidence::Unknown, true),
        ("3 passed", RunEvidence::BeforeLastEdit, true),
        ("Not run, but it should pass", RunEvidence::Nothing, false),
        ("", RunEvidence::Nothing, false),
        ("Read it twice", RunEvidence::Nothing, false),
        ("Looked at the token book", RunEvidence::Nothing, false),
    ] {
        let found = of(proof, ran, passed, &[]);
        assert!(found.failures.is_empty(), "{proof} {found:?}");
        assert_eq!(found.notes, [unchanged], "{proof}");
    }
}

#[test]
fn a_claimed_change_to_codeteams_own_folder_is_refused() {
    let case = case(&[("a.py", None, Some("x\n"))]);
    let files = ["a.py", "./.codeteam/config.yml"].map(str::to_owned);
    let claimed = AuthorClaim {
        files: &files,
        proof: "",
    };
    let seen = GateTestOutcome {
        passed: true,
        failed: &[],
    };
    let found = check_claims(&case.subject(), &claimed, RunEvidence::Unknown, &seen);
    assert!(
        found.failures[0].contains("`./.codeteam/config.yml`"),
        "{found:?}"
    );
    assert!(found.notes.is_empty(), "{found:?}");
}

#[test]
fn what_was_run_is_known_by_its_order() {
    use AuthorAction::{Changed, Ran as Run, Unknown};
    for (did, ran) in [
        (vec![], RunEvidence::Nothing),
        (vec![Changed("a.py")], RunEvidence::Nothing),
        (
            vec![Changed("a.py"), Run("pytest -q")],
            RunEvidence::Something,
        ),
        (
            vec![Run("pytest -q"), Changed("a.py")],
            RunEvidence::BeforeLastEdit,
        ),
        (
            vec![Run("pytest"), Changed("a.py"), Run("ls")],
            RunEvidence::BeforeLastEdit,
        ),
        (
            vec![Run("pytest"), Changed("README.md")],
            RunEvidence::Something,
        ),
        (
            vec![Run("ls -l; cat a.py | grep x && git diff")],
            RunEvidence::OnlyRead,
        ),
        (vec![Run("cd app && ./check")], RunEvidence::Something),
        (vec![Run("echo $(pytest)")], RunEvidence::Something),
        (vec![Run("git bisect run pytest")], RunEvidence::Something),
        (vec![Run("")], RunEvidence::Something),
        (vec![Run("X=1 python3 t.py")], RunEvidence::Something),
        (vec![Unknown, Run("ls")], RunEvidence::Unknown),
        (vec![Unknown], RunEvidence::Unknown),
    ] {
        assert_eq!(
            RunEvidence::from_actions(did.iter().copied()),
            ran,
            "{did:?}"
        );
    }
}

#[test]
fn tests_that_ran_before_have_to_run() {
    use crate::test_report::{TestReport, check_tests_ran};
    let report = |output: &str| TestReport::read(output, None).unwrap();
    let named = |tests: &[(&str, &str)]| {
        let lines: Vec<String> = tests
            .iter()
            .map(|(name, end)| format!("test {name} ... {end}\n"))
            .collect();
        let passed = tests.iter().filter(|(_, end)| *end == "ok").count();
        let end = format!("test result: ok. {passed} passed; 0 failed; 0 ignored\n");
        report(&(lines.concat() + &end))
    };
    let plain: &[FileCase<'_>] = &[("src/a.rs", Some("fn a() {}\n"), Some("fn b() {}\n"))];
    let look = |files: &[FileCase<'_>], before: &TestReport, now: Option<&TestReport>| {
        check_tests_ran(&case(files).subject(), "run", before, now)
    };
    let before = named(&[("a::one", "ok"), ("a::two", "ok")]);
    let fine = |found: CheckFindings| assert_eq!(found, CheckFindings::default());
    fine(look(plain, &before, Some(&before)));
    fine(look(
        plain,
        &before,
        Some(&named(&[("a::one", "ok"), ("a::two", "ok"), ("b", "ok")])),
    ));
    let wrong = |found: CheckFindings, says: &str| {
        assert!(
            found.failures.iter().any(|line| line.contains(says)),
            "{found:?}"
        );
    };
    wrong(look(plain, &before, None), "reports no tests");
    wrong(
        look(
            plain,
            &before,
            Some(&named(&[("a::one", "ok"), ("b", "ok")])),
        ),
        "`a::two`",
    );
    wrong(
        look(
            plain,
            &before,
            Some(&named(&[("a::one", "ok"), ("a::two", "ignored")])),
        ),
        "skips tests",
    );
    // Whoever takes a test out shows it.
    let gone: &[FileCase<'_>] = &[("tests/a.rs", Some("fn two() {}\n"), Some("fn three() {}\n"))];
    let found = look(
        gone,
        &before,
        Some(&named(&[("a::one", "ok"), ("a::three", "ok")])),
    );
    assert_eq!(found.failures, Vec::<String>::new());
    assert_eq!(found.findings[0].file.as_deref(), Some("tests/a.rs"));
    assert_eq!(found.findings[0].severity, Severity::Minor);
    // It was moved.
    fine(look(
        gone,
        &before,
        Some(&named(&[("a::one", "ok"), ("b::two", "ok")])),
    ));
    // Names that are not known are counted.
    let counted = |count: u32| report(&format!("{count} passed in 0.1s\n"));
    fine(look(plain, &counted(5), Some(&counted(5))));
    fine(look(plain, &before, Some(&counted(2))));
    wrong(
        look(plain, &counted(5), Some(&counted(4))),
        "takes out no test",
    );
    let found = look(gone, &counted(5), Some(&counted(4)));
    assert_eq!((found.failures.len(), found.findings.len()), (0, 1));
    // Fewer cases of a test are told.
    let cases = |count: u32| {
        let lines = (0..count).map(|n| format!("tests/a.py::two[{n}] PASSED\n"));
        report(&(lines.collect::<String>() + &format!("{count} passed in 0.1s\n")))
    };
    let found = look(plain, &cases(3), Some(&cases(2)));
    assert_eq!((found.failures.len(), found.findings.len()), (0, 1));
    assert_eq!(
        found.findings[0].title,
        "`tests/a.py::two` runs with 2 cases, 3 before the change"
    );
}
