//! Plans of runs whose conditions are stated by the caller: energy, densities, scales and named cuts.

use crate::banner::{CommonBanner, Norm};
use crate::densities::{AT_Z, AlphaS, BeamDensities, PdfMember};
use crate::element::Element;
use crate::event_file::{Blocks, InitBeams};
use crate::limits::{self, Incoming, PhaseSpaceCheck};
use crate::named_cuts::{self, NamedCut, WIDTHS};
use crate::param_card::ParamCard;
use crate::plan::RunPlan;
use crate::spec::{Conditions, RunSpec};
use crate::state::{Arguments, file_digest};
use crate::systematics::Systematics;
use crate::{conditions, load, poles, running, scale};
use mebridge::event_generator::{ElementRequest, Request};
use mebridge::process::card::Card;
use mebridge::runtime::ProcessChoice;
use mebridge::{Error, Result, models};
use mebridge_support::sorted::SortedMap;
use serde_json::{Value, json};
use std::path::Path;

const PROTON: i32 = 2212;

impl RunPlan {
    /// The plan of a run under stated conditions.
    ///
    /// # Errors
    /// A matrix element cannot be read, or the conditions do not fit it.
    ///
    /// # Panics
    /// The conditions of the run are those of a run card.
    pub fn stated(spec: &RunSpec) -> Result<Self> {
        let Conditions::Stated {
            energy,
            pdf,
            alpha_s: given,
            scale: choice,
            scale_factor,
            cuts,
        } = &spec.conditions
        else {
            panic!("conditions that are stated");
        };
        let energy = *energy;
        if !(energy.is_finite() && energy > 0.0) {
            let what = format!("energy is {}", crate::text::repr(energy));
            return Err(Error::run(what, "it must be a positive number"));
        }
        let densities = pdf.as_ref().map(|pdf| PdfMember::read(Path::new(pdf)));
        let densities = densities.transpose()?.map(BeamDensities::Set);
        let scale = scale::stated(choice.as_ref(), *scale_factor, energy, densities.is_some())?;
        let cuts = named_cuts::read(cuts)?;
        let card = spec.param_card.as_deref();
        let model = spec.model.as_deref();
        let mut elements =
            load::load_process(&spec.process, model, card, &spec.parameters, spec.threads)?;
        let mut notices = Vec::from_iter(load::ignored_resonances(&spec.process));
        let (alpha_s, source) = alpha_s(spec, *given, densities.as_ref(), &elements)?;
        let scales = running::scales(elements.iter().map(|element| &element.process));
        let blocks = running::blocks(&scales, &alpha_s, None, None)?;
        for element in elements.iter_mut().filter(|_| !blocks.is_empty()) {
            element.process = running::applied(&element.process, &blocks);
        }
        let wanted = spec.systematics.as_deref().unwrap_or_default();
        let systematics = Systematics::choose(wanted, densities.as_ref(), given.is_none())?;
        check_weights(spec, &systematics, !blocks.is_empty())?;
        let incoming = Incoming {
            densities: densities.as_ref(),
            anti: [false; 2],
            other: None,
            photons: 0,
            ions: [None; 2],
            bosons: [None; 2],
        };
        check(spec, &elements, &cuts, &incoming, energy)?;
        let densities_range = densities.as_ref().map(BeamDensities::grid_range);
        let grid_range = densities_range.transpose()?;
        let judge = PhaseSpaceCheck {
            energy,
            grid_range: grid_range.as_ref(),
            alpha_s: &alpha_s,
            scale: &scale,
            cuts: Some(&cuts),
        };
        let request = |element: &Element| -> Result<ElementRequest> {
            let mut windows = named_cuts::windows(element, &cuts)?;
            let partons = incoming.partons(element);
            judge.check(element, &mut windows, &partons, &mut notices)?;
            Ok(ElementRequest {
                windows,
                ..element.request()
            })
        };
        let requests: Vec<_> = elements.iter().map(request).collect::<Result<_>>()?;
        let shown = shown(&cuts, &elements, &mut notices);
        let strong = conditions::is_strong(&elements);
        let line = conditions::line(
            strong.then(|| (alpha_s.at(conditions::Z), source.as_str())),
            &conditions::by_name(&scale),
            &shown,
        );
        let codes = match densities {
            Some(_) => [PROTON; 2],
            None => [elements[0].pdg()[0], elements[0].pdg()[1]],
        };
        let number = densities.as_ref().map_or(0, |of| i64::from(of.number()));
        let beams = InitBeams::equal(codes, energy, number);
        let head = banner(beams, &systematics, elements.len());
        let request = Request {
            beams: incoming.requests(),
            alpha_s: (alpha_s.scales.clone(), alpha_s.values.clone()),
            threads: spec.threads,
            backend: Some(spec.backend()?.to_owned()),
            widths: WIDTHS,
            alpha_qed: match load::alpha_qed(&elements) {
                Some(known) => known,
                None => alpha_qed(spec)?,
            },
            color: spec.color,
            ..Request::new(energy, scale, requests)
        };
        Ok(RunPlan {
            runs: !blocks.is_empty(),
            arguments: arguments(spec, &cuts, densities.as_ref(), &alpha_s, &systematics)?,
            conditions: vec![line],
            elements,
            request,
            head,
            systematics,
            alpha_s,
            notices,
        })
    }
}

/// Describes the cuts on particles of the process; a notice says which others there are.
fn shown(cuts: &[NamedCut], elements: &[Element], notices: &mut Vec<String>) -> Vec<String> {
    let used = named_cuts::used(cuts, elements.iter().map(Element::pdg));
    let unused = cuts.iter().filter(|cut| !used.contains(cut));
    let unused: Vec<&str> = unused.map(|cut| &*cut.cut.name).collect();
    if !unused.is_empty() {
        let unused = unused.join(", ");
        notices.push(format!(
            "the process has no particles that the cuts {unused} are about"
        ));
    }
    let described = |cut| named_cuts::described(std::slice::from_ref(cut));
    used.iter().map(described).collect()
}

