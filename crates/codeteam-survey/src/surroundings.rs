//! Surveys what surrounds the code: languages, services, infrastructure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::surveyed_files::{
    SurveyedFiles, extension, is_sample, is_third_party, split_path, string_at,
};
use super::{DetectedFeature, LanguageCount, SurveyDraft};

/// Languages, by file extension.
const ENDINGS: &[(&str, &str)] = &[
    ("py", "Python"),
    ("ts", "TypeScript"),
    ("tsx", "TypeScript"),
    ("mts", "TypeScript"),
    ("cts", "TypeScript"),
    ("js", "JavaScript"),
    ("jsx", "JavaScript"),
    ("mjs", "JavaScript"),
    ("cjs", "JavaScript"),
    ("vue", "Vue"),
    ("svelte", "Svelte"),
    ("rs", "Rust"),
    ("go", "Go"),
    ("java", "Java"),
    ("kt", "Kotlin"),
    ("scala", "Scala"),
    ("sol", "Solidity"),
    ("c", "C"),
    ("h", "C"),
    ("cc", "C++"),
    ("cpp", "C++"),
    ("hpp", "C++"),
    ("cs", "C#"),
    ("rb", "Ruby"),
    ("php", "PHP"),
    ("swift", "Swift"),
    ("ex", "Elixir"),
    ("exs", "Elixir"),
    ("tf", "Terraform"),
    ("sh", "Shell"),
    ("sql", "SQL"),
];

/// The largest number of languages in a survey.
const MAX_LANGUAGES: usize = 6;

/// Counts the files of each language. Languages with a twentieth of the files or less are left out.
pub(super) fn count_languages(place: &SurveyedFiles<'_>) -> Vec<LanguageCount> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for path in place.files().filter(|path| !is_third_party(path)) {
        let known = ENDINGS.iter().find(|(known, _)| *known == extension(path));
        if let Some((_, language)) = known {
            *counts.entry(language).or_default() += 1;
        }
    }
    let total: usize = counts.values().sum();
    let is_part = |files: usize| files * 20 > total;
    let mut found: Vec<LanguageCount> = counts
        .into_iter()
        .filter(|(_, files)| is_part(*files))
        .map(|(name, files)| LanguageCount { name, files })
        .collect();
    found.sort_by_key(|language| (std::cmp::Reverse(language.files), language.name));
    found.truncate(MAX_LANGUAGES);
    found
}

/// Images of databases.
const DATABASES: &[&str] = &[
    "postgres",
    "postgis",
    "mysql",
    "mariadb",
    "mongo",
    "timescale",
    "clickhouse",
    "cockroach",
];

/// Images of services that tests may need.
const BACKING: &[&str] = &[
    "postgres",
    "postgis",
    "mysql",
    "mariadb",
    "mongo",
    "timescale",
    "clickhouse",
    "cockroach",
    "redis",
    "valkey",
    "rabbitmq",
    "kafka",
    "nats",
    "elasticsearch",
    "opensearch",
    "minio",
    "localstack",
    "memcached",
];

