//! One connection: requests in, answers or faults out.

use std::io::{self, BufReader};
use std::net::TcpStream;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::ServerShared;
use crate::capture::{RecordedRequest, mask_header, mask_target};
use crate::fault::{Fault, FaultKind};
use crate::gates::GateOutcome;
use crate::http::{self, HttpRequest};
use crate::model_protocol::Protocol;
use crate::model_request::{AssignmentMarks, ModelRequest};
use crate::protocol;
use crate::scenario_player::PlayedTurn;

/// Whether the connection serves more requests after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeepAlive {
    Serve,
    Close,
}

/// The purpose of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RequestRoute {
    /// An answer of a model. Gemini has the model and the streaming in the path.
    Model(Protocol, String, StreamFormat),
    /// The number of tokens of a prompt.
    Count(Protocol),
    /// The list of models.
    Models(Protocol),
    /// The list of Amazon's models beyond the usual ones.
    Profiles,
    /// A stream in Amazon's own framing, which there is none of: claude asks again without it.
    Framed,
    /// A web socket, which there is none of.
    Socket,
    /// A check that the server is there.
    Hello,
    /// Nothing that is known.
    Unknown,
}

/// The form in which the pieces of an answer are sent.
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
    while let Some(received) = http::read_request(&mut reader)? {
        if answer_request(shared, &mut stream, &received)? == KeepAlive::Close {
            break;
        }
    }
    Ok(())
}

fn route_request(received: &HttpRequest) -> RequestRoute {
    let path = received.path();
    let upgrade = received.header("upgrade").is_some();
    let last = path.rsplit('/').next().unwrap_or_default();
    match received.method.as_str() {
        _ if upgrade => RequestRoute::Socket,
        "POST" if path.ends_with("/messages/count_tokens") => {
            RequestRoute::Count(Protocol::Anthropic)
        }
        "POST" if path.ends_with("/messages") => model_route(Protocol::Anthropic),
        "POST" if path.ends_with("/responses") => model_route(Protocol::Responses),
        "POST" if path.ends_with("/chat/completions") => model_route(Protocol::Chat),
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
            Some((model, "generateContent")) => gemini_route(model, StreamFormat::No),
            Some((model, "streamGenerateContent")) if received.query_has("alt=sse") => {
                gemini_route(model, StreamFormat::Events)
            }
            Some((model, "streamGenerateContent")) => gemini_route(model, StreamFormat::Array),
            Some((_, "countTokens")) => RequestRoute::Count(Protocol::Gemini),
            _ => RequestRoute::Unknown,
        },
        "GET" if last == "inference-profiles" => RequestRoute::Profiles,
        "GET" if last == "models" => RequestRoute::Models(listing_protocol(received)),
        "GET" | "HEAD" if path.is_empty() => RequestRoute::Hello,
        _ => RequestRoute::Unknown,
    }
}

fn model_route(protocol: Protocol) -> RequestRoute {
    RequestRoute::Model(protocol, String::new(), StreamFormat::AsAsked)
}

fn gemini_route(model: &str, streaming: StreamFormat) -> RequestRoute {
    RequestRoute::Model(Protocol::Gemini, model.to_owned(), streaming)
}

