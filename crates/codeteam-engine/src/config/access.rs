//! The access that a repository requests beyond what the user's own configuration allows.
//!
//! **Invariant:** a project's files may narrow what the user allows, never widen it. A value that
//! would widen it is an [`AccessRequest`]; it takes effect only if the user has trusted exactly
//! this request (see `crate::trust`), and is left out of the configuration otherwise. Code that
//! forgets to check therefore gets the narrower configuration.
//!
//! The configuration is merged twice: from all layers, and without the project's. Each of `KINDS`
//! compares the two by their meaning and not by how they are written, so that revoking (`~`) a
//! value of the user's is a request as well. A new kind is one more function there; if it is about
//! a key, nothing else is needed.

mod kinds;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use codeteam_core::event::AccessGrant;
use codeteam_workflow::yaml::{SourceFiles, YamlNode, YamlValue, deserialize_node};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::Config;

/// The file of a repository with patterns for files that git ignores and worktrees get a copy of.
pub(crate) const INCLUDES: &str = ".worktreeinclude";

/// The maximum length of that file.
const MAX_BYTES: u64 = 64 << 10;

/// A request of a repository for more access than the user's configuration allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRequest {
    /// The key and the value, which identify the request.
    pub access: AccessGrant,
    /// The request in words: `let workers reach …`.
    pub asks: String,
    /// The position in the file where it is made.
    pub place: String,
    /// The state: trusted, open or forbidden.
    pub state: RequestState,
}

/// The state of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RequestState {
    /// The user has trusted the repository with it, so it is in effect.
    Trusted,
    /// The user has not decided yet, so it is left out.
    Open,
    /// The user's configuration forbids it, so it is left out.
    Forbidden,
}

/// The policy for requests of repositories. It can be set only in the user's own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TrustPolicy {
    /// Anything; the user is asked.
    #[default]
    Ask,
    /// Nothing.
    Never,
    /// Anything but these keys and the keys below them.
    NeverFor(Vec<String>),
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TrustWord {
    /// The user is asked, once for each content.
    Ask,
    /// Requests of a repository are left out, and nobody is asked.
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

    /// Returns a key that no request can have.
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

/// The two configurations to compare: with and without the project.
pub(super) struct AccessComparison<'a> {
    /// The configuration from all layers.
    pub(super) full: &'a Config,
    /// The configuration without the project.
    pub(super) allowed: &'a Config,
    /// The user's own layers, without the built-in one: what the user has set explicitly.
    pub(super) own: &'a YamlNode,
    /// The patterns of [`INCLUDES`], if the repository has any.
    pub(super) included: &'a [String],
}

/// A request as a comparison finds it.
struct FoundRequest {
    /// The path of its key.
    path: Vec<String>,
    /// The value, in a normalised form.
    value: String,
    /// The request in words.
    asks: String,
    /// The part of the configuration that is left out.
    part: RequestTarget,
    /// Other keys with the same meaning, which are left out with it.
    beside: &'static [&'static str],
}

/// The part of the configuration that a request is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RequestTarget {
    /// The whole value at its path: without the request, the user's value applies.
    Value,
    /// One item of a list.
    Item,
    /// A file outside the configuration.
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

/// The requests, and the configuration without those that are not in effect.
pub(super) struct AccessVerdict {
    /// All requests, whatever their state.
    pub(super) requests: Vec<AccessRequest>,
    /// The reduced configuration, if something had to be left out.
    pub(super) narrowed: Option<YamlNode>,
}

/// Finds the project's requests and removes those that are not in effect from `node`, the whole
/// configuration. `without` is the configuration without the project.
pub(super) fn judge_requests(
    comparison: &AccessComparison<'_>,
    granted: &BTreeSet<AccessGrant>,
    node: &YamlNode,
    without: &YamlNode,
    sources: &SourceFiles,
) -> AccessVerdict {
    let policy = &comparison.allowed.trust;
    let mut narrowed = None;
    let mut requests = Vec::new();
    for finding in find_requests(comparison) {
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

/// Returns true if a configuration requests nothing that is not in effect.
pub(super) fn is_within(comparison: &AccessComparison<'_>, requests: &[AccessRequest]) -> bool {
    let is_in_force = |access: &AccessGrant| {
        let mut trusted = requests
            .iter()
            .filter(|request| request.state == RequestState::Trusted);
        trusted.any(|request| request.access == *access)
    };
    let found = find_requests(comparison).into_iter();
    let mut keys = found.filter(|finding| finding.part != RequestTarget::File);
    keys.all(|finding| is_in_force(&finding.grant()))
}

fn find_requests(comparison: &AccessComparison<'_>) -> Vec<FoundRequest> {
    let kinds = kinds::KINDS.iter();
    kinds.flat_map(|kind| kind(comparison)).collect()
}

/// Removes a request from the configuration.
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

/// Sets the value at a path to its value in the other tree, or removes it.
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
        // The project has replaced a mapping by something else, or revoked it.
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

/// Returns the position of a request; for a revoked value, the position where it would be.
fn place_of(node: &YamlNode, finding: &FoundRequest) -> codeteam_workflow::yaml::SourcePosition {
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
    parse_patterns(&text)
}

/// Parses patterns in a text like that of a `.gitignore`.
pub(crate) fn parse_patterns(text: &[u8]) -> Vec<String> {
    let lines = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    // A pattern that is not UTF-8 cannot be shown to the person who is to trust it.
    let lines = lines.filter_map(|line| std::str::from_utf8(line).ok());
    lines.map(str::to_owned).collect()
}

impl Config {
    /// Returns the requests of the repository that the user has not decided on.
    pub fn open_requests(&self) -> impl Iterator<Item = &AccessRequest> {
        let requests = self.requests.iter();
        requests.filter(|request| request.state == RequestState::Open)
    }

    /// Returns true if there is an MCP server of this name, or would be if the repository were
    /// trusted with it.
    pub fn knows_server(&self, name: &str) -> bool {
        let key = format!("mcp_servers.{name}");
        let mut requests = self.requests.iter();
        self.mcp_servers.contains_key(name) || requests.any(|request| request.access.key == key)
    }

    /// Returns the repository's requests that are in effect.
    pub fn grants(&self) -> BTreeSet<AccessGrant> {
        let requests = self.requests.iter();
        let trusted = requests.filter(|request| request.state == RequestState::Trusted);
        trusted.map(|request| request.access.clone()).collect()
    }
}

/// Deserializes a node, if it has this type.
fn as_type<T: de::DeserializeOwned>(node: &YamlNode) -> Option<T> {
    deserialize_node(node).ok()
}

#[cfg(test)]
mod tests;
