//! Surveys JavaScript and TypeScript: package managers, scripts and test runners.

mod manager;
mod scripts;

use serde_json::Value;

use super::ci::CiCommands;
use super::surveyed_files::{SurveyedFiles, keys_at};
use super::units::{BuildUnit, Ecosystem, node_workspaces};
use super::{CheckPurpose, DetectedFeature, SurveyDraft};
use manager::NodePackageManager;

/// Packages, the framework each one is, and the pack that it suggests.
const FRAMEWORKS: &[(&str, &str, Option<&str>)] = &[
    ("react", "React", Some("web")),
    ("next", "Next.js", Some("web")),
    ("vue", "Vue", Some("web")),
    ("nuxt", "Nuxt", Some("web")),
    ("svelte", "Svelte", Some("web")),
    ("@sveltejs/kit", "SvelteKit", Some("web")),
    ("@angular/core", "Angular", Some("web")),
    ("solid-js", "Solid", Some("web")),
    ("preact", "Preact", Some("web")),
    ("astro", "Astro", Some("web")),
    ("@remix-run/react", "Remix", Some("web")),
    ("express", "Express", Some("api")),
    ("fastify", "Fastify", Some("api")),
    ("koa", "Koa", Some("api")),
    ("hono", "Hono", Some("api")),
    ("@nestjs/core", "NestJS", Some("api")),
    ("@apollo/server", "Apollo", Some("api")),
    ("commander", "commander", Some("cli")),
    ("yargs", "yargs", Some("cli")),
    ("oclif", "oclif", Some("cli")),
    ("@oclif/core", "oclif", Some("cli")),
    ("ccxt", "ccxt", Some("trading")),
    ("hardhat", "Hardhat", Some("contracts")),
    ("jsonwebtoken", "jsonwebtoken", Some("security")),
    ("passport", "passport", Some("security")),
    ("next-auth", "NextAuth", Some("security")),
    ("stripe", "Stripe", Some("security")),
    ("electron", "Electron", None),
    ("react-native", "React Native", Some("web")),
];

/// Frameworks that a project needs only during development.
const BUILT_WITH: &[(&str, &str, Option<&str>)] = &[
    ("vite", "Vite", None),
    ("svelte", "Svelte", Some("web")),
    ("@sveltejs/kit", "SvelteKit", Some("web")),
    ("astro", "Astro", Some("web")),
    ("hardhat", "Hardhat", Some("contracts")),
];

/// Test runners, by package name.
const RUNNERS: &[&str] = &[
    "vitest",
    "jest",
    "mocha",
    "ava",
    "tap",
    "uvu",
    "jasmine",
    "@playwright/test",
    "cypress",
];

/// Linters, formatters and type checkers, by package name.
const LINTERS: &[(&str, &str)] = &[
    ("eslint", "eslint"),
    ("oxlint", "oxlint"),
    ("@biomejs/biome", "biome"),
    ("prettier", "prettier"),
    ("typescript", "tsc"),
    ("standard", "standard"),
    ("xo", "xo"),
    ("stylelint", "stylelint"),
];

/// A package and its parsed manifest.
struct NodePackage<'a> {
    unit: &'a BuildUnit,
    manifest: Value,
}

impl NodePackage<'_> {
    /// Returns true if the manifest names a package as a runtime or development dependency.
    fn depends_on(&self, package: &str) -> bool {
        let lists = ["dependencies", "devDependencies"];
        lists
            .iter()
            .any(|list| keys_at(&self.manifest, &[list]).contains(&package))
    }
}

pub(super) fn survey_unit(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    all: &[BuildUnit],
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    let Some(manifest) = place.read_json(&unit.manifest) else {
        return;
    };
    let package = NodePackage { unit, manifest };
    let manager = NodePackageManager::detect(place, &package, ci);
    let is_member = |other: &&BuildUnit| {
        other.kind == Ecosystem::Node && other.member_of.as_deref() == Some(&unit.folder)
    };
    let members = all.iter().filter(is_member).filter_map(|unit| {
        let manifest = place.read_json(&unit.manifest)?;
        Some(NodePackage { unit, manifest })
    });
    let members: Vec<NodePackage<'_>> = members.collect();
    for one in std::iter::once(&package).chain(&members) {
        report_frameworks(place, one, sheet);
    }
    if std::iter::once(&package)
        .chain(&members)
        .any(|one| one.depends_on("hardhat"))
    {
        let why = "Hardhat finds its compilers there";
        sheet.propose_cache("~/.cache/hardhat-nodejs", false, why);
    }
    let before = sheet.checks.len();
    scripts::propose_checks(place, &package, &members, &manager, ci, sheet);
    let is_only = all
        .iter()
        .all(|other| other == unit || other.member_of.is_some());
    let has_packages = std::iter::once(&package).chain(&members).any(|one| {
        let lists = ["dependencies", "devDependencies"];
        lists
            .iter()
            .any(|list| !keys_at(&one.manifest, &[list]).is_empty())
    });
    if has_packages || sheet.checks.len() > before {
        let found = DetectedFeature::new(manager.name.as_str(), manager.why.clone());
        sheet.managers.push(found);
    }
    if has_packages && (is_only || sheet.checks.len() > before) {
        sheet
            .setups
            .push((unit.clone(), manager.propose_setup(place, unit)));
        let ignore = place.read_text(".gitignore").unwrap_or_default();
        let own = place
            .read_text(&unit.path_from_root(".gitignore"))
            .unwrap_or_default();
        if !ignore.contains("node_modules") && !own.contains("node_modules") {
            sheet.unignored.push("node_modules/".to_owned());
        }
    }
    if !node_workspaces(place, unit).is_empty() && members.is_empty() {
        place.add_note(format!(
            "`{}` names a workspace without members",
            unit.manifest
        ));
    }
}