/// Returns the protocol of a request for the list of models: all have the same path, so the headers
/// decide.
fn listing_protocol(received: &HttpRequest) -> Protocol {
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

fn answer_request(
    shared: &ServerShared,
    stream: &mut TcpStream,
    received: &HttpRequest,
) -> io::Result<KeepAlive> {
    let body: Value = serde_json::from_slice(&received.body).unwrap_or(Value::Null);
    let mut request = new_record(shared, received, &body);
    match route_request(received) {
        RequestRoute::Model(protocol, model, streaming) => {
            request.protocol = Some(protocol);
            if !body.is_object() {
                return reject_unreadable(shared, stream, received, request);
            }
            let gemini_streams = matches!(streaming, StreamFormat::Events | StreamFormat::Array);
            let asked = protocol.read_request(&body, &model, gemini_streams);
            let streaming = match (streaming, asked.stream) {
                (StreamFormat::AsAsked, true) => StreamFormat::Events,
                (StreamFormat::AsAsked, false) => StreamFormat::No,
                (said, _) => said,
            };
            let played = play_and_record(shared, request, &asked);
            std::thread::sleep(shared.thinking_time);
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
            record_request(shared, request);
            // Four characters to a token, as everybody reckons.
            let tokens = received.body.len() / 4;
            write_json(
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
            record_request(shared, request);
            write_json(stream, 200, &protocol::model_list(protocol))
        }
        RequestRoute::Profiles => {
            record_request(shared, request);
            write_json(stream, 200, &json!({"inferenceProfileSummaries": []}))
        }
        RequestRoute::Framed => {
            record_request(shared, request);
            write_json(
                stream,
                404,
                &json!({"message": "there are no such streams here"}),
            )
        }
        RequestRoute::Socket => {
            record_request(shared, request);
            write_json(
                stream,
                426,
                &json!({"error": {"message": "there are no web sockets here"}}),
            )
        }
        RequestRoute::Hello if received.method == "HEAD" => {
            record_request(shared, request);
            http::write_response(stream, 200, &[], b"")?;
            Ok(KeepAlive::Serve)
        }
        RequestRoute::Hello => {
            record_request(shared, request);
            write_json(stream, 200, &json!({"server": "codeteam-models"}))
        }
        RequestRoute::Unknown => {
            let what = format!(
                "`{} {}` is nothing the scripted model server knows",
                received.method, request.path
            );
            request.problem = Some(what.clone());
            record_request(shared, request);
            write_json(stream, 404, &json!({"error": {"message": what}}))
        }
    }
}

fn new_record(shared: &ServerShared, received: &HttpRequest, body: &Value) -> RecordedRequest {
    let headers = received.headers.iter();
    RecordedRequest {
        order: 0,
        at_ms: u64::try_from(shared.started.elapsed().as_millis()).unwrap_or(u64::MAX),
        method: received.method.clone(),
        path: mask_target(&received.target),
        headers: headers
            .map(|(name, value)| (name.clone(), mask_header(name, value)))
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

fn record_request(shared: &ServerShared, request: RecordedRequest) {
    shared.store_request(&mut shared.state(), request);
}

/// Plays and keeps in one go, so that the order of the records is the order of the plays.
fn play_and_record(
    shared: &ServerShared,
    mut request: RecordedRequest,
    asked: &ModelRequest,
) -> PlayedTurn {
    let mut state = shared.state();
    let played = state.playing.answer(asked);
    request.marks = asked.marks();
    request.asked = Some(asked.clone());
    request.play.clone_from(&played.play);
    request.turn = played.turn;
    request.fault = played.fault.as_ref().map(|fault| fault.kind);
    request.problem.clone_from(&played.problem);
    shared.store_request(&mut state, request);
    played
}

fn reject_unreadable(
    shared: &ServerShared,
    stream: &mut TcpStream,
    received: &HttpRequest,
    mut request: RecordedRequest,
) -> io::Result<KeepAlive> {
    let encoding = received.header("content-encoding").unwrap_or("none");
    let what = format!("the body is no JSON object (content-encoding: {encoding})");
    request.problem = Some(what.clone());
    record_request(shared, request);
    write_json(stream, 400, &json!({"error": {"message": what}}))
}

fn write_json(stream: &mut TcpStream, status: u16, body: &Value) -> io::Result<KeepAlive> {
    let kind = ("content-type", "application/json".to_owned());
    http::write_response(stream, status, &[kind], body.to_string().as_bytes())?;
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
        if let Some(refusal) = fault.error_response(self.protocol, model, now) {
            let mut headers = refusal.headers;
            headers.push(("content-type", "application/json".to_owned()));
            let body = refusal.body.to_string();
            http::write_response(stream, refusal.status, &headers, body.as_bytes())?;
            return Ok(KeepAlive::Serve);
        }
        match fault.kind {
            FaultKind::Cut => Ok(KeepAlive::Close),
            FaultKind::Stall => match self.shared.gates.wait_at(&fault.gate, stream) {
                GateOutcome::Released => self.send_pieces(stream, None).map(|_| KeepAlive::Close),
                GateOutcome::Gone => Ok(KeepAlive::Close),
            },
            _ => self.send_pieces(stream, Some(fault)),
        }
    }

    /// The pieces as they go over the wire, and how many of them are before its middle.
    fn stream_pieces(&self) -> (Vec<String>, usize) {
        let answer = &self.played.answer;
        if self.streaming == StreamFormat::No {
            return split_piece(&self.protocol.write_answer(answer).to_string());
        }
        let frames = self.protocol.stream_answer(answer, self.body);
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
            return split_piece(&pieces.concat());
        }
        (pieces, middle)
    }

    fn send_pieces(&self, stream: &mut TcpStream, fault: Option<&Fault>) -> io::Result<KeepAlive> {
        let (pieces, middle) = self.stream_pieces();
        let kind = match self.streaming {
            StreamFormat::Events | StreamFormat::AsAsked => "text/event-stream; charset=utf-8",
            StreamFormat::Array | StreamFormat::No => "application/json",
        };
        http::start_chunked(stream, kind)?;
        let mut next = KeepAlive::Serve;
        for (index, piece) in pieces.iter().enumerate() {
            if let Some(fault) = fault.filter(|_| index == middle) {
                match fault.kind {
                    FaultKind::CutStream => return Ok(KeepAlive::Close),
                    FaultKind::Hold => {
                        if self.shared.gates.wait_at(&fault.gate, stream) == GateOutcome::Gone {
                            return Ok(KeepAlive::Close);
                        }
                        next = KeepAlive::Close;
                    }
                    FaultKind::BadStream => {
                        http::write_chunk(stream, self.broken_piece().as_bytes())?;
                    }
                    _ => {}
                }
            }
            http::write_chunk(stream, piece.as_bytes())?;
        }
        http::end_chunked(stream)?;
        Ok(next)
    }

    /// A piece that is not JSON.
    fn broken_piece(&self) -> &'static str {
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
fn split_piece(piece: &str) -> (Vec<String>, usize) {
    let halves = crate::answer::split_in_half(piece).into_iter();
    (halves.map(str::to_owned).collect(), 1)
}
