//! `codeteam map`.

use std::fs;

use expect_test::expect;
use serde_json::Value;

use crate::project::{CommandResult, Project};

const FILES: [(&str, &str); 5] = [
    (
        "shop/models.py",
        "class Order:\n    def total(self) -> int:\n        return 1\n\nclass Customer:\n    pass\n",
    ),
    (
        "shop/pricing.py",
        "from .models import Order\n\ndef total_price(order: Order) -> int:\n    return order.total()\n",
    ),
    (
        "shop/views.py",
        "from .pricing import total_price\nfrom .models import Customer\n\ndef show_price(order):\n    return total_price(order)\n",
    ),
    ("web/app.ts", "export function startApp(): void {}\n"),
    ("notes.md", "# Notes\n"),
];

/// Maps a folder outside any repository.
fn map(project: &Project, args: &[&str]) -> CommandResult {
    let folder = project.home().join("folder");
    for (path, text) in FILES {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let folder = folder.display().to_string();
    project.run(&[&["-C", &folder, "map"], args].concat())
}

#[test]
fn what_matters_is_shown_by_file() {
    let project = Project::new();
    let done = map(&project, &[]).expect(0);
    expect![[r"
        shop/models.py:
        class Order
            def total(self) -> int
        class Customer

        shop/pricing.py:
        def total_price(order: Order) -> int

        shop/views.py:
        def show_price(order)

        web/app.ts:
        export function startApp(): void
    "]]
    .assert_eq(&done.stdout);
}

#[test]
fn a_map_can_be_small_and_seen_from_somewhere() {
    let project = Project::new();
    let done = map(&project, &["--focus", "shop/views.py", "--budget", "20"]).expect(0);
    expect![[r"
        shop/pricing.py:
        def total_price(order: Order) -> int
    "]]
    .assert_eq(&done.stdout);
    let done = map(&project, &["--focus", "Customer", "--budget", "20"]).expect(0);
    assert!(done.stdout.contains("class Customer"), "{}", done.stdout);
    let done = map(&project, &["--focus", "Nobody", "web"]).expect(0);
    assert_eq!(
        done.stdout,
        "web/app.ts:\nexport function startApp(): void\n"
    );
    assert!(
        done.stderr.contains("`Nobody` is not a source file here"),
        "{}",
        done.stderr
    );
    let done = map(&project, &["--budget", "1"]).expect(0);
    assert_eq!(done.stdout, "");
    assert!(done.stderr.contains("--budget"), "{}", done.stderr);
    map(&project, &["notes.md"]).expect(0).says(&[
        "there is nothing to map in `notes.md`",
        "no language codeteam knows",
    ]);
}

#[test]
fn a_map_in_json_has_lines_and_scores() {
    let project = Project::new();
    let done = map(&project, &["--json", "--budget", "60"]).expect(0);
    let value: Value = serde_json::from_str(&done.stdout).unwrap();
    assert!(value["tokens"].as_u64().unwrap() <= 60);
    let first = &value["files"][0];
    assert_eq!(first["path"], "shop/models.py");
    assert_eq!(first["definitions"][0]["name"], "Order");
    assert_eq!(first["definitions"][0]["line"], 1);
    assert!(first["definitions"][0]["score"].as_f64().unwrap() > 0.0);
}

#[test]
fn the_second_map_is_the_first() {
    let project = Project::new();
    let first = map(&project, &[]).expect(0);
    assert_eq!(map(&project, &[]).expect(0).stdout, first.stdout);
}

#[test]
fn what_is_not_there_cannot_be_mapped() {
    let project = Project::new();
    let done = map(&project, &["nowhere"]).expect(2);
    assert!(
        done.stderr.contains("`nowhere` cannot be mapped"),
        "{}",
        done.stderr
    );
}
