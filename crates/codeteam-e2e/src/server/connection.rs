//! One connection: requests in, answers or faults out.

use std::io::{self, BufReader};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::ServerShared;
use crate::asked::{AssignmentMarks, ModelRequest};
use crate::capture::{RecordedRequest, masked, masked_target};
use crate::fault::{Fault, FaultKind};
use crate::gates::GateOutcome;
use crate::http::{self, HttpRequest};
use crate::playing::PlayedTurn;
use crate::protocol::{self, Protocol};

/// Whether the connection serves more requests after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeepAlive {
    Serve,
    Close,
}

/// What a path asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestRoute {
    /// An answer of a model. Gemini's model and whether to stream stand in the path.
    Model(Protocol, String, StreamFormat),
    /// How many tokens a prompt has.
    Count(Protocol),
    /// Which models there are.
    Models(Protocol),
    /// Which models of Amazon's there are beside the usual ones.
    Profiles,
    /// A stream in Amazon's own framing, which there is none of: claude asks again without it.
    Framed,
    /// A web socket, which there is none of.
    Socket,
    /// Whether anybody is there.
    Hello,
    /// Nothing that is known.
    Unknown,
}

/// How the pieces of an answer are put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StreamFormat {
    /// As the body says, in server-sent events.
    AsAsked,
    /// In server-sent events.
    Events,
    /// As a JSON array: Gemini's way without `alt=sse`.
    Array,
    /// In one piece.
    No,
}

/// Serves a connection until it ends.
pub(super) fn serve(shared: &ServerShared, stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    while let Some(received) = http::read(&mut reader)? {
        if answer(shared, &mut stream, &received)? == KeepAlive::Close {
            break;
        }
    }
    Ok(())
}

fn route(received: &HttpRequest) -> RequestRoute {
    let path = received.path();
    let upgrade = received.header("upgrade").is_some();
    let last = path.rsplit('/').next().unwrap_or_default();
    match received.method.as_str() {
        _ if upgrade => RequestRoute::Socket,
        "POST" if path.ends_with("/messages/count_tokens") => {
            RequestRoute::Count(Protocol::Anthropic)
        }
        "POST" if path.ends_with("/messages") => asked_for(Protocol::Anthropic),
        "POST" if path.ends_with("/responses") => asked_for(Protocol::Responses),
        "POST" if path.ends_with("/chat/completions") => asked_for(Protocol::Chat),
        // Amazon's way to the same, with the model before the last part.
        "POST" if last == "invoke" => {
            let model = path.rsplit('/').nth(1).unwrap_or_default();
            RequestRoute::Model(Protocol::Anthropic, model.to_owned(), StreamFormat::No)
        }
        "POST" if last == "invoke-with-response-stream" => RequestRoute::Framed,
        "POST" => match last.split_once(':') {
            // Google's way to Anthropic's models.
            Some((model, "rawPredict" | "streamRawPredict")) => {
                RequestRoute::Model(Protocol::Anthropic, model.to_owned(), StreamFormat::AsAsked)
            }
            Some((model, "generateContent")) => gemini(model, StreamFormat::No),
            Some((model, "streamGenerateContent")) if received.query_has("alt=sse") => {
                gemini(model, StreamFormat::Events)
            }
            Some((model, "streamGenerateContent")) => gemini(model, StreamFormat::Array),
            Some((_, "countTokens")) => RequestRoute::Count(Protocol::Gemini),
            _ => RequestRoute::Unknown,
        },
        "GET" if last == "inference-profiles" => RequestRoute::Profiles,
        "GET" if last == "models" => RequestRoute::Models(lister(received)),
        "GET" | "HEAD" if path.is_empty() => RequestRoute::Hello,
        _ => RequestRoute::Unknown,
    }
}

fn asked_for(protocol: Protocol) -> RequestRoute {
    RequestRoute::Model(protocol, String::new(), StreamFormat::AsAsked)
}

fn gemini(model: &str, streaming: StreamFormat) -> RequestRoute {
    RequestRoute::Model(Protocol::Gemini, model.to_owned(), streaming)
}

/// All protocols list their models at the same path; who asks is told by the headers.
fn lister(received: &HttpRequest) -> Protocol {
    let keyed = received.target.contains("key=");
    if received.header("anthropic-version").is_some() {
        Protocol::Anthropic
    } else if received.header("x-goog-api-key").is_some()
        || received.path().contains("/v1beta")
        || keyed
    {
        Protocol::Gemini
    } else {
        Protocol::Chat
    }
}

