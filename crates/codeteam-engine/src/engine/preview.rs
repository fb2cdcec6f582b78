//! Renders prompts as a run would, for a person to read. It starts nothing and writes nothing.

use codeteam_context::redact::Redactor;
use codeteam_core::ids::{StepId, TaskId, Tree, WorkerName};
use codeteam_core::plan::Plan;
use codeteam_core::role::Role;

use super::{Error, Project, redactor};
use crate::context::strategies::StrategyCatalog;
use crate::context::{self, DocumentSources, GitTreeFiles, LazyProject, PromptSubject};
use crate::find;
use crate::layout;
use crate::prompt::{self, AssignmentRequest, Prompt, TemplateCatalog};
use crate::workers::{self, Worker};

/// The situation for which a prompt is previewed.
#[derive(Clone, Debug, Default)]
pub struct PreviewRequest {
    /// The user's goal, in words.
    pub goal: String,
    /// The step at which the role is asked; if it is missing, the role's name is used.
    pub step: Option<StepId>,
    /// The plan, if there is one.
    pub plan: Option<Plan>,
    /// The task of the plan, if the role is asked about one.
    pub task: Option<TaskId>,
    /// The rules that every role must follow.
    pub rules: Vec<String>,
}

impl Project {
    /// Loads the templates: the project's and the user's override the built-in ones.
    pub fn templates(&self) -> Result<TemplateCatalog, Error> {
        let root = self.repo.top_level();
        let mut folders = vec![(self.folder.join("prompts"), Some(root))];
        if let Some(config) = &self.env.config_home {
            folders.push((config.join("codeteam/prompts"), None));
        }
        Ok(TemplateCatalog::load(&folders)?)
    }

    /// Renders exactly the prompt that a role's worker would get at its first attempt, if the run
    /// started from the current commit of the checkout. Starts nothing.
    pub fn preview(&self, role: &Role, preview: PreviewRequest) -> Result<Prompt, Error> {
        let task = match &preview.task {
            None => None,
            Some(id) => {
                let mut tasks = preview.plan.iter().flat_map(|plan| &plan.tasks);
                let found = tasks.find(|task| task.id == *id).cloned();
                Some(found.ok_or_else(|| Error::NoTask(id.0.clone()))?)
            }
        };
        let tree = &self.head.tree;
        let asked = AssignmentRequest {
            goal: preview.goal,
            step: preview.step.unwrap_or_else(|| StepId(role.name.0.clone())),
            task,
            plan: preview.plan,
            rules: preview.rules,
            tree: Tree(tree.as_str().to_owned()),
        };
        let assignment = prompt::first_assignment(role, asked);
        let templates = self.templates()?;
        templates.check([role])?;
        let strategies = self.strategies()?;
        strategies.check(role)?;
        let files = GitTreeFiles::new(&self.repo, tree, &assignment.shown.exclude)?;
        let commit = &self.head.commit;
        let history = || find::load_history(&self.repo, commit, None).unwrap_or_default();
        let targets = assignment.task.as_ref().map(|task| task.files.clone());
        let about = PromptSubject {
            words: context::describe_assignment(&assignment),
            targets: targets.unwrap_or_default(),
            cache: None,
            history: &history,
        };
        let sight = LazyProject::new(&files, about);
        let worker = self.first_worker(role);
        let told = context::render_prompt(&context::PromptRequest {
            assignment: &assignment,
            templates: &templates,
            strategies: &strategies,
            documents: DocumentSources {
                repo: &self.repo,
                base: tree,
                folder: &self.folder,
                user_folder: self.env.user_folder(),
                notes: self.config.layout.map(|_| layout::NOTES),
            },
            project: &sight,
            map: &|tokens| sight.map(tokens),
            redactor: &self.redactor()?,
            diff: None,
            changes: None,
            feedback_output: Vec::new(),
            outputs: Vec::new(),
            budget: self.config.token_budget(role, &strategies),
            schema_given: Worker::takes_schema(&self.config, &worker),
            plans_first: Worker::needs_to_plan(&self.config, &worker, &role.means),
        })?;
        Ok(told.prompt)
    }

    /// Returns the worker that would carry out a role first.
    fn first_worker(&self, role: &Role) -> WorkerName {
        let configured = || self.config.worker.clone().map(WorkerName);
        let named = role.workers.first().cloned().or_else(configured);
        let named = named.or_else(|| workers::default_worker(&self.config, &self.env));
        named.unwrap_or_default()
    }

