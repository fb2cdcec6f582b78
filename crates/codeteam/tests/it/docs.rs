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
    for name in commands(&overview) {
        let said = help(&[name, "--help"]);
        section(&mut text, &format!("## codeteam {name}"), &said);
        for below in commands(&said) {
            let title = format!("### codeteam {name} {below}");
            section(&mut text, &title, &help(&[name, below, "--help"]));
        }
    }
    // Wrapping leaves blanks at the ends of lines, which nobody needs in a file.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/commands.md");
    expect_file![file].assert_eq(&format!("{}\n", lines.join("\n")));
}

/// The commands that a help names.
fn commands(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect()
}

fn section(text: &mut String, title: &str, help: &str) {
    let _ = write!(text, "\n{title}\n\n```\n{}\n```\n", help.trim_end());
}
