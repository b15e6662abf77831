//! Parser for texts of several lines, and for decays, in MG5aMC's language.
//!
//! A line defines a label (`define l = e- mu-`) or requests a process, optionally with `generate` or `add process` in
//! front. `set zerowidth_tchannel True` applies to the following lines. Lines end with a newline or `;`. The decays of
//! outgoing particles follow the process, separated by commas; a decay with decays of its own is in parentheses.

use super::request::{Labels, ProcessRequest, particles, sort, with_spaced_arrow, without_options};
use crate::model::{Model, Scheme};

/// Most characters of a text.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Most levels of decays within decays.
const MAX_NESTING: usize = 16;

/// Parses all processes that a text requests.
pub fn requests(text: &str, model: &Model) -> Result<Vec<ProcessRequest>, String> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(format!(
            "a text of {} characters; at most {MAX_TEXT_BYTES} are possible",
            text.len()
        ));
    }
    // A backslash at the end of a line continues it.
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut labels = model.labels.clone();
    let mut requests = Vec::new();
    let mut zero_width = false;
    for line in text.split(['\n', ';']) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(definition) = without(line, "define") {
            define(definition, model, &mut labels)?;
            continue;
        }
        if let Some(name) = imported(line) {
            if !is_named(model, name) {
                return Err(format!(
                    "`{line}`: the model is {}; name only one model, by this line or by --model",
                    model.name
                ));
            }
            continue;
        }
        if let Some(setting) = without(line, "set") {
            zero_width = set(setting)?;
            continue;
        }
        one_number(line)?;
        let process = without(line, "generate").or_else(|| {
            let line = without(line, "add")?;
            without(line, "process")
        });
        let mut request = request(process.unwrap_or(line), model, &labels)?;
        request.zero_width = zero_width;
        let first: &ProcessRequest = requests.first().unwrap_or(&request);
        if first.incoming.len() != request.incoming.len() {
            return Err(format!(
                "`{line}` has {} incoming particle(s) and the first process {}; generate decays and collisions separately",
                request.incoming.len(),
                first.incoming.len()
            ));
        }
        requests.push(request);
    }
    match requests.is_empty() {
        true => Err("it contains no process, such as `g g > t t~`".into()),
        false => Ok(requests),
    }
}

/// Checks that a process with its decays has only one number.
fn one_number(line: &str) -> Result<(), String> {
    let number = |text: &'_ str| {
        let text = text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_digit());
        text[..end.unwrap_or(text.len())].to_owned()
    };
    let numbers: Vec<String> = line.split('@').skip(1).map(number).collect();
    match numbers.iter().find(|number| **number != numbers[0]) {
        Some(other) => Err(format!(
            "`@{}` and `@{other}` contradict each other; a process and its decays have one number",
            numbers[0]
        )),
        None => Ok(()),
    }
}

/// If a text ends in an invalid choice among several matrix elements, such as `p p > t t~#0`, returns the text before
/// it and the choice. A comment has a blank on at least one side of its `#`.
pub fn wrong_choice(text: &str) -> Option<(&str, &str)> {
    let (before, choice) = text.trim_end().rsplit_once('#')?;
    let is_apart = before.ends_with(char::is_whitespace) || before.is_empty();
    let is_number = choice.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    let is_choice = !choice.contains(char::is_whitespace) && (is_number || !is_apart);
    let is_right = matches!(choice.parse::<usize>(), Ok(1..));
    (is_choice && !is_right && !before.contains('#')).then_some((before, choice))
}

/// The model that a line such as `import model sm-no_b_mass` imports.
fn imported(line: &str) -> Option<&str> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let rest = without(without(line, "import")?, "model")?;
    let mut words = rest
        .split_whitespace()
        .filter(|word| !word.starts_with('-'));
    words.next()
}

/// The model that a text imports, if any.
pub fn imported_model(text: &str) -> Option<&str> {
    text.split(['\n', ';']).find_map(imported)
}

/// Whether a model has this name, or is in this folder.
fn is_named(model: &Model, name: &str) -> bool {
    let name = name.trim_end_matches('/');
    let last = name.rsplit('/').next().unwrap_or(name);
    let (own, _) = Scheme::of_name(&model.name);
    own == Scheme::of_name(last).0
}

/// Parses the only supported setting of MG5aMC.
fn set(text: &str) -> Result<bool, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["zerowidth_tchannel", "True"] => Ok(true),
        ["zerowidth_tchannel", "False"] => Ok(false),
        _ => Err(format!(
            "`set {text}`: only `set zerowidth_tchannel True` (or False) is supported"
        )),
    }
}

