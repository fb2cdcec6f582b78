//! Extracts the answer from a last message, if the message consists of nothing but an answer.
//!
//! Text that is quoted, described or wrapped in other words is never taken for an answer: a worker
//! that writes "the reviewer would say {…}" has not answered that.

/// Returns the text of the JSON object that a message consists of, fenced or not. Its content is
/// not checked here: core parses it strictly and reports what is wrong with it. If it must be
/// `bare`, the whole message is the answer, for core to refuse.
pub(super) fn find_answer(message: &str, bare: bool) -> Option<&str> {
    let text = message.trim();
    if bare {
        return (!text.is_empty()).then_some(text);
    }
    let text = match text.strip_prefix("```") {
        Some(fenced) => {
            let (language, rest) = fenced.split_once('\n')?;
            if !matches!(language.trim(), "" | "json" | "JSON") {
                return None;
            }
            let inner = rest.trim_end().strip_suffix("```")?.trim();
            // Two fences with words in between are not one answer.
            if inner
                .lines()
                .any(|line| line.trim_start().starts_with("```"))
            {
                return None;
            }
            inner
        }
        None => text,
    };
    (text.starts_with('{') && text.ends_with('}')).then_some(text)
}

#[cfg(test)]
mod tests {
    fn of(message: &str) -> Option<&str> {
        super::find_answer(message, false)
    }

    #[test]
    fn where_only_an_answer_may_be_said_all_of_it_is_one() {
        for said in ["{}", "```json\n{}\n```", "Here it is: {}"] {
            assert_eq!(super::find_answer(&format!("\n{said}\n"), true), Some(said));
        }
        assert_eq!(super::find_answer(" \n", true), None);
    }

    #[test]
    fn only_a_message_that_is_one_object_is_an_answer() {
        let json = r#"{"verdict":"approve","reason":"fine"}"#;
        assert_eq!(of(json), Some(json));
        assert_eq!(of(&format!("\n  {json}\n")), Some(json));
        assert_eq!(of(&format!("```json\n{json}\n```")), Some(json));
        assert_eq!(of(&format!("```\n{json}\n```\n")), Some(json));
        let quoted = [
            format!("Here it is: {json}"),
            format!("{json} That is all."),
            format!("> {json}"),
            format!("\"{json}\""),
            format!("The reviewer said:\n```json\n{json}\n```"),
            format!("```json\n{json}\n```\nbut I do not agree"),
            format!("```json\n{json}\n```\nand\n```json\n{json}\n```"),
            format!("```sh\n{json}\n```"),
            format!("[{json}]"),
            "APPROVED".to_owned(),
            String::new(),
            "```".to_owned(),
        ];
        for message in quoted {
            assert_eq!(of(&message), None, "{message}");
        }
        // Two values in one message: core says what is wrong with it.
        let twice = format!("{json}\n{json}");
        assert_eq!(of(&twice), Some(twice.as_str()));
    }
}
