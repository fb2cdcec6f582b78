//! What a repository asks for beyond what the user's own configuration allows.
//!
//! **Invariant:** what a project's files say may narrow what the user allows, never widen it. What
//! would widen it is an [`AccessRequest`]; it counts only if the user has trusted exactly that (see
//! `crate::trust`), and is left out of the configuration otherwise. Whoever forgets to ask has the
//! narrower one.
//!
//! The configuration is put together twice: as everybody says it, and without the project. Each of
//! `KINDS` compares the two, by their meaning and not by how they are written, so that taking back
//! (`~`) what the user says is a request as well. A new kind is a function there; if it is about a
//! key, nothing else is needed.

mod kinds;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use codeteam_core::event::AccessGrant;
use codeteam_core::yaml::{SourceFiles, YamlNode, YamlValue, typed};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::Config;

/// The file of a repository that names files of the checkout which git ignores, for worktrees to
/// have a copy of.
pub(crate) const INCLUDES: &str = ".worktreeinclude";

/// No such file is longer.
const MAX_BYTES: u64 = 64 << 10;

/// Something that a repository asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRequest {
    /// The key and the value, by which it is known again.
    pub access: AccessGrant,
    /// What it asks for, in words: `let workers reach …`.
    pub asks: String,
    /// Where it is said.
    pub place: String,
    /// What has become of it.
    pub state: RequestState,
}

/// What has become of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// The user has trusted the repository with it: it is in force.
    Trusted,
    /// Nobody has said anything: it is left out.
    Open,
    /// The user's configuration forbids it: it is left out.
    Forbidden,
}

/// What repositories may ask for at all. Only in the user's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TrustPolicy {
    /// Anything; the user is asked.
    #[default]
    Ask,
    /// Nothing.
    Never,
    /// Anything but these keys, and what is below them.
    NeverFor(Vec<String>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TrustWord {
    /// The user is asked, once for each content.
    Ask,
    /// What a repository asks for is left out, and nobody is asked.
    Never,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TrustKeys {
    /// The keys that no repository may widen, such as `sandbox` or `mcp_servers`; the user is asked
    /// for all others.
    never: Vec<String>,
}

impl<'de> Deserialize<'de> for TrustPolicy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TrustPolicyVisitor;

        impl<'de> de::Visitor<'de> for TrustPolicyVisitor {
            type Value = TrustPolicy;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("`ask`, `never`, or a mapping with `never`")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<TrustPolicy, E> {
                let word = TrustWord::deserialize(de::IntoDeserializer::into_deserializer(word))?;
                Ok(match word {
                    TrustWord::Ask => TrustPolicy::Ask,
                    TrustWord::Never => TrustPolicy::Never,
                })
            }

            fn visit_map<M: de::MapAccess<'de>>(self, map: M) -> Result<TrustPolicy, M::Error> {
                let keys = TrustKeys::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(TrustPolicy::NeverFor(keys.never))
            }
        }

        deserializer.deserialize_any(TrustPolicyVisitor)
    }
}

impl JsonSchema for TrustPolicy {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TrustPolicy".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let word = generator.subschema_for::<TrustWord>();
        let keys = generator.subschema_for::<TrustKeys>();
        json_schema!({ "anyOf": [word, keys] })
    }
}

impl TrustPolicy {
    fn forbids(&self, key: &str) -> bool {
        match self {
            Self::Ask => false,
            Self::Never => true,
            Self::NeverFor(keys) => keys.iter().any(|never| {
                let below = key.strip_prefix(never.as_str());
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            }),
        }
    }

    /// A key that no request has.
    pub(super) fn unknown_key(&self) -> Option<&str> {
        let Self::NeverFor(keys) = self else {
            return None;
        };
        let is_known = |key: &str| {
            kinds::KEYS.iter().any(|known| {
                let below = known.strip_prefix(key);
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                    || key
                        .strip_prefix(known)
                        .is_some_and(|rest| rest.starts_with('.'))
            })
        };
        keys.iter().map(String::as_str).find(|key| !is_known(key))
    }
}

/// The configuration as everybody says it, and without the project.
pub(super) struct AccessComparison<'a> {
    /// As everybody says it.
    pub(super) full: &'a Config,
    /// Without the project.
    pub(super) allowed: &'a Config,
    /// The same, without what is built in: what the user has said by name.
    pub(super) own: &'a YamlNode,
    /// The patterns of [`INCLUDES`], if the repository has any.
    pub(super) included: &'a [String],
}

/// A request as a comparison finds it.
struct FoundRequest {
    /// Where in the configuration.
    path: Vec<String>,
    /// The value, in one fixed form.
    value: String,
    /// What it asks for.
    asks: String,
    /// How it is left out.
    part: RequestTarget,
    /// Keys beside its own that say the same, and are left out with it.
    beside: &'static [&'static str],
}

/// What of the configuration a request is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestTarget {
    /// All that is at its path: without the request it is what the user says.
    Value,
    /// One of a list.
    Item,
    /// A file beside the configuration.
    File,
}

impl FoundRequest {
    fn grant(&self) -> AccessGrant {
        AccessGrant {
            key: self.path.join("."),
            value: self.value.clone(),
        }
    }
}

/// What was found, and the configuration without what is not in force.
pub(super) struct AccessVerdict {
    /// All requests.
    pub(super) requests: Vec<AccessRequest>,
    /// What is left, if something had to go.
    pub(super) narrowed: Option<YamlNode>,
}

