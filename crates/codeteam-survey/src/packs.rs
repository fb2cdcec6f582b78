//! Proposes roles that fit a repository, and the steps of a workflow where they belong.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::units::{BuildUnit, Ecosystem};
use super::{DetectedFeature, LanguageCount};

/// A set of roles that belong together.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolePack {
    /// The name of the pack.
    pub name: String,
    /// The purpose of the pack, for people.
    pub title: String,
    /// The role that writes code.
    #[serde(default)]
    pub implementer: Option<String>,
    /// The role that reviews in addition to the usual reviewer.
    #[serde(default)]
    pub reviewer: Option<String>,
    /// The other roles of the pack.
    #[serde(default)]
    pub others: Vec<String>,
}

/// The steps of a workflow that a pack's roles can fill.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackSteps {
    /// The step that writes code.
    pub code: String,
    /// The step that reviews it.
    #[serde(default)]
    pub review: Option<String>,
    /// The usual reviewers.
    #[serde(default)]
    pub reviewers: Vec<String>,
    /// The reviewers of a small change, who replace all others where the workflow supports it.
    #[serde(default)]
    pub small_change: Vec<String>,
}

/// The content of `packs.yml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacksFile {
    /// All packs.
    pub packs: Vec<RolePack>,
    /// For each workflow, the steps whose roles a pack may replace.
    pub steps: BTreeMap<String, PackSteps>,
    /// The workflow that is usually proposed.
    pub usual: String,
    /// The workflow for projects where mistakes cost money.
    pub careful: String,
}

/// Returns the packs that ship with codeteam.
pub fn built_in_packs() -> &'static PacksFile {
    static PACKS: OnceLock<PacksFile> = OnceLock::new();
    PACKS.get_or_init(|| {
        let text = include_str!("../data/packs.yml");
        codeteam_workflow::yaml::parse("packs.yml", text).unwrap_or_default()
    })
}

impl RolePack {
    /// Finds a pack by its name.
    pub fn find_pack(name: &str) -> Option<&'static Self> {
        built_in_packs().packs.iter().find(|pack| pack.name == name)
    }

    /// Returns all roles of the pack.
    pub fn roles(&self) -> Vec<&str> {
        let some = [&self.implementer, &self.reviewer].into_iter().flatten();
        some.chain(&self.others).map(String::as_str).collect()
    }
}

/// The proposed roles for the steps of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedRoles {
    /// The pack that the roles come from.
    pub pack: &'static str,
    /// The role that writes code.
    pub implementer: &'static str,
    /// The role that reviews in addition to the usual reviewer.
    pub reviewer: Option<&'static str>,
    /// The reason why they fit.
    pub why: String,
}

/// Sorts the detected packs by their order in `packs.yml`.
pub(super) fn sort_packs(packs: &mut [DetectedFeature]) {
    let all = &self::built_in_packs().packs;
    packs.sort_by_key(|found| all.iter().position(|pack| pack.name == found.name));
}

/// Groups languages that one team would use together. Returns `None` for languages that only
/// accompany the code.
fn language_family(language: &str) -> Option<&'static str> {
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
        // Languages that only accompany the code.
        _ => return None,
    })
}

/// Proposes the roles of the one pack that clearly fits: the repository uses one language, and only
/// one pack is possible for it.
pub(super) fn propose_roles(
    languages: &[LanguageCount],
    packs: &[DetectedFeature],
    units: &[BuildUnit],
) -> Option<ProposedRoles> {
    let total: usize = languages.iter().map(|l| l.files).sum();
    let mut families: Vec<(&str, usize)> = Vec::new();
    for language in languages {
        let Some(family) = language_family(language.name) else {
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
    // The pack of the language itself, or of the single kind of work that is done in it.
    let work = ["web", "api", "data", "trading"];
    let candidates: Vec<&'static RolePack> = match kind {
        Ecosystem::Rust => RolePack::find_pack("rust").into_iter().collect(),
        Ecosystem::Go => RolePack::find_pack("go").into_iter().collect(),
        _ => {
            let named = work
                .iter()
                .filter(|name| packs.iter().any(|found| found.name == **name));
            named.filter_map(|name| RolePack::find_pack(name)).collect()
        }
    };
    let [pack] = candidates[..] else {
        return None;
    };
    let why = packs.iter().find(|found| found.name == pack.name)?;
    // Name the language of the family that most files are in, as people call it.
    let own = languages
        .iter()
        .filter(|l| self::language_family(l.name) == Some(family));
    let name = own.max_by_key(|l| l.files).map_or(family, |l| l.name);
    Some(ProposedRoles {
        pack: &pack.name,
        implementer: pack.implementer.as_deref()?,
        reviewer: pack.reviewer.as_deref(),
        why: format!("the code is {name}, and {}", why.why),
    })
}

/// Proposes a workflow: the usual one, unless a mistake would cost more than a review.
pub(super) fn propose_workflow(packs: &[DetectedFeature], templates: &[&str]) -> DetectedFeature {
    let careful = self::built_in_packs().careful.as_str();
    let costly = packs
        .iter()
        .find(|found| matches!(found.name.as_str(), "contracts" | "trading"));
    match costly {
        Some(found) if templates.contains(&careful) => {
            DetectedFeature::new(careful, format!("mistakes cost money here: {}", found.why))
        }
        _ => DetectedFeature::new(
            self::built_in_packs().usual.as_str(),
            "the usual one (plan, code, checks, review, commit)",
        ),
    }
}
