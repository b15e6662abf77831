//! Checks the form of code that is compiled once for each SIMD level.
//!
//! Such code is generic over a register type, `V: Simd` or an implementor of `Task`. It uses a level's instructions
//! only if it is inlined into the function that enables them (`crates/simd`): functions must be `#[inline(always)]`,
//! and closures are not allowed because they cannot be. If the compiler does not inline one of them, each intrinsic in
//! it becomes a call. `tests/intrinsics.sh` checks the compiled code.

use proc_macro2::{TokenStream, TokenTree};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Errors in a file.
#[derive(Default)]
struct Findings {
    /// Whether the current item is generic over a register type.
    inside: bool,
    /// Whether the enclosing `impl` or trait is.
    outer: bool,
    /// The current function.
    function: String,
    found: Vec<String>,
    /// Number of functions checked.
    functions: usize,
}

impl Findings {
    fn function(&mut self, attributes: &[syn::Attribute], signature: &syn::Signature) {
        self.function = signature.ident.to_string();
        self.inside = self.outer || is_generic_over_registers(&signature.generics);
        if !self.inside {
            return;
        }
        self.functions += 1;
        let inlined = attributes.iter().any(|attribute| {
            let word = attribute.parse_args::<syn::Ident>();
            attribute.path().is_ident("inline") && word.is_ok_and(|word| word == "always")
        });
        if !inlined {
            let what = format!("function `{}` is not #[inline(always)]", self.function);
            self.found.push(what);
        }
    }
}

/// Whether a parameter or a where clause is bounded by `Simd`.
fn is_generic_over_registers(generics: &syn::Generics) -> bool {
    let names = |bound: &syn::TypeParamBound| match bound {
        syn::TypeParamBound::Trait(bound) => {
            let last = bound.path.segments.last();
            last.is_some_and(|segment| segment.ident == "Simd")
        }
        _ => false,
    };
    let clauses = generics.where_clause.iter().flat_map(|w| &w.predicates);
    let of_clauses = clauses.filter_map(|predicate| match predicate {
        syn::WherePredicate::Type(predicate) => Some(&predicate.bounds),
        _ => None,
    });
    let of_parameters = generics.type_params().map(|parameter| &parameter.bounds);
    of_parameters.chain(of_clauses).flatten().any(names)
}

/// Whether an item is compiled only in tests.
fn is_of_tests(attributes: &[syn::Attribute]) -> bool {
    let mut attributes = attributes.iter();
    attributes.any(|attribute| {
        let word = attribute.parse_args::<syn::Ident>();
        attribute.path().is_ident("cfg") && word.is_ok_and(|word| word == "test")
    })
}

impl<'a> Visit<'a> for Findings {
    fn visit_item_mod(&mut self, item: &'a syn::ItemMod) {
        if !is_of_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'a syn::ItemImpl) {
        let outside = (self.outer, self.inside);
        self.outer = is_generic_over_registers(&item.generics);
        visit::visit_item_impl(self, item);
        (self.outer, self.inside) = outside;
    }

    fn visit_item_trait(&mut self, item: &'a syn::ItemTrait) {
        let outside = (self.outer, self.inside);
        self.outer = item.ident == "Simd";
        visit::visit_item_trait(self, item);
        (self.outer, self.inside) = outside;
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        let outside = (self.outer, self.inside, self.function.clone());
        self.outer = false;
        self.function(&item.attrs, &item.sig);
        visit::visit_item_fn(self, item);
        (self.outer, self.inside, self.function) = outside;
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        let outside = (self.inside, self.function.clone());
        self.function(&item.attrs, &item.sig);
        visit::visit_impl_item_fn(self, item);
        (self.inside, self.function) = outside;
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if item.default.is_some() {
            let outside = (self.inside, self.function.clone());
            self.function(&item.attrs, &item.sig);
            visit::visit_trait_item_fn(self, item);
            (self.inside, self.function) = outside;
        }
    }

