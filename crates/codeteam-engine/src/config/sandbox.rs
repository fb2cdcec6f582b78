//! The sections of the configuration about confinement: `sandbox` and `setup`.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use crate::env::Env;
use codeteam_core::event::SandboxKind as Backend;
use codeteam_host::confine::ConfinementSettings;
use codeteam_host::git::Repo;
use codeteam_sandbox::egress::{AllowedHost, BadEntry};
use codeteam_sandbox::policy::MIB;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The confinement of workers and gates. In a file it is the name of a backend, or a mapping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SandboxConfig {
    /// The backend, if one is configured.
    pub backend: Option<Backend>,
    /// The image of the container backend, if not codeteam's own.
    pub image: Option<String>,
    /// The hosts that workers may reach in addition to their model.
    pub hosts: Vec<HostConfig>,
    /// The hosts that the set-up command may reach.
    pub registries: Vec<HostConfig>,
    /// Toolchains that are not found automatically, shown read-only.
    pub toolchains: Vec<PathBuf>,
    /// The user's caches that commands can see.
    pub caches: Vec<CacheConfig>,
    /// Files of the repository that may configure a worker's CLI. Only the user's own configuration
    /// can set it, because the repository must not allow itself.
    pub allow_files: Vec<String>,
    /// The resource limits of a command.
    pub limits: SandboxLimitsConfig,
}

/// A host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostConfig {
    /// `name` or `name:port`.
    pub host: String,
    /// It may be in a private network.
    pub private: bool,
}

/// A cache of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Its path. Below the user's home it appears at the same place of the private home.
    pub path: PathBuf,
    /// The access that commands have to it.
    #[serde(default)]
    pub mode: CacheMode,
}

/// The access to a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Reading.
    #[default]
    ReadOnly,
    /// Anything, with a copy that the run has to itself.
    Copy,
}

/// The limits of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimitsConfig {
    /// Memory of all its processes, in megabytes; 8192 if left out.
    pub memory_mb: Option<u64>,
    /// Processes and threads; 1024 if left out.
    pub processes: Option<u64>,
    /// The largest file it may write, in megabytes; 2048 if left out.
    pub file_size_mb: Option<u64>,
    /// The size of its private home and each other scratch folder, in megabytes; 512 if left out.
    pub scratch_mb: Option<u64>,
    /// The most disk space of its worktree, in megabytes; 20480 if left out.
    pub disk_mb: Option<u64>,
}

/// The command that makes a fresh worktree ready for work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupConfig {
    /// The command, for `sh -c`.
    pub command: String,
    /// Files whose change makes it run again, as patterns.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// The longest time that it may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SandboxMapping {
    /// The backend; `bubblewrap` if left out.
    backend: Option<Backend>,
    /// The image of the container backend; `localhost/codeteam:latest`, which `codeteam sandbox
    /// image` makes, if left out.
    image: Option<String>,
    /// The hosts that workers may reach besides their model: `name`, `name:port`, or a mapping.
    hosts: Vec<HostConfig>,
    /// The hosts that the set-up command may reach, in the same form.
    registries: Vec<HostConfig>,
    /// Toolchains that are not found automatically, shown read-only; a `bin` in one comes first in
    /// `PATH`.
    toolchains: Vec<PathBuf>,
    /// The user's caches that commands see.
    caches: Vec<CacheConfig>,
    /// Files of the repository that may configure a worker's CLI. Only in the user's own
    /// configuration: the repository cannot allow itself.
    allow_files: Vec<String>,
    /// The limits of a command.
    limits: SandboxLimitsConfig,
}

impl<'de> Deserialize<'de> for SandboxConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SandboxVisitor;

        impl<'de> Visitor<'de> for SandboxVisitor {
            type Value = SandboxConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`bubblewrap`, `container`, `none`, or a mapping")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<SandboxConfig, E> {
                Ok(SandboxConfig {
                    backend: Some(Backend::deserialize(name.into_deserializer())?),
                    ..SandboxConfig::default()
                })
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<SandboxConfig, M::Error> {
                let full = SandboxMapping::deserialize(MapAccessDeserializer::new(map))?;
                Ok(SandboxConfig {
                    backend: full.backend,
                    image: full.image,
                    hosts: full.hosts,
                    registries: full.registries,
                    toolchains: full.toolchains,
                    caches: full.caches,
                    allow_files: full.allow_files,
                    limits: full.limits,
                })
            }
        }

        deserializer.deserialize_any(SandboxVisitor)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HostMapping {
    /// `name` or `name:port`.
    host: String,
    /// `true`: it may be in a private network. Only in the user's own configuration.
    #[serde(default)]
    private: bool,
}

impl<'de> Deserialize<'de> for HostConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct HostVisitor;

        impl<'de> Visitor<'de> for HostVisitor {
            type Value = HostConfig;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a host, or a mapping with `host` and `private`")
            }

            fn visit_str<E: de::Error>(self, host: &str) -> Result<HostConfig, E> {
                Ok(HostConfig {
                    host: host.to_owned(),
                    private: false,
                })
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<HostConfig, M::Error> {
                let full = HostMapping::deserialize(MapAccessDeserializer::new(map))?;
                Ok(HostConfig {
                    host: full.host,
                    private: full.private,
                })
            }
        }

        deserializer.deserialize_any(HostVisitor)
    }
}

