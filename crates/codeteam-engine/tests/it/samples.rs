//! Every YAML and JSON sample of the five documents codeteam grew from, as it is printed there. It
//! loads, and something of it arrives; or it is refused with the advice that stands here. Where
//! the advice is to write something else, that loads.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use codeteam_core::json;
use codeteam_core::role::Role;
use codeteam_core::submission::{self, AnswerForm, Submission};
use codeteam_core::workflow::StepKind;
use codeteam_engine::config::{Config, ConfigOrigins};
use codeteam_engine::library::{Library, LibraryFolders};
use codeteam_workflow::language::CompiledWorkflow;
use codeteam_workflow::plan_file;

mod table;

use table::{ExpectedLoad, SAMPLES, SampleKind};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/samples");

#[test]
fn every_sample_is_in_the_table_once() {
    let mut found = BTreeSet::new();
    for seed in fs::read_dir(DATA).unwrap() {
        let seed = seed.unwrap().file_name().into_string().unwrap();
        for file in fs::read_dir(Path::new(DATA).join(&seed)).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            found.insert(format!("{seed}/{file}"));
        }
    }
    let told: BTreeSet<String> = SAMPLES.iter().map(|s| s.file.to_owned()).collect();
    assert_eq!(told, found);
    assert_eq!(told.len(), SAMPLES.len(), "none twice");
    assert!(told.len() >= 60, "{}", told.len());
}

#[test]
fn every_sample_loads_or_is_refused_with_advice() {
    for sample in SAMPLES {
        let text = text_of(sample.file);
        let loaded = load(sample.is, &text);
        match (&sample.then, loaded) {
            (ExpectedLoad::Loads(arrived), Ok(loaded)) => {
                assert!(arrived(&loaded), "{}: {loaded:?}", sample.file);
            }
            (ExpectedLoad::Loads(_), Err(error)) => panic!("{}: {error}", sample.file),
            (ExpectedLoad::Refused(place, advice), Err(error)) => {
                let told = first(&error);
                assert!(
                    told.contains(place) && told.contains(advice),
                    "{}: expected {place} and {advice:?} in\n{error}",
                    sample.file
                );
            }
            (ExpectedLoad::Refused(..), Ok(loaded)) => panic!("{}: {loaded:?}", sample.file),
        }
    }
}

#[test]
fn whoever_follows_the_advice_has_a_file_that_loads() {
    for (file, is, mend, arrived) in table::MENDED {
        let sample = SAMPLES.iter().find(|sample| sample.file == *file).unwrap();
        assert!(matches!(sample.then, ExpectedLoad::Refused(..)), "{file}");
        let mended = mend(&text_of(file));
        let loaded = load(*is, &mended).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(arrived(&loaded), "{file}: {loaded:?}");
    }
}

#[test]
fn every_error_of_a_sample_has_its_place_its_text_and_a_remedy() {
    for sample in SAMPLES {
        let is_answer = matches!(sample.is, SampleKind::Submission(..) | SampleKind::Log);
        if matches!(sample.then, ExpectedLoad::Loads(_)) || is_answer {
            continue;
        }
        let error = load(sample.is, &text_of(sample.file)).unwrap_err();
        let mut lines = error.lines().peekable();
        while let Some(problem) = lines.next() {
            let place: Vec<&str> = problem.splitn(4, ':').collect();
            assert!(
                place[1].parse::<u32>().is_ok(),
                "{}: {problem}",
                sample.file
            );
            assert!(
                problem.ends_with(')'),
                "{}: no remedy: {problem}",
                sample.file
            );
            let text = lines.next().unwrap();
            assert!(text.starts_with("    | "), "{}: {text}", sample.file);
            assert!(lines.next().unwrap().ends_with('^'));
        }
    }
}

/// The templates extend each other; side by side in one project they are the seed's own.
#[test]
fn the_templates_load_beside_each_other() {
    let project = SampleProject::new();
    for name in [
        "17-_base",
        "18-mvp",
        "19-enterprise",
        "21-security_critical",
    ] {
        let text = text_of(&format!("supervisor/{name}.yml"));
        project.write(&format!("workflows/{}.yml", &name[3..]), &text);
    }
    for (name, steps) in [
        ("_base", &["plan", "implement", "commit"][..]),
        ("mvp", &["plan", "implement", "quick_review", "commit"]),
        (
            "enterprise",
            &[
                "plan",
                "interface_definition-approval",
                "implement-help",
                "ci_gate",
            ],
        ),
        (
            "security_critical",
            &[
                "threat_modeling",
                "penetration_test",
                "security_review-approval",
            ],
        ),
    ] {
        let compiled = project
            .compile(name)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        for step in steps {
            assert!(
                compiled.workflow.steps.contains_key(&(*step).into()),
                "{name}: {step}"
            );
        }
        let each = compiled.workflow.steps.values();
        let mut each = each.filter(|step| matches!(step.kind, StepKind::Each { .. }));
        assert!(each.next().is_none(), "{name} has no tasks of its own");
    }
}

