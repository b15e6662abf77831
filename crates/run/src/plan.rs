//! The plan of a run, made from its cards and its process: the request to the event generator, and the constant parts
//! of its files.

use crate::banner::{self, CommonBanner, Norm};
use crate::cards::Cards;
use crate::cuts::{self, Cut, LegKind, Legs};
use crate::densities::{self, AlphaS, BeamDensities, PdfMember, RunDensities};
use crate::element::{Element, names};
use crate::event_file::{Blocks, InitBeams};
use crate::limits::{self, Incoming, PhaseSpaceCheck};
use crate::lines::{self, ForcedCodes, ListedLines};
use crate::param_card::{self, ParamCard};
use crate::poles;
use crate::run_card::OF_BOSONS;
use crate::run_card::{self, RunCard};
use crate::running;
use crate::source::Source;
use crate::spec::RunSpec;
use crate::state::{Arguments, file_digest};
use crate::systematics::Systematics;
use crate::user_functions::UserFunctions;
use crate::{bosons, conditions, load, scale, user_functions};
use mebridge::event_generator::{ElementRequest, Lifetimes, Request};
use mebridge::import::user_code::UserScale;
use mebridge::sampling::Clustered;
use mebridge::{Error, Result};
use mebridge_phasespace::clustering::{ClusteringSettings as Clustering, Matching};
use mebridge_support::sorted::{SortedMap, SortedSet};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Everything that determines the events of a run.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// Its matrix elements.
    pub elements: Vec<Element>,
    /// The request to the event generator.
    pub request: Request,
    /// The parts of its event files besides the events.
    pub head: CommonBanner,
    /// The further weights of the events.
    pub systematics: Systematics,
    /// Whether parameters of the model run with alpha_s.
    pub runs: bool,
    /// The strong coupling.
    pub alpha_s: AlphaS,
    /// Lines that describe alpha_s, scales and cuts.
    pub conditions: Vec<String>,
    /// Arguments that distinguish this run from others.
    pub arguments: Arguments,
    /// Notices for the user.
    pub notices: Vec<String>,
}

/// Cuts and settings of a matrix element from the run card.
struct ElementCuts {
    windows: Vec<Cut>,
    request: ElementRequest,
}

