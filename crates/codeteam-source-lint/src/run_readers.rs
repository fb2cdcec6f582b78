//! Finds where a surface looks into the kernel's run instead of reading a view of it.

use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Expr, ExprField, ExprMethodCall, ItemUse, Macro, Member, UseTree};

use crate::modules::{SourceError, load_crate};

/// The methods that return the kernel's own state. What they return may be passed on, and nothing
/// may be read from it.
const STATE_METHODS: [&str; 2] = ["as_run", "as_frame"];
/// Methods that return the state without a view.
const LOADING_METHODS: [&str; 1] = ["load_run"];

/// Finds where a crate names `codeteam_core::Run`, loads a run without its view, or reads what a
/// snapshot only passes on; each with the module it is in.
///
/// Modules in `observers` are called with a run by the driver. They may name the type, and must
/// still read nothing from it.
pub fn find_run_readers(crate_root: &Path, observers: &[&str]) -> Result<Vec<String>, SourceError> {
    let mut found = Vec::new();
    for source in load_crate(crate_root)? {
        let place = source.path.join("::");
        let mut finder = RunReaderFinder {
            is_observer: observers.contains(&place.as_str()),
            found: Vec::new(),
        };
        for item in &source.items {
            finder.visit_item(item);
        }
        found.extend(finder.found.iter().map(|what| format!("{place}: {what}")));
    }
    Ok(found)
}

struct RunReaderFinder {
    is_observer: bool,
    found: Vec<String>,
}

impl RunReaderFinder {
    fn check_use(&mut self, tree: &UseTree, is_core: bool) {
        match tree {
            UseTree::Path(path) => {
                let is_root = path.ident == "codeteam_core" || is_core && path.ident == "run";
                self.check_use(&path.tree, is_root);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.check_use(tree, is_core);
                }
            }
            UseTree::Name(name) if is_core && name.ident == "Run" => self.name_run(),
            UseTree::Rename(name) if is_core && name.ident == "Run" => self.name_run(),
            UseTree::Glob(_) if is_core => self.found.push("`use codeteam_core::*`".to_owned()),
            _ => {}
        }
    }

    fn name_run(&mut self) {
        if !self.is_observer {
            self.found.push("`codeteam_core::Run`".to_owned());
        }
    }

    /// Checks what something is read from.
    fn check_read(&mut self, base: &Expr, member: &str) {
        match base {
            Expr::MethodCall(call) if STATE_METHODS.iter().any(|name| call.method == name) => {
                self.found.push(format!("`.{}().{member}`", call.method));
            }
            Expr::Path(path) if self.is_observer && path.path.is_ident("run") => {
                self.found.push(format!("`run.{member}`"));
            }
            Expr::Try(inner) => self.check_read(&inner.expr, member),
            Expr::Paren(inner) => self.check_read(&inner.expr, member),
            _ => {}
        }
    }

    /// Checks tokens that are not parsed: those of a macro.
    fn check_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.check_tokens(group.stream()),
                TokenTree::Ident(name) => {
                    let name = name.to_string();
                    let is_followed = |by: usize| match tokens.get(at + by) {
                        Some(TokenTree::Punct(dot)) => dot.as_char() == '.',
                        _ => false,
                    };
                    if LOADING_METHODS.contains(&name.as_str())
                        || STATE_METHODS.contains(&name.as_str()) && is_followed(2)
                        || self.is_observer && name == "run" && is_followed(1)
                    {
                        self.found.push(format!("`{name}` in a macro"));
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for RunReaderFinder {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.check_use(&item.tree, false);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.first() == Some(&"codeteam_core") && names.contains(&"Run") {
            self.name_run();
        }
        visit::visit_path(self, path);
    }

    fn visit_expr_field(&mut self, field: &'ast ExprField) {
        if let Member::Named(name) = &field.member {
            self.check_read(&field.base, &name.to_string());
        }
        visit::visit_expr_field(self, field);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let name = call.method.to_string();
        if LOADING_METHODS.contains(&name.as_str()) {
            self.found.push(format!("`.{name}()`"));
        }
        // Methods of a run are reads too; those of an `Option` are not.
        let is_run = matches!(&*call.receiver, Expr::MethodCall(base) if base.method == "as_run");
        if is_run {
            self.found.push(format!("`.as_run().{name}()`"));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.check_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        use codeteam_core::{Event, Run};
        use codeteam_report::view::LoadedRun;
        fn read(run: &LoadedRun, state: &codeteam_core::run::Run) {
            let seen = run.as_run().frames.len();
            let step = run.as_run().step(&id);
            println!("{}", run.as_run().goal);
            let loaded = engine.load_run(&id)?;
        }
        fn pass_on(run: &LoadedRun) {
            engine.current_checks(run.as_run());
            let frame = run.as_frame(&path).ok_or_else(|| problem())?;
            println!("{} {}", run.goal, run.frames.len());
        }
    "#;

    fn find(is_observer: bool) -> Vec<String> {
        let mut finder = RunReaderFinder {
            is_observer,
            found: Vec::new(),
        };
        finder.visit_file(&syn::parse_file(SOURCE).unwrap());
        finder.found
    }

    #[test]
    fn a_run_is_passed_on_and_not_looked_into() {
        assert_eq!(
            find(false),
            [
                "`codeteam_core::Run`",
                "`codeteam_core::Run`",
                "`.as_run().frames`",
                "`.as_run().step()`",
                "`as_run` in a macro",
                "`.load_run()`",
            ]
        );
    }

    #[test]
    fn an_observer_may_name_what_it_must_not_read() {
        let found = find(true);
        assert!(
            !found.contains(&"`codeteam_core::Run`".to_owned()),
            "{found:?}"
        );
        assert!(
            found.contains(&"`.as_run().frames`".to_owned()),
            "{found:?}"
        );
    }
}
