//! Marks of states and small pictures. A state is told by its shape and its word; its colour only
//! repeats that.

/// Returns the mark of a state: a picture of its own and a word. A state that nobody knows has the
/// mark of what waits.
pub(crate) fn mark_html(state: &str, word: Option<&str>) -> String {
    let (class, usual, picture) = find_mark(state);
    let word = super::html::escaped(word.unwrap_or(usual));
    format!(
        "<span class=\"mark mark-{class}\"><svg viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" \
         aria-hidden=\"true\">{picture}</svg><span>{word}</span></span>"
    )
}

/// Returns the class of a state in the style sheet.
pub(crate) fn mark_class(state: &str) -> &'static str {
    find_mark(state).0
}

/// Returns the class of a state, its word, and its picture.
pub(crate) fn find_mark(state: &str) -> (&'static str, &'static str, &'static str) {
    match state {
        "needs you" | "needs-you" => ("need", "needs you", NEEDS_YOU),
        "working" | "running" => ("work", "working", WORKING),
        "failed" | "rejects" | "fail" => ("fail", "failed", FAILED),
        "done" | "completed" | "passed" | "approves" => ("done", "done", DONE),
        "left out" | "left-out" | "skipped" | "aborted" => ("left", "left out", LEFT_OUT),
        _ => ("wait", "waiting", WAITING),
    }
}

/// A diamond with a call.
const NEEDS_YOU: &str = "<path class=\"fill\" d=\"M8 .8 15.2 8 8 15.2.8 8z\"/>\
    <path class=\"sign\" d=\"M8 4.6v4.2M8 11v.6\"/>";
/// A disc with a triangle that points forward.
const WORKING: &str = "<circle class=\"fill\" cx=\"8\" cy=\"8\" r=\"7\"/>\
    <path class=\"hole\" d=\"M6.3 4.8 11.4 8l-5.1 3.2z\"/>";
/// A ring with two bars.
const WAITING: &str = "<circle class=\"ring\" cx=\"8\" cy=\"8\" r=\"6.2\"/>\
    <path class=\"line\" d=\"M6.4 5.6v4.8M9.6 5.6v4.8\"/>";
/// A square with a cross.
const FAILED: &str = "<rect class=\"fill\" x=\"1.2\" y=\"1.2\" width=\"13.6\" height=\"13.6\" rx=\"2.5\"/>\
    <path class=\"sign\" d=\"m5 5 6 6m0-6-6 6\"/>";
/// A disc with a tick.
const DONE: &str = "<circle class=\"fill\" cx=\"8\" cy=\"8\" r=\"7\"/>\
    <path class=\"sign\" d=\"m4.8 8.3 2.2 2.2 4.3-4.7\"/>";
/// A broken ring with a dash.
const LEFT_OUT: &str = "<circle class=\"ring broken\" cx=\"8\" cy=\"8\" r=\"6.2\"/>\
    <path class=\"line\" d=\"M5 8h6\"/>";

/// Returns a small picture without a meaning of its own; empty if there is none of this name.
pub(crate) fn icon_svg(name: &str) -> String {
    let drawn = match name {
        "inbox" => "<path d=\"M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5l1 1.5h3l1-1.5H14\"/>",
        "runs" => "<path d=\"M3 4h10M3 8h10M3 12h6\"/>",
        "chart" => "<path d=\"M2.5 13.5h11M4.5 11V8M8 11V4M11.5 11V6\"/>",
        "health" => "<path d=\"M1.5 8.5H5l1.5-4 3 7 1.5-3h3.5\"/>",
        "link" => {
            "<path d=\"M6.5 9.5l3-3M7 4.8l1.4-1.4a2.9 2.9 0 0 1 4.1 4.1L11 9M9 11.2l-1.4 1.4a2.9 2.9 0 0 1-4.1-4.1L5 7\"/>"
        }
        "help" => "<path d=\"M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.3\"/>",
        "copy" => "<path d=\"M5.5 5.5h7v7h-7zM3.5 10.5v-7h7\"/>",
        "down" => "<path d=\"M8 2.5v8M4.5 7.5 8 11l3.5-3.5M3 13.5h10\"/>",
        "file" => "<path d=\"M4 2h5l3 3v9H4zM9 2v3h3\"/>",
        "go" => "<path d=\"m6 3.5 4.5 4.5L6 12.5\"/>",
        "say" => "<path d=\"M2.5 3h11v8H8l-3 2.5V11H2.5z\"/>",
        _ => return String::new(),
    };
    format!(
        "<svg class=\"icon\" viewBox=\"0 0 16 16\" width=\"16\" height=\"16\" \
         aria-hidden=\"true\">{drawn}</svg>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_differ_by_shape_and_word_and_not_by_colour_alone() {
        let states = [
            "needs you",
            "working",
            "waiting",
            "failed",
            "done",
            "left out",
        ];
        for (at, one) in states.iter().enumerate() {
            for other in &states[at + 1..] {
                let (one, other) = (find_mark(one), find_mark(other));
                assert_ne!(one.0, other.0);
                assert_ne!(one.1, other.1);
                assert_ne!(one.2, other.2);
            }
        }
    }

    #[test]
    fn the_word_of_a_mark_is_escaped() {
        assert!(mark_html("done", Some("<b>")).contains("<span>&lt;b&gt;</span>"));
    }
}
