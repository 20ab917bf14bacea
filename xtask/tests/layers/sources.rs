//! Reads the sources of a crate, and finds which file names which.
//!
//! Test modules are left out: a test may import any room.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, UseTree, Visibility};

/// From a file to a file that it names, both relative to the crate's sources.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    pub from: String,
    pub to: String,
}

/// The files of a crate and the arrows between them.
pub(crate) struct Crate {
    pub files: BTreeSet<String>,
    pub arrows: BTreeSet<Arrow>,
    /// From a file that calls a method to the file that defines it, as far as the call tells.
    pub calls: BTreeSet<Arrow>,
    /// A file, and a path of another crate or of `std` that it names.
    pub foreign: BTreeSet<(String, String)>,
    /// The number of methods of each type.
    pub methods: BTreeMap<String, usize>,
}

/// Stands for the type of methods that a trait declares: a call of them may lead to any type.
const TRAIT: &str = "a trait";

/// A module's path below the crate's root.
type ModulePath = Vec<String>;

/// The files of a crate and the paths in them, before names are resolved.
#[derive(Default)]
struct Said {
    /// The file of each module that has one.
    files: BTreeMap<ModulePath, String>,
    /// The path from the root that a module exports under a name.
    exports: BTreeMap<(ModulePath, String), Vec<String>>,
    /// The modules that a module imports with `*`: paths from the root.
    globs: BTreeMap<ModulePath, Vec<Vec<String>>>,
    /// The module of a file, and a path from the root that the file names.
    named: Vec<(ModulePath, Vec<String>)>,
    /// The module of a file, and a path of another crate that the file names.
    foreign: Vec<(ModulePath, Vec<String>)>,
    /// A method's name, its type, and the module that defines it.
    methods: BTreeMap<String, Vec<(String, ModulePath)>>,
    /// The module of a file, a method that it calls, and the type that has the method, if known.
    called: Vec<(ModulePath, String, Option<String>)>,
}

impl Crate {
    /// Reads the crate whose sources begin with `lib.rs` or `main.rs` in a directory.
    pub(crate) fn read(directory: &Path) -> Result<Crate, String> {
        let mut said = Said::default();
        let top = ["lib.rs", "main.rs"].into_iter().find(|file| directory.join(file).exists());
        said.read(directory, top.ok_or("neither lib.rs nor main.rs")?, Vec::new())?;
        let mut arrows = BTreeSet::new();
        for (module, path) in &said.named {
            let from = &said.files[module];
            let Some(to) = said.file_of(path, 0) else { continue };
            if from != to {
                arrows.insert(Arrow { from: from.clone(), to: to.clone() });
            }
        }
        let told = |(module, path): &(ModulePath, Vec<String>)| {
            (said.files[module].clone(), path.join("::"))
        };
        let foreign = said.foreign.iter().map(told).collect();
        let calls = said.calls();
        let mut methods = BTreeMap::new();
        for (owner, _) in said.methods.into_values().flatten() {
            *methods.entry(owner).or_default() += 1;
        }
        Ok(Crate { files: said.files.into_values().collect(), arrows, calls, foreign, methods })
    }
}

impl Said {
    /// The arrows of method calls. A call whose type is unknown counts if only one place defines a
    /// method of this name. Names of one word are left out then, because `std` has most of them.
    fn calls(&self) -> BTreeSet<Arrow> {
        let mut arrows = BTreeSet::new();
        for (module, name, owner) in &self.called {
            let Some(places) = self.methods.get(name) else { continue };
            let place = match owner {
                Some(owner) => places.iter().find(|(has, _)| has == owner),
                None if places.len() == 1 && name.contains('_') => {
                    places.first().filter(|(has, _)| has != TRAIT)
                }
                None => None,
            };
            let Some((_, to)) = place else { continue };
            let (from, to) = (self.files[module].clone(), self.files[to].clone());
            if from != to {
                arrows.insert(Arrow { from, to });
            }
        }
        arrows
    }

