//! The script and the sample project of `codeteam demo`.
//!
//! They need nothing but `sh`, so the demo runs on any machine that could build
//! codeteam. The project's own check is `sh tests/run.sh`.

/// The goal of the demo.
pub const DEMO_GOAL: &str = "Add a greeting library and a word counter to the sample project";

/// The script the demo's workers play.
pub const DEMO: &str = include_str!("../../demo/script.yml");

/// The files of the sample project, by path.
pub const DEMO_FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../../demo/project/README.md")),
    (
        "lib/case.sh",
        include_str!("../../demo/project/lib/case.sh"),
    ),
    (
        "tests/assert.sh",
        include_str!("../../demo/project/tests/assert.sh"),
    ),
    (
        "tests/run.sh",
        include_str!("../../demo/project/tests/run.sh"),
    ),
    (
        "tests/test_case.sh",
        include_str!("../../demo/project/tests/test_case.sh"),
    ),
];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::scripted::{PlayEnding, Script, ScriptedAssignment, perform_play, shell};

    /// The sample project with the workers let loose on it.
    struct DemoProject {
        script: Script,
        project: tempfile::TempDir,
    }

    impl DemoProject {
        fn new() -> Self {
            let project = tempfile::tempdir().unwrap();
            for (path, content) in DEMO_FILES {
                let path = project.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            Self {
                script: Script::parse(DEMO, "demo").unwrap(),
                project,
            }
        }

        /// Returns a role's submission for a task in a round.
        fn submit(&self, role: &str, task: &str, round: u64) -> Value {
            let assignment = ScriptedAssignment {
                generation: round,
                ..ScriptedAssignment::parse(
                    &json!({"role": role, "task": {"id": task}, "round": round}).to_string(),
                )
                .unwrap()
            };
            let mut out = Vec::new();
            let ending = perform_play(&self.script, &assignment, self.root(), &mut out).unwrap();
            assert_eq!(ending, PlayEnding::Exit(0));
            let last = String::from_utf8(out).unwrap();
            let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
            last["submission"].clone()
        }

        fn gate(&self) -> (bool, Vec<String>) {
            let mut lines = Vec::new();
            let status = shell::run_command("sh tests/run.sh", self.root(), &mut |line| {
                lines.push(line.to_owned());
                Ok(())
            });
            (status.unwrap().success(), lines)
        }

        #[track_caller]
        fn passes(&self) {
            let (passed, lines) = self.gate();
            assert!(passed, "{lines:#?}");
        }

        fn root(&self) -> &Path {
            self.project.path()
        }
    }

    #[test]
    fn the_story_is_as_it_is_told() {
        let demo = DemoProject::new();
        demo.passes();

        let plan = demo.submit("planner", "-", 1);
        let tasks = plan["plan"]["tasks"].as_array().unwrap();
        assert_eq!(tasks.len(), 3);
        assert_eq!(tasks[2]["dependencies"], json!(["task-001", "task-002"]));

        demo.submit("coder", "task-001", 1);
        demo.passes();

        demo.submit("coder", "task-002", 1);
        let (passed, lines) = demo.gate();
        assert!(!passed);
        assert!(lines.contains(&"FAIL tests/test_count.sh".to_owned()));
        demo.submit("coder", "task-002", 2);
        demo.passes();

        demo.submit("coder", "task-003", 1);
        demo.passes();
        let review = demo.submit("task_completion", "task-003", 1);
        assert_eq!(review["verdict"], "reject");
        let finding = &review["findings"][0];
        let file = finding["file"].as_str().unwrap();
        let source = fs::read_to_string(demo.root().join(file)).unwrap();
        let line = usize::try_from(finding["line"].as_u64().unwrap()).unwrap();
        assert_eq!(source.lines().nth(line - 1), Some(". lib/greet.sh"));
        demo.submit("coder", "task-003", 2);
        demo.passes();
        let review = demo.submit("task_completion", "task-003", 2);
        assert_eq!(review["verdict"], "approve");
        assert_eq!(review["resolved"][0]["id"], "F1");
    }

    #[test]
    fn every_task_writes_the_files_of_its_plan_and_is_committed() {
        let demo = DemoProject::new();
        let plan = demo.submit("planner", "-", 1);
        for task in plan["plan"]["tasks"].as_array().unwrap() {
            let id = task["id"].as_str().unwrap();
            let submission = demo.submit("coder", id, 1);
            assert_eq!(submission["files"], task["files"]);
            demo.submit("coder", id, 2);
            for file in task["files"].as_array().unwrap() {
                assert!(demo.root().join(file.as_str().unwrap()).exists());
            }
            assert_eq!(demo.submit("task_completion", id, 2)["verdict"], "approve");
            let message = demo.submit("committer", id, 1);
            let message = message["message"].as_str().unwrap();
            assert_eq!(message.lines().next(), task["title"].as_str());
            assert!(message.lines().all(|line| line.len() <= 72));
        }
    }
}