fn answer(
    shared: &ServerShared,
    stream: &mut TcpStream,
    received: &HttpRequest,
) -> io::Result<KeepAlive> {
    let body: Value = serde_json::from_slice(&received.body).unwrap_or(Value::Null);
    let mut request = request_of(shared, received, &body);
    match route(received) {
        RequestRoute::Model(protocol, model, streaming) => {
            request.protocol = Some(protocol);
            if !body.is_object() {
                return unreadable(shared, stream, received, request);
            }
            let gemini_streams = matches!(streaming, StreamFormat::Events | StreamFormat::Array);
            let asked = protocol.read(&body, &model, gemini_streams);
            let streaming = match (streaming, asked.stream) {
                (StreamFormat::AsAsked, true) => StreamFormat::Events,
                (StreamFormat::AsAsked, false) => StreamFormat::No,
                (said, _) => said,
            };
            let played = play(shared, request, &asked);
            ResponseWriter {
                shared,
                protocol,
                body: &body,
                streaming,
                played: &played,
            }
            .send(stream)
        }
        RequestRoute::Count(protocol) => {
            request.protocol = Some(protocol);
            keep(shared, request);
            // Four characters to a token, as everybody reckons.
            let tokens = received.body.len() / 4;
            whole(
                stream,
                200,
                &match protocol {
                    Protocol::Gemini => json!({"totalTokens": tokens}),
                    _ => json!({"input_tokens": tokens}),
                },
            )
        }
        RequestRoute::Models(protocol) => {
            request.protocol = Some(protocol);
            keep(shared, request);
            whole(stream, 200, &protocol::models(protocol))
        }
        RequestRoute::Profiles => {
            keep(shared, request);
            whole(stream, 200, &json!({"inferenceProfileSummaries": []}))
        }
        RequestRoute::Framed => {
            keep(shared, request);
            whole(
                stream,
                404,
                &json!({"message": "there are no such streams here"}),
            )
        }
        RequestRoute::Socket => {
            keep(shared, request);
            whole(
                stream,
                426,
                &json!({"error": {"message": "there are no web sockets here"}}),
            )
        }
        RequestRoute::Hello if received.method == "HEAD" => {
            keep(shared, request);
            http::write_whole(stream, 200, &[], b"")?;
            Ok(KeepAlive::Serve)
        }
        RequestRoute::Hello => {
            keep(shared, request);
            whole(stream, 200, &json!({"server": "codeteam-models"}))
        }
        RequestRoute::Unknown => {
            let what = format!(
                "`{} {}` is nothing the scripted model server knows",
                received.method, request.path
            );
            request.problem = Some(what.clone());
            keep(shared, request);
            whole(stream, 404, &json!({"error": {"message": what}}))
        }
    }
}

fn request_of(shared: &ServerShared, received: &HttpRequest, body: &Value) -> RecordedRequest {
    let headers = received.headers.iter();
    RecordedRequest {
        order: 0,
        at_ms: u64::try_from(shared.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        method: received.method.clone(),
        path: masked_target(&received.target),
        headers: headers
            .map(|(name, value)| (name.clone(), masked(name, value)))
            .collect(),
        protocol: None,
        marks: AssignmentMarks::default(),
        play: None,
        turn: None,
        fault: None,
        problem: None,
        body: body.clone(),
        asked: None,
    }
}

fn keep(shared: &ServerShared, request: RecordedRequest) {
    shared.keep(&mut shared.state(), request);
}

/// Plays and keeps in one go, so that the order of the records is the order of the plays.
fn play(shared: &ServerShared, mut request: RecordedRequest, asked: &ModelRequest) -> PlayedTurn {
    let mut state = shared.state();
    let played = state.playing.answer(asked);
    request.marks = asked.marks();
    request.asked = Some(asked.clone());
    request.play.clone_from(&played.play);
    request.turn = played.turn;
    request.fault = played.fault.as_ref().map(|fault| fault.kind);
    request.problem.clone_from(&played.problem);
    shared.keep(&mut state, request);
    played
}

fn unreadable(
    shared: &ServerShared,
    stream: &mut TcpStream,
    received: &HttpRequest,
    mut request: RecordedRequest,
) -> io::Result<KeepAlive> {
    let encoding = received.header("content-encoding").unwrap_or("none");
    let what = format!("the body is no JSON object (content-encoding: {encoding})");
    request.problem = Some(what.clone());
    keep(shared, request);
    whole(stream, 400, &json!({"error": {"message": what}}))
}

fn whole(stream: &mut TcpStream, status: u16, body: &Value) -> io::Result<KeepAlive> {
    let kind = ("content-type", "application/json".to_owned());
    http::write_whole(stream, status, &[kind], body.to_string().as_bytes())?;
    Ok(KeepAlive::Serve)
}

/// An answer on its way.
struct ResponseWriter<'a> {
    shared: &'a ServerShared,
    protocol: Protocol,
    body: &'a Value,
    streaming: StreamFormat,
    played: &'a PlayedTurn,
}

