//! The bodies of messages, as each service wants them.

use serde_json::{Value, json};

use super::{ChannelKind, Notification, NotificationKind};

/// Returns the JSON body of a notification for a kind of channel.
pub(super) fn body(kind: ChannelKind, notification: &Notification) -> Value {
    match kind {
        ChannelKind::Slack => slack(notification),
        ChannelKind::Discord => discord(notification),
        ChannelKind::Webhook
        | ChannelKind::Ntfy
        | ChannelKind::Terminal
        | ChannelKind::Desktop
        | ChannelKind::Command => json!({
            "type": format!("codeteam.{}", type_name(notification.kind)),
            "timestamp": notification.at,
            "data": notification,
        }),
    }
}

fn type_name(kind: NotificationKind) -> &'static str {
    match kind {
        NotificationKind::NeedsYou => "needs_you",
        NotificationKind::Failed => "failed",
        NotificationKind::Limit => "limit",
        NotificationKind::Done => "done",
    }
}

fn slack(notification: &Notification) -> Value {
    let Notification {
        title, text, run, ..
    } = notification;
    let commands = notification.commands();
    // Slack takes `<…>` for links and mentions.
    let plain = |text: &str| {
        let text = text.replace('&', "&amp;").replace('<', "&lt;");
        text.replace('>', "&gt;")
    };
    json!({
        "text": plain(title),
        "blocks": [
            { "type": "section", "text": { "type": "plain_text", "text": cut(title, 2_900) } },
            { "type": "section", "text": { "type": "plain_text", "text": cut(text, 2_900) } },
            { "type": "context", "elements": [
                { "type": "plain_text", "text": cut(&format!("{run}\n{commands}"), 2_900) },
            ] },
        ],
    })
}

fn discord(notification: &Notification) -> Value {
    let Notification { title, text, .. } = notification;
    let commands = notification.commands();
    json!({
        "content": cut(title, 1_900),
        "embeds": [{ "description": cut(text, 3_900), "footer": { "text": cut(&commands, 1_900) } }],
        // Nothing in a message may call everybody.
        "allowed_mentions": { "parse": [] },
    })
}

/// Returns the headers and the text of a message for ntfy.
pub(super) fn ntfy(notification: &Notification) -> (Vec<(&'static str, String)>, String) {
    let priority = match (notification.kind, notification.risk) {
        (_, Some("critical")) => 5,
        (NotificationKind::NeedsYou | NotificationKind::Failed, _) => 4,
        (NotificationKind::Limit, _) => 3,
        (NotificationKind::Done, _) => 2,
    };
    let headers = vec![
        ("title", ascii_line(&notification.title)),
        ("priority", priority.to_string()),
        ("tags", type_name(notification.kind).to_owned()),
    ];
    let text = format!("{}\n{}", notification.text, notification.commands());
    (headers, cut(text.trim(), 3_900))
}

/// Returns a text as a header may have it.
fn ascii_line(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if (' '..='~').contains(&c) { c } else { ' ' })
        .collect();
    cut(text.trim(), 200)
}

/// Shortens a text to a number of characters.
fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        // Services refuse empty texts.
        None if text.is_empty() => "-".to_owned(),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notification() -> Notification {
        Notification {
            id: "r1/7".to_owned(),
            kind: NotificationKind::NeedsYou,
            at: 5,
            project: "/p".to_owned(),
            run: "r1".to_owned(),
            goal: "Pay".to_owned(),
            title: "Approve <!channel>?\nä".to_owned(),
            text: String::new(),
            risk: Some("critical"),
            command: "codeteam show r1".to_owned(),
            answers: vec!["codeteam approve r1".to_owned()],
        }
    }

    #[test]
    fn a_title_calls_nobody_and_is_one_header() {
        let told = body(ChannelKind::Slack, &notification());
        assert_eq!(told["text"], "Approve &lt;!channel&gt;?\nä");
        assert_eq!(told["blocks"][1]["text"]["text"], "-");
        let told = body(ChannelKind::Discord, &notification());
        assert_eq!(told["allowed_mentions"]["parse"], json!([]));
        let (headers, text) = ntfy(&notification());
        assert_eq!(headers[0], ("title", "Approve <!channel>?".to_owned()));
        assert_eq!(headers[1], ("priority", "5".to_owned()));
        assert_eq!(text, "codeteam approve r1\ncodeteam show r1");
    }

    #[test]
    fn a_webhook_gets_everything_as_data() {
        let told = body(ChannelKind::Webhook, &notification());
        assert_eq!(told["type"], "codeteam.needs_you");
        assert_eq!(told["data"]["risk"], "critical");
        assert_eq!(told["data"]["run"], "r1");
        assert_eq!(told["data"]["goal"], "Pay");
        assert_eq!(told["data"]["answers"], json!(["codeteam approve r1"]));
    }
}
