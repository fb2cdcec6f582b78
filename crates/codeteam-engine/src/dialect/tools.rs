//! What a role may call tools, so that it can be carried out by any worker: `read`, `write`,
//! `edit`, `run`, `search`, `list`, `web`. Every other name is meant as it stands.

/// The worker's own names for the tools a role names.
pub(super) fn named(
    words: &[String],
    own: impl Fn(&str) -> &'static [&'static str],
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for word in words {
        let known = own(word);
        if known.is_empty() {
            names.push(word.clone());
        } else {
            names.extend(known.iter().map(|&name| name.to_owned()));
        }
    }
    names.dedup();
    names
}
