//! Ranks: what they add up to, and what they go by.

use std::fmt::Write as _;

use codeteam_context::graph::{FileEdge, ImportanceRanks, TaskFocus, rank_by_references};
use codeteam_context::index::SourceIndex;
use proptest::prelude::*;

use super::folder::{Made, PROJECTS};

fn ranked(files: &Made, focus: &TaskFocus, edges: &[FileEdge]) -> (SourceIndex, ImportanceRanks) {
    let index = SourceIndex::build(files, None, &|_, _| {});
    let ranks = rank_by_references(&index, focus, edges);
    (index, ranks)
}

fn of(path: &str, files: &Made, focus: &TaskFocus) -> f64 {
    let (index, ranks) = ranked(files, focus, &[]);
    ranks.files[index.file_number(path).unwrap()]
}

fn focus(files: &[&str], names: &[&str]) -> TaskFocus {
    let owned = |all: &[&str]| all.iter().map(|it| (*it).to_owned()).collect();
    TaskFocus {
        files: owned(files),
        names: owned(names),
    }
}

/// Two libraries, and so many users of each.
fn users(first: usize, second: usize) -> Made {
    let mut files = Made::new([
        ("first.py", "def first_thing(): pass\n"),
        ("second.py", "def second_thing(): pass\n"),
    ]);
    for (name, count) in [("first", first), ("second", second)] {
        for at in 0..count {
            files.write(
                &format!("{name}_user{at}.py"),
                &format!("from {name} import {name}_thing\n{name}_thing()\n"),
            );
        }
    }
    files
}

#[test]
fn ranks_of_samples_add_up_to_one() {
    for project in PROJECTS {
        let (_, ranks) = ranked(&Made::sample(project), &TaskFocus::default(), &[]);
        let sum: f64 = ranks.files.iter().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{project}: {sum}");
    }
}

#[test]
fn whoever_is_referred_to_by_more_ranks_higher() {
    let files = users(3, 5);
    let everywhere = TaskFocus::default();
    assert!(of("second.py", &files, &everywhere) > of("first.py", &files, &everywhere));
    assert!(of("first.py", &files, &everywhere) > of("first_user0.py", &files, &everywhere));
}

#[test]
fn what_the_task_touches_ranks_higher_with_what_it_leads_to() {
    let files = users(3, 5);
    let touched = focus(&["first_user1.py"], &[]);
    assert!(of("first.py", &files, &touched) > of("second.py", &files, &touched));
    let mentioned = focus(&[], &["first_thing"]);
    assert!(of("first.py", &files, &mentioned) > of("second.py", &files, &mentioned));
    // What is not there is as if nothing was said.
    let unknown = focus(&["nowhere.py"], &["nobody"]);
    assert!(
        (of("first.py", &files, &unknown) - of("first.py", &files, &TaskFocus::default())).abs()
            < 1e-12
    );
}

#[test]
fn languages_do_not_mix() {
    let files = Made::new([
        ("a.py", "OpenLedger()\n"),
        ("b.py", "def OpenLedger(): pass\n"),
        ("c.go", "package c\n\nfunc OpenLedger() {}\n"),
    ]);
    let focus = focus(&["a.py"], &[]);
    assert!(of("b.py", &files, &focus) > 0.1);
    assert!(of("c.go", &files, &focus) < 1e-9);
}

#[test]
fn a_name_that_many_define_says_less() {
    let mut files = Made::new([
        ("a.py", "open_ledger()\nclose_ledger()\n"),
        ("b.py", "def open_ledger(): pass\n"),
        ("c.py", "def close_ledger(): pass\n"),
    ]);
    files.write("d.py", "def close_ledger(): pass\n");
    let focus = focus(&["a.py"], &[]);
    assert!(of("b.py", &files, &focus) > of("c.py", &files, &focus));
    assert!((of("c.py", &files, &focus) - of("d.py", &files, &focus)).abs() < 1e-12);
}

#[test]
fn what_a_file_defines_itself_it_means_itself() {
    let files = Made::new([
        ("a.py", "def open_ledger(): pass\n\nopen_ledger()\n"),
        ("b.py", "def open_ledger(): pass\n"),
    ]);
    assert!(of("b.py", &files, &focus(&["a.py"], &[])) < 1e-9);
}

#[test]
fn local_names_lead_nowhere() {
    let files = Made::new([
        ("a.py", "def show(customer):\n    return customer\n"),
        ("b.py", "def customer(): pass\n"),
        ("c.py", "def f():\n    def inner_function(): pass\n"),
        ("d.py", "inner_function()\n"),
    ]);
    assert!(of("b.py", &files, &focus(&["a.py"], &[])) < 1e-9);
    assert!(of("c.py", &files, &focus(&["d.py"], &[])) < 1e-9);
}

#[test]
fn edges_from_elsewhere_count() {
    let files = Made::new([
        ("a.py", "x = 1\n"),
        ("b.py", "y = 2\n"),
        ("c.py", "z = 3\n"),
    ]);
    let edge = |from, to, weight| FileEdge { from, to, weight };
    let edges = [
        edge(0, 2, 1.0),
        edge(1, 2, 0.5),
        edge(2, 2, 9.0),
        edge(7, 0, 1.0),
        edge(0, 1, -1.0),
    ];
    let (_, ranks) = ranked(&files, &TaskFocus::default(), &edges);
    assert!(ranks.files[2] > ranks.files[0]);
    assert!((ranks.files.iter().sum::<f64>() - 1.0).abs() < 1e-9);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever refers to whom: ranks add up to one, none is negative, and they come out the same.
    #[test]
    fn ranks_are_probabilities(
        references in prop::collection::vec((0..12_usize, 0..12_usize), 0..40),
        at in prop::option::of(0..12_usize),
    ) {
        let mut files = Made::default();
        for file in 0..12 {
            let mut text = format!("def function_of_{file}(): pass\n");
            for (_, to) in references.iter().filter(|(from, _)| *from == file) {
                writeln!(text, "function_of_{to}()").unwrap();
            }
            files.write(&format!("f{file}.py"), &text);
        }
        let focus = TaskFocus {
            files: at.map(|at| format!("f{at}.py")).into_iter().collect(),
            names: Vec::new(),
        };
        let (index, ranks) = ranked(&files, &focus, &[]);
        prop_assert!((ranks.files.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert!(ranks.files.iter().all(|rank| *rank >= 0.0));
        prop_assert_eq!(rank_by_references(&index, &focus, &[]), ranks);
    }
}
