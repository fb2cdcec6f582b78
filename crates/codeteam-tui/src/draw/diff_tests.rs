//! A patch whose lines are longer than the screen is wide.

use crate::fixture::TestScreen;
use crate::state::Panel;

#[test]
fn the_selected_line_is_on_the_screen_also_if_lines_are_wrapped() {
    let lines = (1..=40).map(|n| format!("+LINE-{n:02} {}\n", "x ".repeat(150)));
    let lines: String = lines.collect();
    let patch = format!(
        "diff --git a/a.txt b/a.txt\nnew file mode 100644\n--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1,40 @@\n{lines}"
    );
    let mut screen = TestScreen::new(80, 24);
    screen.press(&["Enter", "d"]);
    screen.load_patch(&patch);
    screen.press(&["w"]);
    for _ in 0..30 {
        screen.press(&["j"]);
        let Some(Panel::Diff(diff)) = screen.app.panel() else {
            panic!("no diff is open");
        };
        assert!(diff.wraps);
        // The file, that it is new, and the hunk have a row each.
        let selected = diff.cursor.selected;
        if selected >= 3 {
            let expected = format!("LINE-{:02}", selected - 2);
            let text = screen.text();
            assert!(text.contains(&expected), "{expected}\n{text}");
        }
    }
}
