//! Weak bosons of lepton beams (`pdlabel = eva`): a matrix element for each of their helicities, as these have different
//! densities, and what these densities depend on.

use crate::beams::radiator;
use crate::cards::Cards;
use crate::element::Element;
use crate::load;
use crate::source::Source;
use mebridge::files::regular;
use mebridge::process::card::Card;
use mebridge::{Error, Result, models};
use mebridge_densities::{BosonBeam, BosonOrder};
use mebridge_support::sorted::SortedSet;

/// Largest size of a file of an output, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// PDG codes of the bosons with a mass.
const W: i32 = 24;
const Z: i32 = 23;

/// Replaces each matrix element by one for each helicity of the incoming legs that come from beams with weak bosons.
/// Their |M|^2 is not averaged over these helicities.
///
/// # Errors
/// A matrix element is not averaged over its helicities.
pub fn by_helicity(elements: Vec<Element>, bosons: [bool; 2]) -> Result<Vec<Element>> {
    if bosons == [false; 2] {
        return Ok(elements);
    }
    let mut found = Vec::new();
    for element in elements {
        let rows = &element.process.helicities;
        let own = |row: &[i8]| [0, 1].map(|leg| bosons[leg].then(|| row[leg]));
        let states: SortedSet<[Option<i8>; 2]> = rows.iter().map(|row| own(row)).collect();
        let counts = [0, 1].map(|leg| {
            let of_leg: SortedSet<Option<i8>> = states.iter().map(|state| state[leg]).collect();
            of_leg.len() as u32
        });
        let iden = element.process.iden;
        let average = counts[0] * counts[1];
        if states.len() as u32 != average || !iden.is_multiple_of(average) {
            let what = format!(
                "|M|^2 of {} is divided by {iden}, and its bosons have {} of {average} pairs of helicities",
                element.name(),
                states.len()
            );
            return Err(Error::run(
                what,
                "take the process from an output of MG5aMC",
            ));
        }
        for &state in &states {
            let mut process = element.process.clone();
            let kept: Vec<bool> = rows.iter().map(|row| own(row) == state).collect();
            let mut of_row = kept.iter();
            process.helicities.retain(|_| of_row.next() == Some(&true));
            let mut of_row = kept.iter();
            process
                .beam_weights
                .retain(|_| of_row.next() == Some(&true));
            process.iden = iden / average;
            found.push(Element {
                helicities: state,
                ..Element::new(
                    process,
                    element.is_mirrored(),
                    element.masses.clone(),
                    element.source,
                    element.number,
                )?
            });
        }
    }
    Ok(found)
}

/// Returns the beams that radiate weak bosons.
///
/// # Errors
/// The model has no W or Z boson, or does not state their masses.
pub fn beams(cards: &Cards, elements: &[Element]) -> Result<[Option<BosonBeam>; 2]> {
    let (of, card) = (&cards.beams, &cards.run_card);
    if of.bosons == [false; 2] {
        return Ok([None; 2]);
    }
    let alpha = match load::alpha_qed(elements) {
        Some(known) => known,
        None => cards.alpha_qed()?,
    };
    let masses = [mass(cards, elements, W)?, mass(cards, elements, Z)?];
    if masses[0] <= 0.0 || masses[1] <= masses[0] {
        let what = format!(
            "pdlabel = eva needs a Z boson that is heavier than the W boson, and they have {} and {} GeV",
            masses[1], masses[0]
        );
        return Err(card.refused(what, "change the parameter card"));
    }
    Ok([0, 1].map(|beam| {
        let lepton = radiator(of.lpp[beam]).filter(|_| of.bosons[beam])?;
        let polarisation = card.number(&format!("polbeam{}", beam + 1));
        Some(BosonBeam {
            of: lepton,
            anti: of.lpp[beam] < 0,
            left_handed: 0.5 - polarisation / 200.0,
            by_transverse_momentum: card.integer("ievo_eva") != 0,
            order: match card.integer("evaorder") {
                0 => BosonOrder::Logarithm,
                1 => BosonOrder::LeadingPower,
                _ => BosonOrder::NextToLeadingPower,
            },
            energy: card.number(&format!("ebeam{}", beam + 1)),
            above_mass: above_mass(cards),
            alpha,
            masses,
        })
    }))
}

/// Whether bosons have at least an energy of their mass (`eva_xcut`). MG5aMC before 3.7 does not know this, so that a card
/// of its output without the entry does not ask for it.
fn above_mass(cards: &Cards) -> bool {
    const ENTRY: &str = "eva_xcut";
    if let Source::Output(output) = &cards.source
        && !cards.run_card.has_entry(ENTRY)
    {
        let text = regular::read_to_string(&output.path.join("Source/run.inc"), MAX_BYTES);
        return text.is_ok_and(|text| text.to_ascii_lowercase().contains(ENTRY));
    }
    cards.run_card.integer(ENTRY) != 0
}

