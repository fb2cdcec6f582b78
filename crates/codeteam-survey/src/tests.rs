//! Surveys of small trees: what is in, and what comes out.

mod hostile;
mod java_and_others;
mod monorepos;
mod nodes;
mod pythons;
mod real;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::Expect;

use super::*;

/// A repository to look at.
#[derive(Default)]
pub(super) struct SampleRepo {
    files: BTreeMap<String, String>,
}

impl SampleRepo {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Files whose text does not matter.
    pub(super) fn files(mut self, paths: &[&str]) -> Self {
        for path in paths {
            self = self.file(path, "");
        }
        self
    }

    pub(super) fn survey(&self) -> RepoSurvey {
        self.survey_with(&["codeteam"])
    }

    pub(super) fn survey_with(&self, templates: &[&str]) -> RepoSurvey {
        let names: Vec<String> = self.files.keys().cloned().collect();
        let read = |path: &str| FileReadOutcome::Text(self.files[path].clone());
        survey_repository(&names, &read, templates)
    }

    /// Compares all that is proposed.
    #[track_caller]
    pub(super) fn gives(&self, expected: &Expect) {
        expected.assert_eq(&shown(&self.survey()));
    }
}

/// A survey in few words.
pub(super) fn shown(survey: &RepoSurvey) -> String {
    let mut text = String::new();
    let mut line = |title: &str, items: Vec<String>| {
        if !items.is_empty() {
            let _ = writeln!(text, "{title}: {}", items.join(", "));
        }
    };
    let names =
        |found: &[DetectedFeature]| found.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    let languages = survey.languages.iter();
    line(
        "languages",
        languages
            .map(|l| format!("{} {}", l.name, l.files))
            .collect(),
    );
    line("frameworks", names(&survey.frameworks));
    line("managers", names(&survey.managers));
    line("runners", names(&survey.runners));
    line("linters", names(&survey.linters));
    line("ci", names(&survey.ci));
    line("services", names(&survey.services));
    let packages = survey.packages.iter();
    line(
        "packages",
        packages
            .map(|p| format!("{} ({})", p.path, p.language))
            .collect(),
    );
    for pack in &survey.packs {
        let _ = writeln!(text, "pack {}: {}", pack.name, pack.why);
    }
    if let Some(cast) = &survey.cast {
        let _ = writeln!(text, "cast: {}, {:?}", cast.implementer, cast.reviewer);
    }
    if let Some(setup) = &survey.setup {
        let _ = writeln!(
            text,
            "setup: {} {:?} {:?}",
            setup.command, setup.inputs, setup.registries
        );
    }
    for cache in &survey.caches {
        let copied = if cache.copied { " (copied)" } else { "" };
        let _ = writeln!(text, "cache: {}{copied}", cache.path);
    }
    for check in &survey.checks {
        let _ = writeln!(
            text,
            "check {}: {}\n  {}",
            check.name, check.command, check.why
        );
    }
    for line in &survey.unignored {
        let _ = writeln!(text, "ignore: {line}");
    }
    for note in &survey.notes {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// A workflow of GitHub's with these commands.
pub(super) fn actions(runs: &[&str]) -> String {
    let mut text =
        String::from("on: push\njobs:\n  check:\n    runs-on: ubuntu-latest\n    steps:\n");
    for run in runs {
        let _ = writeln!(text, "      - run: {}", serde_json::to_string(run).unwrap());
    }
    text
}