impl RunPlan {
    /// The plan of a run by cards.
    ///
    /// # Errors
    /// A matrix element cannot be read, or the cards request something it does not support.
    #[expect(
        clippy::too_many_lines,
        reason = "an entry of the card after the other"
    )]
    pub fn from_cards(cards: &Cards, spec: &RunSpec) -> Result<Self> {
        let card = &cards.run_card;
        let parameters = ParamCard::read(&cards.param_card)?;
        let RunDensities {
            densities,
            alpha_s,
            source,
        } = chosen_densities(cards, &parameters)?;
        let none = SortedMap::new();
        let elements =
            load::load_elements(&cards.source, Some(&cards.param_card), &none, spec.threads)?;
        let mut elements = bosons::by_helicity(elements, cards.beams.bosons)?;
        let scales = running::scales(elements.iter().map(|element| &element.process));
        let fixed = card.flag("fixed_extra_scale");
        let fixed = fixed.then(|| card.number("mue_ref_fixed"));
        let quarks = Some(card.integer("maxjetflavor"));
        let blocks = running::blocks(&scales, &alpha_s, fixed, quarks)?;
        if !blocks.is_empty() {
            for element in &mut elements {
                element.process = running::applied(&element.process, &blocks);
            }
        }
        let runs = !blocks.is_empty() && fixed.is_none();
        if runs {
            check_ratio_of_scales(card)?;
        }
        let mut notices = Vec::new();
        let systematics = systematics(cards, spec, densities.as_ref(), runs, &mut notices)?;
        let incoming = Incoming {
            densities: densities.as_ref(),
            anti: cards.beams.anti(),
            other: cards.beams.non_hadron(),
            photons: cards.beams.photons(),
            ions: cards.beams.ions,
            bosons: bosons::beams(cards, &elements)?,
        };
        let energy = cards.beams.energy();
        let mut scale = scale::from_run_card(card, elements.iter().all(is_alone));
        let (functions, of_elements) = match &cards.functions {
            None => (Vec::new(), vec![None; elements.len()]),
            Some(functions) => functions.compile(
                &cards.source,
                card,
                &cards.beams,
                &cards.directories,
                &elements,
            )?,
        };
        let per_element = elements_of_cards(cards, &mut elements, energy, &mut notices)?;
        let matching = matching(cards, &elements)?;
        let codes = ForcedCodes::new(&cards.directories);
        let clustering = clustering(cards, matching, !codes.off.is_empty());
        let grid_range = densities
            .as_ref()
            .map(BeamDensities::grid_range)
            .transpose()?;
        let judge = PhaseSpaceCheck {
            energy,
            grid_range: grid_range.as_ref(),
            alpha_s: &alpha_s,
            scale: &scale,
            cuts: None,
        };
        let name = cards.source.name().map(|(name, _)| name);
        limits::check_elements(&elements, &incoming, energy, name)?;
        let (mut requests, mut entries): (Vec<ElementRequest>, Vec<Cut>) = Default::default();
        let of_elements = elements.iter().zip(of_elements).zip(per_element);
        for (
            (element, function),
            ElementCuts {
                windows,
                mut request,
            },
        ) in of_elements
        {
            request.function = function;
            poles::by_run_card(element, &windows)?;
            request.windows = windows.iter().map(|cut| cut.window.clone()).collect();
            let partons = incoming.partons(element);
            judge.check(element, &mut request.windows, &partons, &mut notices)?;
            if clustering.is_none() {
                request.clustered = Default::default();
            }
            requests.push(request);
            entries.extend(windows);
        }
        let [center, rapidity] =
            incoming.center(cards.beams.energies, energy, &elements[0].masses)?;
        let own = cards.functions.as_ref().and_then(UserFunctions::scale);
        // Routines of setscales.f multiply by it.
        scale.factor = match cards.beams.own_scale(card, own) && own != Some(UserScale::Function) {
            true => 1.0,
            false => card.number("scalefact"),
        };
        let conditions = conditions_of(cards, &elements, &entries, (&alpha_s, &source));
        if cards.beams.has_ions() && card.flag("use_syst") {
            notices.push(
                "events of ions have no <mgrwt> and no further weights (use_syst)".to_owned(),
            );
        }
        let powers = powers(cards, &elements, runs, &mut notices);
        let head = head(
            cards,
            &elements,
            densities.as_ref(),
            &systematics,
            &blocks,
            powers,
        )?;
        let alpha_qed = match load::alpha_qed(&elements) {
            Some(known) => known,
            None => cards.alpha_qed()?,
        };
        let request = Request {
            energy: center,
            rapidity,
            densities: None,
            beams: incoming.requests(),
            alpha_s: (alpha_s.scales.clone(), alpha_s.values.clone()),
            scale,
            clustering,
            elements: requests,
            threads: spec.threads,
            backend: Some(spec.backend()?.to_owned()),
            widths: card.number("bwcutoff"),
            by_propagators: card.integer("sde_strategy") == 2,
            alpha_qed,
            forced: codes.on,
            excluded: codes.off,
            lifetimes: lifetimes(cards, &elements)?,
            bias: card.bias()?,
            lund: Some(card.number("ptlund")).filter(|least| *least > 0.0),
            color: spec.color,
            functions,
        };
        if request.bias.is_some() && request.elements.iter().all(|of| of.jets.is_empty()) {
            notices.push("nothing is a jet, so bias_module changes nothing".to_owned());
        }
        let mut arguments = arguments(cards, densities.as_ref(), &systematics)?;
        arguments.extend(digest_of_functions(&request));
        let functions = user_functions::described(&request.functions);
        Ok(RunPlan {
            runs,
            arguments,
            conditions: vec![conditions + &conditions::bias(card)? + &functions],
            elements,
            request,
            head,
            systematics,
            alpha_s,
            notices,
        })
    }

    /// Names of its matrix elements.
    pub fn names(&self) -> Vec<String> {
        names(&self.elements)
    }
}

