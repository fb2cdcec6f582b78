//! Surveys Java and Kotlin projects with Maven and Gradle. Their build files are programs or XML,
//! so they are searched for a few names instead of being parsed.

use super::ci::CiCommands;
use super::surveyed_files::SurveyedFiles;
use super::units::BuildUnit;
use super::{CheckPurpose, DetectedFeature, SurveyDraft};

/// Names to search for in a build file, the framework each one is, and the pack that it suggests.
const NAMES: &[(&str, &str, Option<&str>)] = &[
    ("spring-boot-starter-web", "Spring Boot", Some("api")),
    ("spring-boot", "Spring Boot", None),
    ("quarkus-rest", "Quarkus", Some("api")),
    ("quarkus-resteasy", "Quarkus", Some("api")),
    ("micronaut-http-server", "Micronaut", Some("api")),
    ("ktor-server", "Ktor", Some("api")),
    ("picocli", "picocli", Some("cli")),
    (
        "spring-boot-starter-security",
        "Spring Security",
        Some("security"),
    ),
    ("spark-sql", "Spark", Some("data")),
    ("com.android.application", "Android", None),
];

/// Linters that the build itself runs.
const LINTERS: &[&str] = &[
    "checkstyle",
    "spotless",
    "spotbugs",
    "errorprone",
    "ktlint",
    "detekt",
];

pub(super) fn survey_unit(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    let pom = unit.path_from_root("pom.xml");
    let scripts = [
        "build.gradle",
        "build.gradle.kts",
        "settings.gradle",
        "settings.gradle.kts",
    ];
    let gradle = place.first_existing(&unit.folder, &scripts);
    let is_build_file = |path: &&str| {
        let (_, name) = super::surveyed_files::split_path(path);
        name == "pom.xml" || name == "libs.versions.toml" || scripts.contains(&name)
    };
    let mut files: Vec<&str> = place
        .files_below(&unit.folder)
        .filter(is_build_file)
        .collect();
    // The first file that is searched is the one that is cited, so start with the build that is
    // used.
    files.sort_by_key(|path| (path.matches('/').count(), !path.ends_with("pom.xml")));
    for file in files.into_iter().take(20) {
        let Some(text) = place.read_text(file) else {
            continue;
        };
        for (name, framework, pack) in NAMES {
            if text.contains(name) {
                let why = format!("`{file}` names `{name}`");
                sheet
                    .frameworks
                    .push(DetectedFeature::new(*framework, why.clone()));
                sheet
                    .packs
                    .extend(pack.map(|pack| DetectedFeature::new(pack, why)));
            }
        }
        for linter in LINTERS.iter().filter(|linter| text.contains(**linter)) {
            let why = format!("`{file}` names it; the build runs it");
            sheet.linters.push(DetectedFeature::new(*linter, why));
        }
        for runner in ["junit", "testng", "kotest", "spock"] {
            if text.contains(runner)
                || (runner == "junit" && text.contains("spring-boot-starter-test"))
            {
                sheet
                    .runners
                    .push(DetectedFeature::new(runner, format!("`{file}` names it")));
            }
        }
    }
    if place.has_file(&pom) {
        survey_maven(place, unit, ci, sheet);
        if let Some(gradle) = gradle {
            place.add_note(format!(
                "there are both `{pom}` and `{gradle}`; Maven was taken"
            ));
        }
    } else if let Some(gradle) = gradle {
        survey_gradle(place, unit, ci, &gradle, sheet);
    }
}

fn survey_maven(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    ci: &CiCommands,
    sheet: &mut SurveyDraft,
) {
    let has_wrapper = place.has_file(&unit.path_from_root("mvnw"));
    let program = if has_wrapper { "./mvnw" } else { "mvn" };
    let why = format!("there is `{}`", unit.path_from_root("pom.xml"));
    sheet
        .managers
        .push(DetectedFeature::new("maven", why.clone()));
    let fits = |goal: &str| {
        ci.commands_in(&unit.folder).find(|run| {
            let words = run.words();
            let is_part = words.iter().any(|word| {
                matches!(*word, "-pl" | "-DskipTests" | "-Dmaven.test.skip=true")
                    || word.starts_with("-P")
            });
            words.first() == Some(&program) && words.contains(&goal) && !is_part
        })
    };
    match fits("verify").or_else(|| fits("test")) {
        Some(run) => sheet.propose_check(unit, CheckPurpose::Tests, &run.command, run.reason()),
        None => sheet.propose_check(
            unit,
            CheckPurpose::Tests,
            &format!("{program} -q -B verify"),
            why,
        ),
    }
    let why = "Maven finds artifacts there without a network, and writes beside them";
    sheet.propose_cache("~/.m2/repository", true, why);
    if has_wrapper {
        sheet.propose_cache("~/.m2/wrapper", true, "`mvnw` finds Maven there");
    }
}

fn survey_gradle(
    place: &SurveyedFiles<'_>,
    unit: &BuildUnit,
    ci: &CiCommands,
    file: &str,
    sheet: &mut SurveyDraft,
) {
    let has_wrapper = place.has_file(&unit.path_from_root("gradlew"));
    let program = if has_wrapper { "./gradlew" } else { "gradle" };
    let why = format!("there is `{file}`");
    sheet
        .managers
        .push(DetectedFeature::new("gradle", why.clone()));
    let run = ci.commands_in(&unit.folder).find(|run| {
        let words = run.words();
        let goals = ["test", "check", "build"];
        words.first() == Some(&program) && words[1..].iter().any(|word| goals.contains(word))
    });
    match run {
        Some(run) => sheet.propose_check(unit, CheckPurpose::Tests, &run.command, run.reason()),
        None => sheet.propose_check(unit, CheckPurpose::Tests, &format!("{program} test"), why),
    }
    let why = "Gradle finds artifacts there without a network, and writes beside them";
    sheet.propose_cache("~/.gradle/caches", true, why);
    if has_wrapper {
        sheet.propose_cache("~/.gradle/wrapper", true, "`gradlew` finds Gradle there");
    }
}
