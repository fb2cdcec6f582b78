//! `codeteam trust --log`: takes over a log that codeteam did not create in its place.

use std::path::Path;

use codeteam_engine::engine;
use codeteam_engine::trust::LogRecords;
use codeteam_host::store::Store;
use serde_json::json;

use super::{TrustReply, ask_trust, refuse_session};
use crate::cli::{CliContext, init};
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use codeteam_engine::problem::Problem;

const QUESTION: &str = "Take this log over as your own? [y/N]";

/// The largest number of runs shown.
const SHOWN: usize = 10;

/// Shows the runs of the log below `root`, and records that it is the user's own if they agree.
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
        print_line(&format!("log       {}", path.display()))?;
        for run in runs.iter().take(SHOWN) {
            let goal = output::one_line(&run.goal);
            let (id, status) = (output::one_line(&run.id), output::one_line(&run.status));
            print_line(&format!("  {status:<10} {id}  {goal}"))?;
        }
        if runs.len() > SHOWN {
            print_line(&format!("  and {} more runs", runs.len() - SHOWN))?;
        }
        if is_known {
            print_line("this log is yours already")?;
        } else {
            print_line(
                "whoever wrote this log could have any command run here with all your rights, as soon as you \
                 resume one of its runs",
            )?;
        }
    }
    let agreed = !is_known && (yes || (!scene.json && ask_trust(QUESTION)? == TrustReply::Trust));
    if agreed {
        refuse_session(root)?;
        records.record(&path).map_err(engine::Error::from)?;
        if !scene.json {
            eprint_line("this log is yours now");
        }
    }
    if scene.json {
        output::print_json(
            &json!({ "log": path, "runs": runs.len(), "yours": is_known || agreed }),
        )?;
    }
    if is_known || agreed {
        return Ok(Exit::Done);
    }
    if scene.json || !init::is_terminal() {
        eprint_line(
            "nothing was taken over: there is no terminal to ask on; `codeteam trust --log --yes` takes it over",
        );
        return Ok(Exit::Waiting);
    }
    eprint_line("nothing was taken over");
    Ok(Exit::Done)
}
