//! What is around the code: languages, services, infrastructure.

use std::collections::BTreeMap;

use serde_json::Value;

use super::place::{SurveyedFiles, ending, is_foreign, is_sample, split, string};
use super::{DetectedFeature, LanguageCount, SurveyDraft};

/// Languages by the endings of their files.
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

/// How many languages are told.
const MAX_LANGUAGES: usize = 6;

/// Languages by the number of their files, without what is a twentieth or less.
pub(super) fn languages(place: &SurveyedFiles<'_>) -> Vec<LanguageCount> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for path in place.files().filter(|path| !is_foreign(path)) {
        let known = ENDINGS.iter().find(|(known, _)| *known == ending(path));
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

/// Images that are databases.
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

/// Images that tests may want to talk to.
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

/// What the compose files would start.
pub(super) fn services(place: &SurveyedFiles<'_>, sheet: &mut SurveyDraft) -> Vec<DetectedFeature> {
    let is_compose = |path: &&str| {
        let (folder, name) = split(path);
        let is_named = name.starts_with("docker-compose") || name.starts_with("compose.");
        is_named && matches!(ending(name), "yml" | "yaml") && !folder.contains('/')
    };
    let mut found: Vec<DetectedFeature> = Vec::new();
    let mut files: Vec<&str> = place.files().filter(is_compose).collect();
    // The plain one says most; the others change it for a purpose.
    files.sort_by_key(|path| {
        (
            path.contains('/'),
            split(path).1.matches(['.', '-']).count(),
        )
    });
    for file in files.into_iter().take(10) {
        let Some(compose) = place.yaml(file) else {
            continue;
        };
        let services = compose.get("services").and_then(Value::as_object);
        for (name, service) in services.into_iter().flatten() {
            let image = string(service, &["image"]).unwrap_or_default();
            let why = match image {
                "" => format!("`{file}` builds it"),
                image => format!("`{file}` runs `{image}`"),
            };
            let (_, program) = split(image.split(':').next().unwrap_or_default());
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
        place.note(
            "checks have no network, so tests that need a service of docker compose fail there: \
             give checks those that do not",
        );
    }
    found
}

/// Packs that files speak for by their names alone.
pub(super) fn packs(place: &SurveyedFiles<'_>, sheet: &mut SurveyDraft) {
    let first =
        |fits: &dyn Fn(&str) -> bool| place.files().find(|path| !is_sample(path) && fits(path));
    let ends = |path: &str, wanted: &str| ending(path) == wanted;
    let within = |path: &str, folder: &str| split(path).0.split('/').any(|part| part == folder);
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
        first(&|path| files.contains(&split(path).1)),
    );
    add(
        "contracts",
        first(&|path| matches!(split(path).1, "foundry.toml" | "Anchor.toml")),
    );
    add(
        "contracts",
        first(&|path| split(path).1.starts_with("hardhat.config.")),
    );
    add("contracts", first(&|path| ends(path, "sol")));
    add(
        "data",
        first(&|path| within(path, "dags") && ends(path, "py")),
    );
    add("data", first(&|path| split(path).1 == "dbt_project.yml"));
    if let Some(file) = first(&|path| split(path).1 == "foundry.toml") {
        sheet.frameworks.push(DetectedFeature::new(
            "Foundry",
            format!("there is `{file}`"),
        ));
    }
    foundry(place, sheet);
}

/// Foundry's own tests, which no other manifest knows.
fn foundry(place: &SurveyedFiles<'_>, sheet: &mut SurveyDraft) {
    let Some(file) = place
        .files()
        .find(|path| split(path).1 == "foundry.toml" && !is_foreign(path))
    else {
        return;
    };
    let (folder, _) = split(file);
    let mut tests = place
        .below(folder)
        .filter(|path| path.ends_with(".t.sol") && !is_foreign(path));
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
    sheet.check_by("Foundry", &unit, tests, "forge test --offline", why);
    sheet.cache("~/.svm", false, "forge finds its compilers there");
}
