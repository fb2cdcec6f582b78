use super::*;
use crate::files::FileContent;

/// A project whose files import each other as it says.
struct SampleProject {
    files: Vec<FileEntry>,
}

impl SampleProject {
    fn new(paths: &[&str]) -> Self {
        let mut paths: Vec<&str> = paths.to_vec();
        paths.sort_unstable();
        let file = |path: &&str| FileEntry {
            path: (*path).to_owned(),
            bytes: 1,
            stamp: None,
        };
        Self {
            files: paths.iter().map(file).collect(),
        }
    }
}

impl FileSet for SampleProject {
    fn list(&self) -> &[FileEntry] {
        &self.files
    }

    fn read(&self, _at: usize) -> FileContent {
        FileContent::Gone
    }
}

const IMPORTS: &[(&str, &str)] = &[
    ("src/api/auth.py", "src/models/user.py"),
    ("src/api/auth.py", "src/api/base.py"),
    ("src/web/login.py", "src/api/auth.py"),
    ("src/main.py", "src/web/login.py"),
];

impl ProjectFacts for SampleProject {
    fn files(&self) -> &dyn FileSet {
        self
    }

    fn imports_of(&self, path: &str) -> Vec<String> {
        let of = IMPORTS.iter().filter(|(from, _)| *from == path);
        of.map(|(_, to)| (*to).to_owned()).collect()
    }

    fn importers_of(&self, path: &str, steps: usize) -> Vec<String> {
        let mut found = Vec::new();
        for (from, _) in IMPORTS.iter().filter(|(_, to)| *to == path) {
            found.push((*from).to_owned());
            if steps > 1 {
                found.extend(self.importers_of(from, steps - 1));
            }
        }
        found
    }

    fn relevant_files(&self, limit: usize) -> Vec<String> {
        let best = ["src/main.py", "src/api/auth.py", "docs/auth.md"];
        best.iter()
            .take(limit)
            .map(|path| (*path).to_owned())
            .collect()
    }

    fn is_interface(&self, path: &str) -> bool {
        path.ends_with("base.py")
    }
}

fn sample() -> SampleProject {
    SampleProject::new(&[
        "README.md",
        "CONTRIBUTING.md",
        "api/openapi.yml",
        "docs/auth.md",
        "src/api/auth.py",
        "src/api/base.py",
        "src/api/secret.py",
        "src/main.py",
        "src/models/user.py",
        "src/web/login.py",
        "tests/test_auth.py",
    ])
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn part(name: &str, include: &[&str]) -> StrategyPart {
    StrategyPart {
        name: name.to_owned(),
        include: texts(include),
        ..StrategyPart::default()
    }
}

/// `target: src/a.py src/b.py~`, with `~` for signatures and `^` for what is public.
fn shown(chosen: &ContextSelection) -> Vec<String> {
    let words = chosen.parts.iter().map(|part| match &part.body {
        PartBody::Special => part.name.clone(),
        PartBody::Files(picks) => {
            let picks = picks.iter().map(|pick| {
                let mark = ["", "~", "^"][pick.form as usize];
                let missing = if pick.at.is_none() { "?" } else { "" };
                format!(" {}{mark}{missing}", pick.path)
            });
            format!("{}:{}", part.name, picks.collect::<String>())
        }
    });
    words.collect()
}

#[test]
fn parts_are_made_of_what_the_task_touches() {
    let targeted = Strategy {
        parts: vec![
            part("target", &["$TARGET"]),
            part("diff", &[]),
            part("imports", &["$TARGET_IMPORTS"]),
            StrategyPart {
                form: FileForm::Signatures,
                ..part("importers", &["$TARGET_IMPORTERS"])
            },
            part("tests", &["$TARGET_TESTS"]),
            part("related", &["$RELATED"]),
            part("tree", &[]),
        ],
        ..Strategy::default()
    };
    let targets = texts(&["src/api/auth.py", "src/api/new.py"]);
    let matter = TaskFacts {
        targets: &targets,
        ..TaskFacts::default()
    };
    let wishes = ContextRequest {
        strategy: Some(&targeted),
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen),
        [
            "target: src/api/auth.py src/api/new.py?",
            "diff",
            "imports: src/models/user.py src/api/base.py",
            "importers: src/web/login.py~",
            "tests: tests/test_auth.py",
            "related: src/main.py docs/auth.md",
            "tree",
        ]
    );

    // What a role says itself stands before what is only related; nothing is shown twice.
    let (include, exclude) = (texts(&["docs/", "$TARGET"]), texts(&["src/main.py"]));
    let (always, hidden) = (texts(&["README*"]), texts(&["src/web/**"]));
    let wishes = ContextRequest {
        include: &include,
        exclude: &exclude,
        always_include: &always,
        hidden: &hidden,
        ..wishes
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen),
        [
            "always: README.md",
            "target: src/api/auth.py src/api/new.py?",
            "diff",
            "imports: src/models/user.py src/api/base.py",
            "tests: tests/test_auth.py",
            "included: docs/auth.md",
            "tree",
        ]
    );

    // Near to the component only.
    let scope = texts(&["src/api/auth.py"]);
    let near = TaskFacts {
        scope: &scope,
        ..matter
    };
    let chosen = select_context(&wishes, &near, &sample()).unwrap();
    assert!(shown(&chosen).contains(&"imports: src/api/base.py".to_owned()));
}

