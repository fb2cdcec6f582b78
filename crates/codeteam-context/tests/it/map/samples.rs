//! The outlines, signatures and maps of sample projects, as they are kept in `samples`.

use std::fmt::Write as _;

use codeteam_context::graph::{TaskFocus, rank_by_references};
use codeteam_context::index::SourceIndex;
use codeteam_context::language::Language;
use codeteam_context::map::{FocusDisplay, MapOptions, draw_map};
use codeteam_context::outline::{Outline, outline, signatures};
use codeteam_context::redact::Redactor;
use codeteam_context::tokens;
use expect_test::expect_file;

use super::folder::{Made, PROJECTS, sample};

#[test]
fn outlines() {
    for project in PROJECTS {
        let mut all = String::new();
        for (path, text) in sample(project) {
            let language = Language::from_path(&path).unwrap();
            writeln!(all, "== {path}").unwrap();
            shown(&outline(&text, language), &mut all);
        }
        expect_file![format!("../../samples/{project}.outline.txt")].assert_eq(&all);
    }
}

#[test]
fn declarations_only() {
    for project in PROJECTS {
        let mut all = String::new();
        for (path, text) in sample(project) {
            let language = Language::from_path(&path).unwrap();
            let shown = signatures(&text, language);
            writeln!(all, "== {path}").unwrap();
            all.push_str(&shown.unwrap_or_else(|| "(nothing gained)\n".to_owned()));
        }
        expect_file![format!("../../samples/{project}.signatures.txt")].assert_eq(&all);
    }
}

#[test]
fn maps() {
    let focused = TaskFocus {
        files: vec!["src/users.ts".to_owned(), "shop/pricing.py".to_owned()],
        names: vec!["Backoff".to_owned(), "Auditable".to_owned()],
    };
    for project in PROJECTS {
        let index = SourceIndex::build(&Made::sample(project), None, &|_, _| {});
        let mut all = String::new();
        for (focus, touched) in [
            (&TaskFocus::default(), FocusDisplay::Shown),
            (&focused, FocusDisplay::LeftOut),
        ] {
            for budget in [60, 200] {
                let ranks = rank_by_references(&index, focus, &[]);
                let options = MapOptions {
                    touched,
                    ..MapOptions::new(budget)
                };
                let map = draw_map(&index, &ranks, &options);
                assert!(map.tokens <= budget, "{project}");
                assert_eq!(map.tokens, tokens::count(&map.text), "{project}");
                let what = if focus.files.is_empty() {
                    "all"
                } else {
                    "focus"
                };
                writeln!(
                    all,
                    "== {what}, {} of {budget} tokens, {} left out",
                    map.tokens, map.left_out
                )
                .unwrap();
                all.push_str(&map.text);
            }
        }
        expect_file![format!("../../samples/{project}.map.txt")].assert_eq(&all);
    }
}

#[test]
fn a_budget_of_nothing_is_an_empty_map() {
    let index = SourceIndex::build(&Made::sample("go"), None, &|_, _| {});
    let ranks = rank_by_references(&index, &TaskFocus::default(), &[]);
    let map = draw_map(&index, &ranks, &MapOptions::new(0));
    assert_eq!((map.text.as_str(), map.tokens, map.files.len()), ("", 0, 0));
    assert!(map.left_out > 0);
}

#[test]
fn a_map_may_be_of_a_folder_only() {
    let index = SourceIndex::build(&Made::sample("go"), None, &|_, _| {});
    let ranks = rank_by_references(&index, &TaskFocus::default(), &[]);
    for (below, expected) in [
        ("store", vec!["store/store.go"]),
        ("stor", vec![]),
        ("main.go", vec!["main.go"]),
    ] {
        let options = MapOptions {
            below: below.to_owned(),
            ..MapOptions::new(500)
        };
        let map = draw_map(&index, &ranks, &options);
        let paths: Vec<_> = map.files.iter().map(|part| &*part.path).collect();
        assert_eq!(paths, expected, "{below}");
    }
}

#[test]
fn a_constant_that_is_a_secret_is_not_shown() {
    let key = ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let text = format!("GITHUB_TOKEN = \"{key}\"\n");
    let index = SourceIndex::build(&Made::new([("a.py", &*text)]), None, &|_, _| {});
    let ranks = rank_by_references(&index, &TaskFocus::default(), &[]);
    let mut map = draw_map(&index, &ranks, &MapOptions::new(500));
    assert!(map.text.contains(&key));
    let hits = map.redact(&Redactor::new([]));
    assert_eq!(hits.values().sum::<usize>(), 1);
    assert!(!format!("{map:?}").contains(&key));
    assert_eq!(map.tokens, tokens::count(&map.text));
}

fn shown(outline: &Outline, out: &mut String) {
    for definition in &outline.definitions {
        let mut depth = 0;
        let mut inside = definition.inside;
        while let Some(at) = inside {
            depth += 1;
            inside = outline.definitions[at as usize].inside;
        }
        writeln!(
            out,
            "{:>3}-{:<3} {:<9} {} {}{:<13} {}",
            definition.line,
            definition.last_line,
            format!("{:?}", definition.kind).to_lowercase(),
            if definition.public { '+' } else { '-' },
            "    ".repeat(depth),
            definition.name,
            definition.signature,
        )
        .unwrap();
    }
    let references: Vec<_> = outline
        .references
        .iter()
        .map(|reference| match reference.count {
            1 => reference.name.clone(),
            count => format!("{}*{count}", reference.name),
        })
        .collect();
    for line in references.chunks(12) {
        writeln!(out, "  > {}", line.join(" ")).unwrap();
    }
}
