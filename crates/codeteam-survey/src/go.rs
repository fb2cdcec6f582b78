//! Surveys Go modules and proposes the checks of the go command.

use super::ci::{CiCommand, CiCommands};
use super::surveyed_files::{SurveyedFiles, is_third_party};
use super::units::{BuildUnit, go_uses};
use super::{CheckPurpose, DetectedFeature, SurveyDraft};
use codeteam_core::shell::shell_word;

/// Modules, the framework each one is, and the pack that it suggests.
const MODULES: &[(&str, &str, &str)] = &[
    ("github.com/gin-gonic/gin", "gin", "api"),
    ("github.com/labstack/echo", "echo", "api"),
    ("github.com/gofiber/fiber", "fiber", "api"),
    ("github.com/go-chi/chi", "chi", "api"),
    ("github.com/gorilla/mux", "gorilla/mux", "api"),
    ("google.golang.org/grpc", "grpc", "api"),
    ("github.com/spf13/cobra", "cobra", "cli"),
    ("github.com/urfave/cli", "urfave/cli", "cli"),
    ("github.com/alecthomas/kong", "kong", "cli"),
    ("k8s.io/client-go", "client-go", "infrastructure"),
    (
        "sigs.k8s.io/controller-runtime",
        "controller-runtime",
        "infrastructure",
    ),
    ("github.com/golang-jwt/jwt", "jwt", "security"),
    ("github.com/stripe/stripe-go", "stripe", "security"),
    (
        "github.com/ethereum/go-ethereum",
        "go-ethereum",
        "contracts",
    ),
];

pub(super) fn survey_unit(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    let work = place.read_text(&unit.path_from_root("go.work"));
    let used = work.as_deref().map(go_uses).unwrap_or_default();
    let name = &unit.manifest;
    sheet
        .managers
        .push(DetectedFeature::new("go", format!("there is `{name}`")));
    sheet
        .packs
        .push(DetectedFeature::new("go", format!("there is `{name}`")));
    let own = unit.path_from_root("go.mod");
    let modules = used
        .iter()
        .map(|used| format!("{}/go.mod", unit.path_from_root(used)));
    let mut has_dependencies = false;
    for module in std::iter::once(own.clone()).chain(modules) {
        let Some(text) = place.read_text(&module) else {
            continue;
        };
        let required = required_modules(&text);
        has_dependencies |= !required.is_empty();
        for (path, framework, pack) in MODULES {
            // A later major version has a longer path.
            let is_it = |name: &&str| {
                name.strip_prefix(path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("/v"))
            };
            if let Some(found) = required.iter().find(|name| is_it(name)) {
                let why = format!("`{module}` requires `{found}`");
                sheet
                    .frameworks
                    .push(DetectedFeature::new(*framework, why.clone()));
                sheet.packs.push(DetectedFeature::new(*pack, why));
            }
        }
    }
    // In a workspace, `./...` covers only the root's module.
    let mut all: Vec<String> = used
        .iter()
        .map(|used| shell_word(&format!("./{used}/...")))
        .collect();
    if all.is_empty() || place.has_file(&own) {
        all.insert(0, "./...".to_owned());
    }
    let all = all.join(" ");
    let whole = |run: &&CiCommand| {
        let words = run.words();
        words.contains(&"./...") && (used.is_empty() || run.command.contains(&all))
    };
    let mut check = |start: &[&str], purpose, guess: String, why: String| {
        let mut runs = ci
            .commands_in(&unit.folder)
            .filter(|run| run.starts_with(start));
        match runs.find(whole) {
            Some(run) => sheet.propose_check(unit, purpose, &run.command, run.reason()),
            None => sheet.propose_check(unit, purpose, &guess, why),
        }
    };
    let why = format!("there is `{name}`");
    check(
        &["go", "vet"],
        CheckPurpose::Lint,
        format!("go vet {all}"),
        why,
    );
    let mut tests = place
        .files_below(&unit.folder)
        .filter(|path| !is_third_party(path));
    if let Some(test) = tests.find(|path| path.ends_with("_test.go")) {
        let why = format!("there are tests, such as `{test}`");
        check(
            &["go", "test"],
            CheckPurpose::Tests,
            format!("go test {all}"),
            why.clone(),
        );
        sheet.runners.push(DetectedFeature::new("go test", why));
    }
    for file in [".golangci.yml", ".golangci.yaml", ".golangci.toml"] {
        if place.has_file(&unit.path_from_root(file)) {
            let why = format!("there is `{}`", unit.path_from_root(file));
            sheet
                .linters
                .push(DetectedFeature::new("golangci-lint", why));
        }
    }
    if has_dependencies && !place.has_file(&unit.path_from_root("vendor/modules.txt")) {
        sheet.propose_cache(
            "~/go/pkg/mod",
            false,
            "go finds modules there without a network",
        );
    }
}

/// Returns the modules that a module requires directly.
fn required_modules(text: &str) -> Vec<&str> {
    let mut inside = false;
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let one = line.strip_prefix("require ").map(str::trim);
        let entry = match (inside, one) {
            (_, Some("(")) => {
                inside = true;
                continue;
            }
            (true, _) if line == ")" => {
                inside = false;
                continue;
            }
            (true, _) => line,
            (false, Some(one)) => one,
            (false, None) => continue,
        };
        if !entry.contains("// indirect") {
            found.extend(entry.split_whitespace().next());
        }
    }
    found.retain(|name| !name.starts_with("//"));
    found
}
