//! `codeteam inbox`: lists everything that needs a person.

use codeteam_core::untrusted_text::one_line;
use codeteam_engine::inbox::{list_global_inbox, list_inbox};
use codeteam_engine::problem::Problem;
use codeteam_report::describe;
use codeteam_report::view::{InboxItem, VoteStanding};

use crate::cli::CliContext;
use crate::exit::Exit;
use crate::output::{self, TerminalStyle, eprint_line, print_line};

/// Arguments of `inbox`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Include all projects in which you have started runs.
    #[arg(long)]
    all: bool,
}

pub(crate) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    let mut items = Vec::new();
    if args.all {
        let inbox = list_global_inbox(&scene.env, &scene.codeteam);
        for (root, error) in inbox.unread {
            let problem = Problem::from(error);
            eprint_line(&format!("{}: {}", root.display(), problem.what()));
        }
        items = inbox.items;
    } else if let Some(engine) = scene.existing_engine()? {
        items = list_inbox(&engine)?;
    }
    if scene.json {
        output::print_json(&items)?;
        return Ok(Exit::Done);
    }
    if items.is_empty() {
        eprint_line("nothing needs you");
    }
    let style = TerminalStyle::detect_stdout();
    for item in &items {
        print_item(style, item)?;
    }
    Ok(Exit::Done)
}

/// Returns the first line of an item. Only the level has a colour, and its column is as wide with
/// the colour as without it.
fn title_line(style: TerminalStyle, item: &InboxItem) -> String {
    let risk = item.risk.map_or("", |risk| risk.as_str());
    let place = match &item.project {
        Some(project) => format!("{project}: {}", item.run),
        None => item.run.clone(),
    };
    let since = describe::format_future_time(item.since);
    let rest = one_line(&format!("{place} ({}), since {since}", item.task));
    format!("{}{rest}", style.yellow(&format!("{risk:<9}")))
}

fn print_item(style: TerminalStyle, item: &InboxItem) -> Result<(), Problem> {
    print_line(&title_line(style, item))?;
    print_line(&format!("  {}", one_line(&item.question)))?;
    print_line(&format!(
        "  goal: {}",
        one_line(describe::first_line(&item.goal))
    ))?;
    for missing in &item.missing {
        print_line(&format!("  needs {}", one_line(missing)))?;
    }
    match item.your_vote {
        Some(VoteStanding::Given) => print_line("  you have approved it")?,
        Some(VoteStanding::NotTheirs) => print_line("  others decide this, not you")?,
        Some(VoteStanding::Wanted) | None => {}
    }
    for decided in &item.decided {
        print_line(&format!("  decided: {}", one_line(decided)))?;
    }
    if let Some(at) = item.goes_on_at {
        let at = describe::format_future_time(at);
        print_line(&format!("  goes on at {at} unless somebody rejects it"))?;
    }
    if let Some(timeout) = &item.timeout {
        let at = describe::format_future_time(timeout.at);
        print_line(&one_line(&format!("  at {at}: {}", timeout.text)))?;
    }
    if let Some(deadline) = &item.idle_deadline {
        print_line(&format!("  {}", one_line(&deadline.to_line())))?;
    }
    for command in &item.commands {
        print_line(&format!("  {}", one_line(command)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_level_is_coloured_and_its_column_keeps_its_width() {
        let run = codeteam_core::Run {
            id: "r1".into(),
            ..codeteam_core::Run::default()
        };
        let view = codeteam_report::view::RunView::new(&run);
        let item = InboxItem {
            risk: Some(codeteam_core::risk::RiskLevel::High),
            run: "r\x1b[31m1".to_owned(),
            ..InboxItem::of_idle_run(&view).unwrap()
        };
        let plain = title_line(TerminalStyle::with_colour(false), &item);
        assert!(plain.starts_with("high     r"), "{plain}");
        let coloured = title_line(TerminalStyle::with_colour(true), &item);
        assert!(
            coloured.starts_with("\x1b[33mhigh     \x1b[0mr"),
            "{coloured:?}"
        );
        assert_eq!(coloured.matches('\x1b').count(), 2, "{coloured:?}");
    }
}