/// The rest of a line that begins with this word.
fn without<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word)?;
    rest.starts_with(char::is_whitespace)
        .then(|| rest.trim_start())
}

/// `define NAME = PARTICLES / EXCLUDED PARTICLES`
fn define(text: &str, model: &Model, labels: &mut Labels) -> Result<(), String> {
    let text = text.replace(['=', '/'], " \0 ");
    let sign = |at: usize| text.match_indices('\0').nth(at).is_some();
    let mut parts = text.split('\0');
    let name = parts.next().unwrap_or_default().split_whitespace();
    let name: Vec<&str> = name.collect();
    let list = |words: &str| -> Result<Vec<u16>, String> {
        let mut found = Vec::new();
        for word in words.split_whitespace() {
            for particle in particles(word, model, labels)? {
                if !found.contains(&particle) {
                    found.push(particle);
                }
            }
        }
        Ok(found)
    };
    // `define l e- mu-` is the same.
    let (name, first) = match (name.as_slice(), sign(0)) {
        ([name], true) => (*name, parts.next().unwrap_or_default().to_owned()),
        ([name, rest @ ..], false) => (*name, rest.join(" ")),
        _ => return Err("a label is defined as in `define l = e- mu-`".into()),
    };
    let mut found = list(&first)?;
    let removed = list(parts.next().unwrap_or_default())?;
    found.retain(|particle| !removed.contains(particle));
    if found.is_empty() || parts.next().is_some() {
        return Err(format!(
            "the label {name} is defined as in `define {name} = e- mu-`, and must contain a particle"
        ));
    }
    if model.particle(name).is_some() {
        return Err(format!(
            "`{name}` is a particle, and no label can have its name"
        ));
    }
    sort(&mut found, model);
    labels.insert(name.to_lowercase(), found);
    Ok(())
}

/// Parses a process with its decays.
fn request(text: &str, model: &Model, labels: &Labels) -> Result<ProcessRequest, String> {
    if !text.contains(',') {
        if text.contains(['(', ')']) {
            return Err(
                "parentheses can only enclose a decay with its own decays, after a comma".into(),
            );
        }
        return ProcessRequest::parse_one(text, model, labels);
    }
    let text = without_options(text)?;
    let text = text.as_str();
    // A number and orders for the process with its decays come last.
    let (text, tail) = match text.rsplit_once('@') {
        Some((text, tail)) if !tail.contains([',', ')', '>']) => (text, tail),
        _ => (text, ""),
    };
    let tail = tail.trim();
    let digits = tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, orders) = tail.split_at(digits);
    if number.is_empty() && !orders.is_empty() {
        return Err("a number follows `@`".into());
    }
    let mut rest = text;
    let mut request = chain(&mut rest, model, labels, 0)?;
    if !rest.trim().is_empty() {
        return Err(format!("`{}`: there is no `(` for the `)`", rest.trim()));
    }
    if !orders.trim().is_empty() {
        // Parsed as the orders of a dummy process.
        let (first, second) = (&model.particles[0].name, &model.particles[0].name);
        let bounds = ProcessRequest::parse_one(
            &format!("{first} {second} > {first} {second} {orders}"),
            model,
            labels,
        )?;
        let others =
            bounds.outgoing.len() > 2 || !bounds.squared.is_empty() || !bounds.excluded.is_empty();
        if others
            || bounds.orders.iter().any(|range| *range.start() > 0)
            || bounds.s_channels != Default::default()
        {
            return Err(format!(
                "`@{tail}`: only coupling orders as in QCD<=2 can follow, for the process with its decays"
            ));
        }
        request.bound_all(&bounds.orders);
        // The model's limits apply to the process and to each decay, not to all together.
        let is_bounded = |name: &str| orders.split(['=', '<', '>', ' ']).any(|word| word == name);
        request.overall = bounds.requested;
        for (range, (name, _)) in request.overall.iter_mut().zip(&model.orders) {
            if !is_bounded(name) {
                *range = 0..=u32::MAX;
            }
        }
    }
    if !number.is_empty() {
        request.number = format!(" @{number}{}", orders.trim_end());
    }
    Ok(request)
}

