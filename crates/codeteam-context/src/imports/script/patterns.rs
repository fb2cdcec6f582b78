//! Maps names with one `*` in them to their targets.

use std::collections::HashMap;

/// The largest number of patterns kept per prefix.
const MAX_ALIKE: usize = 16;

/// Patterns, by the text before the `*`.
#[derive(Clone, Debug, Default)]
pub(super) struct StarPatterns {
    exact: HashMap<String, Vec<String>>,
    starred: HashMap<String, Vec<(String, Vec<String>)>>,
}

impl StarPatterns {
    pub(super) fn new(patterns: Vec<(String, Vec<String>)>) -> Self {
        let mut found = Self::default();
        for (pattern, targets) in patterns {
            match pattern.split_once('*') {
                None => {
                    found.exact.insert(pattern, targets);
                }
                Some((before, after)) => {
                    let alike = found.starred.entry(before.to_owned()).or_default();
                    if alike.len() < MAX_ALIKE {
                        alike.push((after.to_owned(), targets));
                    }
                }
            }
        }
        found
    }

    /// Returns the targets of a name, by the most specific pattern that matches it.
    pub(super) fn targets(&self, name: &str) -> Vec<String> {
        if let Some(targets) = self.exact.get(name) {
            return targets.clone();
        }
        if self.starred.is_empty() {
            return Vec::new();
        }
        let ends = name.char_indices().map(|(at, _)| at);
        for end in ends.chain([name.len()]).rev() {
            let (before, rest) = name.split_at(end);
            let alike = self.starred.get(before).into_iter().flatten();
            for (after, targets) in alike {
                if let Some(star) = rest.strip_suffix(after.as_str()) {
                    let targets = targets.iter().map(|target| target.replacen('*', star, 1));
                    return targets.collect();
                }
            }
        }
        Vec::new()
    }
}
