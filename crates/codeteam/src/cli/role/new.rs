//! `codeteam role new`: creates a role file to start from.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;
use codeteam_core::ids::RoleName;
use codeteam_core::role::RoleKind;
use codeteam_core::workflow::StepKind;
use codeteam_engine::context::strategies::StrategyCatalog;
use codeteam_engine::engine;
use codeteam_engine::library::Library;
use codeteam_workflow::roles::SourceLayer;
use serde_json::json;

use super::files;
use crate::cli::CliContext;
use crate::cli::config::{LoadedConfig, short_path};
use crate::exit::Exit;
use crate::output::{self, eprint_line, print_line};
use crate::progress::Verbosity;
use codeteam_engine::problem::Problem;

/// Arguments of `role new`.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The role's name; `adversarial/qa` is the `qa` of that workflow alone.
    name: String,
    /// The role it builds on: its prompt comes first, and its settings apply unless overridden.
    #[arg(long, value_name = "ROLE", conflicts_with = "kind")]
    extends: Option<String>,
    /// Its kind, if it builds on no other role; `implementer` if left out.
    #[arg(long, value_enum)]
    kind: Option<KindArg>,
    /// Put it among your own roles, for all projects.
    #[arg(long)]
    user: bool,
    /// As a folder: `agents/NAME/prompt.md` and `agent.yaml`.
    #[arg(long = "folder", id = "as_folder")]
    as_folder: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum KindArg {
    /// Questions, or confirmed requirements.
    Analyst,
    /// A design, with patterns, warnings and interfaces.
    Designer,
    /// A plan.
    Planner,
    /// A change, with a summary, files and proof.
    Implementer,
    /// A verdict with findings.
    Gatekeeper,
    /// A text: a prompt, a summary, a commit message, a score.
    Scribe,
}

impl From<KindArg> for RoleKind {
    fn from(owes: KindArg) -> Self {
        match owes {
            KindArg::Analyst => Self::Analyst,
            KindArg::Designer => Self::Designer,
            KindArg::Planner => Self::Planner,
            KindArg::Implementer => Self::Implementer,
            KindArg::Gatekeeper => Self::Gatekeeper,
            KindArg::Scribe => Self::Scribe,
        }
    }
}

/// The base of a new role.
enum RoleBase {
    /// Another role.
    Role(String),
    /// The role of the same name in a lower layer.
    Itself(SourceLayer),
    /// Nothing but a kind.
    Kind(RoleKind),
}

pub(super) fn main(args: &Args, scene: &CliContext) -> Result<Exit, Problem> {
    files::check_name(&args.name)?;
    let said = LoadedConfig::read(scene, &[])?;
    let library = said.library();
    let folder = files::role_folder(scene, &said.ground, args.user)?;
    files::check_free(scene, &folder, &args.name)?;
    let base = choose_base(args, &library)?;
    let mut written: Vec<(PathBuf, String)> = Vec::new();
    if args.as_folder {
        let own = folder.join("agents").join(&args.name);
        let path = own.join("agent.yaml");
        let line = files::editor_line(&path, &folder);
        written.push((path, skeleton(&args.name, &line, &base, false)));
        let text = match &base {
            RoleBase::Kind(kind) => starter_prompt(*kind),
            RoleBase::Role(name) => inherited_prompt(name, &library)?,
            RoleBase::Itself(_) => inherited_prompt(&args.name, &library)?,
        };
        written.push((own.join("prompt.md"), text));
    } else {
        let path = folder.join("roles").join(format!("{}.yml", args.name));
        let line = files::editor_line(&path, &folder);
        written.push((path, skeleton(&args.name, &line, &base, true)));
    }
    files::write_role_files(&said.ground, &folder, &written)?;
    if scene.json {
        let paths: Vec<&PathBuf> = written.iter().map(|(path, _)| path).collect();
        output::print_json(&json!({ "role": args.name, "files": paths }))?;
        return Ok(Exit::Done);
    }
    for (path, _) in &written {
        print_line(&short_path(scene, &path.display().to_string()))?;
    }
    if scene.detail >= Verbosity::Normal {
        let (codeteam, name) = (&scene.calls.codeteam, &args.name);
        if let RoleBase::Itself(layer) = base {
            let layer = layer.as_str();
            eprint_line(&format!(
                "it changes the {layer} role `{name}` wherever that is used"
            ));
        }
        eprint_line(&format!("  check   {codeteam} role validate {name}"));
        eprint_line(&format!("  see     {codeteam} role show --resolved {name}"));
        if let Some(played) = suggest_played_role(&base, &said) {
            let call = format!("{codeteam} run \"…\" --role {played}={name}");
            eprint_line(&format!("  use     {call}"));
        }
    }
    Ok(Exit::Done)
}

