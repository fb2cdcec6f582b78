//! Manifests as people write them.

use std::collections::BTreeSet;

use super::*;

#[test]
fn go_modules() {
    let module = parse_go_mod(
        "// Ours.\nmodule \"example.org/shop\" // here\n\nrequire github.com/a/b v1.0.0\nrequire (\n\tgithub.com/c/d v1 // indirect\n\n\tgithub.com/e/f/v2 v2.1\n)\nreplace github.com/c/d v1 => ../d\nreplace (\n\tgithub.com/e/f/v2 => ./f\n\tgithub.com/g/h => github.com/i/j v1\n)\n",
    );
    assert_eq!(module.name, "example.org/shop");
    let required = ["github.com/a/b", "github.com/c/d", "github.com/e/f/v2"];
    assert_eq!(module.required, required);
    let replaced = [("github.com/c/d", "../d"), ("github.com/e/f/v2", "./f")];
    let replaced = replaced.map(|(name, to)| (name.to_owned(), to.to_owned()));
    assert_eq!(module.replaced, replaced);
}

#[test]
fn crates() {
    let found = parse_cargo_toml(
        r#"
        [package]
        name = "shop-core"
        [lib]
        name = "shop"
        path = "source/lib.rs"
        [[bin]]
        name = "tool"
        path = "tools/tool.rs"
        [[bin]]
        name = "plain"
        [dependencies]
        serde-json = "1"
        [target.'cfg(unix)'.dev-dependencies]
        os = { package = "nix-real", version = "1" }
        "#,
    )
    .unwrap();
    assert_eq!(found.name.as_deref(), Some("shop_core"));
    assert_eq!(found.library.as_deref(), Some("shop"));
    assert_eq!(found.library_path.as_deref(), Some("source/lib.rs"));
    assert_eq!(found.roots, ["tools/tool.rs"]);
    let needs = [("serde_json", "serde_json"), ("os", "nix_real")];
    let needs = needs.map(|(name, package)| (name.to_owned(), package.to_owned()));
    assert_eq!(found.needs, needs);
    assert!(parse_cargo_toml("[package").is_none());
}

/// The modules that a manifest's packages bring, those of a list.
fn packages(path: &str, text: &str, asked: &[&str]) -> Vec<String> {
    assert!(is_python_manifest(path), "{path}");
    let mut found = BTreeSet::new();
    python_packages(path, text, &mut found);
    let asked = asked
        .iter()
        .filter(|name| found.contains(&normalize_package_name(name)));
    asked.map(|name| (*name).to_owned()).collect()
}

#[test]
fn packages_of_python() {
    let all = ["requests", "yaml", "PIL", "flask_login", "name", "python"];
    let project = r#"
        [project]
        name = "name"
        dependencies = ["requests[socks] >= 2; python_version > '3'", "Pillow"]
        [project.optional-dependencies]
        yaml = ["PyYAML~=6.0"]
        [tool.poetry.group.dev.dependencies]
        Flask-Login = "^1"
    "#;
    let four = ["requests", "yaml", "PIL", "flask_login"];
    assert_eq!(packages("a/pyproject.toml", project, &all), four);
    let list = "# name\n-r other.txt\n--index-url https://example.org/name\nrequests==2 # python\nflask.login\n";
    let two = ["requests", "flask_login"];
    assert_eq!(packages("requirements-dev.txt", list, &all), two);
    assert_eq!(packages("requirements/base.in", list, &all), two);
    let setup = "from setuptools import setup\nsetup(name='name x', install_requires=[\n  'requests>=1', \"pillow\"])\n";
    assert_eq!(packages("setup.py", setup, &all), ["requests", "PIL"]);
    let lock = "[[package]]\nname = \"requests\"\nversion = \"1\"\n";
    assert_eq!(packages("uv.lock", lock, &all), ["requests"]);
    let environment = "dependencies:\n  - requests=2\n  - pip:\n    - pyyaml>=1\n";
    assert_eq!(
        packages("environment.yml", environment, &all),
        ["requests", "yaml"]
    );
    assert!(!is_python_manifest("docs/notes.txt"));
}

#[test]
fn packages_of_node() {
    let package = parse_package_json(
        r##"{
            "name": "@shop/web", "main": "dist/index.js", "module": "./dist/index.mjs",
            "exports": { ".": [{ "import": { "types": "./a.d.ts" }, "require": "./b.cjs" }, "./c.js"], "./*": null },
            "imports": { "#x/*": "./src/*.js" },
            "dependencies": { "react": "1" }, "peerDependencies": { "vue": "1" }
        }"##,
    )
    .unwrap();
    assert_eq!(package.name.as_deref(), Some("@shop/web"));
    assert_eq!(package.main, ["./dist/index.mjs", "dist/index.js"]);
    assert_eq!(package.exports[0].1, ["./a.d.ts", "./b.cjs", "./c.js"]);
    assert_eq!(package.exports[1], ("./*".to_owned(), Vec::new()));
    assert_eq!(package.imports[0].0, "#x/*");
    assert_eq!(package.needs, ["react", "vue"]);
    let whole = parse_package_json(r#"{ "exports": "./main.js" }"#).unwrap();
    assert_eq!(
        whole.exports,
        [(".".to_owned(), vec!["./main.js".to_owned()])]
    );
    assert!(parse_package_json("{").is_none());
}

#[test]
fn configurations_of_typescript_have_comments() {
    let config = parse_ts_config(
        "\u{feff}// First.\n{ /* \"extends\": \"no\" */ \"extends\": \"./a//b.json\", \"compilerOptions\": {\n \"baseUrl\": \".\", \"paths\": { \"@/*\": [\"src/*\", ], \"\\\"//\": [] , }, // Last.\n}, }",
    )
    .unwrap();
    assert_eq!(config.extends, ["./a//b.json"]);
    assert_eq!(config.base.as_deref(), Some("."));
    let paths = config.paths.unwrap();
    assert_eq!(paths[0], ("@/*".to_owned(), vec!["src/*".to_owned()]));
    assert_eq!(paths[1].0, "\"//");
    assert!(parse_ts_config("{ \"a\": \"b").is_none());
}

#[test]
fn groups_of_java() {
    let maven = "<groupId>org.own</groupId><parent><groupId>org.springframework.boot</groupId></parent><dependency>\n <groupId> com.fasterxml.jackson.core </groupId></dependency>";
    let found = java_groups(maven);
    assert_eq!(
        Vec::from_iter(found),
        ["com.fasterxml", "org.springframework"]
    );
    let gradle = "group = 'org.own'\nimplementation 'info.picocli:picocli:4.0'\nimplementation group: 'org.joox', name: 'joox'\nproject(':other')\n";
    let found = java_groups(gradle);
    for known in ["info.picocli", "picocli", "org.joox"] {
        assert!(found.contains(known), "{known}: {found:?}");
    }
    assert!(!found.contains("org.own"), "{found:?}");
}
