//! What a crate shows to others, and which of it nobody needs.
//!
//! An item is needed if somebody outside names it, or if it is part of the declaration of one that is
//! needed: the type of a public field, of a variant, or in the signature of a public method. Such an
//! item cannot be private, even if nobody outside ever has to write its name.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Fields, ImplItem, Item, TraitItem, Type, Visibility};

use crate::modules::ModuleSource;

/// The public items of a crate, methods left out, each with the names in its declaration.
#[derive(Clone, Debug, Default)]
pub(crate) struct PublicInterface {
    items: BTreeMap<String, BTreeSet<String>>,
}

impl PublicInterface {
    pub(crate) fn from_modules(modules: &[ModuleSource]) -> Self {
        let mut interface = Self::default();
        let items = || modules.iter().flat_map(|module| &module.items);
        for item in items() {
            interface.add_item(item);
        }
        // Methods count only for types that are public themselves.
        for item in items() {
            interface.add_methods(item);
        }
        interface
    }

    /// Returns the items that are not needed, if `is_named` tells which names are used outside.
    pub(crate) fn unused_items(&self, is_named: impl Fn(&str) -> bool) -> Vec<String> {
        let named = self.items.keys().filter(|name| is_named(name));
        let mut open: Vec<&String> = named.collect();
        let mut needed: BTreeSet<&String> = open.iter().copied().collect();
        while let Some(name) = open.pop() {
            for part in &self.items[name] {
                if let Some((part, _)) = self.items.get_key_value(part)
                    && needed.insert(part)
                {
                    open.push(part);
                }
            }
        }
        let unused = self.items.keys().filter(|name| !needed.contains(name));
        unused.cloned().collect()
    }

    fn add_item(&mut self, item: &Item) {
        let mut names = DeclaredNames::default();
        let (visibility, name) = match item {
            Item::Const(item) => {
                names.visit_type(&item.ty);
                (&item.vis, &item.ident)
            }
            Item::Static(item) => {
                names.visit_type(&item.ty);
                (&item.vis, &item.ident)
            }
            Item::Type(item) => {
                names.visit_type(&item.ty);
                (&item.vis, &item.ident)
            }
            Item::Fn(item) => {
                names.visit_signature(&item.sig);
                (&item.vis, &item.sig.ident)
            }
            Item::Struct(item) => {
                names.visit_generics(&item.generics);
                names.add_public_fields(&item.fields);
                (&item.vis, &item.ident)
            }
            Item::Enum(item) => {
                names.visit_generics(&item.generics);
                for variant in &item.variants {
                    names.visit_fields(&variant.fields);
                }
                (&item.vis, &item.ident)
            }
            Item::Trait(item) => {
                names.add_trait(item);
                (&item.vis, &item.ident)
            }
            _ => return,
        };
        if matches!(visibility, Visibility::Public(_)) {
            let known = self.items.entry(name.to_string()).or_default();
            known.extend(names.0);
        }
    }

    fn add_methods(&mut self, item: &Item) {
        let Item::Impl(item) = item else {
            return;
        };
        let Type::Path(own) = &*item.self_ty else {
            return;
        };
        let own = own.path.segments.last().map(|part| part.ident.to_string());
        let Some(known) = own.and_then(|own| self.items.get_mut(&own)) else {
            return;
        };
        let mut names = DeclaredNames::default();
        for part in &item.items {
            match part {
                ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => {
                    names.visit_signature(&method.sig);
                }
                ImplItem::Const(part) if matches!(part.vis, Visibility::Public(_)) => {
                    names.visit_type(&part.ty);
                }
                // What a trait is given here is as visible as the type.
                ImplItem::Type(part) => names.visit_type(&part.ty),
                _ => {}
            }
        }
        if let Some((_, path, _)) = &item.trait_ {
            names.visit_path(path);
        }
        known.extend(names.0);
    }
}

/// Collects the names that a declaration has in it.
#[derive(Default)]
struct DeclaredNames(BTreeSet<String>);

impl DeclaredNames {
    fn add_public_fields(&mut self, fields: &Fields) {
        for field in fields {
            if matches!(field.vis, Visibility::Public(_)) {
                self.visit_type(&field.ty);
            }
        }
    }

    fn add_trait(&mut self, item: &syn::ItemTrait) {
        self.visit_generics(&item.generics);
        for bound in &item.supertraits {
            self.visit_type_param_bound(bound);
        }
        for part in &item.items {
            match part {
                TraitItem::Fn(method) => self.visit_signature(&method.sig),
                TraitItem::Const(part) => self.visit_type(&part.ty),
                TraitItem::Type(part) => self.visit_trait_item_type(part),
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for DeclaredNames {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string());
        self.0.extend(parts);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_brings_along_what_its_declaration_names() {
        let text = "
            pub struct Named { pub field: Vec<Field>, hidden: Hidden }
            pub struct Field;
            pub struct Hidden;
            impl Named { pub fn method(&self) -> Result<Answer, Error> { Local::new() } }
            pub struct Local;
            pub enum Answer { Yes(Inner) }
            pub struct Inner;
            pub enum Error {}
            pub fn unnamed(argument: Argument) {}
            pub struct Argument;
            pub trait Shown { type Part: Bound; fn default(&self) -> Inner { Body::new() } }
            pub trait Bound {}
            pub struct Body;
            impl Shown for Named { type Part = Given; }
            pub struct Given;
            pub(crate) struct Private;
        ";
        let module = ModuleSource {
            path: Vec::new(),
            items: syn::parse_file(text).unwrap().items,
            lines: 0,
        };
        let interface = PublicInterface::from_modules(&[module]);
        let unused = interface.unused_items(|name| name == "Named");
        assert_eq!(unused, ["Argument", "Body", "Hidden", "Local", "unnamed"]);
    }
}
