//! Which roles fit a repository, and at which steps of which workflow they stand.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::units::{BuildUnit, Ecosystem};
use super::{DetectedFeature, LanguageCount};
use crate::built_in;

/// Roles that belong together.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolePack {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub title: String,
    /// Who writes code.
    #[serde(default)]
    pub implementer: Option<String>,
    /// Who looks at it besides the usual reviewer.
    #[serde(default)]
    pub reviewer: Option<String>,
    /// The others.
    #[serde(default)]
    pub others: Vec<String>,
}

/// The steps of a workflow at which a pack's roles stand.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackSteps {
    /// Where code is written.
    pub code: String,
    /// Where it is reviewed.
    #[serde(default)]
    pub review: Option<String>,
    /// Who usually does.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// Who reviews a small change instead of all of them, where the workflow has that.
    #[serde(default)]
    pub small_change: Vec<String>,
}

/// What `packs.yml` says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacksFile {
    /// The packs there are.
    pub packs: Vec<RolePack>,
    /// The steps of each workflow whose roles a pack may replace.
    pub steps: BTreeMap<String, PackSteps>,
    /// The workflow that is proposed.
    pub usual: String,
    /// The one for where mistakes cost money.
    pub careful: String,
}

/// The packs that ship with codeteam.
pub fn packs() -> &'static PacksFile {
    static PACKS: OnceLock<PacksFile> = OnceLock::new();
    PACKS.get_or_init(|| {
        let text = built_in::text("packs.yml").unwrap_or_default();
        codeteam_core::yaml::parse("packs.yml", text).unwrap_or_default()
    })
}

impl RolePack {
    /// The pack of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        packs().packs.iter().find(|pack| pack.name == name)
    }

    /// All its roles.
    pub fn roles(&self) -> Vec<&str> {
        let some = [&self.implementer, &self.reviewer].into_iter().flatten();
        some.chain(&self.others).map(String::as_str).collect()
    }
}

/// Roles for the steps of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedRoles {
    /// The pack they are of.
    pub pack: &'static str,
    /// Who writes code.
    pub implementer: &'static str,
    /// Who looks at it besides the usual reviewer.
    pub reviewer: Option<&'static str>,
    /// Why they fit.
    pub why: String,
}

/// Puts the packs into the order of the table.
pub(super) fn order(packs: &mut [DetectedFeature]) {
    let all = &self::packs().packs;
    packs.sort_by_key(|found| all.iter().position(|pack| pack.name == found.name));
}

/// Languages that are one to a team.
fn family(language: &str) -> Option<&'static str> {
    Some(match language {
        "TypeScript" | "JavaScript" | "Vue" | "Svelte" => "JavaScript",
        "Java" | "Kotlin" => "Java",
        "Python" => "Python",
        "Rust" => "Rust",
        "Go" => "Go",
        "Solidity" => "Solidity",
        "Ruby" => "Ruby",
        "PHP" => "PHP",
        "C" | "C++" => "C",
        "C#" => "C#",
        "Swift" => "Swift",
        // What is beside the code.
        _ => return None,
    })
}

/// The roles of the one pack that clearly fits: the repository is in one language, and that
/// language's packs agree.
pub(super) fn cast(
    languages: &[LanguageCount],
    packs: &[DetectedFeature],
    units: &[BuildUnit],
) -> Option<ProposedRoles> {
    let total: usize = languages.iter().map(|l| l.files).sum();
    let mut families: Vec<(&str, usize)> = Vec::new();
    for language in languages {
        let Some(family) = family(language.name) else {
            continue;
        };
        match families.iter_mut().find(|(known, _)| *known == family) {
            Some((_, files)) => *files += language.files,
            None => families.push((family, language.files)),
        }
    }
    families.retain(|(_, files)| files * 10 > total);
    let [(family, _)] = families[..] else {
        return None;
    };
    let kinds = [
        Ecosystem::Rust,
        Ecosystem::Go,
        Ecosystem::Python,
        Ecosystem::Node,
        Ecosystem::Java,
    ];
    let kind = kinds.into_iter().find(|kind| kind.language() == family)?;
    if !units.iter().any(|unit| unit.kind == kind) {
        return None;
    }
    // The language's own pack, or the one kind of work that is done in it.
    let work = ["web", "api", "data", "trading"];
    let candidates: Vec<&'static RolePack> = match kind {
        Ecosystem::Rust => RolePack::named("rust").into_iter().collect(),
        Ecosystem::Go => RolePack::named("go").into_iter().collect(),
        _ => {
            let named = work
                .iter()
                .filter(|name| packs.iter().any(|found| found.name == **name));
            named.filter_map(|name| RolePack::named(name)).collect()
        }
    };
    let [pack] = candidates[..] else {
        return None;
    };
    let why = packs.iter().find(|found| found.name == pack.name)?;
    // As its people call it: the language of the family that most files are in.
    let own = languages
        .iter()
        .filter(|l| self::family(l.name) == Some(family));
    let name = own.max_by_key(|l| l.files).map_or(family, |l| l.name);
    Some(ProposedRoles {
        pack: &pack.name,
        implementer: pack.implementer.as_deref()?,
        reviewer: pack.reviewer.as_deref(),
        why: format!("the code is {name}, and {}", why.why),
    })
}

/// The workflow: the usual one, unless a mistake would cost more than a review.
pub(super) fn template(packs: &[DetectedFeature], templates: &[&str]) -> DetectedFeature {
    let careful = self::packs().careful.as_str();
    let costly = packs
        .iter()
        .find(|found| matches!(found.name.as_str(), "contracts" | "trading"));
    match costly {
        Some(found) if templates.contains(&careful) => {
            DetectedFeature::new(careful, format!("mistakes cost money here: {}", found.why))
        }
        _ => DetectedFeature::new(
            self::packs().usual.as_str(),
            "the usual one (plan, code, checks, review, commit)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_and_step_of_the_packs_is_there() {
        let library = crate::library::Library::read(
            crate::library::LibraryFolders::default(),
            codeteam_core::yaml::SourceFiles::default(),
            None,
        );
        let names = library.role_names();
        assert!(packs().packs.len() >= 10);
        for pack in &packs().packs {
            for role in pack.roles() {
                assert!(names.contains(role), "{}: {role}", pack.name);
            }
        }
        for (workflow, steps) in &packs().steps {
            let (_, text) = library.workflow_text(workflow, 0).unwrap().unwrap();
            assert!(!text.is_empty() && !steps.code.is_empty());
        }
    }

    /// `init` adds a pack's reviewer to those of a workflow; it must not take any of them away.
    #[test]
    fn who_usually_reviews_is_who_reviews_in_the_workflow() {
        use codeteam_core::workflow::StepKind;
        let mut library = crate::library::Library::read(
            crate::library::LibraryFolders::default(),
            codeteam_core::yaml::SourceFiles::default(),
            None,
        );
        let config = crate::config::Config::load(&crate::config::ConfigOrigins::default()).unwrap();
        for (workflow, steps) in &packs().steps {
            let Some(review) = &steps.review else {
                continue;
            };
            let compiled = library.compile(workflow, config.surroundings());
            let compiled = compiled.unwrap();
            let step = &compiled.workflow.steps[&review.as_str().into()];
            let StepKind::Role(step) = &step.kind else {
                panic!("{workflow}: {review} is no step of roles");
            };
            let slots: Vec<&str> = step
                .roles_for(None)
                .iter()
                .map(codeteam_core::ids::RoleName::as_str)
                .collect();
            assert_eq!(slots, steps.reviewers, "{workflow}");
        }
    }
}