    /// Returns the redactor for what is shown.
    pub fn redactor(&self) -> Result<Redactor, Error> {
        redactor(&self.env, &self.config)
    }

    /// Loads the context strategies: the project's override the user's, which override the built-in
    /// ones.
    pub fn strategies(&self) -> Result<StrategyCatalog, Error> {
        let root = self.repo.top_level();
        let user = self.env.config_home.as_ref();
        let user = user.map(|home| (home.join("codeteam"), None));
        let project = (self.folder.clone(), Some(root));
        let folders: Vec<_> = user.into_iter().chain([project]).collect();
        Ok(StrategyCatalog::load(&folders)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::env::Env;
    use crate::git_fixture::GitFixture;

    fn project(fixture: &GitFixture) -> Project {
        let (repo, head) = fixture.open();
        let mut env = Env::read();
        env.config_home = Some(fixture.home());
        Project {
            folder: repo.top_level().join(".codeteam"),
            repo,
            head,
            config: Config::default(),
            env,
        }
    }

    fn role(value: &serde_json::Value) -> Role {
        serde_json::from_value(value.clone()).unwrap()
    }

    fn plan(files: &[&str]) -> Plan {
        let plan = serde_json::json!({
            "plan_id": "feature-0021",
            "tasks": [{ "id": "task-001", "title": "Greet", "files": files }],
        });
        serde_json::from_value(plan).unwrap()
    }

    fn preview(files: &[&str]) -> PreviewRequest {
        PreviewRequest {
            goal: "Greet people".to_owned(),
            plan: Some(plan(files)),
            task: Some("task-001".into()),
            rules: vec!["Write tests.".to_owned()],
            ..PreviewRequest::default()
        }
    }

    #[test]
    fn a_prompt_is_shown_as_it_would_be() {
        let fixture = GitFixture::new();
        fixture.write("AGENTS.md", "Of all.");
        fixture.write("src/AGENTS.md", "Of the source.");
        fixture.write("src/deep/a.rs", "fn a() {}\n");
        fixture.write("docs/a.md", "A");
        std::os::unix::fs::symlink("/etc/passwd", fixture.main().join("docs/AGENTS.md")).unwrap();
        fixture.commit_all("documents");
        // Not committed: not what a worker would start from.
        fixture.write("src/deep/AGENTS.md", "Of nobody.");
        fixture.write(".codeteam/context/b.md", "Second.");
        fixture.write(".codeteam/context/a.md", "First.");
        fixture.write(".codeteam/context/a.txt", "No document.");
        let project = project(&fixture);
        let coder = role(&serde_json::json!({
            "name": "coder", "kind": "implementer",
            "prompt": "{{ PLAN_ID }} {{ TASK_ID }}\n{{ REPO_MAP }}\n{{ RELEVANT_FILES_CONTENT }}",
        }));
        let Prompt { system, user } = project
            .preview(&coder, preview(&["src/deep/a.rs"]))
            .unwrap();
        let map = "AGENTS.md\ndocs/\n  a.md\nfile\nsrc/\n  AGENTS.md\n  deep/\n    a.rs";
        let begins = format!(
            "feature-0021 task-001\n{map}\n### FILE: src/deep/a.rs\n\n```\nfn a() {{}}\n```\n"
        );
        assert!(system.starts_with(&begins), "{system}");
        assert!(
            user.starts_with("Role: coder\nStep: coder\nTask: task-001\nRound: 1\nAttempt: 1\n")
        );
        let places = [
            "## Your task",
            "Of the source.",
            "First.",
            "Second.",
            "## Rules\n\n- Write tests.",
        ];
        let places = places.map(|text| user.find(text).unwrap_or_else(|| panic!("{text}: {user}")));
        assert!(places.is_sorted(), "{user}");
        assert!(
            !user.contains("Of all.") && !user.contains("Of nobody."),
            "{user}"
        );
        assert!(!user.contains("No document."), "{user}");

        // What a plan may say of files is any text.
        let many = vec!["*"; 3_000];
        for files in [
            &["../x", "/etc/passwd", "a\0b", ":(glob)**", "-z", "", "*"][..],
            &many,
        ] {
            let user = project.preview(&coder, preview(files)).unwrap().user;
            assert!(
                user.contains("Of all.") && !user.contains("Of the source."),
                "{user}"
            );
        }

        // Each file has its own; a link is none, so the one above it counts.
        let files = ["src/deep/a.rs", "docs/a.md", "new/"];
        let user = project.preview(&coder, preview(&files)).unwrap().user;
        assert!(
            user.contains("Of all.") && user.contains("Of the source."),
            "{user}"
        );
        assert!(!user.contains("root:"), "{user}");
    }

    #[test]
    fn the_users_own_documents_are_told_in_every_project() {
        let fixture = GitFixture::new();
        fixture.write(".codeteam/context/a.md", "The project's.");
        let folder = fixture.home().join("codeteam/context");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("defaults.md"), "The user's.").unwrap();
        let coder = role(&serde_json::json!({ "name": "coder", "kind": "implementer" }));
        let user = project(&fixture)
            .preview(&coder, preview(&[]))
            .unwrap()
            .user;
        let places = [
            "The project's.",
            "~/.config/codeteam/context/defaults.md",
            "The user's.",
        ];
        let places = places.map(|text| user.find(text).unwrap_or_else(|| panic!("{text}: {user}")));
        assert!(places.is_sorted(), "{user}");
    }

    #[test]
    fn a_context_that_is_a_little_too_long_is_shortened() {
        let fixture = GitFixture::new();
        for n in 0..12 {
            let lines: Vec<String> = (0..6 + n * 3)
                .map(|line| {
                    format!("def greet_{n}_{line}(name):\n    return 'hello {n} ' + name\n")
                })
                .collect();
            fixture.write(&format!("greet/part_{n}.py"), &lines.join("\n"));
        }
        fixture.commit_all("files");
        let mut project = project(&fixture);
        // What fits once fits with any more room: nothing is a matter of a few tokens.
        let mut fitted = false;
        for budget in (600..1_400).step_by(3) {
            project.config.limits.max_token_budget = Some(budget);
            let coder = role(&serde_json::json!({
                "name": "coder", "kind": "implementer",
                "context": { "strategy": "implementer_targeted", "budget": budget },
            }));
            let told = project.preview(&coder, preview(&["greet/part_1.py", "greet/part_7.py"]));
            match told {
                Ok(prompt) => {
                    assert!(prompt.tokens() as u64 <= budget, "{budget}");
                    fitted = true;
                }
                Err(error) => assert!(!fitted, "{budget}: {error}"),
            }
        }
        assert!(fitted);
    }

    #[test]
    fn whoever_answers_with_whole_files_sees_them_whole_without_a_task_too() {
        let fixture = GitFixture::new();
        let body = "def slugify(text):\n    return '-'.join(text.lower().split())\n";
        fixture.write("textkit/slug.py", body);
        fixture.write("textkit/other.py", "def other():\n    return 1\n");
        fixture.commit_all("files");
        let coder = role(&serde_json::json!({
            "name": "executor", "kind": "implementer", "means": { "mode": "edits" },
            "context": { "strategy": "implementer_targeted" },
        }));
        let asked = PreviewRequest {
            goal: "slugify must drop punctuation".to_owned(),
            ..PreviewRequest::default()
        };
        let user = project(&fixture).preview(&coder, asked).unwrap().user;
        assert!(user.contains(body), "{user}");
        assert!(!user.contains("slug.py (shortened)"), "{user}");
    }

    #[test]
    fn templates_of_the_project_come_before_those_of_the_user() {
        let fixture = GitFixture::new();
        let folders = [
            fixture.main().join(".codeteam/prompts"),
            fixture.home().join("codeteam/prompts"),
        ];
        for (folder, whose) in folders.iter().zip(["project", "user"]) {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join("head.md.j2"), format!("Of the {whose}.\n")).unwrap();
        }
        std::fs::write(folders[1].join("rules.md.j2"), "No rules of the user.\n").unwrap();
        let (_, built_in) = crate::prompt::BUILT_IN
            .iter()
            .find(|(name, _)| *name == "task.md.j2")
            .unwrap();
        std::fs::write(folders[0].join("task.md.j2"), built_in).unwrap();
        std::fs::write(folders[0].join("notes.md"), "{{ no template").unwrap();
        let project = project(&fixture);
        let pinned = project.templates().unwrap().custom_texts();
        assert_eq!(
            pinned.keys().collect::<Vec<_>>(),
            ["head.md.j2", "rules.md.j2"]
        );
        let scribe = role(&serde_json::json!({ "name": "scribe", "kind": "scribe" }));
        let user = project.preview(&scribe, preview(&[])).unwrap().user;
        assert!(user.starts_with("Of the project.\n"), "{user}");
        assert!(
            user.contains("No rules of the user.") && !user.contains("Write tests."),
            "{user}"
        );
        let long = "x".repeat(70_000);
        std::fs::write(folders[0].join("task.md.j2"), long).unwrap();
        let said = project.templates().unwrap_err().to_string();
        assert!(
            said.ends_with("task.md.j2` is longer than 64 KiB"),
            "{said}"
        );
    }

