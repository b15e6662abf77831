//! The entries of the leading-order run card of MG5aMC 2.8.3 to 3.7, with their defaults and their treatment in a run.
//!
//! Names and defaults are those of `RunCardLO` in `madgraph/various/banner.py`. A test compares docs/run_card.md with
//! [`table`].

use super::value::{Value, ValueKind};
use std::fmt::Write;

/// Entries with the same default and meaning.
#[derive(Debug)]
pub struct EntryRow {
    /// Names of the entries.
    pub names: &'static [&'static str],
    /// The kind of their values.
    pub kind: ValueKind,
    /// Default value, as in a card.
    pub default: &'static str,
    /// The effect of honoured entries; for refused and ignored ones the reason.
    pub meaning: &'static str,
}

impl EntryRow {
    /// The default value.
    ///
    /// # Panics
    /// If the default in the table is invalid.
    pub fn value(&self) -> Value {
        Value::parse(self.kind, self.default).expect("the default of an entry")
    }
}

/// `name name: ValueKind = "default", "meaning";`
macro_rules! rows {
    ($($($name:ident)+: $kind:ident = $default:literal, $meaning:literal;)*) => {
        &[$(EntryRow {
            names: &[$(stringify!($name)),+],
            kind: ValueKind::$kind,
            default: $default,
            meaning: $meaning,
        }),*]
    };
}

