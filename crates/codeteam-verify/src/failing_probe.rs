//! Puts tests that fail into test files, to find out whether a gate notices a failing test at all.
//!
//! A gate whose commands report no tests may run none, or may have been made to end well whatever its
//! tests do. Neither can be told from its exit code. A test that must fail tells it: a gate that
//! passes with it does not run the tests of these files, or does not listen to them.

use codeteam_context::language::Language;

use crate::proof::TestPatterns;
use crate::source::has_end;

/// What a failing test says, for whoever reads the output.
const SAYS: &str = "put in by codeteam to see whether the checks notice a test that fails";

/// The tests that a file gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeText {
    /// Its own ones, and one that fails.
    WithFailing,
    /// One that fails, and nothing else.
    OnlyFailing,
    /// One that passes, and nothing else.
    OnlyPassing,
}

/// Returns true if a failing test can be put into a file: it is a test program in a language whose
/// runners take another test in any of their files.
pub fn takes_probe(path: &str, tests: &TestPatterns) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_helper = ["__init__.py", "conftest.py"].contains(&name);
    tests.is_test_program(path) && !is_helper && ProbeLanguage::from_path(path).is_some()
}

/// Returns what a test file contains with a probe, or `None` if it takes none.
pub fn probe_text(path: &str, text: &str, probe: ProbeText) -> Option<String> {
    let language = ProbeLanguage::from_path(path)?;
    let fails = probe != ProbeText::OnlyPassing;
    let added = match language {
        ProbeLanguage::Java | ProbeLanguage::Kotlin => language.method(text, fails)?,
        _ => language.test(fails),
    };
    if probe == ProbeText::WithFailing {
        return language.insert(text, &added);
    }
    let (head, tail) = language.frame(path, text)?;
    Some(format!("{head}{added}{tail}"))
}

/// A language in which a test can be written that fails with every usual runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbeLanguage {
    Python,
    Script,
    Go,
    Rust,
    Java,
    Kotlin,
    /// Runners load the file, and what is raised there fails it.
    Ruby,
    Elixir,
    Php,
    Shell,
}

impl ProbeLanguage {
    fn from_path(path: &str) -> Option<Self> {
        match Language::from_path(path) {
            Some(Language::Python) => Some(Self::Python),
            Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => Some(Self::Script),
            Some(Language::Go) => path.ends_with("_test.go").then_some(Self::Go),
            Some(Language::Rust) => Some(Self::Rust),
            Some(Language::Java) => Some(Self::Java),
            None => {
                let known: [(&[&str], Self); 5] = [
                    (&["kt"], Self::Kotlin),
                    (&["rb"], Self::Ruby),
                    (&["exs"], Self::Elixir),
                    (&["php"], Self::Php),
                    (&["sh", "bash"], Self::Shell),
                ];
                let mut known = known.into_iter();
                let (_, language) = known.find(|(ends, _)| has_end(path, ends))?;
                Some(language)
            }
        }
    }

