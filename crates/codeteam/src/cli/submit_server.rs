//! `codeteam submit-server`: takes one answer as an MCP server, for a worker that codeteam starts.

use codeteam_core::role::{Contract, EditMode, RoleKind};
use codeteam_core::submission::AnswerForm;
use serde::de::IntoDeserializer as _;
use serde::{Deserialize, de};

use crate::exit::Exit;
use codeteam_engine::problem::Problem;

/// Arguments of `submit-server`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kind of the role.
    #[arg(long, value_parser = word::<RoleKind>)]
    kind: RoleKind,
    /// In which form.
    #[arg(long, value_parser = word::<Contract>)]
    contract: Contract,
    /// The way in which files are changed.
    #[arg(long, value_parser = word::<EditMode>)]
    mode: EditMode,
    /// A planner may ask a person first.
    #[arg(long)]
    asks: bool,
    /// An implementer may ask for a change of a locked interface.
    #[arg(long)]
    requests: bool,
}

/// Parses a word as the configuration would.
fn word<T: for<'d> Deserialize<'d>>(text: &str) -> Result<T, de::value::Error> {
    T::deserialize(text.into_deserializer())
}

pub(crate) fn main(args: &Args) -> Result<Exit, Problem> {
    let form = AnswerForm {
        kind: args.kind,
        contract: args.contract,
        mode: args.mode,
        asks: args.asks,
        requests: args.requests,
    };
    codeteam_mcp::submit::serve(form)
        .map_err(|e| Problem::environment("could not serve the `submit` tool").caused_by(&e))?;
    Ok(Exit::Done)
}
