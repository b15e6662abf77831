//! `running.py`: running parameters and their mixing (arXiv:2304.09883).

use crate::imported::Imported;
use crate::source::{ParameterValue, RunningTerm};
use crate::values::{ALPHA_S, STRONG_COUPLING};
use mebridge_generate::model::constant_value;
use mebridge_generate::model::file::RunningRow;
use mebridge_support::sorted::SortedSet;

type Fallible<T> = Result<T, String>;

/// A term in the supported form: d `of` / d ln mu is proportional to `by`.
struct Mixed<'a> {
    of: &'a str,
    by: &'a str,
    term: &'a RunningTerm,
}

/// A term without its factor alpha_s, or G G; or the names in a term that is not supported, and why.
fn mixed(term: &RunningTerm) -> Result<Mixed<'_>, (Vec<&str>, String)> {
    let strong = |name: &&str| [ALPHA_S, STRONG_COUPLING].contains(name);
    let all = term.objects.iter().map(String::as_str);
    let (coupling, rest): (Vec<&str>, Vec<&str>) = all.partition(strong);
    let fail = |what: &str| (rest.clone(), format!("{}: {what}", term.place));
    match (&coupling[..], &rest[..]) {
        (["aS"] | ["G", "G"], &[of, by]) => Ok(Mixed { of, by, term }),
        (["aS"] | ["G", "G"], _) => Err(fail(
            "only running in proportion to one parameter is supported",
        )),
        _ => Err(fail("only running with one power of alpha_s is supported")),
    }
}

/// The sets of parameters that mix, with their names in the model file.
pub fn rows(model: &Imported, renamed: &dyn Fn(&str) -> String) -> Fallible<Vec<RunningRow>> {
    let read: Vec<Result<Mixed, _>> = model.running.iter().map(mixed).collect();
    let mut sets: Vec<SortedSet<&str>> = Vec::new();
    for term in &read {
        let names: Vec<&str> = match term {
            Ok(term) => vec![term.of, term.by],
            Err((names, _)) => names.clone(),
        };
        let (with, without): (Vec<_>, Vec<_>) = sets
            .into_iter()
            .partition(|set| names.iter().any(|name| set.contains(name)));
        sets = without;
        sets.push(with.into_iter().flatten().chain(names).collect());
    }
    let rows = sets.iter().filter(|set| !set.is_empty());
    let rows = rows.map(|set| row(model, set, &read, renamed));
    Ok(rows
        .collect::<Fallible<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// The row of a set; `None` if a restriction removed all its parameters from the card.
fn row(
    model: &Imported,
    set: &SortedSet<&str>,
    read: &[Result<Mixed, (Vec<&str>, String)>],
    renamed: &dyn Fn(&str) -> String,
) -> Fallible<Option<RunningRow>> {
    let find = |name: &&str| model.parameters.iter().find(|p| p.name == **name);
    let mut row = RunningRow::default();
    let (mut blocks, mut scales): (SortedSet<String>, Vec<Option<f64>>) = Default::default();
    let mut gone = Vec::new();
    for name in set {
        match find(name).map(|p| (&p.value, p.scale)) {
            Some((ParameterValue::External(block, ..), scale)) => {
                row.parameters.push(renamed(name));
                blocks.insert(block.to_ascii_lowercase());
                if !scales.contains(&scale) {
                    scales.push(scale);
                }
            }
            _ => gone.push(*name),
        }
    }
    if row.parameters.is_empty() {
        return Ok(None);
    }
    let mut why = None;
    if let Some(gone) = gone.first() {
        why = Some(format!(
            "the restriction, or the model, has no entry of the card for {gone}, with which it mixes"
        ));
    }
    for term in read {
        match term {
            Err((names, what)) if names.iter().any(|name| set.contains(name)) => {
                why.get_or_insert(what.clone());
            }
            Ok(term) if set.contains(term.of) => match constant_value(&term.term.value) {
                Ok(value) => {
                    let [of, by] = [term.of, term.by].map(renamed);
                    if row.gamma.iter().any(|[a, b, _]| (a, b) == (&of, &by)) {
                        let place = &term.term.place;
                        return Err(format!("{place}: {of} and {by} have a coefficient already"));
                    }
                    row.gamma.push([of, by, format!("{value:?}")]);
                }
                Err(what) => {
                    why.get_or_insert(format!("{}: {what}", term.term.place));
                }
            },
            _ => {}
        }
    }
    match (
        blocks.into_iter().collect::<Vec<_>>().as_slice(),
        &scales[..],
    ) {
        ([block], [Some(scale)]) if *scale > 0.0 => {
            row.block = block.clone();
            row.scale = *scale;
        }
        ([_], _) => {
            why.get_or_insert(
                "parameters.py does not give the same `scale` to all parameters that it mixes with"
                    .into(),
            );
        }
        (blocks, _) => {
            why.get_or_insert(format!(
                "it mixes with parameters of other blocks of the card ({})",
                blocks.join(", ")
            ));
        }
    }
    if let Some(why) = why {
        row = RunningRow {
            parameters: row.parameters,
            refused: Some(why),
            ..RunningRow::default()
        };
    }
    Ok(Some(row))
}