/// Entries that a run honours, with their meaning.
pub const HONOURED: &[EntryRow] = rows! {
    run_tag: Text = "'tag_1'", "written into the banner";
    nevents: Whole = "10000", "events of the run";
    iseed: Whole = "0", "of the random numbers, whatever its sign; 0: drawn for each run";
    lpp1 lpp2: Whole = "1", "0 (a parton), 1, -1 (proton, antiproton), 2, 3, 4 (photons of p, e, mu, or 3, 4: weak bosons, 3: electrons, by pdlabel); both, or one with a proton; weak bosons also with 0 and photons";
    ebeam1 ebeam2: Real = "6500.0", "GeV, of an ion with all of its nucleons; 10 GeV at least for each of these";
    nb_proton1 nb_proton2: Whole = "1", "of an ion, with lpp = 1; densities are the sum of those of its nucleons";
    nb_neutron1 nb_neutron2: Whole = "0", "of an ion; neutrons are protons with up and down quarks exchanged";
    mass_ion1 mass_ion2: Real = "-1.0", "GeV; left out as masses of protons are, a tenth of ebeam at most";
    polbeam1 polbeam2: Real = "0.0", "per cent, of beams with lpp = 0, in Cards/run_card.dat alone; and of those with pdlabel = eva";
    pdlabel pdlabel1 pdlabel2: Text = "'nn23lo1'", "nn23lo, nn23lo1, nn23nlo, cteq6_m, cteq6_l, cteq6l1; lhapdf: by lhaid; iww, edff, chff: photons; eva: weak bosons; isronlyll, cepc240ll, clic3000ll, fcce240ll, fcce365ll, ilc500ll: electrons; one for both of a kind; no other";
    lhaid: Set = "230000", "number, or name, of a set that lies below LHAPDF_DATA_PATH";
    ievo_eva: Whole = "0", "of pdlabel = eva; 0: bosons have virtualities up to the scale, 1: transverse momenta (of evaorder = 0)";
    evaorder: Whole = "0", "of pdlabel = eva, for W and Z; 0: logarithms of the scale, 1: all terms of leading power, 2: and the next (arXiv:2502.07878)";
    eva_xcut: Whole = "1", "of pdlabel = eva; 1: W and Z have at least an energy of their mass, 0: any; without this entry 0 for an output of MG5aMC before 3.7, which has no such cut";
    sde_strategy: Whole = "1", "by what an event is of a channel, for the scale -1 and for $";
    fixed_ren_scale fixed_fac_scale fixed_fac_scale1 fixed_fac_scale2: Flag = "False", "as there; of one beam alone with dynamical_scale_choice from 1 to 4, or 0";
    scale dsqrt_q2fact1 dsqrt_q2fact2: Real = "91.188", "GeV, where the scale is fixed";
    dynamical_scale_choice: Whole = "-1", "-1 (clustering to 2 -> 2), 1, 2, 3, 4, as there; 0: user_dynamical_scale, see custom_fcts";
    fixed_extra_scale: Flag = "False", "whether parameters that run (running.py of a model) have one scale, or alpha_s's";
    mue_ref_fixed: Real = "91.188", "that scale, GeV";
    mue_over_ref: Real = "1.0", "without meaning unless parameters run with fixed_extra_scale = False; then 1: MadEvent 3.5.7 stops with others (alpha_s at 0 GeV)";
    scalefact: Real = "1.0", "multiplies scales that are not fixed";
    event_norm: Text = "'average'", "weights average to the cross section or to 1 (unity), or are its parts";
    use_syst: Flag = "True", "events have <mgrwt>, which systematics of MG5aMC reads";
    systematics_program: Text = "'systematics'", "that or auto: with pdlabel = lhapdf its weights are made; none";
    systematics_arguments: Arguments = "['--mur=0.5,1,2', '--muf=0.5,1,2', '--pdf=errorset']", "which weights, see [below](#systematics_arguments)";
    bwcutoff: Real = "15.0", "widths about its mass for decay chains (inside) and $ (outside)";
    cut_decays: Flag = "False", "whether cuts are about what comes from decay chains";
    dsqrt_shat: Real = "0.0", "least energy of the partons, GeV";
    dsqrt_shatmax: Real = "-1.0", "largest energy of the partons, GeV (3.6 and later)";
    small_width_treatment: Real = "1e-06", "the least width of matrix elements and of bwcutoff, in units of the mass";
    maxjetflavor: Whole = "4", "quarks up to it are jets, others up to 5 are b";
    ptj: Real = "20.0", "least transverse momentum of jets, GeV";
    pta ptl: Real = "10.0", "of photons, of charged leptons";
    ptb: Real = "0.0", "of b quarks that are no jets";
    ptjmax ptbmax ptamax ptlmax: Real = "-1.0", "largest ones";
    ej eb ea el: Real = "0.0", "least energy in the rest frame of the partons";
    ejmax ebmax eamax elmax: Real = "-1.0", "largest ones";
    etaj: Real = "5.0", "largest rapidity, in absolute value, of jets";
    etab: Real = "-1.0", "of b quarks";
    etaa etal: Real = "2.5", "of photons, of charged leptons";
    etajmin etabmin etaamin etalmin: Real = "0.0", "least ones";
    drjj drll draa draj drjl dral: Real = "0.4", "least distance in rapidity and angle of two of them";
    drbb drbj drab drbl: Real = "0.0", "the same";
    drjjmax drbbmax drllmax draamax drbjmax: Real = "-1.0", "largest ones";
    drajmax drjlmax drabmax drblmax dralmax: Real = "-1.0", "largest ones";
    mmjj mmbb mmaa: Real = "0.0", "least mass of a pair";
    mmll: Real = "0.0", "of a charged lepton and its antiparticle";
    mmjjmax mmbbmax mmaamax mmllmax: Real = "-1.0", "largest ones";
    mmnl: Real = "0.0", "least mass of all charged leptons and neutrinos together";
    mmnlmax: Real = "-1.0", "largest one";
    ptllmin: Real = "0.0", "least pt of lepton and antilepton, lepton and neutrino, two neutrinos";
    ptllmax: Real = "-1.0", "largest one";
    misset: Real = "0.0", "least transverse momentum of all neutrinos together";
    missetmax: Real = "-1.0", "largest one";
    ptheavy: Real = "0.0", "transverse momentum that one particle above 10 GeV has at least";
    xptj xptb xpta xptl: Real = "0.0", "pt that one jet, b quark, photon, charged lepton has at least";
    ptj1min ptj2min ptj3min ptj4min: Real = "0.0", "least transverse momentum of the jets, the hardest first";
    ptj1max ptj2max ptj3max ptj4max: Real = "-1.0", "largest ones";
    ptl1min ptl2min ptl3min ptl4min: Real = "0.0", "the same of charged leptons";
    ptl1max ptl2max ptl3max ptl4max: Real = "-1.0", "largest ones";
    htjmin ht2min ht3min ht4min: Real = "0.0", "least sum of the transverse momenta of all jets, of the hardest 2, 3, 4";
    htjmax ht2max ht3max ht4max: Real = "-1.0", "largest ones";
    ihtmin: Real = "0.0", "the same of jets and b quarks";
    ihtmax: Real = "-1.0", "largest one";
    cutuse: Whole = "0", "0: all cuts on ordered jets, 1: one of them";
    xetamin: Real = "0.0", "least rapidity of the two hardest jets, in opposite hemispheres";
    deltaeta: Real = "0.0", "least difference of their rapidities";
    ptgmin: Real = "0.0", "least pt of isolated photons (hep-ph/9801442), instead of pta, draj";
    r0gamma: Real = "0.4", "radius of the isolation";
    xn epsgamma: Real = "1.0", "its power, and its share of the photon's pt";
    isoem: Flag = "True", "whether photons are isolated from leptons and photons as well";
    pt_min_pdg pt_max_pdg eta_min_pdg eta_max_pdg e_min_pdg e_max_pdg: ByCode = "{}", "the same cuts by PDG code";
    mxx_min_pdg: ByCode = "{}", "least mass of two particles of this code";
    mxx_only_part_antipart: Pairs = "{'default': False}", "... of particle and antiparticle alone";
    me_frame: Words = "[1, 2]", "particles, by their numbers in the process, in whose rest frame matrix elements and helicities are: 1 and 2, or some that go out";
    ickkw: Whole = "0", "1: MLM matching, for beams of hadrons; 0: none";
    xqcut: Real = "0.0", "least transverse momentum at which a jet is clustered, GeV";
    auto_ptj_mjj: Flag = "True", "whether xqcut is the least pt and pair mass of jets as well";
    alpsfact: Real = "1.0", "multiplies scales of alpha_s at clustered vertices; 1 with use_syst";
    asrwgtflavor: Whole = "5", "quarks up to it, or up to maxjetflavor, are partons to these weights";
    pdfwgt: Flag = "True", "whether densities are weighted along the clustered vertices";
    chcluster: Flag = "False", "whether events are clustered by the diagram of their channel alone";
    ktscheme: Whole = "1", "1: longitudinally invariant kT, 2: kT of Pythia's shower";
    d: Real = "1.0", "the radius of kT";
    ktdurham: Real = "-1.0", "least transverse momentum of jets to the beams and to each other, of beams of hadrons; for merging in Pythia, which reads it in the banner, GeV";
    ptlund: Real = "-1.0", "least pT of an emission that Pythia's shower may have made, of beams of hadrons; for merging as ktdurham";
    dparameter: Real = "0.4", "the radius of that";
    pdgs_for_merging_cut: Words = "[21, 1, 2, 3, 4, 5, 6]", "what it is about";
    xmtcentral: Real = "0.0", "least transverse mass of the central process, where events are clustered";
    bias_module: Text = "'None'", "ptj_bias: events as frequent as their cross section times (pt of the hardest jet / ptj_bias_target_ptj)^ptj_bias_enhancement_power, which weigh as much less, see [below](#how-they-are-honoured); None, dummy: by their cross section";
    bias_parameters: Named = "{'__type__': 1.0}", "ptj_bias_target_ptj (1000 GeV) and ptj_bias_enhancement_power (4)";
    custom_fcts: Words = "[]", "files with functions in Fortran for an output, in the place of those in dummy_fct.f: dummy_cuts, user_dynamical_scale and what they call, see [below](#functions-in-fortran)";
    time_of_flight: Real = "-1.0", "particles with a width have lifetimes (VTIMUP) where these are longer, mm; below 0 none has one";
    gridpack: Flag = "False", "True: for `mebridge pack` alone";
    clusinfo: Flag = "True", "events have their clustering (<clustering>)";
};

