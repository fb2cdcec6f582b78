//! Which package manager a project uses, and how it is spoken to.

use super::NodePackage;
use crate::survey::ProposedSetup;
use crate::survey::ci::CiCommands;
use crate::survey::place::{SurveyedFiles, keys, string};
use crate::survey::units::{BuildUnit, NODE_LOCKS};

/// A package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeManagerKind {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

/// The package manager of a project.
pub(super) struct NodePackageManager {
    pub(super) name: NodeManagerKind,
    /// How it is known.
    pub(super) why: String,
    /// The lock file, if there is one.
    lock: Option<&'static str>,
    /// Whether it is a yarn of the second generation.
    is_berry: bool,
}

impl NodeManagerKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }

    fn of_lock(lock: &str) -> Self {
        match lock {
            "pnpm-lock.yaml" => Self::Pnpm,
            "yarn.lock" => Self::Yarn,
            "bun.lock" | "bun.lockb" => Self::Bun,
            _ => Self::Npm,
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let all = [Self::Npm, Self::Pnpm, Self::Yarn, Self::Bun];
        all.into_iter().find(|name| name.word() == word)
    }

    /// Runs a script of the package.
    pub(super) fn script(self, script: &str) -> String {
        match (self, script) {
            (Self::Npm, "test") => "npm test".to_owned(),
            (Self::Npm, _) => format!("npm run {script}"),
            (Self::Pnpm, "test") => "pnpm test".to_owned(),
            (Self::Pnpm, _) => format!("pnpm run {script}"),
            (Self::Yarn, _) => format!("yarn run {script}"),
            (Self::Bun, _) => format!("bun run {script}"),
        }
    }

    /// Runs a program of an installed package.
    pub(super) fn program(self, line: &str) -> String {
        match self {
            Self::Npm => format!("npx {line}"),
            Self::Pnpm => format!("pnpm exec {line}"),
            Self::Yarn => format!("yarn run {line}"),
            Self::Bun => format!("bunx {line}"),
        }
    }

    /// Runs a script in all packages of the workspace that have it, if there is one command for it.
    pub(super) fn everywhere(self, script: &str) -> Option<String> {
        match self {
            Self::Npm => Some(format!("npm run {script} --workspaces --if-present")),
            Self::Pnpm => Some(format!("pnpm -r run {script}")),
            Self::Bun => Some(format!("bun run --filter '*' {script}")),
            // What it is called depends on the version and its plugins.
            Self::Yarn => None,
        }
    }
}

impl NodePackageManager {
    pub(super) fn of(
        place: &SurveyedFiles<'_>,
        package: &NodePackage<'_>,
        ci: &CiCommands,
    ) -> Self {
        let folder = &package.unit.folder;
        let locks: Vec<&'static str> = NODE_LOCKS
            .iter()
            .copied()
            .filter(|lock| place.first(folder, &[lock]).is_some())
            .collect();
        let said = string(&package.manifest, &["packageManager"]);
        let said = said.map(|said| said.split_once('@').unwrap_or((said, "")));
        let (name, why) = match said.and_then(|(word, _)| NodeManagerKind::parse(word)) {
            Some(name) => (
                name,
                format!("`packageManager` of `{}` names it", package.unit.manifest),
            ),
            None => by_locks(&locks, package.unit, ci),
        };
        let mut generations: Vec<NodeManagerKind> = locks
            .iter()
            .map(|lock| NodeManagerKind::of_lock(lock))
            .collect();
        generations.dedup();
        if generations.len() > 1 {
            let files = locks.join("` and `");
            place.note(format!(
                "there are `{files}`: {} was taken, because {why}",
                name.word()
            ));
        }
        let version = said.map_or("", |(_, version)| version);
        let is_berry = place.has(&package.unit.path(".yarnrc.yml"))
            || (name == NodeManagerKind::Yarn && !version.is_empty() && !version.starts_with("1."));
        Self {
            name,
            why,
            lock: locks
                .into_iter()
                .find(|lock| NodeManagerKind::of_lock(lock) == name),
            is_berry,
        }
    }

