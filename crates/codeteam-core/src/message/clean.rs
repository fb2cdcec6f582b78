//! Takes out of a message what is not its writer's to say.

/// Trailers that only the user, or codeteam itself, may write.
const NOT_THEIRS: &[&str] = &["co-authored-by", "signed-off-by"];
/// What codeteam's own trailers begin with.
const OWN: &str = "codeteam-";

/// A message without trailers that speak for codeteam or for people, with plain ends of lines and no
/// more than one empty line in a row.
pub fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut lines: Vec<&str> = Vec::new();
    let mut taken_out = false;
    for line in text.split('\n').map(str::trim_end) {
        // What is indented below a trailer belongs to it.
        let goes_on = taken_out && line.starts_with([' ', '\t']);
        taken_out = goes_on || is_not_theirs(line);
        let doubled = line.is_empty() && lines.last().is_none_or(|last| last.is_empty());
        if !taken_out && !doubled {
            lines.push(line);
        }
    }
    lines.join("\n").trim().to_owned()
}

/// Whether a line is a trailer that its writer may not write. What git takes for one in any of its
/// forms counts, and so does one that is not among the last lines: they may become the last.
fn is_not_theirs(line: &str) -> bool {
    let line = line.trim_start_matches([' ', '\t', '>', '*', '-']);
    let Some((key, _)) = line.split_once([':', '=', '#']) else {
        return false;
    };
    let key = key.trim().to_lowercase();
    let is_own = key.strip_prefix(OWN).is_some_and(|rest| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !rest.is_empty() && rest.chars().all(plain)
    });
    is_own || NOT_THEIRS.contains(&key.as_str())
}
