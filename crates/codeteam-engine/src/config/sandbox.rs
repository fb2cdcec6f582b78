//! What the configuration says about confinement: `sandbox` and `setup`.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use codeteam_core::event::SandboxKind as Backend;
use codeteam_sandbox::egress::{AllowedHost, BadEntry};
use codeteam_sandbox::policy::MIB;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// How workers and gates are confined: the name of a backend, or all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SandboxConfig {
    /// What confines, if it is said.
    pub backend: Option<Backend>,
    /// The image of the container backend, if not codeteam's own.
    pub image: Option<String>,
    /// What workers may reach besides their model.
    pub hosts: Vec<HostConfig>,
    /// What the set-up command may reach.
    pub registries: Vec<HostConfig>,
    /// Toolchains that are not found by themselves, shown read-only.
    pub toolchains: Vec<PathBuf>,
    /// Caches of the user's that commands see.
    pub caches: Vec<CacheConfig>,
    /// Files of the repository that may configure a worker's CLI. Only in the user's own
    /// configuration: the repository cannot allow itself.
    pub allow_files: Vec<String>,
    /// How much a command may take.
    pub limits: SandboxLimitsConfig,
}

/// A host that may be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostConfig {
    /// `name` or `name:port`.
    pub host: String,
    /// Whether it may be in a private network.
    pub private: bool,
}

/// A cache of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Where it is. Below the user's home it appears at the same place of the private home.
    pub path: PathBuf,
    /// What may be done with it.
    #[serde(default)]
    pub mode: CacheMode,
}

/// What may be done with a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheMode {
    /// Reading.
    #[default]
    ReadOnly,
    /// Anything, with a copy that the run has to itself.
    Copy,
}

/// How much a command may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxLimitsConfig {
    /// Memory of all its processes, in megabytes; 8192 if left out.
    pub memory_mb: Option<u64>,
    /// Processes and threads; 1024 if left out.
    pub processes: Option<u64>,
    /// The largest file it may write, in megabytes; 2048 if left out.
    pub file_size_mb: Option<u64>,
    /// What fits into its private home and each other scratch folder, in megabytes; 512 if left
    /// out.
    pub scratch_mb: Option<u64>,
    /// What its worktree may take on the disk, in megabytes; 20480 if left out.
    pub disk_mb: Option<u64>,
}

/// What makes a fresh worktree ready for work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetupConfig {
    /// The command, for `sh -c`.
    pub command: String,
    /// Files whose change makes it run again, as patterns.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// How long it may take.
    #[serde(default)]
    pub timeout_seconds: Option<u64>,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct SandboxMapping {
    /// What confines; `bubblewrap` if left out.
    backend: Option<Backend>,
    /// The image of the container backend; `localhost/codeteam:latest`, which `codeteam sandbox
    /// image` makes, if left out.
    image: Option<String>,
    /// What workers may reach besides their model: `name`, `name:port`, or a mapping.
    hosts: Vec<HostConfig>,
    /// What the set-up command may reach, in the same form.
    registries: Vec<HostConfig>,
    /// Toolchains that are not found by themselves, shown read-only; a `bin` in one comes first in
    /// `PATH`.
    toolchains: Vec<PathBuf>,
    /// Caches of the user's that commands see.
    caches: Vec<CacheConfig>,
    /// Files of the repository that may configure a worker's CLI. Only in the user's own
    /// configuration: the repository cannot allow itself.
    allow_files: Vec<String>,
    /// How much a command may take.
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
    /// Whether it may be in a private network. Only in the user's own configuration.
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
    /// The rule for it.
    pub fn allowed(&self) -> Result<AllowedHost, BadEntry> {
        let allowed = AllowedHost::parse(&self.host)?;
        Ok(if self.private {
            allowed.private()
        } else {
            allowed
        })
    }
}

impl SandboxConfig {
    /// What is wrong with it, though its form is right.
    pub(super) fn problem(&self) -> Option<String> {
        let hosts = self.hosts.iter().chain(&self.registries);
        let mut bad = hosts.filter_map(|host| host.allowed().err());
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

    /// The limits of one command.
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

/// A path of the configuration, in which `~` is the user's home. `None` if it is not absolute.
pub fn absolute(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
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
        codeteam_core::yaml::parse("config.yml", text).map_err(|problems| problems.to_string())
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