    #[test]
    fn what_is_not_there_is_said() {
        let fixture = GitFixture::new();
        let scribe = role(&serde_json::json!({ "name": "scribe", "kind": "scribe" }));
        let asked = PreviewRequest {
            task: Some("task-009".into()),
            ..preview(&[])
        };
        let said = project(&fixture)
            .preview(&scribe, asked)
            .unwrap_err()
            .to_string();
        assert_eq!(said, "the plan has no task `task-009`");
    }

    /// A small project in Python, and what a role with a strategy is told of it.
    fn shown(context: &serde_json::Value) -> Result<String, Error> {
        let fixture = GitFixture::new();
        let lines: Vec<String> = (0..200).map(|i| format!("    total += {i}\n")).collect();
        let long = lines.concat();
        let model = format!(
            "class User:\n    def name(self) -> str:\n        total = 0\n{}        return 'a'\n",
            long.replace("    total", "        total")
        );
        fixture.write("src/models/__init__.py", "");
        fixture.write("src/models/user.py", &model);
        fixture.write(
            "src/api.py",
            "from models.user import User\n\n\ndef login(user: User) -> bool:\n    return True\n",
        );
        fixture.write(
            "src/web.py",
            "from api import login\n\n\ndef page():\n    login(None)\n",
        );
        fixture.write("tests/test_api.py", "from api import login\n");
        fixture.write(
            "config/dev.env",
            "TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345\n",
        );
        fixture.commit_all("a project");
        let coder = role(&serde_json::json!({
            "name": "coder", "kind": "implementer", "context": context,
        }));
        let files = ["src/api.py", "src/new.py"];
        Ok(project(&fixture).preview(&coder, preview(&files))?.user)
    }