/// Checks that the scale of parameters that run is that of alpha_s.
fn check_ratio_of_scales(card: &RunCard) -> Result<()> {
    let ratio = card.number("mue_over_ref");
    if ratio != 1.0 {
        let what = format!(
            "mue_over_ref = {} cannot be honoured: parameters that run have the scale of alpha_s",
            card.value("mue_over_ref")
        );
        let cure = "set it to 1, or set fixed_extra_scale and mue_ref_fixed";
        return Err(card.refused(what, cure));
    }
    Ok(())
}

/// Describes the conditions of the run card.
fn conditions_of(
    cards: &Cards,
    elements: &[Element],
    cuts: &[Cut],
    (alpha_s, source): (&AlphaS, &str),
) -> String {
    let card = &cards.run_card;
    let shown = cuts
        .iter()
        .flat_map(|cut| cut.entries.iter().map(String::as_str));
    let strong = conditions::is_strong(elements);
    conditions::line(
        strong.then(|| (alpha_s.at(conditions::Z), source)),
        &conditions::by_run_card(card, !cards.beams.resting()),
        &conditions::cuts_of_run_card(shown, card),
    )
}

/// An argument of the run that says which functions of the user it has, if any.
fn digest_of_functions(request: &Request) -> Option<(String, Value)> {
    let functions = Some(&request.functions).filter(|functions| !functions.is_empty())?;
    let functions = serde_json::to_vec(functions).expect("functions are plain data");
    Some((
        "functions".to_owned(),
        json!(mebridge_support::digest(&functions)),
    ))
}

fn is_alone(element: &Element) -> bool {
    element.pdg().len() == limits::LEGS_OF_SINGLE
}

/// Densities and alpha_s, chosen as in `setrun.f`.
fn chosen_densities(cards: &Cards, parameters: &ParamCard) -> Result<RunDensities> {
    let (card, beams) = (&cards.run_card, &cards.beams);
    let label = beams.label(card);
    let resting = beams.resting();
    let in_output = beams.leptons || (!resting && densities::labels().any(|known| known == label));
    let data = match in_output {
        true => cards.source.data()?,
        false => PathBuf::new(),
    };
    let entries = densities::DensityEntries {
        label,
        lhaid: &card.value("lhaid").to_string(),
        lpp: beams.lpp[0],
        resting,
        data: &data,
        at_z: parameters.value("sminputs", 3, densities::AT_Z),
    };
    entries.choose()
}

/// The further weights of the events.
fn systematics(
    cards: &Cards,
    spec: &RunSpec,
    densities: Option<&BeamDensities>,
    runs: bool,
    notices: &mut Vec<String>,
) -> Result<Systematics> {
    let (card, none) = (&cards.run_card, Systematics::default());
    let other = cards.beams.non_hadron().is_some();
    let on_cpu = spec.backend()? == "cpu";
    if let Some(wanted) = &spec.systematics {
        let found = Systematics::choose(wanted, densities, true)?;
        let refused = match found.groups.is_empty() {
            true => None,
            false if runs => Some((running::NO_SYSTEMATICS, "")),
            false if other => Some((
                "weights for systematics are for densities of both beams, or of none",
                "ask for none",
            )),
            false if densities.is_some_and(BeamDensities::is_joint) => Some((
                "weights for systematics are not made for densities of leptons and of pairs of photons",
                "ask for none",
            )),
            false if cards.beams.bosons.contains(&true) => Some((
                "weights for systematics are not made for weak bosons",
                "ask for none",
            )),
            false if cards.beams.has_ions() => Some((
                "weights for systematics are not made for ions",
                "ask for none",
            )),
            false if !on_cpu => Some((
                "weights for systematics are made on a CPU",
                "set backend to \"cpu\"",
            )),
            false => None,
        };
        return match refused {
            None => Ok(found),
            Some((what, cure)) => Err(Error::run(what, cure)),
        };
    }
    let program = card.text("systematics_program").to_lowercase();
    let arguments = card.words("systematics_arguments");
    let set = densities
        .filter(|_| !other && !cards.beams.has_ions() && card.text("pdlabel1") == "lhapdf");
    let set = set.and_then(BeamDensities::set);
    let Some(set) = set.filter(|_| card.flag("use_syst") && program != "none") else {
        return Ok(none);
    };
    let known = ["systematics", "auto"].contains(&program.as_str());
    let notice = match () {
        () if !known || arguments.is_empty() => {
            let entry = match arguments.is_empty() {
                true => "sys_scalefact".to_owned(),
                false => format!("systematics_program = {program}"),
            };
            format!(
                "{entry} of the run card is not followed: events have no weights for systematics"
            )
        }
        () if runs => running::NO_SYSTEMATICS.to_owned(),
        () if !on_cpu => {
            "events have no weights for systematics, which are made on a CPU".to_owned()
        }
        () => return Systematics::from_arguments(arguments, set),
    };
    notices.push(notice);
    Ok(none)
}