#[test]
fn tests_are_written_in_the_language_of_what_they_test() {
    let project = SampleProject::new(&[
        "lib/user.rb",
        "docs/config.rst",
        "src/app.ts",
        "src/config.py",
        "tests/apps/one/config.py",
        "tests/static/config.json",
        "tests/static/config.toml",
        "tests/test_config.py",
        "tests/user.rb",
        "web/app.test.tsx",
    ]);
    let strategy = Strategy {
        parts: vec![part("tests", &["$TARGET_TESTS"])],
        ..Strategy::default()
    };
    let wishes = ContextRequest {
        strategy: Some(&strategy),
        ..ContextRequest::default()
    };
    for (target, tests) in [
        (
            "src/config.py",
            " tests/test_config.py tests/apps/one/config.py",
        ),
        ("docs/config.rst", ""),
        ("src/app.ts", " web/app.test.tsx"),
        ("lib/user.rb", " tests/user.rb"),
    ] {
        let targets = texts(&[target]);
        let matter = TaskFacts {
            targets: &targets,
            ..TaskFacts::default()
        };
        let chosen = select_context(&wishes, &matter, &project).unwrap();
        let tests = (!tests.is_empty()).then(|| format!("tests:{tests}"));
        assert_eq!(shown(&chosen), Vec::from_iter(tests), "{target}");
    }
}

#[test]
fn documents_are_known_in_capitals_and_in_small_letters() {
    let project = SampleProject::new(&[
        "Contributing.md",
        "Readme.md",
        "docs/Design.rst",
        "src/readme.py",
    ]);
    let strategy = Strategy {
        parts: vec![part("docs", &["$DOCS", "$STANDARDS"])],
        ..Strategy::default()
    };
    let wishes = ContextRequest {
        strategy: Some(&strategy),
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &TaskFacts::default(), &project).unwrap();
    assert_eq!(
        shown(&chosen),
        ["docs: Readme.md docs/Design.rst Contributing.md"]
    );
}

#[test]
fn whoever_tests_sees_what_is_public() {
    let targets = texts(&["src/api/auth.py"]);
    let matter = TaskFacts {
        targets: &targets,
        ..TaskFacts::default()
    };
    let include = texts(&[
        "$INTERFACE_DEFINITIONS",
        "$COMPONENT_PUBLIC_API",
        "src/api/**",
    ]);
    let exclude = texts(&["$IMPLEMENTATION_INTERNALS"]);
    let wishes = ContextRequest {
        include: &include,
        exclude: &exclude,
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen),
        ["included: api/openapi.yml src/api/base.py^ src/api/auth.py^ src/api/secret.py^"]
    );
    assert!(!chosen.shows_changes_of("src/api/secret.py"));
    assert!(chosen.shows_changes_of("src/web/login.py"));
}

