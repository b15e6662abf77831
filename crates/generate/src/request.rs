//! What is asked for: a process in MG5aMC's language.

use crate::model::{Model, ParticleId};
use std::ops::RangeInclusive;
use std::path::Path;

/// What separates the particles that come in from those that go out.
const ARROW: &str = ">";
/// Legs of a process.
pub const MOST_LEGS: usize = 12;

/// A process with labels, such as `p p > t t~ j QED=0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// For each leg that comes in the particles that it can be.
    pub incoming: Vec<Vec<ParticleId>>,
    /// The same for those that go out.
    pub outgoing: Vec<Vec<ParticleId>>,
    /// What a coupling order may be, for each of the model's and, last, `WEIGHTED`.
    pub orders: Vec<RangeInclusive<u32>>,
    /// Whether no order was given, so that the lowest `WEIGHTED` is wanted.
    pub lowest: bool,
    /// Particles that are no propagators.
    pub excluded: Vec<ParticleId>,
    /// What stands behind the particles, for the name of the process.
    pub tail: String,
}

/// Whether a text is a process and not the name of a file. An arrow may stand without spaces where no file has the
/// name.
pub fn is_process(text: &str) -> bool {
    text.contains(" > ") || (text.contains(ARROW) && !Path::new(text).exists())
}

/// The text of a process with spaces around its arrow.
pub fn arrow_apart(text: &str) -> String {
    match text.split_once(ARROW) {
        Some((before, after)) if !after.starts_with('=') => format!("{before} {ARROW} {after}"),
        _ => text.into(),
    }
}

impl Request {
    /// Reads a process. The error says what is wrong, and the cure.
    pub fn parse(text: &str, model: &Model) -> Result<Request, String> {
        refuse_what_is_missing(text)?;
        let words = words(text);
        let count = model.orders.len() + 1;
        let mut request = Request {
            incoming: Vec::new(),
            outgoing: Vec::new(),
            orders: vec![0..=u32::MAX; count],
            lowest: true,
            excluded: Vec::new(),
            tail: String::new(),
        };
        let mut arrow = false;
        let mut excluding = false;
        for word in &words {
            if word == ARROW {
                if arrow {
                    return Err("a particle between two `>` (a required s-channel) cannot be generated; leave it out, or \
                                import what MG5aMC writes"
                        .into());
                }
                arrow = true;
            } else if word == "/" {
                excluding = true;
            } else if let Some(number) = word.strip_prefix('@') {
                if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
                    return Err(format!("`{word}`: a number has to follow"));
                }
                request.add_to_tail(word);
            } else if let Some((order, range)) = order(word, model)? {
                request.orders[order] = range;
                request.lowest = false;
                request.add_to_tail(word);
            } else {
                let particles = particles(word, model)?;
                if excluding {
                    let both = particles.iter().flat_map(|&p| [p, model.anti(p)]);
                    request.excluded.extend(both);
                    request.add_to_tail(&format!("/ {word}"));
                } else if arrow {
                    request.outgoing.push(particles);
                } else {
                    request.incoming.push(particles);
                }
            }
        }
        let (incoming, outgoing) = (request.incoming.len(), request.outgoing.len());
        if !arrow || !matches!(incoming, 1 | 2) || outgoing == 0 {
            return Err("a process has one or two particles, a `>` and the particles that go out, as in `g g > t t~ g`".into());
        }
        if incoming + outgoing < 3 {
            return Err("a process has at least three particles".into());
        }
        if incoming + outgoing > MOST_LEGS {
            return Err(format!(
                "{} particles; at most {MOST_LEGS} can be generated",
                incoming + outgoing
            ));
        }
        // MG5aMC takes no more than the model allows, whatever is asked for.
        for (range, most) in request.orders.iter_mut().zip(&model.expansion) {
            if let Some(most) = most {
                *range = *range.start()..=*most.min(range.end());
            }
        }
        // A decay has no lowest order in MG5aMC: all of its diagrams are taken.
        request.lowest &= incoming == 2;
        Ok(request)
    }

    fn add_to_tail(&mut self, word: &str) {
        self.tail.push(' ');
        self.tail.push_str(word);
    }
}

/// Parts of MG5aMC's language that this one does not have.
fn refuse_what_is_missing(text: &str) -> Result<(), String> {
    let missing = [
        (
            ",",
            "decays (`,`) cannot be generated; put the decay products in place of the particle, as in \
               `u u~ > e+ e- g`, or import what MG5aMC writes",
        ),
        (
            "$",
            "`$` (particles that are not on shell, or not in an s-channel) cannot be generated; leave it out, exclude \
               the particle with `/`, or import what MG5aMC writes",
        ),
        (
            "[",
            "corrections (`[...]`) cannot be generated; this library evaluates tree diagrams",
        ),
        (
            "{",
            "polarised particles (`{...}`) cannot be generated; leave the braces out, or import what MG5aMC writes",
        ),
        (
            "^2",
            "squared coupling orders (`^2`) cannot be generated; use orders of the amplitude such as QED<=2, or \
                import what MG5aMC writes",
        ),
        (
            "--",
            "options (`--`) do not belong to a process; leave them out",
        ),
    ];
    match missing.iter().find(|(sign, _)| text.contains(sign)) {
        Some((_, what)) => Err((*what).into()),
        None => Ok(()),
    }
}