/// Cuts and settings of each matrix element from the run card; lines of its channels get the PDG codes listed in the
/// directories.
fn elements_of_cards(
    cards: &Cards,
    elements: &mut [Element],
    energy: f64,
    notices: &mut Vec<String>,
) -> Result<Vec<ElementCuts>> {
    let card = &cards.run_card;
    let frame = card.frame()?;
    let (mut found, mut codes, mut nowhere) = (Vec::new(), SortedSet::new(), Vec::new());
    for element in elements {
        let place = cards.source.place(element);
        let (directory, number) = (&cards.directories[place.directory], place.number);
        directory.check(number, element.pdg())?;
        lines::name_lines(element, directory, number);
        let name = directory.name();
        let decayed = directory.decayed();
        let legs = Legs {
            pdg: element.pdg(),
            masses: &element.masses,
            decayed: &decayed,
            card,
        };
        check_frame(&frame, element, &name, card)?;
        if let Some(divided) = cuts::differing_entry(&legs, element.options()) {
            let what =
                format!("{divided}, which are one matrix element of {name} with the same cuts");
            let cure = "give all of them the same, or make events of one process after the other";
            return Err(Error::run_at(card.source(), what, cure));
        }
        for leg in legs.outgoing().filter(|&leg| !legs.is_free(leg)) {
            codes.extend(element.options().iter().map(|pdg| pdg[leg].abs()));
        }
        if let Some(entry) = cuts::impossible_entry(&legs) {
            let what = format!("{entry} of the run card leaves nothing of {name}");
            return Err(Error::run(what, "set it to 0"));
        }
        let (mut windows, rules) = cuts::from_run_card(&legs, energy);
        nowhere.push(cuts::impossible_cut(&windows, energy).map(|cut| {
            let above = match cut.window.least <= cut.window.largest {
                true => format!(", at {} GeV,", crate::text::general(energy)),
                false => String::new(),
            };
            format!("{}{above} leaves nothing of {name}", cut.name(legs.pdg))
        }));
        let listed = ListedLines::new(element, directory, number);
        windows.extend(listed.resonances(
            card.number("bwcutoff"),
            card.number("small_width_treatment"),
        )?);
        found.push(ElementCuts {
            windows,
            request: ElementRequest {
                rules,
                clustered: listed.clustered(card.integer("sde_strategy") == 2)?,
                frame: frame.clone(),
                jets: legs.of_kind(LegKind::Jet),
                lund: legs.lund()?,
                ..element.request()
            },
        });
    }
    if let Some(first) = nowhere
        .into_iter()
        .collect::<Option<Vec<_>>>()
        .and_then(|all| all.into_iter().next())
    {
        let what = format!("{first}; no event passes");
        return Err(Error::run_at(card.source(), what, "change what is named"));
    }
    notices.extend(cuts::unused(card, &codes));
    Ok(found)
}

