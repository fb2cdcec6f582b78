//! The configuration in a form that may be shown. People paste it into issues, so it contains no
//! secrets.

use codeteam_context::redact::Redactor;
use codeteam_workflow::yaml::{YamlNode, YamlScalar, YamlValue};

/// The placeholder for values in the environment of a server.
const GIVEN: &str = "[redacted: environment]";

/// Returns the tree without its secrets: the environment of MCP servers, and everything that the
/// redactor finds.
#[must_use]
pub fn redact_node(mut node: YamlNode, redactor: &Redactor) -> YamlNode {
    let servers = node.get_mut("mcp_servers").and_then(YamlNode::as_map_mut);
    for (_, server) in servers.into_iter().flatten() {
        let given = server.get_mut("env").and_then(YamlNode::as_map_mut);
        for (_, value) in given.into_iter().flatten() {
            value.value = YamlValue::Scalar(YamlScalar::text(GIVEN));
        }
    }
    conceal("", &mut node, redactor);
    node
}

fn conceal(key: &str, node: &mut YamlNode, redactor: &Redactor) {
    match &mut node.value {
        YamlValue::Map(entries) => {
            for (key, value) in entries {
                conceal(&key.name.clone(), value, redactor);
            }
        }
        YamlValue::List(list) => {
            for item in list {
                conceal(key, item, redactor);
            }
        }
        // Redact the value alone, and together with its key, as in `password: …`.
        YamlValue::Scalar(scalar) if !scalar.text.starts_with("[redacted: ") => {
            let alone = redactor.redact(&scalar.text).text.into_owned();
            let lead = format!("{key}: ");
            let line = format!("{lead}{alone}");
            let line = redactor.redact(&line).text;
            let told = match line.strip_prefix(&lead) {
                Some(rest) => rest.to_owned(),
                None => alone,
            };
            if told != scalar.text {
                *scalar = YamlScalar::text(told);
            }
        }
        YamlValue::Scalar(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use codeteam_workflow::yaml::{OriginComments, SourceFiles, read, write};

    use super::*;

    fn shown(text: &str) -> String {
        let node = read(&mut SourceFiles::default(), "config.yml", text).unwrap();
        let redactor = Redactor::new(["correct-horse-battery".to_owned()]);
        write(&redact_node(node, &redactor), OriginComments::Omitted)
    }

    #[test]
    fn what_servers_are_given_is_not_shown() {
        let text = "mcp_servers:\n  t:\n    command: tickets\n    env: { PROJECT: website }\n";
        let told = shown(text);
        assert!(
            !told.contains("website") && told.contains("command: tickets"),
            "{told}"
        );
        assert!(
            told.contains("PROJECT: \"[redacted: environment]\""),
            "{told}"
        );
    }

    #[test]
    fn secrets_go_and_the_rest_stays_as_it_is() {
        let key = ["gh", "p_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let secret = format!(
            "rules: [ \"use {key}\" ]\nworkers: {{ w: {{ base_url: 'https://me:hunter2hunter@h/' }} }}\nscript: correct-horse-battery\n"
        );
        let told = shown(&secret);
        for hidden in [&key, "hunter2hunter", "correct-horse-battery"] {
            assert!(!told.contains(hidden), "{told}");
        }
        let plain = "workers:\n  w:\n    key: MY_API_KEY\nlimits:\n  max_tokens: 50000\n  max_task_tokens: 1\nmcp_servers: {}\n";
        assert_eq!(shown(plain), plain);
    }
}