impl ResponseWriter<'_> {
    fn send(&self, stream: &mut TcpStream) -> io::Result<KeepAlive> {
        let Some(fault) = &self.played.fault else {
            return self.send_pieces(stream, None);
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        let model = &self.played.answer.model;
        if let Some(refusal) = fault.refusal(self.protocol, model, now) {
            let mut headers = refusal.headers;
            headers.push(("content-type", "application/json".to_owned()));
            let body = refusal.body.to_string();
            http::write_whole(stream, refusal.status, &headers, body.as_bytes())?;
            return Ok(KeepAlive::Serve);
        }
        match fault.kind {
            FaultKind::Cut => Ok(KeepAlive::Close),
            FaultKind::Stall => match self.shared.gates.wait(&fault.gate, stream) {
                GateOutcome::Released => self.send_pieces(stream, None).map(|_| KeepAlive::Close),
                GateOutcome::Gone => Ok(KeepAlive::Close),
            },
            _ => self.send_pieces(stream, Some(fault)),
        }
    }

    /// The pieces as they go over the wire, and how many of them are before its middle.
    fn pieces(&self) -> (Vec<String>, usize) {
        let answer = &self.played.answer;
        if self.streaming == StreamFormat::No {
            return split(&self.protocol.whole(answer).to_string());
        }
        let frames = self.protocol.frames(answer, self.body);
        let count = frames.len();
        // In the middle of what is said, so that there is something to be thrown away.
        let partial = frames.iter().position(|frame| frame.partial);
        let middle = partial.map_or(count / 2, |index| index + 1);
        let frames = frames.iter().enumerate();
        let pieces: Vec<String> = frames
            .map(|(index, frame)| match self.streaming {
                StreamFormat::Array => {
                    let before = if index == 0 { "[" } else { "" };
                    let after = if index + 1 == count { "]" } else { ",\n" };
                    format!("{before}{}{after}", frame.data)
                }
                _ => frame.to_wire(),
            })
            .collect();
        if count < 2 {
            return split(&pieces.concat());
        }
        (pieces, middle)
    }

    fn send_pieces(&self, stream: &mut TcpStream, fault: Option<&Fault>) -> io::Result<KeepAlive> {
        let (pieces, middle) = self.pieces();
        let kind = match self.streaming {
            StreamFormat::Events | StreamFormat::AsAsked => "text/event-stream; charset=utf-8",
            StreamFormat::Array | StreamFormat::No => "application/json",
        };
        http::write_start(stream, kind)?;
        let mut next = KeepAlive::Serve;
        for (index, piece) in pieces.iter().enumerate() {
            if let Some(fault) = fault.filter(|_| index == middle) {
                match fault.kind {
                    FaultKind::CutStream => return Ok(KeepAlive::Close),
                    FaultKind::Hold => {
                        if self.shared.gates.wait(&fault.gate, stream) == GateOutcome::Gone {
                            return Ok(KeepAlive::Close);
                        }
                        next = KeepAlive::Close;
                    }
                    FaultKind::BadStream => http::write_piece(stream, self.broken().as_bytes())?,
                    _ => {}
                }
            }
            http::write_piece(stream, piece.as_bytes())?;
        }
        http::write_end(stream)?;
        Ok(next)
    }

    /// A piece that is not JSON.
    fn broken(&self) -> &'static str {
        match (self.streaming, self.protocol) {
            (StreamFormat::Events | StreamFormat::AsAsked, Protocol::Anthropic) => {
                "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"ind\n\n"
            }
            (StreamFormat::Events | StreamFormat::AsAsked, Protocol::Responses) => {
                "event: response.output_text.delta\ndata: {\"type\":\"response.output_te\n\n"
            }
            (StreamFormat::Events | StreamFormat::AsAsked, _) => "data: {\"choices\":[{\"ind\n\n",
            (StreamFormat::Array | StreamFormat::No, _) => "{\"broken\n",
        }
    }
}

/// One piece as two.
fn split(piece: &str) -> (Vec<String>, usize) {
    let halves = crate::answer::halves(piece).into_iter();
    (halves.map(str::to_owned).collect(), 1)
}