/// Returns the services that the compose files would start.
pub(super) fn compose_services(
    place: &SurveyedFiles<'_>,
    sheet: &mut SurveyDraft,
) -> Vec<DetectedFeature> {
    let is_compose = |path: &&str| {
        let (folder, name) = split_path(path);
        let is_named = name.starts_with("docker-compose") || name.starts_with("compose.");
        is_named && matches!(extension(name), "yml" | "yaml") && !folder.contains('/')
    };
    let mut found: Vec<DetectedFeature> = Vec::new();
    let mut files: Vec<&str> = place.files().filter(is_compose).collect();
    // The plain file says most; the others vary it for a purpose.
    files.sort_by_key(|path| {
        (
            path.contains('/'),
            split_path(path).1.matches(['.', '-']).count(),
        )
    });
    for file in files.into_iter().take(10) {
        let Some(compose) = place.read_yaml(file) else {
            continue;
        };
        let services = compose.get("services").and_then(Value::as_object);
        for (name, service) in services.into_iter().flatten() {
            let image = string_at(service, &["image"]).unwrap_or_default();
            let why = match image {
                "" => format!("`{file}` builds it"),
                image => format!("`{file}` runs `{image}`"),
            };
            let (_, program) = split_path(image.split(':').next().unwrap_or_default());
            if let Some(database) = DATABASES.iter().find(|known| program.starts_with(**known)) {
                let why = format!("`{file}` runs `{database}`");
                sheet.packs.push(DetectedFeature::new("api", why));
            }
            if found.iter().all(|known| known.name != *name) {
                found.push(DetectedFeature::new(name.clone(), why));
            }
        }
    }
    let is_backing =
        |found: &DetectedFeature| BACKING.iter().any(|known| found.why.contains(known));
    if found.iter().any(is_backing) && !sheet.checks.is_empty() {
        place.add_note(
            "checks have no network, so tests that need a service of docker compose fail there: \
             give checks those that do not",
        );
    }
    found
}

/// Proposes packs that file names alone suggest.
pub(super) fn propose_packs(place: &SurveyedFiles<'_>, sheet: &mut SurveyDraft) {
    let first =
        |fits: &dyn Fn(&str) -> bool| place.files().find(|path| !is_sample(path) && fits(path));
    let ends = |path: &str, wanted: &str| extension(path) == wanted;
    let within =
        |path: &str, folder: &str| split_path(path).0.split('/').any(|part| part == folder);
    let mut add = |pack: &str, found: Option<&str>| {
        sheet
            .packs
            .extend(found.map(|file| DetectedFeature::new(pack, format!("there is `{file}`"))));
    };
    add("infrastructure", first(&|path| ends(path, "tf")));
    add(
        "infrastructure",
        first(&|path| within(path, "k8s") && (ends(path, "yml") || ends(path, "yaml"))),
    );
    let files = [
        "Chart.yaml",
        "kustomization.yaml",
        "Pulumi.yaml",
        "ansible.cfg",
        "serverless.yml",
    ];
    add(
        "infrastructure",
        first(&|path| files.contains(&split_path(path).1)),
    );
    add(
        "contracts",
        first(&|path| matches!(split_path(path).1, "foundry.toml" | "Anchor.toml")),
    );
    add(
        "contracts",
        first(&|path| split_path(path).1.starts_with("hardhat.config.")),
    );
    add("contracts", first(&|path| ends(path, "sol")));
    add(
        "data",
        first(&|path| within(path, "dags") && ends(path, "py")),
    );
    add(
        "data",
        first(&|path| split_path(path).1 == "dbt_project.yml"),
    );
    if let Some(file) = first(&|path| split_path(path).1 == "foundry.toml") {
        sheet.frameworks.push(DetectedFeature::new(
            "Foundry",
            format!("there is `{file}`"),
        ));
    }
    propose_foundry(place, sheet);
}

/// Proposes the tests of Foundry, which no other manifest covers.
fn propose_foundry(place: &SurveyedFiles<'_>, sheet: &mut SurveyDraft) {
    let Some(file) = place
        .files()
        .find(|path| split_path(path).1 == "foundry.toml" && !is_third_party(path))
    else {
        return;
    };
    let (folder, _) = split_path(file);
    let mut tests = place
        .files_below(folder)
        .filter(|path| path.ends_with(".t.sol") && !is_third_party(path));
    let Some(test) = tests.next() else {
        return;
    };
    let unit = super::BuildUnit {
        kind: super::Ecosystem::Node,
        folder: folder.to_owned(),
        manifest: file.to_owned(),
        member_of: None,
    };
    let why = format!("there are tests, such as `{test}`");
    sheet
        .runners
        .push(DetectedFeature::new("forge", why.clone()));
    let tests = super::CheckPurpose::Tests;
    sheet.propose_named_check("Foundry", &unit, tests, "forge test --offline", why);
    sheet.propose_cache("~/.svm", false, "forge finds its compilers there");
}
