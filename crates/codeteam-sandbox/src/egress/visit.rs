//! One connection from inside: its request, and how it is refused.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::dial::NotDialled;
use super::exchange::NoAnswer;
use super::http::{HEAD, Odd, Request, read_head};
use super::relay::Moved;
use super::rules::Allowed;
use super::server::{Stop, TOO_MANY};
use super::wire::Wire;
use super::{Log, NOT_PUBLIC, Record, Verdict, printable};

/// How long the head of a request may take.
const HURRY: Duration = Duration::from_secs(10);

/// How long, and for how many bytes, one that was answered may go on sending.
/// Hanging up on it would make its system forget the answer.
const LINGER: Duration = Duration::from_secs(2);
const LINGERING: usize = 1024 * 1024;

pub(super) struct Visit<'a> {
    pub(super) number: u64,
    pub(super) client: TcpStream,
    pub(super) stop: &'a Stop,
    /// There are as many others as can be served.
    pub(super) is_crowded: bool,
}

/// Why somebody inside gets an answer of ours, and what is recorded of it.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) status: u16,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) verdict: Verdict,
    pub(super) told: String,
}

impl Refused {
    /// Something that is not done for anybody.
    pub(super) fn odd(asked: &str, why: impl Into<String>) -> Self {
        let why = why.into();
        Self {
            status: 400,
            host: printable(asked),
            port: 0,
            told: format!("codeteam's sandbox did not understand the request: {why}"),
            verdict: Verdict::Denied { why },
        }
    }

    /// Something that this sandbox may not do.
    pub(super) fn denied(host: &str, port: u16, why: &str) -> Self {
        let host = printable(host);
        Self {
            status: 403,
            told: format!("codeteam's sandbox refused `{host}:{port}`: {why}"),
            host,
            port,
            verdict: Verdict::Denied {
                why: why.to_owned(),
            },
        }
    }

    /// Something that it may, but that did not come about.
    pub(super) fn failed(host: &str, port: u16, why: impl Into<String>) -> Self {
        let (host, why) = (printable(host), why.into());
        Self {
            status: 502,
            told: format!("codeteam's sandbox could not reach `{host}:{port}`: {why}"),
            host,
            port,
            verdict: Verdict::Failed { why },
        }
    }

    pub(super) fn not_dialled(host: &str, port: u16, why: NotDialled) -> Self {
        match why {
            NotDialled::Failed(error) => Self::failed(host, port, error.to_string()),
            NotDialled::NotPublic(addresses) => {
                // Which ones is nobody's business inside.
                Self {
                    verdict: Verdict::Denied {
                        why: format!("{NOT_PUBLIC}: {addresses:?}"),
                    },
                    ..Self::denied(host, port, NOT_PUBLIC)
                }
            }
        }
    }
}

impl Visit<'_> {
    pub(super) fn wire(&self) -> Wire<'_> {
        Wire::new(&self.client, self.stop)
    }

    /// Reads the request. What follows its head is still to be read.
    pub(super) fn request(
        &self,
        reader: &mut BufReader<Wire<'_>>,
    ) -> Result<Option<Request>, Refused> {
        reader.get_mut().deadline = Some(Instant::now() + HURRY);
        let head = match read_head(reader) {
            Err(Odd::Nothing) => return Ok(None),
            read => read.map_err(|odd| Refused::odd("", odd.to_string()))?,
        };
        reader.get_mut().deadline = None;
        let request = Request::parse(&head).map_err(|odd| {
            let line = head.split(|&byte| byte == b'\r').next().unwrap_or_default();
            Refused::odd(&String::from_utf8_lossy(line), odd.to_string())
        })?;
        if self.is_crowded {
            return Err(Refused {
                status: 503,
                told: format!("codeteam's sandbox is busy: {TOO_MANY}"),
                ..Refused::denied(&request.target, 0, TOO_MANY)
            });
        }
        Ok(Some(request))
    }

    pub(super) fn reader(&self) -> BufReader<Wire<'_>> {
        BufReader::with_capacity(HEAD, self.wire())
    }

    pub(super) fn record(&self, log: &Log, host: &str, port: u16, verdict: Verdict) {
        log(Record {
            connection: self.number,
            host: host.to_owned(),
            port,
            verdict,
        });
    }

    pub(super) fn refuse(&self, log: &Log, refused: Refused) {
        let Refused {
            status,
            host,
            port,
            verdict,
            told,
        } = refused;
        self.record(log, &host, port, verdict);
        self.answer(status, &told);
    }

    /// Ends an exchange with a host, by an answer of ours if it gave none.
    pub(super) fn finish(
        &self,
        log: &Log,
        host: &Allowed,
        moved: Moved,
        result: Result<(), NoAnswer>,
    ) {
        let (name, port) = (host.host(), host.port());
        let Err(NoAnswer { status, why }) = result else {
            self.record(log, name, port, moved.into());
            return self.hang_up();
        };
        let told = format!("codeteam's sandbox got no answer from `{host}`: {why}");
        self.record(log, name, port, Verdict::Failed { why });
        self.record(log, name, port, moved.into());
        self.answer(status, &told);
    }

    /// Answers and hangs up.
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
        let mut wire = self.wire();
        wire.deadline = Some(Instant::now() + LINGER);
        if wire.write_all(answer.as_bytes()).is_ok() {
            self.hang_up();
        }
    }

    /// Ends a connection on which the last answer was given.
    fn hang_up(&self) {
        let mut wire = self.wire();
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
