//! Which roles fit a repository, and at which steps of which workflow they stand.

use serde::Serialize;

use super::units::{Kind, Unit};
use super::{Found, Language};

/// Roles that belong together.
#[derive(Debug, PartialEq, Eq)]
pub struct Pack {
    /// Its name.
    pub name: &'static str,
    /// Who writes code.
    pub implementer: Option<&'static str>,
    /// Who looks at it besides the usual reviewer.
    pub reviewer: Option<&'static str>,
    /// The others.
    pub others: &'static [&'static str],
}

/// The packs there are.
pub const PACKS: &[Pack] = &[
    pack(
        "rust",
        Some("rust_dev"),
        Some("memory_safety_reviewer"),
        &[],
    ),
    pack("go", Some("go_dev"), Some("concurrency_reviewer"), &[]),
    pack(
        "web",
        Some("component_builder"),
        Some("state_architect"),
        &["ui_designer"],
    ),
    pack(
        "api",
        Some("api_dev"),
        None,
        &["backend_dev", "db_optimizer"],
    ),
    pack(
        "data",
        Some("data_engineer"),
        Some("schema_guard"),
        &["etl_architect"],
    ),
    pack("cli", Some("cli_ux_dev"), None, &[]),
    pack("contracts", None, Some("smart_contract_auditor"), &[]),
    pack(
        "trading",
        Some("quant_dev"),
        Some("risk_manager"),
        &["trader"],
    ),
    pack("infrastructure", None, Some("infra_reviewer"), &[]),
    pack(
        "security",
        None,
        Some("security_auditor"),
        &["security_auditor_external"],
    ),
    pack("types", None, None, &["type_architect"]),
];

const fn pack(
    name: &'static str,
    implementer: Option<&'static str>,
    reviewer: Option<&'static str>,
    others: &'static [&'static str],
) -> Pack {
    Pack {
        name,
        implementer,
        reviewer,
        others,
    }
}

impl Pack {
    /// The pack of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        PACKS.iter().find(|pack| pack.name == name)
    }

    /// All its roles.
    pub fn roles(&self) -> Vec<&'static str> {
        let some = [self.implementer, self.reviewer].into_iter().flatten();
        some.chain(self.others.iter().copied()).collect()
    }
}

/// The steps of a workflow at which a pack's roles stand.
#[derive(Debug)]
pub struct Steps {
    /// The workflow.
    pub template: &'static str,
    /// Where code is written.
    pub code: &'static str,
    /// Where it is reviewed, and who usually does.
    pub review: (&'static str, &'static str),
}

/// The steps of each workflow whose roles a pack may replace. The others have contracts of their
/// own, which a pack's roles do not speak.
pub const STEPS: &[Steps] = &[Steps {
    template: "codeteam",
    code: "code",
    review: ("review", "reviewer"),
}];

/// Roles for the steps of a workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cast {
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
pub(super) fn order(packs: &mut [Found]) {
    packs.sort_by_key(|found| PACKS.iter().position(|pack| pack.name == found.name));
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
pub(super) fn cast(languages: &[Language], packs: &[Found], units: &[Unit]) -> Option<Cast> {
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
    let kinds = [Kind::Rust, Kind::Go, Kind::Python, Kind::Node, Kind::Java];
    let kind = kinds.into_iter().find(|kind| kind.language() == family)?;
    if !units.iter().any(|unit| unit.kind == kind) {
        return None;
    }
    // The language's own pack, or the one kind of work that is done in it.
    let work = ["web", "api", "data", "trading"];
    let candidates: Vec<&'static Pack> = match kind {
        Kind::Rust => Pack::named("rust").into_iter().collect(),
        Kind::Go => Pack::named("go").into_iter().collect(),
        _ => {
            let named = work
                .iter()
                .filter(|name| packs.iter().any(|found| found.name == **name));
            named.filter_map(|name| Pack::named(name)).collect()
        }
    };
    let [pack] = candidates[..] else {
        return None;
    };
    let why = packs.iter().find(|found| found.name == pack.name)?;
    Some(Cast {
        pack: pack.name,
        implementer: pack.implementer?,
        reviewer: pack.reviewer,
        why: format!("the code is {family}, and {}", why.why),
    })
}

/// The workflow: the usual one, unless a mistake would cost more than a review.
pub(super) fn template(packs: &[Found], templates: &[&str]) -> Found {
    let careful = "security_critical";
    let costly = packs
        .iter()
        .find(|found| matches!(found.name.as_str(), "contracts" | "trading"));
    match costly {
        Some(found) if templates.contains(&careful) => {
            Found::new(careful, format!("mistakes cost money here: {}", found.why))
        }
        _ => Found::new(
            "codeteam",
            "the usual one (plan, code, checks, review, commit)",
        ),
    }
}