/// Parses a process and its decays up to its closing `)`, or the end.
fn chain(
    rest: &mut &str,
    model: &Model,
    labels: &Labels,
    nested: usize,
) -> Result<ProcessRequest, String> {
    if nested > MAX_NESTING {
        return Err("decays are nested too deeply".into());
    }
    let end = rest.find([',', ')', '(']).unwrap_or(rest.len());
    let (own, behind) = rest.split_at(end);
    let mut request = ProcessRequest::parse_one(&with_spaced_arrow(own), model, labels)?;
    *rest = behind;
    while let Some(behind) = rest.strip_prefix(',') {
        let behind = behind.trim_start();
        let decay = match behind.strip_prefix('(') {
            Some(inner) => {
                *rest = inner;
                let decay = chain(rest, model, labels, nested + 1)?;
                let Some(behind) = rest.strip_prefix(')') else {
                    return Err("a `)` is missing after a decay".into());
                };
                *rest = behind.trim_start();
                decay
            }
            None if behind.is_empty() => return Err("a decay is missing after a comma".into()),
            None => {
                let end = behind.find([',', ')', '(']).unwrap_or(behind.len());
                let (own, behind) = behind.split_at(end);
                *rest = behind;
                ProcessRequest::parse_one(own, model, labels)?
            }
        };
        if decay.incoming.len() != 1 {
            return Err("a decay is of one particle, as in `t > b w+`".into());
        }
        if !decay.incoming[0].polarization.is_empty() {
            return Err("give the polarisation of a decaying particle where it is produced, not in its decay".into());
        }
        request.decays.push(decay);
    }
    if !rest.is_empty() && !rest.starts_with(')') {
        return Err(format!("`{}`: a comma is missing in front", rest.trim()));
    }
    for one in std::iter::once(&request).chain(&request.decays) {
        if !one.squared.is_empty() || one.orders.iter().any(|range| *range.start() > 0) {
            return Err(
                "with decays coupling orders can only have upper bounds, as in QCD<=2".into(),
            );
        }
    }
    for decay in &mut request.decays {
        // As in MG5aMC, a decay in a chain has its lowest possible orders.
        decay.lowest = !decay.ordered;
    }
    Ok(request)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<ProcessRequest>, String> {
        requests(text, &Model::standard().unwrap())
    }

    #[test]
    fn decays_are_nested() {
        let model = Model::standard().unwrap();
        let text = "p p > t t~ QCD=2, (t > w+ b, w+ > l+ vl), t~ > w- b~ @2 QED<=3";
        let request = parse(text).unwrap().remove(0);
        let mothers = |request: &ProcessRequest| -> Vec<String> {
            let decays = request.decays.iter();
            decays
                .map(|d| model.names(&d.incoming[0].particles))
                .collect()
        };
        assert_eq!(mothers(&request), ["t", "t~"]);
        assert_eq!(mothers(&request.decays[0]), ["w+"]);
        assert!(!request.decays[0].lowest && !request.lowest);
        assert_eq!(request.overall[1], 0..=3);
        assert_eq!(request.decays[0].decays[0].orders[1], 0..=3);
        assert_eq!(request.number, " @2 QED<=3");
        // An option is not an order.
        for (text, number) in [
            ("g g > t t~, t > w+ b @7 --no_warning=duplicate", " @7"),
            ("g g > t t~, (t > w+ b, w+ > l+ vl) --no_warning", ""),
            ("g g > t t~, t > w+ b --standalone, t~ > w- b~", ""),
        ] {
            let request = &parse(text).unwrap()[0];
            assert_eq!(request.number, number, "{text}");
            assert!(request.lowest && request.decays[0].lowest, "{text}");
        }
        // Parentheses around a single decay are ignored.
        let request = parse("g g > t t~, (t > w+ b)").unwrap().remove(0);
        assert!(request.lowest && request.decays[0].lowest);
        // The model's limits do not count as requested orders.
        let mut model = Model::standard().unwrap();
        model.expansion = vec![None, Some(9)];
        let lowest = |decay: &str| {
            let request = requests(&format!("g g > t t~, {decay}"), &model).unwrap();
            request[0].decays[0].lowest
        };
        assert!(lowest("t > w+ b") && !lowest("t > w+ b QED=9"));
        // Unlike orders after `@`, they do not bound a process with its decays.
        let request = requests("g g > t t~, t > w+ b @1 QCD<=4", &model).unwrap();
        assert_eq!(request[0].overall[..2], [0..=4, 0..=u32::MAX]);
        assert_eq!(request[0].decays[0].orders[..2], [0..=4, 0..=9]);
        // A bound after `@` is kept, though no part may exceed the model's limits.
        let request = requests("g g > t t~, t > w+ b @1 QED<=12", &model).unwrap();
        assert_eq!(request[0].overall[1], 0..=12);
        assert_eq!(request[0].orders[1], 0..=9);
    }

    #[test]
    fn labels_are_in_the_order_of_mg5amc() {
        let model = Model::standard().unwrap();
        let order = |label: &str| {
            let text = format!("define xx = {label}; xx u > xx u");
            model.names(&requests(&text, &model).unwrap()[0].incoming[0].particles)
        };
        assert_eq!(order("z e+ t~ g a e- u~ t u"), "g u u~ a e- e+ t t~ z");
        assert_eq!(order("z g"), "g z");
        // Particles that the order does not distinguish stay as written.
        assert_eq!(order("s d"), "s d");
    }

    #[test]
    fn choices_are_told_from_comments() {
        for choice in [
            "0",
            "-1",
            "x",
            "1e9",
            "1.",
            "",
            "99999999999999999999",
            "１",
        ] {
            let text = format!("p p > t t~#{choice}");
            assert_eq!(wrong_choice(&text), Some(("p p > t t~", choice)), "{text}");
        }
        assert_eq!(wrong_choice("p p > t t~ #0\n"), Some(("p p > t t~ ", "0")));
        for text in [
            "p p > t t~",
            "p p > t t~#2",
            "p p > t t~ # 0",
            "p p > t t~ #tops",
            "p p > t t~ #tops # 0",
            "p p > t t~# all of them",
            "p p > t t~#x\nadd process p p > j j",
            "#p p > t t~",
        ] {
            assert_eq!(wrong_choice(text), None, "{text}");
        }
    }

    /// MG5aMC's cards import their model, and have continuation lines.
    #[test]
    fn cards_are_read() {
        let text = "import model sm --modelname # ours\ngenerate g g > \\\n  t t~ \\\r\n QCD=2\n";
        let request = parse(text).unwrap().remove(0);
        assert_eq!(
            (request.outgoing.len(), request.orders[0].clone()),
            (2, 0..=2)
        );
        assert_eq!(imported_model(text), Some("sm"));
        assert_eq!(
            imported_model("g g > t t~; import model /a/heft-full"),
            Some("/a/heft-full")
        );
        assert_eq!(imported_model("g g > t t~ # import model heft"), None);
        parse("import model MG5/models/sm/; g g > t t~").unwrap();
        for other in ["heft", "sm-no_b_mass"] {
            let error = parse(&format!("import model {other}\ngenerate g g > t t~")).unwrap_err();
            assert!(
                error.contains(&format!("`import model {other}`: the model is sm")),
                "{error}"
            );
        }
    }

    /// Requests that would exhaust memory are refused.
    #[test]
    fn sizes_have_limits() {
        let all = "define q = u c d s t u~ c~ d~ s~ t~ g a z h w+ w- e+ e- mu+ mu-; ";
        let error = |text: &str| crate::generate(text).unwrap_err().to_string();
        for process in ["q q > q q q q q q", "q q > q q q q q q q q q q"] {
            let error = error(&format!("{all}{process}"));
            assert!(error.contains("more than 2500000 processes"), "{error}");
        }
        let channels = format!("{all}u u~ > q q q q q q > u u~");
        assert!(error(&channels).contains("more than 10000 choices"));
        let long = error(&format!("g g > t t~{}", " ".repeat(1 << 20)));
        assert!(long.contains("a text of "), "{}", long.len());
    }

    #[test]
    fn several_lines() {
        let all = parse(
            "define q = u d / d; define v w+ z\ngenerate q u~ > v g # one\nadd process g q > v q",
        )
        .unwrap();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].incoming[0].particles.len(), 1);
        assert_eq!(all[1].outgoing[0].particles.len(), 2);
    }

    #[test]
    fn bad_input_is_told() {
        for (text, says) in [
            ("", "no process"),
            ("set gauge Feynman", "zerowidth_tchannel"),
            ("define u = d", "is a particle"),
            ("define = d", "as in"),
            ("define x = ", "must contain a particle"),
            ("g g > t t~, t > w+ b, ", "decay is missing"),
            ("g g > t t~, (t > w+ b, w+ > l+ vl", "`)` is missing"),
            ("g g > t t~, t > w+ b)", "no `(`"),
            ("g g > (t t~)", "parentheses"),
            ("g g > t t~, (t > w+ b) w+ > l+ vl", "comma is missing"),
            ("g g > t t~, g g > t t~", "of one particle"),
            ("g g > t t~, t{L} > w+ b", "not in its decay"),
            (
                "t > w+ b\nadd process g g > t t~",
                "has 2 incoming particle(s) and the first process 1",
            ),
            ("g g > t t~; t > w+ b", "separately"),
            ("g g > t t~ @1 @2", "`@1` and `@2` contradict"),
            ("g g > t t~ @ 1, t > w+ b @2", "`@1` and `@2` contradict"),
            ("g g > t t~ QCD^2==4, t > w+ b", "upper bounds"),
            ("g g > t t~, t > w+ b QED==1", "upper bounds"),
            ("g g > t t~, t > w+ b @1 / z", "can follow"),
            ("g g > t t~, t > w+ b @1 --diagram_filter", "leave it out"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
