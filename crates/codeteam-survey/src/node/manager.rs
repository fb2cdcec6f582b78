//! Detects the package manager of a project, and builds its commands.

use super::NodePackage;
use crate::ProposedSetup;
use crate::ci::CiCommands;
use crate::surveyed_files::{SurveyedFiles, keys_at, string_at};
use crate::units::{BuildUnit, NODE_LOCKS};

/// A package manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeManagerKind {
    Npm,
    Pnpm,
    Yarn,
    Bun,
}

/// The package manager of a project, with the evidence for it.
pub(super) struct NodePackageManager {
    pub(super) name: NodeManagerKind,
    /// The evidence for the choice.
    pub(super) why: String,
    /// The lock file, if there is one.
    lock: Option<&'static str>,
    /// Whether it is Yarn 2 or later.
    is_berry: bool,
}

impl NodeManagerKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Npm => "npm",
            Self::Pnpm => "pnpm",
            Self::Yarn => "yarn",
            Self::Bun => "bun",
        }
    }

    fn from_lock_file(lock: &str) -> Self {
        match lock {
            "pnpm-lock.yaml" => Self::Pnpm,
            "yarn.lock" => Self::Yarn,
            "bun.lock" | "bun.lockb" => Self::Bun,
            _ => Self::Npm,
        }
    }

    fn parse(word: &str) -> Option<Self> {
        let all = [Self::Npm, Self::Pnpm, Self::Yarn, Self::Bun];
        all.into_iter().find(|name| name.as_str() == word)
    }

    /// Returns the command that runs a script of the package.
    pub(super) fn script_command(self, script: &str) -> String {
        match (self, script) {
            (Self::Npm, "test") => "npm test".to_owned(),
            (Self::Npm, _) => format!("npm run {script}"),
            (Self::Pnpm, "test") => "pnpm test".to_owned(),
            (Self::Pnpm, _) => format!("pnpm run {script}"),
            (Self::Yarn, _) => format!("yarn run {script}"),
            (Self::Bun, _) => format!("bun run {script}"),
        }
    }

    /// Returns the command that runs a program of an installed package.
    pub(super) fn program_command(self, line: &str) -> String {
        match self {
            Self::Npm => format!("npx {line}"),
            Self::Pnpm => format!("pnpm exec {line}"),
            Self::Yarn => format!("yarn run {line}"),
            Self::Bun => format!("bunx {line}"),
        }
    }

    /// Returns the command that runs a script in all packages of the workspace that have it, if
    /// there is a single command for it.
    pub(super) fn workspace_command(self, script: &str) -> Option<String> {
        match self {
            Self::Npm => Some(format!("npm run {script} --workspaces --if-present")),
            Self::Pnpm => Some(format!("pnpm -r run {script}")),
            Self::Bun => Some(format!("bun run --filter '*' {script}")),
            // Yarn's command depends on its version and plugins.
            Self::Yarn => None,
        }
    }
}

impl NodePackageManager {
    pub(super) fn detect(
        place: &SurveyedFiles<'_>,
        package: &NodePackage<'_>,
        ci: &CiCommands,
    ) -> Self {
        let folder = &package.unit.folder;
        let locks: Vec<&'static str> = NODE_LOCKS
            .iter()
            .copied()
            .filter(|lock| place.first_existing(folder, &[lock]).is_some())
            .collect();
        let said = string_at(&package.manifest, &["packageManager"]);
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
            .map(|lock| NodeManagerKind::from_lock_file(lock))
            .collect();
        generations.dedup();
        if generations.len() > 1 {
            let files = locks.join("` and `");
            place.add_note(format!(
                "there are `{files}`: {} was taken, because {why}",
                name.as_str()
            ));
        }
        let version = said.map_or("", |(_, version)| version);
        let is_berry = place.has_file(&package.unit.path_from_root(".yarnrc.yml"))
            || (name == NodeManagerKind::Yarn && !version.is_empty() && !version.starts_with("1."));
        Self {
            name,
            why,
            lock: locks
                .into_iter()
                .find(|lock| NodeManagerKind::from_lock_file(lock) == name),
            is_berry,
        }
    }

    /// Proposes the command that installs what the lock file lists.
    pub(super) fn propose_setup(
        &self,
        place: &SurveyedFiles<'_>,
        unit: &BuildUnit,
    ) -> ProposedSetup {
        let command = match (self.name, self.lock) {
            (NodeManagerKind::Npm, Some(_)) => "npm ci",
            (NodeManagerKind::Npm, None) => "npm install --no-package-lock",
            // A store outside the work tree would be gone afterwards, and one inside it would be a
            // change.
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
            place.add_note(format!(
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
                Some(lock) => format!("`{}` names what is installed", unit.path_from_root(lock)),
                None => format!("`{}` names what is installed", unit.manifest),
            },
        }
    }

    fn berry(place: &SurveyedFiles<'_>, unit: &BuildUnit) -> &'static str {
        let settings = place
            .read_yaml(&unit.path_from_root(".yarnrc.yml"))
            .unwrap_or_default();
        match string_at(&settings, &["nodeLinker"]) {
            Some("node-modules" | "pnpm") => "yarn install --immutable",
            // Packages are run from the cache, which is in the home directory unless configured
            // otherwise.
            _ => "YARN_ENABLE_GLOBAL_CACHE=false yarn install --immutable",
        }
    }
}

/// Chooses the manager by the lock files; if there are several, the one that CI uses.
fn by_locks(locks: &[&str], unit: &BuildUnit, ci: &CiCommands) -> (NodeManagerKind, String) {
    let Some(first) = locks.first() else {
        return (
            NodeManagerKind::Npm,
            format!("there is `{}`, and no lock file", unit.manifest),
        );
    };
    let used = ci.commands_in(&unit.folder).find_map(|run| {
        let name = NodeManagerKind::parse(run.words().first()?)?;
        locks
            .iter()
            .any(|lock| NodeManagerKind::from_lock_file(lock) == name)
            .then(|| (name, run.reason()))
    });
    match used {
        Some((name, _)) if locks.len() > 1 => (name, "CI uses it".to_owned()),
        _ => (
            NodeManagerKind::from_lock_file(first),
            format!("there is `{}`", unit.path_from_root(first)),
        ),
    }
}

/// Returns the scripts of a package, except npm's placeholder.
pub(super) fn package_scripts<'p>(package: &'p NodePackage<'_>) -> Vec<(&'p str, &'p str)> {
    let names = keys_at(&package.manifest, &["scripts"]);
    names
        .into_iter()
        .filter_map(|name| Some((name, string_at(&package.manifest, &["scripts", name])?)))
        .filter(|(name, body)| is_word(name) && !body.contains("no test specified"))
        .collect()
}

/// Returns true if a script's name needs no quoting.
fn is_word(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:/".contains(c);
    !name.is_empty() && name.chars().all(is_plain) && !name.starts_with('-')
}