/// The words of a text, with `/` as one of its own and orders without spaces in them.
fn words(text: &str) -> Vec<String> {
    let mut spaced = arrow_apart(text).replace('/', " / ");
    for operator in ["<=", "==", "="] {
        let pieces: Vec<&str> = spaced.split(operator).map(str::trim).collect();
        // `<=` and `==` hold a `=`, which is not looked at again.
        let mark = match operator {
            "<=" => "\u{1}",
            "==" => "\u{2}",
            _ => "=",
        };
        spaced = pieces.join(mark);
    }
    let spaced = spaced.replace('\u{1}', "<=").replace('\u{2}', "==");
    spaced.split_whitespace().map(str::to_owned).collect()
}

/// A coupling order with what it may be. As in MG5aMC, `=` means `<=`.
fn order(word: &str, model: &Model) -> Result<Option<(usize, RangeInclusive<u32>)>, String> {
    let Some(at) = word.find(['<', '=', '>']) else {
        return Ok(None);
    };
    let (name, rest) = word.split_at(at);
    let value = rest.trim_start_matches(['<', '=', '>']);
    let operator = &rest[..rest.len() - value.len()];
    let known = model
        .orders
        .iter()
        .position(|(n, _)| n.eq_ignore_ascii_case(name));
    let weighted = name.eq_ignore_ascii_case("WEIGHTED");
    let Some(order) = known.or(weighted.then_some(model.orders.len())) else {
        let names: Vec<&str> = model.orders.iter().map(|(n, _)| n.as_str()).collect();
        return Err(format!(
            "`{word}`: there is no coupling order {name}; there are {} and WEIGHTED",
            names.join(", ")
        ));
    };
    let value: u32 = value
        .parse()
        .map_err(|_| format!("`{word}`: a number has to follow"))?;
    let range = match operator {
        "<=" | "=" => 0..=value,
        "<" if value > 0 => 0..=value - 1,
        "==" => value..=value,
        ">" => value.saturating_add(1)..=u32::MAX,
        ">=" => value..=u32::MAX,
        _ => return Err(format!("`{word}`: write an order as in QCD<=2")),
    };
    Ok(Some((order, range)))
}

/// The particles of a name or a label.
fn particles(word: &str, model: &Model) -> Result<Vec<ParticleId>, String> {
    if let Some(particle) = model.particle(word) {
        return Ok(vec![particle]);
    }
    let label = model
        .labels
        .get(word)
        .or_else(|| model.labels.get(&word.to_lowercase()));
    if let Some(label) = label {
        return Ok(label.clone());
    }
    let particles = model.particles.iter().map(|p| p.name.as_str());
    let labels = model.labels.keys().map(String::as_str);
    let known: Vec<&str> = particles.chain(labels).collect();
    // Among names that are equally near, the one that is as long.
    let near = known.iter().map(|name| {
        let longer = name.len().abs_diff(word.len());
        (distance(&word.to_lowercase(), name), longer, *name)
    });
    let hint = match near.min() {
        Some((away, _, name)) if away <= 2 && away < word.len() => {
            format!("do you mean `{name}`? ")
        }
        _ => String::new(),
    };
    Err(format!(
        "there is no particle or label `{word}` in the model {}; {hint}it has {}",
        model.name,
        known.join(" ")
    ))
}

/// How many characters have to be changed, put in or taken out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Request, String> {
        Request::parse(text, &Model::standard().unwrap())
    }

    #[test]
    fn names_labels_orders_and_exclusions() {
        let model = Model::standard().unwrap();
        let request = parse("p e- > W+ j QED <= 2 QCD==1/ z h @3").unwrap();
        assert_eq!(request.incoming[0].len(), 9);
        assert_eq!(request.incoming[1], [model.particle("e-").unwrap()]);
        assert_eq!(request.outgoing[0], [model.particle("w+").unwrap()]);
        let names = model.names(&request.excluded);
        assert_eq!(names, "z z h h");
        assert_eq!(request.orders, [1..=1, 0..=2, 0..=u32::MAX]);
        assert_eq!(request.tail, " QED<=2 QCD==1 / z / h @3");
        assert!(!request.lowest);
        assert!(parse("g g > t t~").unwrap().lowest);
        assert!(!parse("t > b w+").unwrap().lowest);
        assert_eq!(parse("g g > t t~ WEIGHTED=2").unwrap().orders[2], 0..=2);
    }

    #[test]
    fn orders_are_no_more_than_the_model_allows() {
        let mut model = Model::standard().unwrap();
        model.expansion = vec![None, Some(1)];
        let orders = |text: &str| Request::parse(text, &model).unwrap().orders;
        assert_eq!(orders("g g > t t~"), [0..=u32::MAX, 0..=1, 0..=u32::MAX]);
        assert_eq!(
            orders("g g > t t~ QED=4 QCD=3"),
            [0..=3, 0..=1, 0..=u32::MAX]
        );
        assert_eq!(orders("g g > t t~ QED=0")[1], 0..=0);
    }

    #[test]
    fn bad_input_is_told() {
        for (text, says) in [
            ("g g > t tx", "do you mean `t~`?"),
            ("g g > qqqqq", "no particle or label `qqqqq`"),
            ("g g t t~", "a `>`"),
            ("g g > ", "a `>`"),
            ("g g g > t t~", "one or two particles"),
            ("g > g", "at least three"),
            ("g g > g g g g g g g g g g g", "at most 12"),
            ("g g > h > t t~", "required s-channel"),
            ("g g > t t~, t > b w+", "decays"),
            ("e+ e- > mu+ mu- $ z", "`$`"),
            ("u u~ > z [QCD]", "corrections"),
            ("u u~ > z{0} z", "polarised"),
            ("u u > u u QED^2==2", "squared"),
            ("u u > u u NP=1", "no coupling order NP"),
            ("u u > u u QED=x", "number"),
            ("u u > u u @x", "number"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