    /// The command that installs what the lock file names.
    pub(super) fn setup(&self, place: &SurveyedFiles<'_>, unit: &BuildUnit) -> ProposedSetup {
        let command = match (self.name, self.lock) {
            (NodeManagerKind::Npm, Some(_)) => "npm ci",
            (NodeManagerKind::Npm, None) => "npm install --no-package-lock",
            // A store outside of the work tree would be gone afterwards, and one in it a change.
            (NodeManagerKind::Pnpm, Some(_)) => {
                "pnpm install --frozen-lockfile --store-dir node_modules/.pnpm-store"
            }
            (NodeManagerKind::Pnpm, None) => {
                "pnpm install --no-lockfile --store-dir node_modules/.pnpm-store"
            }
            (NodeManagerKind::Yarn, Some(_)) if self.is_berry => Self::berry(place, unit),
            (NodeManagerKind::Yarn, Some(_)) => "yarn install --frozen-lockfile",
            (NodeManagerKind::Yarn, None) => "yarn install --no-lockfile",
            (NodeManagerKind::Bun, Some(_)) => "bun install --frozen-lockfile",
            (NodeManagerKind::Bun, None) => "bun install --no-save",
        };
        if self.lock.is_none() {
            place.note(format!(
                "`{}` has no lock file: every work tree may get other versions",
                unit.manifest
            ));
        }
        let mut registries = vec!["registry.npmjs.org".to_owned()];
        if self.name == NodeManagerKind::Yarn {
            registries.push("registry.yarnpkg.com".to_owned());
        }
        ProposedSetup {
            command: command.to_owned(),
            inputs: vec![self.lock.unwrap_or("package.json").to_owned()],
            registries,
            why: match self.lock {
                Some(lock) => format!("`{}` names what is installed", unit.path(lock)),
                None => format!("`{}` names what is installed", unit.manifest),
            },
        }
    }

    fn berry(place: &SurveyedFiles<'_>, unit: &BuildUnit) -> &'static str {
        let settings = place.yaml(&unit.path(".yarnrc.yml")).unwrap_or_default();
        match string(&settings, &["nodeLinker"]) {
            Some("node-modules" | "pnpm") => "yarn install --immutable",
            // Packages are run from the cache, which is in the home unless it is said otherwise.
            _ => "YARN_ENABLE_GLOBAL_CACHE=false yarn install --immutable",
        }
    }
}

/// The manager that the lock files speak for; with several, the one that CI uses.
fn by_locks(locks: &[&str], unit: &BuildUnit, ci: &CiCommands) -> (NodeManagerKind, String) {
    let Some(first) = locks.first() else {
        return (
            NodeManagerKind::Npm,
            format!("there is `{}`, and no lock file", unit.manifest),
        );
    };
    let used = ci.of(&unit.folder).find_map(|run| {
        let name = NodeManagerKind::parse(run.words().first()?)?;
        locks
            .iter()
            .any(|lock| NodeManagerKind::of_lock(lock) == name)
            .then(|| (name, run.why()))
    });
    match used {
        Some((name, _)) if locks.len() > 1 => (name, "CI uses it".to_owned()),
        _ => (
            NodeManagerKind::of_lock(first),
            format!("there is `{}`", unit.path(first)),
        ),
    }
}

/// The scripts of a package, but for npm's placeholder.
pub(super) fn scripts<'p>(package: &'p NodePackage<'_>) -> Vec<(&'p str, &'p str)> {
    let names = keys(&package.manifest, &["scripts"]);
    names
        .into_iter()
        .filter_map(|name| Some((name, string(&package.manifest, &["scripts", name])?)))
        .filter(|(name, body)| is_word(name) && !body.contains("no test specified"))
        .collect()
}

/// Whether a script's name can be typed as it is.
fn is_word(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-')
}
