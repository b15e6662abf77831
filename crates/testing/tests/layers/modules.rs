//! The modules of a crate, read as text: which names each declares and imports, and where a path leads.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module.
struct Module {
    parent: Option<usize>,
    /// Names from the crate to the module.
    path: Vec<String>,
    /// Identifiers, `::`, and other characters, without comments, literals, tests and submodules.
    tokens: Vec<String>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// What a path means.
enum Meaning {
    Module(usize),
    /// A function, a type, ... of a module.
    ItemOf(usize),
}

/// The modules of a crate.
pub(crate) struct Modules(Vec<Module>);

impl Modules {
    /// Reads a crate from its first file.
    pub(crate) fn read(first: &Path) -> Self {
        let mut modules = Self(Vec::new());
        let folder = first.parent().expect("a folder");
        let text = std::fs::read_to_string(first).expect("a source");
        modules.add(None, Vec::new(), folder, without_tests(tokens(&text)));
        modules
    }

    /// Adds a module whose submodules are in a folder, and these.
    fn add(
        &mut self,
        parent: Option<usize>,
        path: Vec<String>,
        folder: &Path,
        tokens: Vec<String>,
    ) -> usize {
        let here = self.0.len();
        self.0.push(Module {
            parent,
            path: path.clone(),
            tokens: Vec::new(),
            children: BTreeMap::new(),
            items: BTreeSet::new(),
            imports: BTreeMap::new(),
            globs: Vec::new(),
        });
        let (mut kept, mut depth, mut at) = (Vec::new(), 0, 0);
        while at < tokens.len() {
            let token = tokens[at].as_str();
            let next = tokens.get(at + 1).map_or("", String::as_str);
            let after = tokens.get(at + 2).map_or("", String::as_str);
            if token == "mod" && depth == 0 && (after == ";" || after == "{") {
                let below = folder.join(next);
                let (inside, end) = if after == ";" {
                    let flat = folder.join(format!("{next}.rs"));
                    let file = if flat.is_file() {
                        flat
                    } else {
                        below.join("mod.rs")
                    };
                    let text = std::fs::read_to_string(&file);
                    let text = text.unwrap_or_else(|e| panic!("{}: {e}", file.display()));
                    (without_tests(self::tokens(&text)), at + 3)
                } else {
                    let end = end_of_item(&tokens, at);
                    (tokens[at + 3..end - 1].to_vec(), end)
                };
                let path = path.iter().chain([&tokens[at + 1]]).cloned().collect();
                let child = self.add(Some(here), path, &below, inside);
                self.0[here].children.insert(next.to_owned(), child);
                if kept.last().is_some_and(|token| token == ")") {
                    kept.truncate(kept.iter().rposition(|token| token == "(").unwrap_or(0));
                }
                if kept.last().is_some_and(|token| token == "pub") {
                    kept.pop();
                }
                at = end;
                continue;
            }
            match token {
                "{" | "(" | "[" => depth += 1,
                "}" | ")" | "]" => depth -= 1,
                "struct" | "enum" | "union" | "fn" | "trait" | "type" | "const" | "static"
                    if depth == 0 =>
                {
                    let name = if next == "fn" || next == "mut" || next == "unsafe" {
                        after
                    } else {
                        next
                    };
                    self.0[here].items.insert(name.to_owned());
                }
                "macro_rules" => {
                    self.0[here].items.insert(after.to_owned());
                }
                _ => {}
            }
            kept.push(tokens[at].clone());
            at += 1;
        }
        self.0[here].tokens = kept;
        self.imports(here);
        here
    }