/// Entries for which only the default is supported, with the reason and alternatives.
pub const REFUSED: &[EntryRow] = rows! {
    gridrun: Flag = "False", "it is of a gridpack that MG5aMC made";
    boost_event: Text = "'False'", "MG5aMC 3.5.7 to 3.7.1 end with a TypeError at the documented form (lambda p: p.pid==25), so no events are known to compare with; boost events afterwards";
    highestmult: Whole = "1", "it belongs to ickkw = 2, which the card of MG5aMC does not accept (0 and 1 alone)";
    issgridfile: Text = "''", "Sudakov factors belong to ickkw = 2";
    fixed_couplings: Flag = "True", "couplings that depend on momenta are Fortran";
};

/// Entries without effect in a run, with the reason.
pub const IGNORED: &[EntryRow] = rows! {
    python_seed: Whole = "-2", "one seed gives all random numbers";
    ptonium: Real = "1.0", "MadEvent reads it no longer";
    etaonium: Real = "0.6", "MadEvent reads it no longer";
    lhe_version: Real = "3.0", "files are LHE 3";
    nhel: Whole = "0", "helicities are summed, and drawn by their shares";
    sys_scalefact: Text = "'0.5 1 2'", "of systematics --from_card";
    sys_alpsfact: Text = "'None'", "the same";
    sys_matchscale: Text = "'auto'", "the same";
    sys_pdf: Text = "'errorset'", "the same";
    sys_scalecorrelation: Whole = "-1", "the same";
    gseed: Whole = "0", "of gridpacks";
    keep_log: Text = "'normal'", "of MadEvent's jobs";
    bypass_check: Words = "[]", "of MG5aMC's checks";
    mc_grouped_subproc: Flag = "True", "matrix elements have channels of their own";
    job_strategy hard_survey: Whole = "0", "of MadEvent's jobs";
    survey_nchannel_per_job: Whole = "2", "of MadEvent's jobs";
    survey_splitting refine_evt_by_job: Whole = "-1", "of MadEvent's jobs";
    tmin_for_channel: Real = "-1.0", "of MadEvent's jobs";
    second_refine_treshold: Real = "0.9", "of MadEvent's jobs";
    hel_recycling hel_filtering: Flag = "True", "of MadEvent's Fortran; its matched cross sections depend on it, see [matching](#channels-and-matched-cross-sections)";
    hel_splitamp hel_zeroamp: Flag = "True", "of MadEvent's Fortran";
    limhel: Real = "1e-08", "of MadEvent's Fortran (3.6 and later)";
    global_flag: Text = "'-O'", "of MadEvent's Fortran";
    aloha_flag matrix_flag: Text = "''", "of MadEvent's Fortran";
    vector_size nb_warp: Whole = "1", "of MadEvent's Fortran (3.6 and later)";
    vecsize_memmax: Whole = "0", "of MadEvent's Fortran (3.6 and later)";
    cudacpp_backend: Text = "'cpp'", "of the plugin";
    floating_type: Text = "'m'", "of the plugin";
};

