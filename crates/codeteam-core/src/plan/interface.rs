//! Interfaces of a phase: what its components rely on, in the project's own notation.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What several components rely on. It is settled before work on them starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Its name, unique in its phase.
    pub name: String,
    /// What it is written in: `typescript`, `python`, `rust`, `go`, `java`, `openapi`,
    /// `json_schema`, `protobuf`, `sql` or `text`.
    #[serde(rename = "type", default, skip_serializing_if = "String::is_empty")]
    pub notation: String,
    /// The file that it belongs into, relative to the project. Without one, its name and notation
    /// choose the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// All of it, in that notation.
    pub definition: String,
}

impl Interface {
    /// Reads an interface out of a design. Designs may also describe interfaces in free form; that
    /// is not one that belongs into a file.
    pub fn from_design(value: &Value) -> Option<Self> {
        serde_json::from_value(value.clone()).ok()
    }

    /// Returns the file that it belongs into.
    pub fn path(&self) -> String {
        if let Some(file) = &self.file {
            return file.clone();
        }
        let name = self.name.as_str();
        let notation = self.notation.to_lowercase();
        let family = notation.split(['_', ' ', '-', '.']).next().unwrap_or("");
        match family {
            "typescript" | "ts" | "d" => format!("types/{name}.d.ts"),
            "python" | "pyi" | "protocol" => format!("interfaces/{name}.pyi"),
            "rust" => format!("interfaces/{name}.rs"),
            "go" => format!("interfaces/{name}.go"),
            "java" => format!("interfaces/{name}.java"),
            "openapi" => format!("api/{name}.yaml"),
            "json" | "jsonschema" => format!("schemas/{name}.schema.json"),
            "protobuf" | "proto" => format!("proto/{name}.proto"),
            "sql" => format!("sql/{name}.sql"),
            _ => format!("interfaces/{name}.md"),
        }
    }

    /// Returns the content of its file: the definition, ending with one line break.
    pub fn content(&self) -> String {
        format!("{}\n", self.definition.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_chosen_by_name_and_notation_unless_the_designer_names_one() {
        let interface = |notation: &str, file: Option<&str>| Interface {
            name: "User".to_owned(),
            notation: notation.to_owned(),
            file: file.map(str::to_owned),
            definition: "interface User {}\n\n".to_owned(),
        };
        let path = |notation: &str| interface(notation, None).path();
        assert_eq!(path("typescript_interface"), "types/User.d.ts");
        assert_eq!(path("Python protocol"), "interfaces/User.pyi");
        assert_eq!(path("openapi"), "api/User.yaml");
        assert_eq!(path("json_schema"), "schemas/User.schema.json");
        assert_eq!(path("prose"), "interfaces/User.md");
        assert_eq!(
            interface("sql", Some("db/users.sql")).path(),
            "db/users.sql"
        );
        assert_eq!(interface("sql", None).content(), "interface User {}\n");
    }
}