/// The mass of a boson, GeV: that of a leg, or of the model, in which it may be a function of other parameters.
fn mass(cards: &Cards, elements: &[Element], code: i32) -> Result<f64> {
    let of_legs = elements.iter().find_map(|element| {
        let leg = element.pdg().iter().position(|pdg| pdg.abs() == code)?;
        Some(element.masses[leg])
    });
    if let Some(mass) = of_legs {
        return Ok(mass);
    }
    let unknown = |what: String| {
        let what = format!("pdlabel = eva needs the mass of particle {code} (PDG code): {what}");
        cards.run_card.refused(what, "run MadEvent (mebridge link)")
    };
    let folder = match (&cards.source, cards.source.model()) {
        (Source::Output(_), None) => {
            let what = "the output has no bin/internal/ufomodel";
            return Err(unknown(what.to_owned()));
        }
        (_, folder) => folder,
    };
    let model = models::model(folder.as_deref())?;
    let particle = model.particles.iter().find(|one| one.pdg == code);
    let name = particle.and_then(|one| one.mass.as_ref());
    let name = name.ok_or_else(|| unknown("the model has no such particle".to_owned()))?;
    let card = Card::read(&cards.param_card)?;
    let value = model.parameter(name, Some(&card)).map_err(unknown)?;
    Ok(value.re.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RunPlan;
    use crate::spec::{Conditions, RunSpec};
    use mebridge::event_generator::BeamRequest;
    use mebridge_densities::Radiator;
    use std::path::Path;

    fn spec(process: &str, folder: &Path, entries: &[(&str, &str)]) -> RunSpec {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        RunSpec {
            process: process.to_owned(),
            conditions: Conditions::RunCard {
                file: None,
                changed: entries.iter().map(owned).collect(),
                changed_files: false,
                pdf_data: None,
                folder: Some(folder.to_owned()),
            },
            ..RunSpec::default()
        }
    }

    const MUONS: [(&str, &str); 6] = [
        ("lpp1", "-4"),
        ("lpp2", "4"),
        ("ebeam1", "5000"),
        ("ebeam2", "5000"),
        ("pdlabel", "eva"),
        ("polbeam2", "-50"),
    ];

    #[test]
    fn a_matrix_element_for_each_helicity() {
        let folder = tempfile::tempdir().unwrap();
        let spec = spec("w+ a > w+ z", folder.path(), &MUONS);
        let cards = Cards::read(&spec).unwrap();
        let plan = RunPlan::from_cards(&cards, &spec).unwrap();
        let names = [
            "24{-} 22{-} 24 23",
            "24{-} 22{+} 24 23",
            "24{0} 22{-} 24 23",
            "24{0} 22{+} 24 23",
            "24{+} 22{-} 24 23",
            "24{+} 22{+} 24 23",
        ];
        assert_eq!(plan.names(), names);
        for element in &plan.elements {
            let process = &element.process;
            assert_eq!((process.iden, process.helicities.len()), (1, 9));
            let [one, other] = element.helicities.map(|helicity| helicity.unwrap());
            assert!(
                process
                    .helicities
                    .iter()
                    .all(|row| row[..2] == [one, other])
            );
        }
        // The mass of the W boson is a function of others.
        let [BeamRequest::Bosons(first), BeamRequest::Bosons(second)] =
            plan.request.beams.clone().unwrap()
        else {
            panic!("other beams");
        };
        assert_eq!(
            (first.of, first.anti, first.left_handed),
            (Radiator::Muon, true, 0.5)
        );
        assert_eq!((second.anti, second.left_handed), (false, 0.75));
        assert_eq!(first.order, BosonOrder::Logarithm);
        assert!(first.above_mass && first.energy == 5000.0);
        assert_eq!((first.alpha, first.masses[1]), (1.0 / 132.507, 91.188));
        assert!((first.masses[0] - 80.419).abs() < 1e-3);
        // Whole plans of other programs keep the helicities.
        let file = folder.path().join("plan");
        plan.write(&file).unwrap();
        assert_eq!(RunPlan::read(&file, 1).unwrap().names(), names);
    }

    #[test]
    fn one_beam_has_bosons() {
        let folder = tempfile::tempdir().unwrap();
        let eva = [
            ("lpp1", "-3"),
            ("lpp2", "0"),
            ("pdlabel1", "eva"),
            ("pdlabel2", "none"),
            ("ievo_eva", "1"),
            ("evaorder", "1"),
            ("eva_xcut", "0"),
        ];
        let spec = spec("w+ e- > ve h", folder.path(), &eva);
        let cards = Cards::read(&spec).unwrap();
        let plan = RunPlan::from_cards(&cards, &spec).unwrap();
        assert_eq!(
            plan.names(),
            ["24{-} 11 12 25", "24{0} 11 12 25", "24{+} 11 12 25"]
        );
        // The electron's helicities are averaged.
        assert!(
            plan.elements
                .iter()
                .all(|element| element.process.iden == 2)
        );
        let [BeamRequest::Bosons(beam), BeamRequest::Parton] = plan.request.beams.clone().unwrap()
        else {
            panic!("other beams");
        };
        assert!(beam.by_transverse_momentum && beam.of == Radiator::Electron);
        assert_eq!((beam.order, beam.energy), (BosonOrder::LeadingPower, 500.0));
        assert!(!beam.above_mass);
    }
}