    /// Notes the names that a module imports.
    fn imports(&mut self, here: usize) {
        let tokens = std::mem::take(&mut self.0[here].tokens);
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at].as_str();
            at += 1;
            if token == "use" {
                let mut found = Vec::new();
                at = use_tree(&tokens, at, &[], &mut found);
                for (path, name) in found {
                    match name.as_str() {
                        "*" => self.0[here].globs.push(path),
                        _ => drop(self.0[here].imports.insert(name, path)),
                    }
                }
            }
        }
        self.0[here].tokens = tokens;
    }

    /// Returns the module that defines what a path means in a module, if it is one of this crate; `left` limits the
    /// imports that are followed.
    fn resolve(&self, from: usize, path: &[String], left: u32) -> Option<Meaning> {
        let (mut here, mut at) = (from, 0);
        while let Some(name) = path.get(at) {
            let module = &self.0[here];
            let next = match name.as_str() {
                "crate" if at == 0 => Some(0),
                "self" if at == 0 => Some(here),
                "super" => module.parent,
                _ => module.children.get(name).copied(),
            };
            if let Some(next) = next {
                (here, at) = (next, at + 1);
                continue;
            }
            if module.items.contains(name) {
                return Some(Meaning::ItemOf(here));
            }
            if left == 0 {
                return None;
            }
            if let Some(import) = module.imports.get(name) {
                let whole: Vec<String> = import.iter().chain(&path[at + 1..]).cloned().collect();
                return self.resolve(here, &whole, left - 1);
            }
            let globs = module.globs.iter();
            let mut found = globs.filter_map(|glob| {
                let Some(Meaning::Module(target)) = self.resolve(here, glob, left - 1) else {
                    return None;
                };
                let known = |m: &Module| {
                    m.items.contains(name)
                        || m.children.contains_key(name)
                        || m.imports.contains_key(name)
                        || !m.globs.is_empty()
                };
                let elsewhere = target != here && known(&self.0[target]);
                elsewhere.then(|| self.resolve(target, &path[at..], left - 1))?
            });
            // A name that a macro makes.
            let made_here = (at > 0).then_some(Meaning::ItemOf(here));
            return found.next().or(made_here);
        }
        Some(Meaning::Module(here))
    }

    /// Returns which module uses what of which other, by the paths of their names. What a module only passes on is traced
    /// to where it is defined.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&[String], &[String], String)> {
        let modules = self.0.iter().enumerate();
        modules.flat_map(move |(here, module)| {
            let paths = self.paths(here).into_iter();
            paths.filter_map(move |mut path| {
                let Some(Meaning::ItemOf(target)) = self.resolve(here, &path, 12) else {
                    return None;
                };
                (target != here).then(|| {
                    (
                        &module.path[..],
                        &self.0[target].path[..],
                        path.pop().unwrap_or_default(),
                    )
                })
            })
        })
    }

    /// Returns the paths that a module writes, but for those that it passes on.
    fn paths(&self, here: usize) -> Vec<Vec<String>> {
        let module = &self.0[here];
        let tokens = &module.tokens;
        let (mut paths, mut at) = (Vec::new(), 0);
        while at < tokens.len() {
            let token = &tokens[at];
            if token == "use" {
                let passed_on = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
                let mut found = Vec::new();
                at = use_tree(tokens, at + 1, &[], &mut found);
                let named = found
                    .into_iter()
                    .filter(|(_, name)| !passed_on && name != "*");
                paths.extend(named.map(|(path, _)| path));
                continue;
            }
            if !is_name(token) {
                at += 1;
                continue;
            }
            let mut path = vec![token.clone()];
            at += 1;
            while at + 1 < tokens.len() && tokens[at] == "::" && is_name(&tokens[at + 1]) {
                path.push(tokens[at + 1].clone());
                at += 2;
            }
            let local = module.items.contains(token) || module.imports.contains_key(token);
            let by_glob = !local && !module.globs.is_empty();
            let through_module = path.len() > 1 && !module.items.contains(token);
            if through_module || by_glob {
                paths.push(path);
            }
        }
        paths
    }
}

/// Reads one tree of a `use` from a position: the paths, and the name that each gets (`*` for all). Returns where it ends.
fn use_tree(
    tokens: &[String],
    mut at: usize,
    before: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = before.to_vec();
    while at < tokens.len() {
        match tokens[at].as_str() {
            "::" => {}
            "{" => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    at = use_tree(tokens, at, &path, found);
                    if tokens[at] == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "*" => {
                found.push((path, "*".to_owned()));
                return at + 1;
            }
            "as" => {
                found.push((path, tokens[at + 1].clone()));
                return at + 2;
            }
            "self" if !path.is_empty() => {}
            name if is_name(name) => path.push(name.to_owned()),
            _ => break,
        }
        at += 1;
    }
    if let Some(name) = path.last().cloned() {
        found.push((path, name));
    }
    at
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns where the item that begins at a position ends: after its `;` or its last brace.
fn end_of_item(tokens: &[String], begin: usize) -> usize {
    let mut depth = 0;
    let is_use = tokens[begin..].iter().take(6).any(|token| token == "use");
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 && (token == ";" || token == "}" && !is_use) {
            return at + 1;
        }
    }
    tokens.len()
}

/// Returns tokens without the items that only tests have, and without attributes.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let inner = tokens[at] == "#" && tokens.get(at + 1).is_some_and(|t| t == "!");
        let bracket = at + 1 + usize::from(inner);
        if tokens[at] == "#" && tokens.get(bracket).is_some_and(|t| t == "[") {
            let end = closing(&tokens, bracket) + 1;
            let only_tests = tokens[bracket + 1..end].join("") == "cfg(test)]";
            at = end;
            if only_tests {
                while tokens[at] == "#" {
                    at = closing(&tokens, at + 1) + 1;
                }
                at = end_of_item(&tokens, at);
            }
            continue;
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

/// Returns where a bracket closes.
fn closing(tokens: &[String], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.as_str() {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    panic!("a bracket that is not closed");
}

/// Splits a source into identifiers, `::` and other characters; comments, literals and lifetimes are left out.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = string(rest) {
            length
        } else if first == '\'' {
            character(rest)
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !first.is_whitespace() {
                tokens.push(first.to_string());
            }
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// Returns the length of the string literal with which a text begins, if it does.
fn string(text: &str) -> Option<usize> {
    let quote = text.find(|c| !matches!(c, 'b' | 'c' | 'r' | '#'))?;
    if !text[quote..].starts_with('"') {
        return None;
    }
    let prefix = &text[..quote];
    if !["", "b", "c"].contains(&prefix) {
        let hashes = prefix.trim_start_matches('b').strip_prefix('r')?;
        if hashes.bytes().any(|b| b != b'#') {
            return None;
        }
        let end = format!("\"{hashes}");
        let length = text[quote + 1..].find(&end)?;
        return Some(quote + 1 + length + end.len());
    }
    let mut escaped = false;
    for (at, c) in text[quote + 1..].char_indices() {
        match c {
            '"' if !escaped => return Some(quote + 1 + at + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    None
}

/// Returns the length of a character literal, or 1 for the quote of a lifetime.
fn character(text: &str) -> usize {
    let mut inside = text.chars().skip(1);
    match (inside.next(), inside.next()) {
        (Some('\\'), _) => text[2..]
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map_or(1, |(at, _)| at + 3),
        (Some(c), Some('\'')) => c.len_utf8() + 2,
        _ => 1,
    }
}