    fn read(&mut self, directory: &Path, file: &str, module: ModulePath) -> Result<(), String> {
        let text = fs::read_to_string(directory.join(file)).map_err(|e| format!("{file}: {e}"))?;
        let syntax = syn::parse_file(&text).map_err(|error| format!("{file}: {error}"))?;
        self.files.insert(module.clone(), file.to_owned());
        let children = children(&syntax.items);
        let mut names =
            Names { module: &module, children: &children, inline: 0, owner: None, said: self };
        names.visit_file(&syntax);
        for child in &children {
            let mut below = module.clone();
            below.push(child.clone());
            let stem = below.join("/");
            let candidates = [format!("{stem}.rs"), format!("{stem}/mod.rs")];
            let found = candidates.iter().find(|candidate| directory.join(candidate).exists());
            let found = found.ok_or_else(|| format!("{file}: no file for `mod {child}`"))?;
            self.read(directory, found, below)?;
        }
        Ok(())
    }

    /// The file in which the last module of a path, or what it re-exports, lies.
    fn file_of(&self, path: &[String], depth: usize) -> Option<&String> {
        let known = (0..=path.len()).rev().find(|&len| self.files.contains_key(&path[..len]))?;
        // A name of the crate's root that is no module is another crate's, or a macro.
        let module = &path[..known];
        let Some(name) = path.get(known) else { return self.files.get(module) };
        if depth < 8 {
            if let Some(target) = self.exports.get(&(module.to_vec(), name.clone())) {
                let rest = path[known + 1..].iter().cloned();
                let full: Vec<_> = target.iter().cloned().chain(rest).collect();
                return self.file_of(&full, depth + 1);
            }
            for glob in self.globs.get(module).into_iter().flatten() {
                let key = (glob.clone(), name.clone());
                if self.exports.contains_key(&key) {
                    let full: Vec<_> = glob.iter().chain(&path[known..]).cloned().collect();
                    return self.file_of(&full, depth + 1);
                }
            }
        }
        self.files.get(module)
    }
}

/// The modules of a file that lie in files of their own, tests left out.
fn children(items: &[Item]) -> Vec<String> {
    let modules = items.iter().filter_map(|item| match item {
        Item::Mod(module) if module.content.is_none() && !is_for_tests(&module.attrs) => {
            Some(module.ident.to_string())
        }
        _ => None,
    });
    modules.collect()
}

/// Whether `#[cfg(test)]`, `#[cfg(any(test, …))]` or `#[cfg(loom)]` stands before it.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        let tokens = match &attribute.meta {
            syn::Meta::List(list) => list.tokens.to_string(),
            _ => String::new(),
        };
        let is_test = tokens == "test" || tokens.starts_with("any (test") || tokens == "loom";
        is_cfg && (is_test || tokens.starts_with("all (test") || tokens == "doctest")
    })
}

/// Collects the paths that one file names.
struct Names<'a> {
    module: &'a ModulePath,
    children: &'a [String],
    /// Modules inside the file that the visitor is in.
    inline: usize,
    /// The type whose methods the visitor is in.
    owner: Option<String>,
    said: &'a mut Said,
}