/// Returns all entries with their rows, in the order of the table.
pub fn all() -> impl Iterator<Item = (&'static str, &'static EntryRow)> {
    let rows = [HONOURED, REFUSED, IGNORED].into_iter().flatten();
    rows.flat_map(|row| row.names.iter().map(move |name| (*name, row)))
}

/// Returns the name of an entry, as a static string, and its row.
pub fn find(name: &str) -> Option<(&'static str, &'static EntryRow)> {
    all().find(|(known, _)| *known == name)
}

/// Returns all entries as Markdown tables.
pub fn table() -> String {
    let mut text = String::new();
    for (title, head, rows) in [
        ("Honoured", "default | meaning", HONOURED),
        ("Refused", "harmless value | why, and the cure", REFUSED),
        ("Without meaning here", "default | why", IGNORED),
    ] {
        let _ = write!(text, "### {title}\n\n| entry | {head} |\n|---|---|---|\n");
        let mut lines: Vec<(&EntryRow, Vec<String>)> = Vec::new();
        for row in rows {
            let names = row.names.iter().map(|name| format!("`{name}`"));
            let same = |of: &&mut (&EntryRow, Vec<String>)| {
                (of.0.default, of.0.meaning) == (row.default, row.meaning)
            };
            match lines.iter_mut().find(same) {
                Some((_, line)) => line.extend(names),
                None => lines.push((row, names.collect())),
            }
        }
        for (row, names) in lines {
            let (names, default, meaning) = (names.join(", "), row.default, row.meaning);
            let _ = writeln!(text, "| {names} | `{default}` | {meaning} |");
        }
        text.push('\n');
    }
    text
}
