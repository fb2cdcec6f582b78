//! Which sets of paths the built-in configuration finds in projects of the languages that
//! `codeteam init` knows.

use codeteam_verify::proof::TestPatterns;
use codeteam_verify::risk::{NamedPathSets, read_risk_facts};
use codeteam_verify::{ChangeSet, FileVersion};

use codeteam_workflow::yaml::{self, SourceFiles};
use std::collections::BTreeMap;

/// Paths, with the sets that each of them is in.
const PATHS: &[(&str, &[&str])] = &[
    // Rust.
    ("src/auth.rs", &["auth"]),
    ("crates/api/src/lib.rs", &["public_interface"]),
    ("src/tls.rs", &["encryption"]),
    ("Cargo.lock", &["dependencies"]),
    ("src/author.rs", &[]),
    ("src/parser.rs", &[]),
    // Python.
    ("shop/o_auth_client.py", &["auth"]),
    ("shop/settings/production.py", &["production_config"]),
    ("shop/__init__.py", &["public_interface"]),
    ("shop/migrations/0001_initial.py", &["migrations"]),
    ("requirements/dev.txt", &["dependencies"]),
    ("blog/authors.py", &[]),
    ("blog/signing_off.py", &[]),
    // JavaScript and TypeScript.
    ("web/LoginForm.tsx", &["auth"]),
    ("web/useAuth.ts", &["auth"]),
    ("web/SignInButton.tsx", &["auth"]),
    ("src/StripeCheckout.ts", &["payment"]),
    ("types/index.d.ts", &["public_interface"]),
    ("src/index.ts", &["public_interface"]),
    ("config/production.json", &["production_config"]),
    ("config/product.json", &[]),
    (".ENV.local", &["production_config"]),
    // Go.
    ("internal/authz/policy.go", &["auth"]),
    ("pkg/store/store.go", &["public_interface"]),
    ("internal/store/store.go", &[]),
    ("go.sum", &["dependencies"]),
    // Java.
    ("src/main/java/AuthController.java", &["auth"]),
    ("src/main/java/AuthOptions.java", &["auth"]),
    ("src/main/java/AuthorizationFilter.java", &["auth"]),
    ("src/main/java/AuthorRepository.java", &[]),
    ("src/main/java/UserSession.java", &["auth"]),
    ("src/main/java/PaymentService.java", &["payment"]),
    ("src/main/java/AesCipher.java", &["encryption"]),
    ("src/main/java/ApiKeyFilter.java", &["keys"]),
    (
        "src/main/resources/application-prod.properties",
        &["production_config"],
    ),
    (
        "src/main/resources/db/migration/V1__init.xml",
        &["migrations"],
    ),
    ("src/main/java/module-info.java", &["public_interface"]),
    ("build.gradle.kts", &["dependencies"]),
    // Any of them.
    ("deploy/Dockerfile", &["production_config"]),
    (".github/workflows/test.yml", &["ci"]),
    ("certs/server.PEM", &["keys"]),
    ("README.md", &[]),
];

#[test]
fn the_built_in_sets_know_the_names_of_every_language() {
    let mut sources = SourceFiles::default();
    let built_in = yaml::read(&mut sources, "", crate::built_in::config()).unwrap();
    let sets = built_in.get("risk").unwrap().get("paths").unwrap();
    let sets: BTreeMap<String, Vec<String>> = yaml::deserialize_node(sets).unwrap();
    let sets = NamedPathSets::new(&sets);
    for (path, expected) in PATHS {
        let text = FileVersion::from_bytes(Some(b"x\n"));
        let change = ChangeSet::new([((*path).to_owned(), FileVersion::Absent, text)], b"");
        let facts = read_risk_facts(&change, &sets, &TestPatterns::new(&[]));
        let found: Vec<&str> = facts.paths.iter().map(|found| found.set.as_str()).collect();
        assert_eq!(found, *expected, "{path}");
    }
}