    fn visit_expr_closure(&mut self, closure: &'a syn::ExprClosure) {
        if self.inside {
            let what = format!("function `{}` holds a closure", self.function);
            self.found.push(what);
        }
        visit::visit_expr_closure(self, closure);
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        if self.inside && has_closure(call.tokens.clone()) {
            let what = format!("function `{}` hands a closure to a macro", self.function);
            self.found.push(what);
        }
    }
}

/// Whether a macro's arguments contain `|` where a closure can begin.
fn has_closure(tokens: TokenStream) -> bool {
    let mut begins = true;
    for token in tokens {
        let mut next = false;
        match &token {
            TokenTree::Group(group) if has_closure(group.stream()) => return true,
            TokenTree::Punct(sign) if begins && sign.as_char() == '|' => return true,
            TokenTree::Punct(sign) => next = matches!(sign.as_char(), '=' | ',' | ';'),
            TokenTree::Ident(word) => next = word == "move" || word == "return",
            _ => {}
        }
        begins = next;
    }
    false
}

/// Returns the errors in a source text, and the number of functions checked.
fn findings(source: &str) -> (Vec<String>, usize) {
    let mut findings = Findings::default();
    // Parsing takes a while, and nothing else names the trait.
    if !source.contains("Simd") {
        return (findings.found, 0);
    }
    findings.visit_file(&syn::parse_file(source).expect("Rust that the compiler takes"));
    (findings.found, findings.functions)
}

/// Returns all Rust files below a folder except tests.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the sources") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let name = name.expect("a name in Unicode");
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") && !name.ends_with("tests") {
            files.push(path);
        }
    }
}

#[test]
fn functions_of_a_simd_level_are_inlined_and_hold_no_closures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in ["crates", "src"] {
        sources(&root.join(folder), &mut files);
    }
    let (mut text, mut functions) = (String::new(), 0);
    for file in files {
        let source = std::fs::read_to_string(&file).expect("a source file");
        let (found, looked_at) = findings(&source);
        functions += looked_at;
        for what in found {
            let place = file.strip_prefix(root).unwrap_or(&file).display();
            writeln!(text, "{place}: {what}").expect("memory");
        }
    }
    assert!(functions > 200, "only {functions} functions were found");
    assert!(text.is_empty(), "not compiled for its level:\n{text}");
}

#[test]
fn each_wrong_shape_is_found() {
    let found = |source: &str| findings(source).0.join("; ");
    let wrong = "fn f<V: Simd>(x: V) -> V { x }";
    assert_eq!(found(wrong), "function `f` is not #[inline(always)]");
    let weak = "#[inline] fn f<V>(x: V) -> V where V: crate::simd::Simd { x }";
    assert_eq!(found(weak), "function `f` is not #[inline(always)]");
    let closure = "#[inline(always)] fn f<V: Simd>(x: [V; 2]) -> [V; 2] { x.map(|x| x + x) }";
    assert_eq!(found(closure), "function `f` holds a closure");
    let method = "impl<V: Simd> M<V> { fn f(self) { (0..2).map(|i| i); } }";
    let both = "function `f` is not #[inline(always)]; function `f` holds a closure";
    assert_eq!(found(method), both);
    let of_trait = "trait Simd { fn f(self); fn g(self) { } }";
    assert_eq!(found(of_trait), "function `g` is not #[inline(always)]");
    let inner =
        "fn outer() { struct T; impl Task<f64> for T { unsafe fn run<V: Simd>(self) { } } }";
    assert_eq!(found(inner), "function `run` is not #[inline(always)]");
    let macros =
        "#[inline(always)] fn f<V: Simd>() { a!(x | y, V => x); b!({ let c = |i| i; c(0) }); }";
    assert_eq!(found(macros), "function `f` hands a closure to a macro");
    let others = "fn f<T: Real>() { g(|x| x) } #[cfg(test)] mod tests { fn f<V: Simd>() { } }";
    assert_eq!(found(others), "");
}
