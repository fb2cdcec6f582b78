//! What the server appends to the diagnostic log.

use super::client::SdkClient;
use super::project;

#[test]
fn the_server_logs_calls_and_never_on_its_output() {
    let project = project();
    let file = project.home().join("log");
    // A line on standard output would end the conversation: it is not of the protocol.
    let client = SdkClient::with(&project, &["--log-file", file.to_str().unwrap()]);
    client.start();
    client.status();
    client.close();
    let text = std::fs::read_to_string(&file).unwrap();
    for part in [
        "the session calls `start_task`",
        "answered `get_status`",
        "run{id=",
        "codeteam_host::git",
        "took the lease",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}
