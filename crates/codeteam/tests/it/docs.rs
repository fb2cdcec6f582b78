//! The reference of commands is what the program says of itself.

use std::fmt::Write as _;
use std::path::Path;

use expect_test::expect_file;

use crate::project::Project;

#[test]
fn the_reference_of_commands_is_up_to_date() {
    let project = Project::new();
    let help = |args: &[&str]| project.run(args).expect(0).stdout;
    let mut text = String::from(
        "# Commands\n\nGenerated from the program: `UPDATE_EXPECT=1 cargo test -p codeteam docs`.\n",
    );
    let overview = help(&["--help"]);
    let _ = write!(text, "\n```\n{}\n```\n", overview.trim_end());
    let commands = overview
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    for name in commands {
        let said = help(&[name, "--help"]);
        let _ = write!(
            text,
            "\n## codeteam {name}\n\n```\n{}\n```\n",
            said.trim_end()
        );
    }
    // Wrapping leaves blanks at the ends of lines, which nobody needs in a file.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    expect_file![file].assert_eq(&format!("{}\n", lines.join("\n")));
}
