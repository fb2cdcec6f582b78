//! Recognises the purpose of files by their names: documents, standards, interfaces, tests.

use crate::language::Language;

/// The files that `$DOCS` stands for.
pub(super) const DOCS: &[&str] = &[
    "README*",
    "ARCHITECTURE*",
    "DESIGN*",
    "docs/*.md",
    "docs/**/*architecture*",
    "docs/**/*design*",
    "docs/{adr,adrs,ADRs,ADR,decisions,TASKS,tasks,requirements}/**",
    "doc/{adr,adrs,decisions}/**",
    "src/**/README.md",
];

/// The files that `$STANDARDS` stands for.
pub(super) const STANDARDS: &[&str] = &[
    "docs/STANDARDS/**",
    "docs/standards/**",
    "docs/**/*{style,convention,guideline}*",
    "CONTRIBUTING*",
    "docs/CONTRIBUTING*",
    ".github/CONTRIBUTING*",
    "STYLE*",
    ".editorconfig",
];

/// The files that `$INTERFACE_DEFINITIONS` stands for, whatever they contain.
pub(super) const INTERFACES: &[&str] = &[
    "**/*.proto",
    "**/*.graphql",
    "**/*.thrift",
    "**/*.avsc",
    "**/*.wit",
    "**/*.d.ts",
    "**/*.pyi",
    "**/{openapi,swagger}*.{yml,yaml,json}",
    "**/*.openapi.{yml,yaml,json}",
    "**/schema*.{json,sql,prisma}",
    "**/{interfaces,contracts}/**",
    "**/{types,interfaces,protocols}.{py,ts,go,rs,java}",
];

/// The files that `$SECURITY` stands for.
pub(super) const SECURITY: &[&str] = &[
    "**/*{auth,login,session,permission,credential,password,secret,crypt,token,csrf,cors,sanitiz,acl,rbac}*",
    "**/{auth,security,permissions}/**",
    "**/*{settings,config,env}*.{py,js,ts,rs,go,java}",
    "**/.env.example",
    "**/{Cargo.toml,package.json,pyproject.toml,requirements*.txt,go.mod,pom.xml,build.gradle,build.gradle.kts,Pipfile,setup.py,setup.cfg}",
    "**/{Dockerfile,docker-compose*.yml,compose*.yml}",
    ".github/workflows/**",
    "SECURITY*",
];

/// Returns true if a file is a test, by the naming conventions of its language or by its folder.
pub(super) fn is_test(path: &str) -> bool {
    let (folders, _) = path.rsplit_once('/').unwrap_or(("", path));
    let in_folder = folders
        .split('/')
        .any(|part| matches!(part, "test" | "tests" | "__tests__" | "spec" | "testing"));
    in_folder || is_test_by_name(path)
}

/// Returns true if a file is a test by its own name.
pub(super) fn is_test_by_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    name.starts_with("test_")
        || stem.ends_with("_test")
        || stem == "conftest"
        || name.contains(".test.")
        || name.contains(".spec.")
        || stem.ends_with("Test")
        || stem.ends_with("Tests")
}

/// Returns what a test and its source have in common: the subject and the language.
pub(super) fn test_subject(path: &str) -> (String, &str) {
    (file_subject(path), language_name(path))
}

/// Returns the language of a file, as far as its name shows it.
fn language_name(path: &str) -> &str {
    match Language::from_path(path) {
        // JavaScript and TypeScript are tested in each other.
        Some(Language::JavaScript | Language::TypeScript | Language::Tsx) => "script",
        _ => path.rsplit_once('.').map_or("", |(_, end)| end),
    }
}

/// Returns the subject of a file, by its name: `test_auth.py`, `auth.test.ts` and `AuthTest.java`
/// are about `auth`.
fn file_subject(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split('.').next().unwrap_or(name);
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let ends = ["_test", "_tests", "Tests", "Test"];
    let stem = ends
        .iter()
        .find_map(|end| stem.strip_suffix(end))
        .unwrap_or(stem);
    stem.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use codeteam_patterns::FilePatterns;

    #[test]
    fn purposes_are_known_by_names() {
        for patterns in [DOCS, STANDARDS, INTERFACES, SECURITY] {
            FilePatterns::new(patterns).unwrap();
        }
        let security = FilePatterns::new(SECURITY).unwrap();
        assert!(security.matches("src/oauth_client.py") && security.matches("a/Cargo.toml"));
        assert!(!security.matches("src/shapes.py"));
        for path in [
            "tests/a.py",
            "src/a_test.go",
            "src/a.spec.ts",
            "src/ATest.java",
            "test_a.py",
        ] {
            assert!(is_test(path), "{path}");
            assert!(path == "tests/a.py" || file_subject(path) == "a", "{path}");
        }
        for path in ["src/latest.rs", "src/contest.py", "attest/a.go"] {
            assert!(!is_test(path), "{path}");
        }
    }
}