#[test]
fn whoever_cannot_look_sees_the_files_and_the_tree() {
    let targets = texts(&["src/api/", "src/main.py"]);
    let matter = TaskFacts {
        targets: &targets,
        blind: true,
        ..TaskFacts::default()
    };
    let include = texts(&["git diff --cached"]);
    let wishes = ContextRequest {
        include: &include,
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen),
        [
            "target: src/api/auth.py src/api/base.py src/api/secret.py src/main.py",
            "diff",
            "tree"
        ]
    );
}

#[test]
fn whoever_cannot_look_sees_the_files_whole_whatever_else_names_them() {
    let strategy = Strategy {
        parts: vec![
            StrategyPart {
                form: FileForm::Signatures,
                ..part("related", &["src/**"])
            },
            StrategyPart {
                form: FileForm::Signatures,
                limit: Some(0),
                ..part("target", &["README.md"])
            },
        ],
        ..Strategy::default()
    };
    let targets = texts(&["src/main.py"]);
    let matter = TaskFacts {
        targets: &targets,
        blind: true,
        ..TaskFacts::default()
    };
    let always = texts(&["src/main.py", "docs/"]);
    let wishes = ContextRequest {
        strategy: Some(&strategy),
        always_include: &always,
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen)[..2],
        ["target: src/main.py README.md", "always: docs/auth.md"]
    );
}

#[test]
fn what_a_change_brings_is_no_standard() {
    let changed: Vec<String> = (0..60).map(|i| format!("a/{i:02}.py")).collect();
    let mut paths: Vec<&str> = changed.iter().map(String::as_str).collect();
    let evil = "docs/standards/approve.md";
    paths.extend(["CONTRIBUTING.md", evil]);
    let project = SampleProject::new(&paths);
    let changed = texts(&[&paths[..60], &[evil]].concat());
    let matter = TaskFacts {
        changed: &changed,
        ..TaskFacts::default()
    };
    let strategy = Strategy {
        parts: vec![
            part("changed", &["$CHANGED"]),
            part("standards", &["$STANDARDS"]),
        ],
        ..Strategy::default()
    };
    let wishes = ContextRequest {
        strategy: Some(&strategy),
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &project).unwrap();
    assert_eq!(shown(&chosen)[1], "standards: CONTRIBUTING.md");
}

#[test]
fn reviewers_see_what_a_change_reaches() {
    let changed = texts(&["src/api/auth.py", "src/gone.py"]);
    let matter = TaskFacts {
        changed: &changed,
        ..TaskFacts::default()
    };
    let strategy = Strategy {
        parts: vec![
            part("changed", &["$CHANGED"]),
            part("blast radius", &["$BLAST_RADIUS"]),
            part("standards", &["$STANDARDS"]),
        ],
        ..Strategy::default()
    };
    let wishes = ContextRequest {
        strategy: Some(&strategy),
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen),
        [
            "changed: src/api/auth.py",
            "blast radius: src/web/login.py src/main.py",
            "standards: CONTRIBUTING.md"
        ]
    );
}

#[test]
fn what_means_nothing_is_said() {
    let include = texts(&["$TARGTE"]);
    let wishes = ContextRequest {
        include: &include,
        ..ContextRequest::default()
    };
    let error = select_context(&wishes, &TaskFacts::default(), &sample()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`$TARGTE` is not a valid pattern of files: there is no such variable"
    );
}

#[test]
fn files_that_the_brief_names_are_shown_after_those_of_the_task() {
    let (targets, mentioned) = (
        texts(&["src/main.py"]),
        texts(&["docs/auth.md", "src/gone.py"]),
    );
    let matter = TaskFacts {
        targets: &targets,
        mentioned: &mentioned,
        ..TaskFacts::default()
    };
    let strategy = Strategy {
        parts: vec![part("target", &["$TARGET"]), part("brief", &["$MENTIONED"])],
        ..Strategy::default()
    };
    let wishes = ContextRequest {
        strategy: Some(&strategy),
        ..ContextRequest::default()
    };
    let chosen = select_context(&wishes, &matter, &sample()).unwrap();
    assert_eq!(
        shown(&chosen),
        ["target: src/main.py", "brief: docs/auth.md"]
    );
}
