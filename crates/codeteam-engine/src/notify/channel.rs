//! Sends a notification by one channel.

use std::fs::OpenOptions;
use std::io::Write as _;

use codeteam_core::untrusted_text::one_line;
use codeteam_host::process::pipe_to_program;

use super::{ChannelConfig, ChannelKind, Notification, body, http, signature};
use crate::env::Env;

/// The terminal of this process.
const TERMINAL: &str = "/dev/tty";

/// Sends a notification; returns why it was not delivered, in words without secrets.
pub(super) fn send(
    config: &ChannelConfig,
    env: &Env,
    notification: &Notification,
) -> Result<(), String> {
    match config.kind {
        ChannelKind::Terminal => ring_terminal(env, notification),
        ChannelKind::Desktop => show_on_desktop(env, notification),
        ChannelKind::Command => {
            let json = body::body(config.kind, notification).to_string();
            let Some((program, args)) = config.command.split_first() else {
                return Err("it has no command".to_owned());
            };
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            run(env, program, &args, json.as_bytes())
        }
        ChannelKind::Webhook | ChannelKind::Slack | ChannelKind::Discord | ChannelKind::Ntfy => {
            post(config, env, notification)
        }
    }
}

fn post(config: &ChannelConfig, env: &Env, notification: &Notification) -> Result<(), String> {
    let url = match (&config.url, &config.url_env) {
        (Some(url), _) => url.clone(),
        (None, Some(name)) => from_env(env, name)?,
        (None, None) => return Err("it has no URL".to_owned()),
    };
    let secret = config.secret_env.as_ref();
    let secret = secret.map(|name| from_env(env, name)).transpose()?;
    let json = |headers: Vec<(&'static str, String)>, body: &str| {
        let mut all = vec![("content-type", "application/json".to_owned())];
        all.extend(headers);
        http::post(&url, &all, body)
    };
    match config.kind {
        ChannelKind::Ntfy => {
            let (mut headers, text) = body::ntfy(notification);
            headers.extend(secret.map(|token| ("authorization", format!("Bearer {token}"))));
            http::post(&url, &headers, &text)
        }
        ChannelKind::Webhook => {
            let text = body::body(config.kind, notification).to_string();
            let seconds = crate::clock::now().0 / 1_000;
            let secret = secret.unwrap_or_default();
            let signed = signature::sign(&secret, &notification.id, seconds, &text)?;
            let headers = vec![
                ("webhook-id", notification.id.clone()),
                ("webhook-timestamp", seconds.to_string()),
                ("webhook-signature", signed),
            ];
            json(headers, &text)
        }
        _ => json(
            Vec::new(),
            &body::body(config.kind, notification).to_string(),
        ),
    }
}

fn from_env(env: &Env, name: &str) -> Result<String, String> {
    let value = env.variable(name);
    value.ok_or_else(|| format!("the environment variable `{name}` is not set"))
}

/// Rings the bell of the terminal and shows the title, by the two sequences that terminals know for
/// it.
fn ring_terminal(env: &Env, notification: &Notification) -> Result<(), String> {
    let mut terminal = OpenOptions::new()
        .write(true)
        .open(TERMINAL)
        .map_err(|_| "this process has no terminal".to_owned())?;
    let is_in_tmux = env.variable("TMUX").is_some();
    let sequence = terminal_sequence(&terminal_text(&notification.title), is_in_tmux);
    // In one piece: a screen may be drawn on the same terminal.
    let written = terminal.write_all(sequence.as_bytes());
    written.map_err(|error| error.to_string())
}

/// Returns the bell and the message. Tmux hands the message to the terminal around it only if it is
/// wrapped, and if `allow-passthrough` is on; the bell comes through in any case.
fn terminal_sequence(title: &str, is_in_tmux: bool) -> String {
    let message = format!("\x1b]9;{title}\x07\x1b]777;notify;codeteam;{title}\x07");
    if is_in_tmux {
        let doubled = message.replace('\x1b', "\x1b\x1b");
        format!("\x07\x1bPtmux;{doubled}\x1b\\")
    } else {
        format!("\x07{message}")
    }
}

/// Returns a title that ends no sequence and starts none.
fn terminal_text(title: &str) -> String {
    let line = one_line(title);
    line.chars()
        .filter(|c| !c.is_control() && *c != ';')
        .take(200)
        .collect()
}

fn show_on_desktop(env: &Env, notification: &Notification) -> Result<(), String> {
    let (title, text) = (one_line(&notification.title), one_line(&notification.text));
    let urgent = notification.risk == Some("critical");
    let urgency = if urgent { "critical" } else { "normal" };
    let plain = escape_markup(&text);
    let linux = [
        "--app-name=codeteam",
        "--urgency",
        urgency,
        "--",
        &title,
        &plain,
    ];
    if run(env, "notify-send", &linux, b"").is_ok() {
        return Ok(());
    }
    // The texts are arguments, and not part of the script.
    let script =
        "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run";
    run(env, "osascript", &["-e", script, "--", &title, &text], b"")
        .map_err(|_| "neither `notify-send` nor `osascript` showed it".to_owned())
}

/// Returns a text that desktops show as it is: they read links and pictures out of the text below the
/// title.
fn escape_markup(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}

fn run(env: &Env, program: &str, args: &[&str], input: &[u8]) -> Result<(), String> {
    match pipe_to_program(&env.path, program, args, input) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("`{program}` was not found, or failed")),
        Err(error) => Err(format!("`{program}`: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tmux_gets_the_message_wrapped() {
        let plain = "\x07\x1b]9;hi\x07\x1b]777;notify;codeteam;hi\x07";
        assert_eq!(terminal_sequence("hi", false), plain);
        assert_eq!(
            terminal_sequence("hi", true),
            "\x07\x1bPtmux;\x1b\x1b]9;hi\x07\x1b\x1b]777;notify;codeteam;hi\x07\x1b\\"
        );
    }

    #[test]
    fn a_text_has_no_link_on_the_desktop() {
        let told = escape_markup("task: <a href=\"http://evil\">approve</a> & go");
        assert!(!told.contains(['<', '>']), "{told}");
        assert!(told.ends_with("&lt;/a&gt; &amp; go"), "{told}");
    }

    #[test]
    fn a_title_is_no_terminal_sequence() {
        let title = "a\x07\x1b]52;c;evil\x07 b;c\n d";
        let told = terminal_text(title);
        assert!(!told.contains(['\x07', '\x1b', ';', '\n']), "{told:?}");
    }
}