/// Finds what the project asks for, and takes what is not in force out of `node`, the whole
/// configuration. `without` is the same without the project.
pub(super) fn judge(
    comparison: &AccessComparison<'_>,
    granted: &BTreeSet<AccessGrant>,
    node: &YamlNode,
    without: &YamlNode,
    sources: &SourceFiles,
) -> AccessVerdict {
    let policy = &comparison.allowed.trust;
    let mut narrowed = None;
    let mut requests = Vec::new();
    for finding in find(comparison) {
        let access = finding.grant();
        let state = if policy.forbids(&access.key) {
            RequestState::Forbidden
        } else if granted.contains(&access) {
            RequestState::Trusted
        } else {
            RequestState::Open
        };
        let place = match finding.part {
            RequestTarget::File => INCLUDES.to_owned(),
            RequestTarget::Value | RequestTarget::Item => {
                sources.describe(place_of(node, &finding))
            }
        };
        if state != RequestState::Trusted {
            withhold(
                narrowed.get_or_insert_with(|| node.clone()),
                without,
                &finding,
            );
        }
        requests.push(AccessRequest {
            access,
            asks: finding.asks,
            place,
            state,
        });
    }
    AccessVerdict { requests, narrowed }
}

/// Whether a configuration asks for nothing that is not in force.
pub(super) fn is_within(comparison: &AccessComparison<'_>, requests: &[AccessRequest]) -> bool {
    let is_in_force = |access: &AccessGrant| {
        let mut trusted = requests
            .iter()
            .filter(|request| request.state == RequestState::Trusted);
        trusted.any(|request| request.access == *access)
    };
    let found = find(comparison).into_iter();
    let mut keys = found.filter(|finding| finding.part != RequestTarget::File);
    keys.all(|finding| is_in_force(&finding.grant()))
}

fn find(comparison: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let kinds = kinds::KINDS.iter();
    kinds.flat_map(|kind| kind(comparison)).collect()
}

/// Takes a request out of the configuration.
fn withhold(node: &mut YamlNode, without: &YamlNode, finding: &FoundRequest) {
    match finding.part {
        RequestTarget::File => {}
        RequestTarget::Value => {
            restore(node, Some(without), &finding.path);
            let mut beside = finding.path.clone();
            for key in finding.beside {
                beside.pop();
                beside.push((*key).to_owned());
                restore(node, Some(without), &beside);
            }
        }
        RequestTarget::Item => {
            let Some(list) = at_mut(node, &finding.path) else {
                return;
            };
            if let YamlValue::List(items) = &mut list.value {
                items.retain(|item| kinds::item_value(&finding.path, item) != finding.value);
            }
        }
    }
}

/// Makes what is at a path what it is in the other tree, or nothing.
fn restore(node: &mut YamlNode, from: Option<&YamlNode>, path: &[String]) {
    let Some((name, rest)) = path.split_first() else {
        return;
    };
    let below = from.and_then(|from| from.get(name));
    if rest.is_empty() {
        match below {
            Some(below) => node.set(name, below.clone()),
            None => drop(node.take(name)),
        }
        return;
    }
    if node.get(name).and_then(YamlNode::as_map).is_none() {
        // The project has put something else in the place of a mapping, or taken it back.
        match below {
            Some(below) => node.set(name, below.clone()),
            None => return,
        }
    }
    if let Some(inner) = node.get_mut(name) {
        restore(inner, below, rest);
    }
}

fn at_mut<'n>(node: &'n mut YamlNode, path: &[String]) -> Option<&'n mut YamlNode> {
    path.iter().try_fold(node, |node, name| node.get_mut(name))
}

/// Where a request is said; for what was taken back, where that would be.
fn place_of(node: &YamlNode, finding: &FoundRequest) -> codeteam_core::yaml::SourcePosition {
    let mut here = node;
    for name in &finding.path {
        match here.get(name) {
            Some(inner) => here = inner,
            None => return here.place,
        }
    }
    let items = here.as_list().unwrap_or_default();
    let own = items
        .iter()
        .rfind(|item| kinds::item_value(&finding.path, item) == finding.value);
    own.unwrap_or(here).place
}

/// The patterns of [`INCLUDES`] in a repository, in order.
pub(super) fn included_patterns(root: &Path) -> Vec<String> {
    let path = root.join(INCLUDES);
    let found = path.symlink_metadata();
    if !found.is_ok_and(|found| found.is_file() && found.len() <= MAX_BYTES) {
        return Vec::new();
    }
    let text = fs::read(&path).unwrap_or_default();
    patterns(&text)
}

/// The patterns in a text like that of a `.gitignore`.
pub(crate) fn patterns(text: &[u8]) -> Vec<String> {
    let lines = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    // What is no text cannot be shown to anybody who is to trust it.
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    lines.map(str::to_owned).collect()
}

impl Config {
    /// What the repository asks for and nobody has said anything to.
    pub fn open_requests(&self) -> impl Iterator<Item = &AccessRequest> {
        let requests = self.requests.iter();
        requests.filter(|request| request.state == RequestState::Open)
    }

    /// Whether there is an MCP server of this name, or would be if the repository were trusted with
    /// it.
    pub fn knows_server(&self, name: &str) -> bool {
        let key = format!("mcp_servers.{name}");
        let mut requests = self.requests.iter();
        self.mcp_servers.contains_key(name) || requests.any(|request| request.access.key == key)
    }

    /// What of the repository's requests is in force.
    pub fn grants(&self) -> BTreeSet<AccessGrant> {
        let requests = self.requests.iter();
        let trusted = requests.filter(|request| request.state == RequestState::Trusted);
        trusted.map(|request| request.access.clone()).collect()
    }
}

/// What a node is, if it can be that.
fn as_type<T: de::DeserializeOwned>(node: &YamlNode) -> Option<T> {
    typed(node).ok()
}

#[cfg(test)]
mod tests;
