//! Models that a cloud serves: what claude needs for them reaches it, and it asks where it should.
//! The clouds themselves are the scripted server, which checks no signature.

use codeteam_e2e::{Play, RecordedRequests, Scenario};

use super::project::Project;
use super::samples::{RIGHT, alone, writes};

/// Runs claude with a provider and these variables; nothing is asked of Anthropic itself.
#[track_caller]
fn served_by(
    provider: &str,
    model: &str,
    moved_by: &str,
    env: &[(&str, &str)],
) -> RecordedRequests {
    let mut project = Project::new(Scenario::new().play(writes(Play::new())));
    project.set(moved_by, project.server.base_url());
    project.set("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
    for (name, value) in env {
        project.set(name, value);
    }
    let role = format!("worker: claude, provider: {provider}, model: '{model}'");
    project.goal(&alone(&role, ""), &[]).expect(0);
    assert_eq!(project.committed_file("add.sh"), RIGHT.trim_end());
    let asked = project.asked().filtered(|r| r.marks.role.is_some());
    for request in &asked {
        assert_eq!(
            request.header("x-api-key"),
            None,
            "Anthropic's key is not for others"
        );
        assert_eq!(request.asked.as_ref().unwrap().model, model);
    }
    asked
}

#[test]
fn bedrock_is_asked_for_the_model_of_the_role() {
    let model = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0";
    let asked = served_by(
        "bedrock",
        model,
        "ANTHROPIC_BEDROCK_BASE_URL",
        &[
            ("CLAUDE_CODE_USE_BEDROCK", "1"),
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIAUSER"),
            ("AWS_SECRET_ACCESS_KEY", "secret-of-the-user"),
        ],
    );
    assert_eq!(asked.len(), 2);
    for request in &asked {
        assert_eq!(request.path, format!("/model/{model}/invoke"));
        // It was signed; an endpoint of the sandbox lets no credentials of a worker through.
        assert!(request.header("x-amz-date").is_some());
        assert_eq!(request.header("authorization"), None);
    }
}

#[test]
fn vertex_is_asked_in_the_users_project_and_region() {
    let model = "claude-sonnet-4-5@20250929";
    let asked = served_by(
        "vertex",
        model,
        "ANTHROPIC_VERTEX_BASE_URL",
        &[
            ("CLAUDE_CODE_USE_VERTEX", "1"),
            ("CLOUD_ML_REGION", "europe-west1"),
            ("ANTHROPIC_VERTEX_PROJECT_ID", "my-project"),
            // Google's own tokens are not to be had here.
            ("CLAUDE_CODE_SKIP_VERTEX_AUTH", "1"),
        ],
    );
    assert_eq!(asked.len(), 2);
    let place = "/projects/my-project/locations/europe-west1/publishers/anthropic/models";
    for request in &asked {
        assert_eq!(request.path, format!("{place}/{model}:streamRawPredict"));
    }
}