    #[test]
    fn a_role_is_shown_what_its_strategy_chooses() {
        let context = serde_json::json!({
            "strategy": "implementer_targeted", "include": ["config/**"],
        });
        let user = shown(&context).unwrap();
        let places = [
            "### Files that the task is about\n\n#### src/api.py\n\n```\nfrom models.user import User",
            "#### src/new.py\n\nThis file does not exist yet.",
            "### What they import\n\n#### src/models/user.py\n",
            "### Tests that go with them\n\n#### tests/test_api.py\n",
            "### What imports them\n\n#### src/web.py",
            "### For this role\n\n#### config/dev.env\n\n```\nTOKEN=[redacted",
            "### All files\n",
        ];
        let places = places.map(|text| user.find(text).unwrap_or_else(|| panic!("{text}: {user}")));
        assert!(places.is_sorted(), "{user}");
        assert!(
            user.contains("total += 150") && !user.contains("ghp_"),
            "{user}"
        );
        assert!(!user.contains("for lack of room"), "{user}");
    }

    #[test]
    fn what_does_not_fit_is_shortened_and_said() {
        let context = |budget: u64| serde_json::json!({ "strategy": "implementer_targeted", "budget": budget });
        let user = shown(&context(1_300)).unwrap();
        assert!(codeteam_context::tokens::count(&user) <= 1_300, "{user}");
        assert!(
            user.contains("#### src/models/user.py (shortened)")
                && user.contains("def name(self) -> str")
                && !user.contains("total += 150"),
            "{user}"
        );
        assert!(
            user.contains(
                "## Shortened for lack of room\n\n- What they import: src/models/user.py"
            ),
            "{user}"
        );
        assert!(
            user.contains("#### src/api.py\n\n```\nfrom models"),
            "{user}"
        );
        let error = shown(&context(300)).unwrap_err().to_string();
        assert!(
            error.starts_with("the context cannot fit into 300 tokens: system ")
                && error.contains(", task "),
            "{error}"
        );
        let error = shown(&serde_json::json!({ "strategy": "implementer_target" }));
        let error = error.unwrap_err().to_string();
        assert_eq!(
            error,
            "role `coder`: there is no context strategy `implementer_target`"
        );
    }
}