/// Lifetimes of particles in event files, from the widths of the parameter card; `None` if `time_of_flight` is
/// negative.
///
/// # Errors
/// The parameter card cannot be read.
pub fn lifetimes(cards: &Cards, elements: &[Element]) -> Result<Option<Lifetimes>> {
    let least = cards.run_card.number("time_of_flight");
    if least < 0.0 {
        return Ok(None);
    }
    let card = crate::text::read(&cards.param_card, "the parameter card")?;
    let mut widths = param_card::widths(&card);
    // Including those that the card leaves to be computed.
    let of_elements = load::widths(elements).into_iter();
    widths.extend(of_elements.filter_map(|(code, width)| Some((code.parse().ok()?, width))));
    Ok(Some(Lifetimes { least, widths }))
}

/// Checks that a matrix element has the legs of `me_frame`, and that these have a rest frame.
fn check_frame(frame: &[usize], element: &Element, name: &str, card: &RunCard) -> Result<()> {
    let masses = &element.masses;
    let what = match frame {
        [] => return Ok(()),
        _ if frame.iter().any(|&leg| leg >= masses.len()) => {
            format!("{name} has {} particles", masses.len())
        }
        &[alone] if masses[alone] == 0.0 => {
            format!(
                "particle {} of {name} has no mass, and no rest frame",
                alone + 1
            )
        }
        _ => return Ok(()),
    };
    let what = format!("me_frame = {}: {what}", card.value("me_frame"));
    Err(Error::run_at(card.source(), what, "name others"))
}

/// Settings of matching and of the cuts on clustered events; `None` if neither is used.
fn matching(cards: &Cards, elements: &[Element]) -> Result<Option<Matching>> {
    let card = &cards.run_card;
    // As in MadEvent, xmtcentral alone does not cause events to be clustered.
    let xmtcentral = match cards.beams.cluster_scales(card) {
        true => card.number("xmtcentral"),
        false => 0.0,
    };
    let reweighted = card.integer("ickkw") == 1;
    if card.integer("ickkw") == 0 && card.number("xqcut") == 0.0 && xmtcentral == 0.0 {
        return Ok(None);
    }
    for element in elements.iter().filter(|_| reweighted) {
        limits::check_flavors(element, card.integer("maxjetflavor"), card.source())?;
    }
    Ok(Some(Matching {
        reweighted,
        xqcut: card.number("xqcut"),
        xmtcentral,
        alpsfact: card.number("alpsfact"),
        asrwgtflavor: card.integer("asrwgtflavor") as i32,
        pdfwgt: reweighted && card.flag("pdfwgt"),
    }))
}

/// Settings of the clustering; `None` if nothing depends on it.
fn clustering(cards: &Cards, matching: Option<Matching>, excludes: bool) -> Option<Clustered> {
    let card = &cards.run_card;
    let scaled = cards.beams.cluster_scales(card);
    if !scaled && !excludes && matching.is_none() {
        return None;
    }
    Some(Clustered {
        settings: Clustering {
            hadrons: !cards.beams.resting(),
            parton_beam: cards.beams.parton(),
            maxjetflavor: card.integer("maxjetflavor") as i32,
            bwcutoff: card.number("bwcutoff"),
            small_width: card.number("small_width_treatment"),
            distance: card.number("d"),
            denominators: card.integer("sde_strategy") == 2,
            scheme: card.integer("ktscheme") as i32,
            alone: card.flag("chcluster"),
        },
        matching,
        scaled,
    })
}

/// Powers of alpha_s for `<mgrwt>`; if it is wanted but not possible, adds a notice with the reason.
fn powers(cards: &Cards, elements: &[Element], runs: bool, notices: &mut Vec<String>) -> Vec<u32> {
    let wanted = cards.run_card.flag("use_syst") && cards.beams.reweightable();
    let found = banner::powers(elements, wanted && !runs);
    if wanted && found.is_empty() {
        let why = match runs {
            true => "parameters of the model run",
            false => "matrix elements have several powers of alpha_s",
        };
        notices.push(format!("events have no <mgrwt> (use_syst): {why}"));
    }
    found
}