/// Returns a role of the default workflow that the new one could replace.
fn suggest_played_role(base: &RoleBase, said: &LoadedConfig) -> Option<String> {
    let mut library = said.library();
    let kind = match base {
        RoleBase::Itself(_) => return None,
        RoleBase::Kind(kind) => *kind,
        RoleBase::Role(parent) => library.resolve(parent).ok()?.role.kind,
    };
    let compiled = said.ground.workflow(&said.config, &mut library).ok()?;
    let steps = compiled.workflow.steps.values();
    let mut slots: Vec<(bool, &RoleName)> = Vec::new();
    for step in steps {
        if let StepKind::Role(work) = &step.kind {
            // Roles that work on tasks come first.
            slots.extend(work.slots.iter().map(|role| (step.scope.is_none(), role)));
        }
    }
    slots.retain(|(_, role)| compiled.roles.get(*role).is_some_and(|r| r.kind == kind));
    slots.into_iter().min().map(|(_, role)| role.0.clone())
}

/// Returns a prompt to start from: a copy of that of the base role.
fn inherited_prompt(name: &str, library: &Library) -> Result<String, Problem> {
    let role = library.resolve(name).map_err(engine::Error::from)?.role;
    let note = format!("It replaces the prompt of `{name}`, of which it is a copy.");
    Ok(format!("<!-- {note} -->\n{}\n", role.prompt))
}

fn choose_base(args: &Args, library: &Library) -> Result<RoleBase, Problem> {
    let below = if args.user {
        SourceLayer::BuiltIn
    } else {
        SourceLayer::User
    };
    let layers = library.layers_of(&args.name);
    let same = layers.into_iter().find(|layer| *layer <= below);
    match (&args.extends, args.kind, same) {
        (Some(parent), _, Some(layer)) if *parent == args.name => Ok(RoleBase::Itself(layer)),
        (Some(parent), _, _) => {
            library.resolve(parent).map_err(engine::Error::from)?;
            Ok(RoleBase::Role(parent.clone()))
        }
        (None, Some(kind), _) => Ok(RoleBase::Kind(kind.into())),
        (None, None, Some(layer)) => Ok(RoleBase::Itself(layer)),
        (None, None, None) => Ok(RoleBase::Kind(RoleKind::Implementer)),
    }
}

/// Renders a role file with all possible keys. Optional ones are commented out.
fn skeleton(name: &str, editor_line: &str, base: &RoleBase, with_prompt: bool) -> String {
    let mut text = editor_line.to_owned();
    let kinds = RoleKind::ALL.map(RoleKind::as_str).join(", ");
    let _ = match base {
        RoleBase::Role(parent) => writeln!(
            text,
            "# The role `{name}`. What it does not say is said by `{parent}`.\n\
             description: What it is, in a line\nextends: {parent}"
        ),
        RoleBase::Itself(layer) => writeln!(
            text,
            "# Changes the {} role `{name}`; what is not said here is as it is there.\n\
             extends: {name}",
            layer.as_str()
        ),
        RoleBase::Kind(kind) => writeln!(
            text,
            "# The role `{name}`.\ndescription: What it is, in a line\n\
             # What it owes. There are {kinds}.\nkind: {}",
            kind.as_str()
        ),
    };
    let names: Vec<String> = StrategyCatalog::names_in([]).into_iter().collect();
    let half = names.len().div_ceil(2);
    let _ = write!(
        text,
        "# worker: [claude, codex]        # the first that can be used\n\
         # model: NAME\n\
         # context:                       # what it is shown of the project\n\
         #   # There are {},\n\
         #   # {}.\n\
         #   strategy: {}\n\
         #   include: [\"docs/**\"]\n\
         #   budget: 15000                # tokens\n\
         # allowed_tools: [read, search]  # no others; all that fit its kind if left out\n\
         # gates:                         # checks that run when it has submitted\n\
         #   - {{ name: lint, command: make lint }}\n",
        names[..half].join(", "),
        names[half..].join(", "),
        usual_strategy(base)
    );
    match base {
        RoleBase::Kind(kind) if with_prompt => {
            text.push_str("prompt: |\n");
            for line in starter_prompt(*kind).lines() {
                let _ = writeln!(text, "  {line}");
            }
        }
        // The example is commented out, so that text nobody has filled in is not sent to workers.
        RoleBase::Role(_) | RoleBase::Itself(_) if with_prompt => text.push_str(
            "# system_prompt_additions: |     # what it is told besides\n\
             #   We write commit messages in French.\n",
        ),
        _ => {}
    }
    text
}

/// Returns the usual context strategy for a kind of role.
fn usual_strategy(base: &RoleBase) -> &'static str {
    match base {
        RoleBase::Kind(RoleKind::Gatekeeper) => "reviewer_diff",
        RoleBase::Kind(RoleKind::Implementer) | RoleBase::Role(_) | RoleBase::Itself(_) => {
            "implementer_targeted"
        }
        RoleBase::Kind(_) => "planner_docset",
    }
}

fn starter_prompt(kind: RoleKind) -> String {
    let text = match kind {
        RoleKind::Gatekeeper => {
            "Say here who it is and how it judges: what it looks for first, what it lets pass, and\nwhat a finding must name."
        }
        _ => {
            "Say here who it is and how it works: what it reads first, what it keeps to, and when it\nis done. codeteam adds the goal, the task and the form of the answer."
        }
    };
    format!("{text}\n")
}
