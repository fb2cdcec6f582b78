//! The address of what a run has published.

use codeteam_core::Run;

/// Returns the address of the pull request, or of whatever else a run has published: the last one in
/// the output of its publish command.
pub(crate) fn published_url(run: &Run) -> Option<&str> {
    let output = run.published.as_deref()?;
    let mut words = output.split_whitespace();
    words.rfind(|word| word.starts_with("https://") || word.starts_with("http://"))
}
