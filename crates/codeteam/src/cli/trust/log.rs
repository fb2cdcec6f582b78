//! `codeteam trust --log`: takes a log over that codeteam did not make in its place.

use std::path::Path;

use codeteam_engine::engine;
use codeteam_engine::store::Store;
use codeteam_engine::trust::LogRecords;
use serde_json::json;

use super::{TrustReply, ask, refuse_session};
use crate::cli::{CliContext, init};
use crate::exit::Exit;
use crate::output::{self, out_line, say};
use crate::problem::Problem;

const QUESTION: &str = "Take this log over as your own? [y/N]";

/// How many runs are shown.
const SHOWN: usize = 10;

/// Shows the runs of the log below `root`, and records that it is the user's own if they say so.
pub(super) fn take_over(scene: &CliContext, root: &Path, yes: bool) -> Result<Exit, Problem> {
    let path = root.join(".codeteam/state.db");
    let store = Store::open_existing(&path).map_err(engine::Error::from)?;
    let Some(store) = store else {
        return Err(Problem::user(
            "this project has no log (`.codeteam/state.db`)",
        ));
    };
    let records = LogRecords::for_user(&scene.env);
    let records = records.ok_or(engine::Error::Trust(codeteam_engine::trust::Error::NoHome))?;
    let runs = store.runs().map_err(engine::Error::from)?;
    let is_known = records.knows(&path);
    if !scene.json {
        out_line(&format!("log       {}", path.display()))?;
        for run in runs.iter().take(SHOWN) {
            let goal = output::one_line(&run.goal);
            let (id, status) = (output::one_line(&run.id), output::one_line(&run.status));
            out_line(&format!("  {status:<10} {id}  {goal}"))?;
        }
        if runs.len() > SHOWN {
            out_line(&format!("  and {} more runs", runs.len() - SHOWN))?;
        }
        if is_known {
            out_line("this log is yours already")?;
        } else {
            out_line(
                "whoever wrote this log could have any command run here with all your rights, as soon as you \
                 resume one of its runs",
            )?;
        }
    }
    let agreed = !is_known && (yes || (!scene.json && ask(QUESTION)? == TrustReply::Trust));
    if agreed {
        refuse_session(root)?;
        records.record(&path).map_err(engine::Error::from)?;
        if !scene.json {
            say("this log is yours now");
        }
    }
    if scene.json {
        output::json(&json!({ "log": path, "runs": runs.len(), "yours": is_known || agreed }))?;
    }
    if is_known || agreed {
        return Ok(Exit::Done);
    }
    if scene.json || !init::is_terminal() {
        say(
            "nothing was taken over: there is no terminal to ask on; `codeteam trust --log --yes` takes it over",
        );
        return Ok(Exit::Waiting);
    }
    say("nothing was taken over");
    Ok(Exit::Done)
}