/// What is above the events.
fn banner(beams: InitBeams, systematics: &Systematics, elements: usize) -> CommonBanner {
    CommonBanner {
        blocks: Blocks {
            beams,
            powers: Vec::new(),
            matched: false,
            clustering: false,
            names: systematics.names(),
            numbers: (1..).take(elements).collect(),
        },
        norm: Norm::Average,
        generator: String::new(),
        header: match systematics.groups.is_empty() {
            true => String::new(),
            false => systematics.header(),
        },
        cards: None,
    }
}

/// Checks that events of these matrix elements can be made.
fn check(
    spec: &RunSpec,
    elements: &[Element],
    cuts: &[NamedCut],
    incoming: &Incoming,
    energy: f64,
) -> Result<()> {
    let is_folder = ProcessChoice::parse(&spec.process).path.is_dir();
    let name = (!is_folder).then_some(&*spec.process);
    limits::check_elements(elements, incoming, energy, name)?;
    poles::by_name(elements, cuts)
}

/// alpha_s and its source.
fn alpha_s(
    spec: &RunSpec,
    given: Option<f64>,
    densities: Option<&BeamDensities>,
    elements: &[Element],
) -> Result<(AlphaS, String)> {
    if let Some(value) = given {
        return Ok((AlphaS::constant(value)?, "alpha_s=".to_owned()));
    }
    if let Some(set) = densities.and_then(BeamDensities::set) {
        let of = set.file.file_stem().unwrap_or_default();
        return Ok((set.with_alpha_s("give alpha_s=")?, of.display().to_string()));
    }
    let value = match own_alpha_s(spec, elements)? {
        Some(value) => value,
        None => match &spec.param_card {
            Some(card) => ParamCard::read(card)?.value("sminputs", 3, AT_Z),
            None => AT_Z,
        },
    };
    Ok((
        AlphaS::constant(value)?,
        "the process's parameter aS".to_owned(),
    ))
}

/// The parameter aS of a process that depends on it, or of its model.
fn own_alpha_s(spec: &RunSpec, elements: &[Element]) -> Result<Option<f64>> {
    for element in elements {
        let model = &element.process.model;
        if let Some(number) = model.card_parameter("aS") {
            return Ok(Some(model.card[number].default));
        }
    }
    if ProcessChoice::parse(&spec.process).path.exists() {
        return Ok(None);
    }
    let card = spec.param_card.as_deref().map(Card::read).transpose()?;
    let model =
        models::model(models::for_process(&spec.process, spec.model.as_deref()).as_deref())?;
    let value = model.parameter("aS", card.as_ref()).ok();
    Ok(value.map(|value| value.re))
}

/// The electromagnetic coupling for events whose matrix elements do not depend on it; 0 if unknown.
fn alpha_qed(spec: &RunSpec) -> Result<f64> {
    let model = spec.model.as_deref();
    if let Some(card) = &spec.param_card {
        let numbers = ParamCard::read(card)?;
        let known = model.is_none() || numbers.value("sminputs", 1, 0.0) != 0.0;
        let by_model = match known {
            true => None,
            false => load::model_alpha_qed(model, Some(card)),
        };
        return Ok(by_model.unwrap_or_else(|| numbers.alpha_qed()));
    }
    // Files and directories have their own models, which are not known here.
    if ProcessChoice::parse(&spec.process).path.exists() {
        return Ok(0.0);
    }
    let model = models::for_process(&spec.process, model);
    Ok(load::model_alpha_qed(model.as_deref(), None).unwrap_or(0.0))
}

/// Checks that further weights can be computed.
fn check_weights(spec: &RunSpec, systematics: &Systematics, runs: bool) -> Result<()> {
    if systematics.groups.is_empty() {
        return Ok(());
    }
    if spec.backend()? != "cpu" {
        let what = "weights for systematics are made on a CPU";
        return Err(Error::run(what, "give device=\"cpu\""));
    }
    match runs {
        true => Err(Error::run(running::NO_SYSTEMATICS, "")),
        false => Ok(()),
    }
}

/// The arguments that distinguish the run from others.
fn arguments(
    spec: &RunSpec,
    cuts: &[NamedCut],
    densities: Option<&BeamDensities>,
    alpha_s: &AlphaS,
    systematics: &Systematics,
) -> Result<Arguments> {
    let Conditions::Stated {
        energy,
        scale,
        scale_factor,
        ..
    } = &spec.conditions
    else {
        unreachable!("conditions that are stated");
    };
    let files: Vec<Value> = systematics
        .files()
        .map(file_digest)
        .collect::<Result<_>>()?;
    let pdf = densities.and_then(BeamDensities::set);
    let cuts: SortedMap<&str, f64> = cuts.iter().map(|cut| (&*cut.cut.name, cut.value)).collect();
    let of = |value: Option<&std::path::PathBuf>| value.map(|file| file_digest(file)).transpose();
    Ok([
        ("process", json!(spec.process)),
        ("card", json!(of(spec.param_card.as_ref())?)),
        ("model", json!(spec.model)),
        ("energy", json!(energy)),
        ("pdf", json!(of(pdf.map(|set| &set.file))?)),
        ("alpha_s", json!(alpha_s)),
        ("scale", json!(scale)),
        ("scale_factor", json!(scale_factor)),
        ("cuts", json!(cuts)),
        (
            "systematics",
            json!({ "weights": systematics.names(), "files": files }),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into())
}