impl JsonSchema for SandboxConfig {
    fn schema_name() -> Cow<'static, str> {
        "Sandbox".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word = generator.subschema_for::<Backend>();
        let full = generator.subschema_for::<SandboxMapping>();
        json_schema!({ "anyOf": [word, full] })
    }
}

impl JsonSchema for HostConfig {
    fn schema_name() -> Cow<'static, str> {
        "Host".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let full = generator.subschema_for::<HostMapping>();
        json_schema!({ "anyOf": [{ "type": "string" }, full] })
    }
}

impl HostConfig {
    /// Returns the egress rule for this host.
    pub fn to_egress_rule(&self) -> Result<AllowedHost, BadEntry> {
        let allowed = AllowedHost::parse(&self.host)?;
        Ok(if self.private {
            allowed.allow_private()
        } else {
            allowed
        })
    }
}

impl SandboxConfig {
    /// Returns what is wrong with it although its form is right.
    pub(super) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.iter().chain(&self.registries);
        let mut bad = hosts.filter_map(|host| host.to_egress_rule().err());
        if let Some(error) = bad.next() {
            return Some(error.to_string());
        }
        let is_name = |image: &String| {
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:@".contains(&byte);
            image.starts_with(|first: char| first.is_ascii_alphanumeric())
                && image.bytes().all(is_part)
        };
        if let Some(image) = self.image.as_ref().filter(|image| !is_name(image)) {
            return Some(format!("`{image}` is not the name of a container image"));
        }
        let caches = self.caches.iter().map(|cache| &cache.path);
        let mut paths = self.toolchains.iter().chain(caches);
        let bad = paths.find(|path| !path.is_absolute() && !path.starts_with("~"))?;
        Some(format!(
            "`{}` is neither an absolute path nor begins with `~/`",
            bad.display()
        ))
    }

    /// Returns everything that determines what a confined command sees. `specs` is a folder for
    /// small files of the sandbox.
    pub fn confinement_settings<'a>(
        &'a self,
        env: &'a Env,
        repo: Option<&Repo>,
        codeteam: &'a Path,
        specs: &'a Path,
    ) -> ConfinementSettings<'a> {
        let home = env.home.as_deref();
        let expand = |path: &PathBuf| expand_home(path, home);
        ConfinementSettings {
            path: &env.path,
            home,
            config_home: env.config_home.as_deref(),
            image: self.image.as_deref(),
            limits: self.limits(),
            toolchains: self.toolchains.iter().filter_map(expand).collect(),
            caches: self
                .caches
                .iter()
                .filter_map(|cache| expand(&cache.path))
                .collect(),
            private: env.private_paths(repo),
            codeteam,
            specs,
        }
    }

    /// Returns the resource limits of one command.
    pub fn limits(&self) -> codeteam_sandbox::SandboxLimits {
        let usual = codeteam_sandbox::SandboxLimits::default();
        let bytes = |mb: Option<u64>, usual| mb.map_or(usual, |mb| mb.saturating_mul(MIB));
        codeteam_sandbox::SandboxLimits {
            memory: bytes(self.limits.memory_mb, usual.memory),
            processes: self.limits.processes.unwrap_or(usual.processes),
            file_size: bytes(self.limits.file_size_mb, usual.file_size),
            scratch: bytes(self.limits.scratch_mb, usual.scratch),
            ..usual
        }
    }
}

/// Expands `~` in a path of the configuration to the user's home. Returns `None` if the result is
/// not absolute.
pub(crate) fn expand_home(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let full = match path.strip_prefix("~") {
        Ok(rest) => home?.join(rest),
        Err(_) => path.to_owned(),
    };
    full.is_absolute().then_some(full)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn read(text: &str) -> Result<SandboxConfig, String> {
        codeteam_workflow::yaml::parse("config.yml", text).map_err(|problems| problems.to_string())
    }

    #[test]
    fn it_is_a_word_or_a_mapping() {
        assert_eq!(read("none").unwrap().backend, Some(Backend::None));
        let full = read("backend: container\nhosts: [a.org, { host: b.corp:8443, private: true }]");
        let full = full.unwrap();
        assert_eq!(full.backend, Some(Backend::Container));
        assert_eq!(full.hosts[0].host, "a.org");
        assert!(full.hosts[1].private);
    }

    #[test]
    fn mistakes_are_named() {
        let check = |text: &str, expected: Expect| {
            let error = read(text).unwrap_err();
            expected.assert_eq(error.lines().next().unwrap());
        };
        check(
            "bublewrap",
            expect!["config.yml:1:1: unknown word `bublewrap` (did you mean `bubblewrap`?)"],
        );
        check(
            "backend: bublewrap",
            expect!["config.yml:1:10: unknown word `bublewrap` (did you mean `bubblewrap`?)"],
        );
        check(
            "hots: []",
            expect!["config.yml:1:1: unknown key `hots` (did you mean `hosts`?)"],
        );
        check(
            "hosts: [{ hots: a }]",
            expect!["config.yml:1:11: unknown key `hots` (did you mean `host`?)"],
        );
        check(
            "[1]",
            expect![
                "config.yml:1:1: invalid type: sequence, expected `bubblewrap`, `container`, `none`, or a mapping"
            ],
        );
    }
}