/// The parts of the event files besides the events.
fn head(
    cards: &Cards,
    elements: &[Element],
    densities: Option<&BeamDensities>,
    systematics: &Systematics,
    blocks: &running::CardBlocks,
    powers: Vec<u32>,
) -> Result<CommonBanner> {
    let card = &cards.run_card;
    let matched = card.integer("ickkw") == 1;
    let incoming = [0, 1].map(|beam| elements[0].pdg()[beam]);
    let number = densities.map(|of| i64::from(of.number()));
    let header = match systematics.groups.is_empty() {
        true => String::new(),
        false => systematics.header() + "\n",
    };
    Ok(CommonBanner {
        norm: Norm::from_card(card.text("event_norm")),
        generator: banner::generator(&cards.source.origin()),
        header,
        cards: Some(card_texts(cards, elements, blocks, !powers.is_empty())?),
        blocks: Blocks {
            beams: InitBeams::for_run(
                cards.beams.codes,
                incoming,
                cards.beams.whole_energies(),
                number,
                cards.beams.non_hadron(),
            ),
            powers,
            matched,
            clustering: matched && card.flag("clusinfo"),
            names: systematics.ids(),
            numbers: cards.source.numbers(elements),
        },
    })
}

/// The cards that the banner repeats; `reweightable` says whether events have `<mgrwt>`.
pub fn card_texts(
    cards: &Cards,
    elements: &[Element],
    blocks: &running::CardBlocks,
    reweightable: bool,
) -> Result<banner::Cards> {
    let mut parameters = crate::text::read(&cards.param_card, "the parameter card")?;
    if !blocks.is_empty() {
        parameters = running::with_blocks(&parameters, blocks);
    }
    // If any width were open in the header, MG5aMC would compute all of them.
    if !param_card::open_widths(&parameters).is_empty() {
        parameters = param_card::with_widths(&parameters, &load::widths(elements));
    }
    if let Source::Named(named) = &cards.source {
        parameters = param_card::completed(&parameters, &named.dependent);
    }
    let run = crate::text::read(&cards.run_card_file, "the run card")?;
    // Cards from MG5aMC are complete; others are completed for readers without defaults, such as Pythia.
    let mut entries = match &cards.source {
        Source::Named(_) => run_card::missing(cards.run_card.given_entries()),
        Source::Output(_) => Vec::new(),
    };
    entries.extend(cards.changed.iter().cloned());
    if !reweightable {
        // MG5aMC's systematics reads this entry before it looks for <mgrwt>.
        entries.push(("use_syst".to_owned(), "False".to_owned()));
    }
    Ok(banner::Cards {
        version: cards.source.version(),
        process: cards.source.steps(),
        run: run_card::with_entries(&run, &entries),
        parameters,
    })
}

/// The arguments that distinguish a run by cards from others.
fn arguments(
    cards: &Cards,
    densities: Option<&BeamDensities>,
    systematics: &Systematics,
) -> Result<Arguments> {
    let mut found = cards.source.arguments();
    let pdf = match densities {
        None => Value::Null,
        Some(BeamDensities::Photons(of)) => json!(format!("{of:?}")),
        Some(BeamDensities::PhotonPairs { label, .. }) => json!(label),
        Some(BeamDensities::Bosons) => json!(OF_BOSONS),
        Some(BeamDensities::Set(PdfMember { file, .. }) | BeamDensities::Leptons { file, .. }) => {
            file_digest(file)?
        }
    };
    let files: Vec<Value> = systematics
        .files()
        .map(file_digest)
        .collect::<Result<_>>()?;
    found.push((
        "run_card".to_owned(),
        Value::Object(cards.run_card.to_json()),
    ));
    found.push(("param_card".to_owned(), file_digest(&cards.param_card)?));
    found.push(("pdf".to_owned(), pdf));
    let weights = json!({ "weights": systematics.names(), "files": files });
    found.push(("systematics".to_owned(), weights));
    Ok(found)
}
