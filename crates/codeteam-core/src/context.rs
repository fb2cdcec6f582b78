//! A summary of the context that a worker was shown, for the log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The maximum number of names that are listed of one kind; the rest are only counted.
pub const MAX_NAMES: usize = 100;

/// The context that a worker is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedContext {
    /// The strategy that chose it; empty if the role names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// The maximum number of tokens of the prompt.
    pub budget: u64,
    /// The number of tokens it has.
    pub tokens: u64,
    /// Its parts, in order of priority.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PackedPart>,
    /// The number of secrets that were removed, by file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub redacted: BTreeMap<String, u32>,
}

/// A part of a context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedPart {
    /// The part's name: `target`, `imports`, `diff`, …
    pub name: String,
    /// The number of its tokens that are shown.
    pub tokens: u64,
    /// The number of its files that are shown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub files: u64,
    /// Items shown in a shorter form, such as files by their signatures.
    #[serde(default, skip_serializing_if = "NameList::is_empty")]
    pub compressed: NameList,
    /// Items that are not shown.
    #[serde(default, skip_serializing_if = "NameList::is_empty")]
    pub dropped: NameList,
}

/// A list of names, limited to as many as anybody reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    /// The first of them.
    pub names: Vec<String>,
    /// The number of further ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
}

impl NameList {
    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.more == 0
    }

    /// Returns how many there are.
    pub fn count(&self) -> u64 {
        self.names.len() as u64 + self.more
    }
}

impl FromIterator<String> for NameList {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Self {
        let mut all = Self::default();
        for name in names {
            if all.names.len() < MAX_NAMES {
                all.names.push(name);
            } else {
                all.more += 1;
            }
        }
        all
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl PackedContext {
    /// Describes for people what was shortened, left out or removed; `None` if everything is there.
    pub fn describe_omissions(&self) -> Option<String> {
        let mut said = Vec::new();
        let named = |of: fn(&PackedPart) -> &NameList| -> Vec<String> {
            let parts = self.parts.iter().filter(|part| !of(part).is_empty());
            parts
                .map(|part| format!("{} of {}", of(part).count(), part.name))
                .collect()
        };
        for (words, parts) in [
            ("shortened", named(|part| &part.compressed)),
            ("left out", named(|part| &part.dropped)),
        ] {
            if !parts.is_empty() {
                said.push(format!("{words}: {}", parts.join(", ")));
            }
        }
        let secrets: u32 = self.redacted.values().sum();
        if secrets > 0 {
            let files: Vec<&str> = self.redacted.keys().take(3).map(String::as_str).collect();
            let more = self.redacted.len().saturating_sub(3);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            said.push(format!(
                "secrets taken out: {secrets}, in {}{more}",
                files.join(", ")
            ));
        }
        let size = format!("context of {} tokens (limit {})", self.tokens, self.budget);
        (!said.is_empty()).then(|| format!("{size}; {}", said.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said() {
        let mut packed = PackedContext {
            budget: 100,
            tokens: 90,
            ..PackedContext::default()
        };
        assert_eq!(packed.describe_omissions(), None);
        let files = |count: usize| (0..count).map(|i| format!("f{i}")).collect::<NameList>();
        packed.parts = vec![
            PackedPart {
                name: "imports".to_owned(),
                compressed: files(2),
                ..PackedPart::default()
            },
            PackedPart {
                name: "related".to_owned(),
                compressed: files(1),
                dropped: files(1_000),
                ..PackedPart::default()
            },
        ];
        packed.redacted = (0..5).map(|i| (format!("{i}.env"), 2)).collect();
        assert_eq!(packed.parts[1].dropped.names.len(), MAX_NAMES);
        assert_eq!(
            packed.describe_omissions().unwrap(),
            "context of 90 tokens (limit 100); shortened: 2 of imports, 1 of related; left out: 1000 of \
             related; secrets taken out: 10, in 0.env, 1.env, 2.env and 2 more"
        );
    }
}