/// The result of loading a sample.
#[derive(Debug)]
pub(crate) enum LoadedSample {
    Config(Box<Config>, Box<CompiledWorkflow>),
    Role(Box<Role>),
    Workflow(Box<CompiledWorkflow>),
    Plan(plan_file::LoadedPlan),
    Submission(Submission),
    Log(Vec<serde_json::Value>),
}

fn text_of(file: &str) -> String {
    fs::read_to_string(Path::new(DATA).join(file)).unwrap()
}

fn first(error: &str) -> &str {
    error.lines().next().unwrap_or_default()
}

fn load(is: SampleKind, text: &str) -> Result<LoadedSample, String> {
    let project = SampleProject::new();
    match is {
        SampleKind::Config => {
            project.write("config.yml", text);
            let (config, mut library) = project.open()?;
            // A role that is never played is not looked at by a run; here all are.
            for (name, _) in config
                .roles
                .as_ref()
                .and_then(|node| node.as_map())
                .into_iter()
                .flatten()
            {
                library
                    .resolve(&name.name)
                    .map_err(|error| project.plain(&error.to_string()))?;
            }
            let compiled = library.compile_configured(config.flow.as_ref(), config.surroundings());
            let compiled = compiled.map_err(|error| project.plain(&error.to_string()))?;
            Ok(LoadedSample::Config(Box::new(config), Box::new(compiled)))
        }
        SampleKind::Role(name) => {
            project.write(&format!("roles/{name}.yml"), text);
            project.role(name)
        }
        SampleKind::Agent(name) => {
            project.write(&format!("agents/{name}/agent.yaml"), text);
            project.write(
                &format!("agents/{name}/prompt.md"),
                "<!-- ours -->\n\nYou are it.\n",
            );
            project.role(name)
        }
        SampleKind::Workflow(name) => {
            project.write(&format!("workflows/{name}.yml"), text);
            project
                .compile(name)
                .map(|compiled| LoadedSample::Workflow(Box::new(compiled)))
        }
        SampleKind::Plan => {
            let loaded = plan_file::from_yaml("plan.yml", text, 100);
            loaded
                .map(LoadedSample::Plan)
                .map_err(|error| error.to_string())
        }
        SampleKind::Submission(kind, contract, mode) => {
            let form = AnswerForm {
                kind,
                contract,
                mode,
                asks: false,
                requests: false,
            };
            submission::parse(form, text).map(LoadedSample::Submission)
        }
        SampleKind::Log => {
            let lines = text
                .lines()
                .map(|line| json::parse(line).map_err(|e| e.to_string()));
            lines.collect::<Result<_, _>>().map(LoadedSample::Log)
        }
    }
}

struct SampleProject(tempfile::TempDir);

impl SampleProject {
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        fs::create_dir(project.folder()).unwrap();
        project
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join(".codeteam")
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.folder().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Without the folder's own name, which is another each time.
    fn plain(&self, error: &str) -> String {
        error.replace(&format!("{}/", self.0.path().display()), "")
    }

    fn open(&self) -> Result<(Config, Library), String> {
        let origins = ConfigOrigins {
            project: Some(self.folder()),
            ..ConfigOrigins::default()
        };
        let opened = Config::load_with_layers(&origins);
        let (config, layers) = opened.map_err(|error| self.plain(&error.to_string()))?;
        let places = LibraryFolders {
            user: None,
            project: Some((self.folder(), self.0.path().to_owned())),
        };
        let library = Library::read(places, layers.sources, config.roles.as_ref());
        Ok((config, library))
    }

    fn role(&self, name: &str) -> Result<LoadedSample, String> {
        let resolved = self.open()?.1.resolve(name);
        let role = resolved.map(|resolved| LoadedSample::Role(Box::new(resolved.role)));
        role.map_err(|error| self.plain(&error.to_string()))
    }

    fn compile(&self, name: &str) -> Result<CompiledWorkflow, String> {
        let (config, mut library) = self.open()?;
        let compiled = library.compile(name, config.surroundings());
        compiled.map_err(|error| self.plain(&error.to_string()))
    }
}