impl Names<'_> {
    /// A path as the file writes it, from the root; `None` for one that leads elsewhere.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let first = path.first()?;
        let (mut base, mut rest) = match first.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (self.module.clone(), &path[1..]),
            "super" => (self.module.clone(), path),
            name if self.children.iter().any(|child| child == name) => (self.module.clone(), path),
            _ => return None,
        };
        let mut inline = self.inline;
        while rest.first().is_some_and(|segment| segment == "super") {
            match inline.checked_sub(1) {
                Some(left) => inline = left,
                None => drop(base.pop()?),
            }
            rest = &rest[1..];
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }

    fn note(&mut self, path: &[String]) {
        match self.absolute(path) {
            Some(path) => self.said.named.push((self.module.clone(), path)),
            None => self.said.foreign.push((self.module.clone(), path.to_vec())),
        }
    }

    fn note_use(&mut self, tree: &UseTree, before: &mut Vec<String>, is_export: bool) {
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.note_use(&path.tree, before, is_export);
                before.pop();
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.note_use(tree, before, is_export));
            }
            UseTree::Name(name) if name.ident == "self" => self.note(&before.clone()),
            UseTree::Name(name) => self.note_leaf(before, &name.ident, &name.ident, is_export),
            UseTree::Rename(name) => self.note_leaf(before, &name.ident, &name.rename, is_export),
            UseTree::Glob(_) => {
                self.note(&before.clone());
                if let Some(target) = self.absolute(before) {
                    self.said.globs.entry(self.module.clone()).or_default().push(target);
                }
            }
        }
    }

    fn note_leaf(
        &mut self,
        before: &mut Vec<String>,
        name: &syn::Ident,
        known_as: &syn::Ident,
        is_export: bool,
    ) {
        before.push(name.to_string());
        self.note(before);
        if is_export && let Some(target) = self.absolute(before) {
            let key = (self.module.clone(), known_as.to_string());
            self.said.exports.insert(key, target);
        }
        before.pop();
    }

    /// Notes a method of the type that the visitor is in.
    fn define(&mut self, name: &syn::Ident) {
        let owner = self.owner.clone().unwrap_or_default();
        let places = self.said.methods.entry(name.to_string()).or_default();
        places.push((owner, self.module.clone()));
    }

    /// The type of an expression: known for `self`, and for the database's `Core`, which has that
    /// name everywhere.
    fn type_of(&self, expression: &syn::Expr) -> Option<String> {
        let name = match expression {
            syn::Expr::Path(path) => path.path.get_ident()?.to_string(),
            syn::Expr::Field(field) => match &field.member {
                syn::Member::Named(name) => name.to_string(),
                syn::Member::Unnamed(_) => return None,
            },
            syn::Expr::MethodCall(call) => call.method.to_string(),
            _ => return None,
        };
        match name.as_str() {
            "self" => self.owner.clone(),
            "core" => Some("Core".to_owned()),
            _ => None,
        }
    }

    /// Paths in a macro's arguments: `crate::…`, `super::…`, and those of modules below.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(ident) if path.is_empty() || colons == 2 => {
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Group(group) => self.note_tokens(group.stream()),
                _ => {}
            }
            self.note_if_long(&path);
            (path, colons) = (Vec::new(), 0);
        }
        self.note_if_long(&path);
    }

    fn note_if_long(&mut self, path: &[String]) {
        if path.len() > 1 {
            self.note(path);
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if !is_for_tests(&module.attrs) {
            let depth = usize::from(module.content.is_some());
            self.inline += depth;
            visit::visit_item_mod(self, module);
            self.inline -= depth;
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            self.define(&function.sig.ident);
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let syn::Type::Path(own) = &*item.self_ty else { return };
        let last = own.path.segments.last().map(|segment| segment.ident.to_string());
        let outer = std::mem::replace(&mut self.owner, last);
        visit::visit_item_impl(self, item);
        self.owner = outer;
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        let outer = self.owner.replace(TRAIT.to_owned());
        visit::visit_item_trait(self, item);
        self.owner = outer;
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.define(&function.sig.ident);
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let owner = self.type_of(&call.receiver);
        self.said.called.push((self.module.clone(), call.method.to_string(), owner));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !is_for_tests(&item.attrs) {
            let is_export = !matches!(item.vis, Visibility::Inherited);
            self.note_use(&item.tree, &mut Vec::new(), is_export);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.note_if_long(&segments);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast Macro) {
        self.note_tokens(mac.tokens.clone());
        visit::visit_macro(self, mac);
    }
}