/// Reports the frameworks that a package is built with.
fn report_frameworks(
    place: &SurveyedFiles<'_>,
    package: &NodePackage<'_>,
    sheet: &mut SurveyDraft,
) {
    let file = &package.unit.manifest;
    let manifest = &package.manifest;
    let runtime = keys_at(manifest, &["dependencies"]);
    let peers = keys_at(manifest, &["peerDependencies"]);
    let development = keys_at(manifest, &["devDependencies"]);
    let has_program = manifest.get("bin").is_some();
    let mut found = |list: &[&str], known: &[(&str, &str, Option<&str>)]| {
        for (name, framework, pack) in known {
            if !list.contains(name) || (*pack == Some("cli") && !has_program) {
                continue;
            }
            let why = format!("`{file}` names `{name}`");
            sheet
                .frameworks
                .push(DetectedFeature::new(*framework, why.clone()));
            sheet
                .packs
                .extend(pack.map(|pack| DetectedFeature::new(pack, why)));
        }
    };
    found(&runtime, FRAMEWORKS);
    found(&peers, &FRAMEWORKS[..11]);
    found(&development, BUILT_WITH);
    for runner in RUNNERS.iter().filter(|runner| package.depends_on(runner)) {
        let why = format!("`{file}` names `{runner}`");
        sheet.runners.push(DetectedFeature::new(
            runner.trim_end_matches("/test").trim_start_matches('@'),
            why,
        ));
    }
    for (name, linter) in LINTERS.iter().filter(|(name, _)| package.depends_on(name)) {
        sheet.linters.push(DetectedFeature::new(
            *linter,
            format!("`{file}` names `{name}`"),
        ));
    }
    let is_published = manifest.get("private").and_then(Value::as_bool) != Some(true);
    let has_types = manifest.get("types").is_some() || manifest.get("typings").is_some();
    if is_published && has_types && place.has_file(&package.unit.path_from_root("tsconfig.json")) {
        let why = format!("`{file}` publishes types");
        sheet.packs.push(DetectedFeature::new("types", why));
    }
}

/// Returns true if a script modifies the files that it checks.
fn modifies_files(body: &str) -> bool {
    let options = ["--fix", "--write", " -u", "--update"];
    // A dry run still reports what it would fix.
    let body = body.replace("--fix-dry-run", "");
    options.iter().any(|option| body.contains(option))
}

/// Returns the purpose of a script by its name, if it only checks.
fn script_purpose(name: &str, body: &str) -> Option<CheckPurpose> {
    if modifies_files(body) {
        return None;
    }
    let words: Vec<&str> = name.split([':', '-', '.']).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let only = |known: &[&str]| words.iter().all(|word| known.contains(word));
    let beside = [
        "check", "checks", "ci", "test", "verify", "lint", "all", "js", "ts",
    ];
    let types = ["types", "type", "typecheck", "tsc"];
    let format = ["format", "fmt", "prettier", "formatting"];
    let lint = ["lint", "eslint", "oxlint", "biome"];
    let with_beside = |known: &[&str]| {
        words
            .iter()
            .all(|w| known.contains(w) || beside.contains(w))
    };
    if has(&types) && with_beside(&types) {
        // By its name alone, the script might just as well write declarations.
        let is_sure = !only(&["types", "tsc"]) || body.contains("noEmit");
        return is_sure.then_some(CheckPurpose::Types);
    }
    if has(&format) && with_beside(&format) {
        let is_sure = has(&beside) || body.contains("--check");
        return is_sure.then_some(CheckPurpose::Format);
    }
    (has(&lint) && with_beside(&lint)).then_some(CheckPurpose::Lint)
}