    /// Returns a test that fails, or one that passes.
    fn test(self, fails: bool) -> String {
        match (self, fails) {
            (Self::Python, true) => format!(
                "\nimport unittest as codeteam_unittest\n\n\nclass TestCodeteamProbe(codeteam_unittest.TestCase):\n    \
                 def test_that_fails(self):\n        raise AssertionError(\"{SAYS}\")\n\n\n"
            ),
            (Self::Python, false) => {
                "\nimport unittest as codeteam_unittest\n\n\nclass TestCodeteamProbe(\
                 codeteam_unittest.TestCase):\n    def test_that_passes(self):\n        pass\n\n\n"
                    .to_owned()
            }
            // Without a runner's own function, the file fails as a whole.
            (Self::Script, true) => format!(
                "\n;(() => {{\n  const probe = globalThis[\"test\"] ?? globalThis[\"it\"];\n  const fail = () => \
                 {{ throw new Error(\"{SAYS}\"); }};\n  if (probe) probe(\"codeteam's probe\", fail); else \
                 fail();\n}})();\n"
            ),
            (Self::Script, false) => {
                "\n;(() => {\n  const probe = globalThis[\"test\"] ?? globalThis[\"it\"];\n  \
                 if (probe) probe(\"codeteam's probe\", () => {});\n})();\n"
                    .to_owned()
            }
            (Self::Go, true) => {
                format!("\nfunc TestCodeteamProbe(t *testing.T) {{\n\tt.Fatal(\"{SAYS}\")\n}}\n")
            }
            (Self::Go, false) => "\nfunc TestCodeteamProbe(t *testing.T) {}\n".to_owned(),
            (Self::Rust, true) => {
                format!("\n#[test]\nfn codeteam_probe() {{\n    panic!(\"{SAYS}\");\n}}\n")
            }
            (Self::Rust, false) => "\n#[test]\nfn codeteam_probe() {}\n".to_owned(),
            (Self::Ruby | Self::Elixir, true) => format!("\nraise \"{SAYS}\"\n"),
            (Self::Php, true) => format!("\nthrow new \\Error(\"{SAYS}\");\n"),
            (Self::Shell, true) => format!("echo \"{SAYS}\" >&2\nexit 1\n"),
            (Self::Shell, false) => "exit 0\n".to_owned(),
            (Self::Ruby | Self::Elixir | Self::Php, false) => "\n".to_owned(),
            // They are methods, which need to know their runner.
            (Self::Java | Self::Kotlin, _) => String::new(),
        }
    }

    /// Returns the same as a method of a class, if the file says which runner marks its tests how.
    fn method(self, text: &str, fails: bool) -> Option<String> {
        const MARKS: [(&str, &str); 4] = [
            ("org.junit.jupiter", "org.junit.jupiter.api.Test"),
            ("org.junit.Test", "org.junit.Test"),
            ("org.testng", "org.testng.annotations.Test"),
            ("kotlin.test", "kotlin.test.Test"),
        ];
        let (_, mark) = MARKS.iter().find(|(import, _)| text.contains(import))?;
        let body = match (self, fails) {
            (_, false) => String::new(),
            (Self::Kotlin, true) => format!(" throw AssertionError(\"{SAYS}\") "),
            (_, true) => format!(" throw new AssertionError(\"{SAYS}\"); "),
        };
        let head = match self {
            Self::Kotlin => "fun",
            _ => "public void",
        };
        Some(format!(
            "\n    @{mark}\n    {head} codeteamProbe() {{{body}}}\n"
        ))
    }

    /// Puts a test where the file is still read: before a Python program runs its tests itself, before
    /// the first command of a shell script, and before the end of the last class.
    fn insert(self, text: &str, added: &str) -> Option<String> {
        let at = match self {
            Self::Python => text
                .match_indices("if __name__")
                .map(|(at, _)| at)
                .find(|at| *at == 0 || text[..*at].ends_with('\n'))
                .unwrap_or(text.len()),
            Self::Shell => shebang(text).len(),
            Self::Java | Self::Kotlin => text.rfind('}')?,
            // What follows is no program any more.
            Self::Php if text.contains("?>") => return None,
            _ => text.len(),
        };
        let (before, after) = text.split_at(at);
        let newline = if before.is_empty() || before.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        Some(format!("{before}{newline}{added}{after}"))
    }

    /// Returns what a file must begin and end with when everything else in it is replaced.
    fn frame(self, path: &str, text: &str) -> Option<(String, &'static str)> {
        let package = || text.lines().find(|line| line.starts_with("package "));
        Some(match self {
            Self::Go => (format!("{}\n\nimport \"testing\"\n", package()?), ""),
            Self::Java | Self::Kotlin => {
                let name = path.rsplit('/').next().unwrap_or(path);
                let (class, _) = name.split_once('.')?;
                let package = package().unwrap_or_default();
                (format!("{package}\n\nclass {class} {{\n"), "}\n")
            }
            Self::Php => ("<?php\n".to_owned(), ""),
            Self::Shell => (shebang(text).to_owned(), ""),
            _ => (String::new(), ""),
        })
    }
}

