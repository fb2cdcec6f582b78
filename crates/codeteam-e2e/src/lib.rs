//! The scripted model server: plays a model over real HTTP, so that the real CLIs and codeteam's
//! own worker can be run end to end without one; and a browser for codeteam's pages.
//!
//! A [`Scenario`] says what is answered to whom; a [`ModelServer`] plays it on a loopback port in the
//! four protocols the workers speak, and keeps every request for the test to look at. A [`Browser`] is a
//! real one, in which pages are tested. Only tests depend on this crate.
//!
//! ```no_run
//! use codeteam_e2e::{ModelServer, Play, Scenario, Turn};
//! use serde_json::json;
//!
//! let coder = Play::new()
//!     .role("coder")
//!     .turn(Turn::say("I look first.").read("src/lib.rs"))
//!     .turn(Turn::new().write("src/new.rs", "pub fn new() {}\n"))
//!     .turn(Turn::submit(json!({"summary": "added `new`"})));
//! let server = ModelServer::start(Scenario::new().play(coder))?;
//! // … run a CLI against `server.base_url()` …
//! assert_eq!(server.requests().of_role("coder").len(), 3);
//! server.assert_no_problems();
//! # Ok::<(), std::io::Error>(())
//! ```

mod answer;
mod browser;
mod capture;
mod fault;
mod gates;
mod http;
mod model_protocol;
mod model_request;
mod protocol;
mod scenario;
mod scenario_player;
mod server;
mod tools;

pub use self::answer::TokenUsage;
pub use self::browser::{
    AccessibilityViolation, Browser, BrowserError, BrowserPrograms, BrowserWindow, ColourScheme,
    ConsoleMessage, KeyboardKey, PageElement,
};
pub use self::capture::{RecordedRequest, RecordedRequests};
pub use self::fault::{Fault, FaultKind};
pub use self::model_protocol::Protocol;
pub use self::model_request::{
    AssignmentMarks, ChatMessage, MessagePart, ModelRequest, OfferedTool, Speaker, ToolKind,
};
pub use self::scenario::{Play, PlayCondition, Scenario, SubmissionRoute, ToolAction, Turn};
pub use self::server::{ModelServer, ServerOptions};
