//! One connection from inside: reads its request and refuses it if necessary.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::dial::DialError;
use super::exchange::ExchangeError;
use super::http::{HEAD, ReadError, RequestHead, read_head};
use super::relay::TransferredBytes;
use super::rules::AllowedHost;
use super::server::{StopSignal, TOO_MANY};
use super::stream::StoppableStream;
use super::{EgressLog, EgressRecord, EgressVerdict, NOT_PUBLIC, printable};

/// How long the head of a request may take.
const HURRY: Duration = Duration::from_secs(10);

/// How long, and for how many bytes, a client that was answered may go on sending. Closing the
/// connection earlier would make its system discard the answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGERING: usize = 1024 * 1024;

pub(super) struct SandboxConnection<'a> {
    pub(super) number: u64,
    pub(super) client: TcpStream,
    pub(super) stop: &'a StopSignal,
    /// Whether the maximum number of connections is already being served.
    pub(super) is_over_capacity: bool,
}

/// A request that is answered here instead of being passed on, and the record of it.
#[derive(Debug)]
pub(super) struct RefusedRequest {
    pub(super) status: u16,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) verdict: EgressVerdict,
    pub(super) answer_text: String,
}

impl RefusedRequest {
    /// Refuses a request that is malformed.
    pub(super) fn malformed(asked: &str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self {
            status: 400,
            host: printable(asked),
            port: 0,
            answer_text: format!("codeteam's sandbox did not understand the request: {why}"),
            verdict: EgressVerdict::Denied { why },
        }
    }

    /// Refuses a request that this sandbox is not allowed to make.
    pub(super) fn denied(host: &str, port: u16, why: &str) -> Self {
        let host = printable(host);
        Self {
            status: 403,
            answer_text: format!("codeteam's sandbox refused `{host}:{port}`: {why}"),
            host,
            port,
            verdict: EgressVerdict::Denied {
                why: why.to_owned(),
            },
        }
    }

    /// Reports an allowed request that failed.
    pub(super) fn failed(host: &str, port: u16, why: impl Into<String>) -> Self {
        let (host, why) = (printable(host), why.into());
        Self {
            status: 502,
            answer_text: format!("codeteam's sandbox could not reach `{host}:{port}`: {why}"),
            host,
            port,
            verdict: EgressVerdict::Failed { why },
        }
    }

    pub(super) fn from_dial_error(host: &str, port: u16, why: DialError) -> Self {
        match why {
            DialError::Failed(error) => Self::failed(host, port, error.to_string()),
            DialError::NotPublic(addresses) => {
                // The addresses are not revealed inside.
                Self {
                    verdict: EgressVerdict::Denied {
                        why: format!("{NOT_PUBLIC}: {addresses:?}"),
                    },
                    ..Self::denied(host, port, NOT_PUBLIC)
                }
            }
        }
    }
}

impl SandboxConnection<'_> {
    pub(super) fn stream(&self) -> StoppableStream<'_> {
        StoppableStream::new(&self.client, self.stop)
    }

    /// Reads the head of the request. The body is still to be read.
    pub(super) fn read_request(
        &self,
        reader: &mut BufReader<StoppableStream<'_>>,
    ) -> Result<Option<RequestHead>, RefusedRequest> {
        reader.get_mut().deadline = Some(Instant::now() + HURRY);
        let head = match read_head(reader) {
            Err(ReadError::Nothing) => return Ok(None),
            read => read.map_err(|odd| RefusedRequest::malformed("", odd.to_string()))?,
        };
        reader.get_mut().deadline = None;
        let request = RequestHead::parse(&head).map_err(|odd| {
            let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
            RefusedRequest::malformed(&String::from_utf8_lossy(line), odd.to_string())
        })?;
        if self.is_over_capacity {
            return Err(RefusedRequest {
                status: 503,
                answer_text: format!("codeteam's sandbox is busy: {TOO_MANY}"),
                ..RefusedRequest::denied(&request.target, 0, TOO_MANY)
            });
        }
        Ok(Some(request))
    }

    pub(super) fn reader(&self) -> BufReader<StoppableStream<'_>> {
        BufReader::with_capacity(HEAD, self.stream())
    }

    pub(super) fn record(&self, log: &EgressLog, host: &str, port: u16, verdict: EgressVerdict) {
        log(EgressRecord {
            connection: self.number,
            host: host.to_owned(),
            port,
            verdict,
        });
    }

    pub(super) fn refuse(&self, log: &EgressLog, refused: RefusedRequest) {
        let RefusedRequest {
            status,
            host,
            port,
            verdict,
            answer_text: told,
        } = refused;
        self.record(log, &host, port, verdict);
        self.answer(status, &told);
    }

    /// Ends an exchange with a host, with an answer of our own if the host gave none.
    pub(super) fn finish(
        &self,
        log: &EgressLog,
        host: &AllowedHost,
        moved: TransferredBytes,
        result: Result<(), ExchangeError>,
    ) {
        let (name, port) = (host.host(), host.port());
        let Err(ExchangeError { status, why }) = result else {
            self.record(log, name, port, moved.into());
            return self.hang_up();
        };
        let told = format!("codeteam's sandbox got no answer from `{host}`: {why}");
        self.record(log, name, port, EgressVerdict::Failed { why });
        self.record(log, name, port, moved.into());
        self.answer(status, &told);
    }

    /// Sends an answer and closes the connection.
    fn answer(&self, status: u16, text: &str) {
        let reason = match status {
            400 => "Bad Request",
            403 => "Forbidden",
            426 => "Upgrade Required",
            502 => "Bad Gateway",
            _ => "Service Unavailable",
        };
        let answer = format!(
            "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{text}\n",
            text.len() + 1
        );
        let mut wire = self.stream();
        wire.deadline = Some(Instant::now() + LINGER);
        if wire.write_all(answer.as_bytes()).is_ok() {
            self.hang_up();
        }
    }

    /// Closes a connection after its last answer.
    fn hang_up(&self) {
        let mut wire = self.stream();
        wire.deadline = Some(Instant::now() + LINGER);
        let _ = self.client.shutdown(Shutdown::Write);
        let mut buffer = [0; 4096];
        let mut left = LINGERING;
        while let Ok(count @ 1..) = wire.read(&mut buffer)
            && left > count
        {
            left -= count;
        }
    }
}