/// Returns the first line of a script, if it says what runs it.
fn shebang(text: &str) -> &str {
    if !text.starts_with("#!") {
        return "";
    }
    text.split_inclusive('\n').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_test_stands_where_it_is_run() {
        let with = |path: &str, text: &str| {
            probe_text(path, text, ProbeText::WithFailing).unwrap_or_default()
        };
        let text = "import unittest\n\nif __name__ == \"__main__\":\n    unittest.main()\n";
        let probed = with("tests/test_a.py", text);
        let (before, after) = probed.split_once("if __name__").unwrap();
        assert!(before.contains("def test_that_fails"), "{probed}");
        assert_eq!(after, " == \"__main__\":\n    unittest.main()\n");
        let probed = with("tests/a.sh", "#!/bin/sh\ntrue\n");
        assert!(probed.starts_with("#!/bin/sh\necho \""), "{probed}");
        assert!(probed.ends_with("exit 1\ntrue\n"), "{probed}");
        assert!(with("a_test.go", "package a").starts_with("package a\n\nfunc Test"));
        assert!(with("tests/a.rs", "").contains("panic!("));
        assert!(with("a.test.ts", "x").starts_with("x\n\n;("));
        let java = with("ATest.java", "import org.junit.Test;\nclass ATest {\n}\n");
        assert!(java.ends_with("fails\"); }\n}\n"), "{java}");
        let kotlin = with("ATest.kt", "import kotlin.test.Test\nclass ATest {\n}\n");
        assert!(
            kotlin.contains("@kotlin.test.Test\n    fun codeteamProbe() { throw"),
            "{kotlin}"
        );
        assert!(with("a_spec.rb", "x\n").ends_with(
            "x\n\nraise \"put in by codeteam to see whether the checks notice a test that fails\"\n"
        ));
        assert_eq!(with("ATest.php", "<?php ?>\n"), "");
    }

    #[test]
    fn a_file_with_nothing_else_is_still_a_test_file() {
        let only = |path: &str, text: &str| probe_text(path, text, ProbeText::OnlyPassing);
        let go = only(
            "a_test.go",
            "// x\npackage a\n\nfunc TestX(t *testing.T) {}\n",
        )
        .unwrap();
        assert!(go.starts_with("package a\n\nimport \"testing\"\n"), "{go}");
        assert_eq!(only("a_test.go", "no package"), None);
        assert_eq!(
            only("a.sh", "#!/bin/sh\nfalse\n").unwrap(),
            "#!/bin/sh\nexit 0\n"
        );
        let java = "package a;\n\nimport org.junit.jupiter.api.Test;\n\nclass ATest {\n}\n";
        assert_eq!(
            only("src/test/java/ATest.java", java).unwrap(),
            "package a;\n\nclass ATest {\n\n    @org.junit.jupiter.api.Test\n    public void codeteamProbe() {}\n}\n"
        );
        assert_eq!(only("ATest.java", "class ATest {}"), None);
    }

    #[test]
    fn helpers_and_data_take_none() {
        let tests = ["tests/**", "**/*_test.*", "**/testdata/**"].map(str::to_owned);
        let tests = TestPatterns::new(&tests);
        for path in ["tests/test_a.py", "tests/a.sh", "a_test.go", "tests/a.rs"] {
            assert!(takes_probe(path, &tests), "{path}");
        }
        for path in [
            "tests/__init__.py",
            "tests/conftest.py",
            "tests/a.json",
            "tests/a.go",
            "src/a.py",
            "testdata/a.py",
        ] {
            assert!(!takes_probe(path, &tests), "{path}");
        }
    }
}
