//! Outputs of MG5aMC's aMC@NLO: real emissions, Borns with their colour links and complex Borns. The hand-written
//! `fortran/outputs/nlo` and `nlo_qcd`, the same with virtuals, and, if there are any, real outputs (`*.nlo` in
//! `MEBRIDGE_MG5_OUTPUTS`) are compared with their Fortran, and their limits with the factorisation of QCD.

use crate::common::{gfortran, mg5_outputs};
use crate::support::{copy, mebridge};
use mebridge::born::{BornAnswer, BornBridge};
use mebridge::generate::{generate, links};
use mebridge::import::{Options, import_born, import_directory, import_with};
use mebridge::process::born::Born;
use mebridge::process::phase_space::PhaseSpace;
use mebridge::process::{Leg, Process};
use mebridge::runtime::Switches;
use num_complex::Complex64;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const G: f64 = 1.2;
const CF: f64 = 4.0 / 3.0;
const CA: f64 = 3.0;

/// The outputs by hand: without virtuals, and with them.
const BY_HAND: [&str; 2] = ["nlo", "nlo_qcd"];

fn by_hand(name: &str) -> PathBuf {
    mebridge_testing::root().join("fortran/outputs").join(name)
}

fn gg_ttx() -> PathBuf {
    by_hand("nlo").join("SubProcesses/P0_gg_ttx")
}

/// The subprocess directories of real outputs.
fn real_directories() -> Vec<PathBuf> {
    let Some(outputs) = mg5_outputs() else {
        return Vec::new();
    };
    let inside = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    };
    let mut found = Vec::new();
    for output in inside(&outputs) {
        if output.extension().is_some_and(|e| e == "nlo") {
            let p = inside(&output.join("SubProcesses"));
            found.extend(p.into_iter().filter(|path| path.join("born.f").is_file()));
        }
    }
    if found.is_empty() {
        mebridge_testing::require::skipped("outputs", "MEBRIDGE_MG5_OUTPUTS has no *.nlo");
    }
    found
}

/// Compares all matrix elements of an output or a directory with its Fortran.
fn agrees(path: &Path, elements: usize, rounding: f64) {
    if !gfortran() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    for how in [&[][..], &["--plain"]] {
        let mut arguments = vec!["compare", path.to_str().unwrap(), "--json", "-"];
        arguments.extend(how);
        let ran = mebridge(d.path(), &arguments);
        let rows: Vec<serde_json::Value> = serde_json::from_str(ran.ok()).unwrap();
        assert!(rows.len() >= elements, "{rows:?}");
        for row in rows {
            assert_eq!(row["verdict"], "ok", "{row}");
            assert_eq!(row["points"], 100);
            assert!(row["worst"].as_f64().unwrap() < rounding, "{row}");
        }
    }
}

#[test]
fn the_outputs_by_hand_are_their_fortran() {
    for name in BY_HAND {
        // In one of the points the Fortran loses 1e-11, as quadruple precision shows.
        agrees(&by_hand(name), 2, 1e-10);
    }
}

/// With virtuals, momenta stand elsewhere in the wavefunctions, and all else is the same.
#[test]
fn the_layout_of_madloop_is_read() {
    let directories = BY_HAND.map(|name| by_hand(name).join("SubProcesses/P0_gg_ttx"));
    let [plain, loops] = directories
        .each_ref()
        .map(|path| import_directory(path).unwrap());
    for (plain, loops) in plain.iter().zip(&loops) {
        assert_eq!(plain.name, loops.name);
        assert_eq!(plain.wavefunctions, loops.wavefunctions);
        assert_eq!(plain.amplitudes, loops.amplitudes);
        for (plain, loops) in plain.routines.iter().zip(&loops.routines) {
            assert_eq!((&plain.name, &plain.inputs), (&loops.name, &loops.inputs));
            assert_eq!(plain.outputs.len(), loops.outputs.len());
        }
        let card = plain.model.default_card();
        for momenta in born_events(plain) {
            let legs = momenta.as_chunks::<4>().0;
            let [a, b] = [plain, loops].map(|process| process.evaluate(legs, G, &card).total());
            assert!((a / b - 1.0).abs() < 1e-13, "{a} {b}");
        }
    }
    let [plain, loops] =
        directories.map(|path| import_born(&path, &Options::default()).unwrap().links);
    assert_eq!(plain, loops);
}

/// Wavefunctions in an unknown layout, or other ones, are reported.
#[test]
fn other_wavefunctions_are_refused() {
    for (from, to, why) in [
        (
            "VC(8) = SQH*NHEL*PT/PP",
            "VC(8) = -SQH*NHEL*PT/PP",
            "VXXXXX computes another wavefunction",
        ),
        (
            "      VC(3) = NSV*DCMPLX(P(2), 0D0)\n",
            "",
            "VXXXXX sets 2 components instead of 6",
        ),
    ] {
        let d = tempfile::tempdir().unwrap();
        let file = "../../Source/DHELAS/aloha_functions.f";
        let path = changed(d.path(), "nlo_qcd", file, from, to);
        let error = import_born(&path, &Options::default()).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
}

#[test]
fn real_outputs_are_their_fortran() {
    for directory in real_directories() {
        agrees(&directory, 2, 1e-10);
    }
}

#[test]
fn the_tables_are_those_of_the_files() {
    let processes = import_directory(&gg_ttx()).unwrap();
    let codes = |process: &Process| process.legs.iter().map(|leg| leg.pdg).collect::<Vec<_>>();
    let [real, born] = &processes[..] else {
        panic!("{} matrix elements", processes.len());
    };
    assert_eq!(real.name, "d g > t t~ d [ QCD ]");
    assert_eq!(codes(real), [1, 21, 6, -6, 1]);
    // The other configuration belongs to no matrix element of the directory.
    assert_eq!(real.other_flavours, [[3, 21, 6, -6, 3]]);
    assert_eq!((real.helicities.len(), real.iden), (32, 96));
    assert_eq!(born.name, "g g > t t~ [ QCD ]");
    assert_eq!(codes(born), [21, 21, 6, -6]);
    assert_eq!((born.helicities.len(), born.iden), (16, 256));
    // Both helicities of a gluon in one call are no more diagrams.
    assert_eq!(born.amplitudes.vertices().len(), 3);
    let color = &born.amplitudes.diagrams().unwrap().color;
    assert!((color.entry(0, 0) - 16.0 / 3.0).abs() < 1e-14);
    assert!((color.entry(0, 1) + 2.0 / 3.0).abs() < 1e-14);
    let links = import_born(&gg_ttx(), &Options::default()).unwrap().links;
    let legs: Vec<[usize; 2]> = links.iter().map(|link| link.legs).collect();
    let all = [
        [0, 1],
        [0, 2],
        [0, 3],
        [1, 2],
        [1, 3],
        [2, 2],
        [2, 3],
        [3, 3],
    ];
    assert_eq!(legs, all);
}

/// The Born is that of leading order; its colour is conserved.
#[test]
fn color_is_conserved() {
    for name in BY_HAND {
        color_conservation(&by_hand(name).join("SubProcesses/P0_gg_ttx"), 1e-12);
    }
    for directory in real_directories() {
        color_conservation(&directory, 1e-10);
    }
}

/// The links that are read are those of the generated process, which follow from its colour flows.
#[test]
fn links_follow_from_color_flows() {
    for directory in std::iter::once(gg_ttx()).chain(real_directories()) {
        let Born { process, links } = import_born(&directory, &Options::default()).unwrap();
        let codes = |incoming| {
            let legs = process
                .legs
                .iter()
                .filter(move |leg| leg.incoming == incoming);
            legs.map(|leg| format!(" {}", leg.pdg)).collect::<String>()
        };
        let generated = generate(&format!("{} >{}", codes(true), codes(false)));
        let derived = links::born(generated.unwrap().remove(0)).unwrap().links;
        let [read, derived] = [links, derived].map(|links| {
            let process = process.clone();
            let card = process.model.default_card();
            let mut bridge =
                BornBridge::new(Born { process, links }, &card, &Switches::default()).unwrap();
            let mut answer = BornAnswer::default();
            let events = born_events(bridge.process());
            let values = events.iter().map(|momenta| {
                bridge.evaluate(momenta, G, &mut answer).unwrap();
                let legs = bridge.links().iter().map(|link| link.legs);
                let links = legs.zip(answer.links.iter().map(|link| link / answer.born));
                links.collect::<BTreeMap<_, _>>()
            });
            values.collect::<Vec<_>>()
        });
        for (read, derived) in read.iter().zip(&derived) {
            assert_eq!(read.len(), derived.len(), "{}", directory.display());
            for (legs, value) in read {
                let other = derived[legs];
                let what = format!("{}, {legs:?}: {value} {other}", directory.display());
                assert!((value - other).abs() < 1e-10, "{what}");
            }
        }
    }
}

/// For each coloured leg i, the sum over j != i of `B_ij` is `-C_i B`, and `B_ii` of a massive leg is `C_i B / 2`.
fn color_conservation(directory: &Path, rounding: f64) {
    let mut bridge = BornBridge::open(directory, None, &Switches::default()).unwrap();
    let process = bridge.process().clone();
    let legs: Vec<[usize; 2]> = bridge.links().iter().map(|link| link.legs).collect();
    let casimir = |leg: usize| match process.legs[leg].pdg.abs() {
        21 => CA,
        1..=6 => CF,
        _ => 0.0,
    };
    let mut answer = BornAnswer::default();
    for momenta in born_events(&process) {
        bridge.evaluate(&momenta, G, &mut answer).unwrap();
        let flat: Vec<[f64; 4]> = momenta.as_chunks::<4>().0.to_vec();
        let reference = process.evaluate(&flat, G, &process.model.default_card());
        assert!((answer.born / reference.total() - 1.0).abs() < 1e-11);
        let size = answer.links.iter().fold(answer.born, |a, b| a.max(b.abs()));
        for i in 0..process.legs.len() {
            let mut sum = casimir(i) * answer.born;
            for ([a, b], link) in legs.iter().zip(&answer.links) {
                match (*a == i, *b == i) {
                    (true, true) => {
                        let ratio = link / (casimir(i) * answer.born / 2.0);
                        assert!((ratio - 1.0).abs() < rounding, "{ratio}");
                    }
                    (false, false) => {}
                    _ => sum += link,
                }
            }
            assert!(sum.abs() < rounding * size, "leg {i}: {sum} of {size}");
        }
    }
}

/// Momenta of a few events in the frame of the incoming legs.
fn born_events(process: &Process) -> Vec<Vec<f64>> {
    let values = process.model.evaluate(&process.model.default_card(), G);
    let mass = |leg: &Leg| {
        let value = |i: u32| values[process.model.parameters[i as usize].value as usize].re;
        leg.mass.0.map_or(0.0, value).abs()
    };
    let (incoming, outgoing): (Vec<&Leg>, Vec<&Leg>) =
        process.legs.iter().partition(|leg| leg.incoming);
    let [incoming, outgoing] = [incoming, outgoing].map(|legs| {
        let masses = legs.into_iter().map(mass);
        masses.collect::<Vec<f64>>()
    });
    let space = PhaseSpace::new(1000.0, &incoming, &outgoing).unwrap();
    let mut random = ChaCha8Rng::seed_from_u64(61);
    let event = |_| {
        let numbers: Vec<f64> = (0..space.randoms()).map(|_| random.random()).collect();
        let mut momenta = vec![0.0; space.components()];
        space.event(&numbers, &mut momenta);
        momenta
    };
    (0..6).map(event).collect()
}

/// The card with stable particles: a width in a propagator of the emitting quark ends the soft and collinear limits.
fn stable(process: &Process) -> Vec<f64> {
    let width = |block: &str| block.eq_ignore_ascii_case("decay");
    let card = process.model.card.iter();
    card.map(|p| if width(&p.block) { 0.0 } else { p.default })
        .collect()
}

fn stable_born(directory: &Path) -> BornBridge {
    let born = import_born(directory, &Options::default()).unwrap();
    let card = stable(&born.process);
    BornBridge::new(born, &card, &Switches::default()).unwrap()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
}

/// A momentum of the frame in which a total momentum rests, in the frame in which it is `total`.
fn boosted(p: [f64; 4], total: [f64; 4]) -> [f64; 4] {
    let mass = dot(&total, &total).sqrt();
    let along = p[1] * total[1] + p[2] * total[2] + p[3] * total[3];
    let energy = (p[0] * total[0] + along) / mass;
    let factor = (p[0] + energy) / (mass + total[0]);
    [
        energy,
        p[1] + factor * total[1],
        p[2] + factor * total[2],
        p[3] + factor * total[3],
    ]
}

/// A soft gluon's emission is the sum of the links times eikonal factors.
#[test]
fn soft_gluons_see_the_links() {
    for directory in real_directories() {
        let mut born = stable_born(&directory);
        let reals = import_directory(&directory).unwrap();
        let codes = |process: &Process| process.legs.iter().map(|leg| leg.pdg).collect::<Vec<_>>();
        let expected = codes(born.process());
        let soft = |real: &&Process| {
            let mut codes = codes(real);
            codes.pop() == Some(21) && codes == expected
        };
        let reals: Vec<&Process> = reals.iter().filter(soft).collect();
        assert!(!reals.is_empty(), "{}", directory.display());
        for real in reals {
            for momenta in born_events(born.process()) {
                let ratio = |softness: f64| soft_ratio(&mut born, real, &momenta, softness);
                let [near, nearer] = [1e-5, 1e-7].map(ratio);
                assert!((near - 1.0).abs() < 1e-3, "{}: {near}", real.name);
                assert!((nearer - 1.0).abs() < 1e-5, "{}: {nearer}", real.name);
            }
        }
    }
}

/// The real emission with a last gluon of `softness` times the energy, over its limit. The incoming legs are massless.
fn soft_ratio(born: &mut BornBridge, real: &Process, momenta: &[f64], softness: f64) -> f64 {
    let mut answer = BornAnswer::default();
    born.evaluate(momenta, G, &mut answer).unwrap();
    let legs = momenta.as_chunks::<4>().0;
    let energy = legs[0][0] + legs[1][0];
    let k = [1.0, 0.48, -0.6, 0.64].map(|x| x * softness * energy);
    // In its rest frame, what comes out has the incoming legs along z.
    let total = [energy + k[0], k[1], k[2], k[3]];
    let back = [total[0], -total[1], -total[2], -total[3]];
    let half = dot(&total, &total).sqrt() / 2.0;
    let mut all = vec![[half, 0.0, 0.0, half], [half, 0.0, 0.0, -half]];
    all.extend(legs[2..].iter().chain([&k]).map(|p| boosted(*p, back)));
    let gluon = all[all.len() - 1];
    let eikonal =
        |[i, j]: [usize; 2]| dot(&all[i], &all[j]) / (dot(&all[i], &gluon) * dot(&all[j], &gluon));
    let links = born.links().iter().zip(&answer.links);
    let limit: f64 = links.map(|(link, b)| b * eikonal(link.legs)).sum();
    // Each of several gluons may be the soft one, and |M|^2 has the factor of identical particles.
    let gluons = real
        .legs
        .iter()
        .filter(|leg| !leg.incoming && leg.pdg == 21)
        .count();
    let value = real.evaluate(&all, G, &stable(real)).total() * gluons as f64;
    value / (-2.0 * G * G * limit)
}

/// In the limit in which a down quark becomes a collinear one and the gluon of the Born, both the Born and the complex
/// Born of the gluon matter (S. Catani, M.H. Seymour, hep-ph/9605323, equation 5.147 with 4.25).
#[test]
fn a_collinear_quark_sees_the_complex_born() {
    sees_the_complex_born(stable_born(&gg_ttx()));
}

/// From 3.6 on MG5aMC adds one triangle of the colour matrix, twice, in the complex Born, too.
#[test]
fn a_triangle_of_colors_is_read_as_the_matrix() {
    let d = tempfile::tempdir().unwrap();
    let path = changed(
        d.path(),
        "nlo",
        "born.f",
        "DO H = 1, NCOLOR",
        "DO H = F, NCOLOR",
    );
    let at = path.join("born.f");
    let text = std::fs::read_to_string(&at).unwrap();
    let text = text
        .replacen("-6.666666666666666D-1", "-1.3333333333333332D0", 1)
        .replace(
            "      GLUON = IJ_VALUES(NFKSPROCESS)\n      FIRST",
            "      GLUON = IJ_VALUES(NFKSPROCESS)\n      IF(ALONE)GLUON = 0\n      FIRST",
        )
        .replace(
            "      INTEGER IJ_VALUES(2), SQSOINDEXB\n",
            "      INTEGER IJ_VALUES(2), SQSOINDEXB\n      LOGICAL ALONE\n      COMMON/TO_FORCE_IJGLU/ALONE\n",
        );
    assert_eq!(text.matches("ALONE").count(), 3);
    std::fs::write(&at, text).unwrap();
    let links = |path: &Path| import_born(path, &Options::default()).unwrap().links;
    assert_eq!(links(&gg_ttx()), links(&path));
    sees_the_complex_born(stable_born(&path));
}

fn sees_the_complex_born(mut born: BornBridge) {
    let options = Options {
        element: Some(1),
        ..Options::default()
    };
    let real = import_with(&gg_ttx(), &options).unwrap().remove(0);
    let mut mixed: f64 = 0.0;
    for azimuth in [0.3, 1.1, 2.2, 4.0, 5.9] {
        for x in [0.35, 0.7] {
            for [near, of_mixed] in [1e-3, 1e-5].map(|angle| {
                let [ratio, of_mixed] = collinear_ratio(&mut born, &real, angle, azimuth, x);
                [(ratio - 1.0).abs() / angle, of_mixed]
            }) {
                assert!(near < 20.0, "{near} at {azimuth}, {x}");
                mixed = mixed.max(of_mixed.abs());
            }
        }
    }
    // Without the complex Born this would fail.
    assert!(mixed > 0.02, "{mixed}");
}

/// d g > t t~ d with the last leg at an angle to the first, over its limit; and the share of the complex Born in that.
fn collinear_ratio(
    born: &mut BornBridge,
    real: &Process,
    angle: f64,
    azimuth: f64,
    x: f64,
) -> [f64; 2] {
    let mass = 172.0_f64;
    let energy = 900.0_f64;
    let out = (1.0 - x) * energy;
    let (sine, cosine) = angle.sin_cos();
    let quark = [
        out,
        out * sine * azimuth.cos(),
        out * sine * azimuth.sin(),
        out * cosine,
    ];
    let (first, second) = ([energy, 0.0, 0.0, energy], [energy, 0.0, 0.0, -energy]);
    let gluon = first.map(|p| x * p);
    // A pair of top quarks that has this total momentum, with the same direction in its rest frame.
    let pair = |total: [f64; 4]| {
        let half = dot(&total, &total).sqrt() / 2.0;
        let p = (half * half - mass * mass).sqrt();
        let way = [0.48 * p, 0.6 * p, -0.64 * p];
        let [top, other] = [1.0, -1.0]
            .map(|sign| boosted([half, sign * way[0], sign * way[1], sign * way[2]], total));
        [top, other]
    };
    let sum = |a: [f64; 4], b: [f64; 4], minus: [f64; 4]| {
        let mut total = [0.0; 4];
        for i in 0..4 {
            total[i] = a[i] + b[i] - minus[i];
        }
        total
    };
    let [top, other] = pair(sum(gluon, second, [0.0; 4]));
    let mut answer = BornAnswer::default();
    let momenta = [gluon, second, top, other];
    born.evaluate(momenta.as_flattened(), G, &mut answer)
        .unwrap();
    let complex = answer.complex[0].unwrap();
    // |M|^2 for a gluon polarised along the transverse momentum.
    let phase = Complex64::from_polar(1.0, -2.0 * azimuth);
    let along = answer.born / 2.0 - (phase * complex).re;
    let limit = x * answer.born + 4.0 * (1.0 - x) / x * along;
    // p_a.p_5 without rounding.
    let product = energy * out * 2.0 * (angle / 2.0).sin().powi(2);
    let limit = G * G * CF / (x * product) * limit;
    let [top, other] = pair(sum(first, second, quark));
    let all = [first, second, top, other, quark];
    let value = real.evaluate(&all, G, &stable(real)).total();
    [value / limit, (phase * complex).re / answer.born]
}

/// An assumption of the importer that does not hold is reported by name.
#[test]
fn other_borns_are_refused() {
    #[rustfmt::skip]
    let cases = [
        ("born.f", "NSQAMPSO=1, NGRAPHS=3", "NSQAMPSO=2, NGRAPHS=3", "several squared coupling orders"),
        ("born.f", "DATA IDEN_VALUES/256, 256/", "DATA IDEN_VALUES/256, 128/", "IDEN differs"),
        ("born.f", "SUBROUTINE SBORN_SPLITORDERS", "SUBROUTINE SBORN_ALL", "no SBORN_SPLITORDERS"),
        ("born.f", "SUM_H+COLORS(H,F)*JAMPH(2,H,1)", "SUM_H+2*COLORS(H,F)*JAMPH(2,H,1)", "complex Born"),
        ("b_sf_002.f", "DATA IDEN_VALUES/256, 256/", "DATA IDEN_VALUES/36, 36/", "IDEN is not"),
        ("b_sf_002.f", "JAMP2(3,1) = ", "JAMP2(3,1) = AMP(1)+", "no linear combinations"),
        ("sborn_sf.f", "M.EQ.1 .AND. N.EQ.2", "M.EQ.1 .AND. N.EQ.4", "cannot be determined"),
    ];
    for (file, from, to, why) in cases {
        let d = tempfile::tempdir().unwrap();
        let path = changed(d.path(), "nlo", file, from, to);
        let error = import_born(&path, &Options::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(why), "{error}");
        assert!(error.contains(file), "{error}");
    }
    // MG5aMC 2 has other names.
    let d = tempfile::tempdir().unwrap();
    let path = changed(d.path(), "nlo", "matrix_1.f", "SMATRIX1(", "SMATRIX_1(");
    let error = import_directory(&path).unwrap_err().to_string();
    assert!(
        error.contains("there is SMATRIX_1 in it, as MG5aMC 2 writes"),
        "{error}"
    );
    // A link of other colours is another link.
    let d = tempfile::tempdir().unwrap();
    let singlets = "-6.666666666666666D-1,4D0,";
    let path = changed(
        d.path(),
        "nlo",
        "b_sf_001.f",
        singlets,
        "-6.666666666666666D-1,5D0,",
    );
    let links = |path: &Path| import_born(path, &Options::default()).unwrap().links;
    assert_ne!(links(&gg_ttx()), links(&path));
}

/// A directory without a Born has none, and that of virtuals is refused.
#[test]
fn what_is_no_born_is_refused() {
    let plain = mebridge_testing::root().join("fortran/outputs/old/SubProcesses/P1_gg_ttx");
    let error = import_born(&plain, &Options::default()).unwrap_err();
    assert!(error.to_string().contains("it has no Born"), "{error}");
    let d = tempfile::tempdir().unwrap();
    let p = copy_output(d.path(), "nlo_qcd").join("SubProcesses/P0_gg_ttx");
    // In its place in the P directory MadLoop's folder does not matter.
    std::fs::create_dir(p.join("MadLoop5_resources")).unwrap();
    assert_eq!(import_directory(&p).unwrap().len(), 2);
    let virtuals = p.join("V0_gg_ttx");
    std::fs::create_dir(&virtuals).unwrap();
    std::fs::write(virtuals.join("loop_matrix.f"), "").unwrap();
    let error = import_directory(&virtuals).unwrap_err().to_string();
    assert!(error.contains("MadLoop's virtuals"), "{error}");
}

/// Copies an output by hand into a folder.
fn copy_output(folder: &Path, name: &str) -> PathBuf {
    let output = folder.join(name);
    for part in ["SubProcesses", "Source", "Cards"] {
        copy(&by_hand(name).join(part), &output.join(part));
    }
    output
}

/// A copy of the directory of an output by hand with a change in one of its files.
fn changed(folder: &Path, name: &str, file: &str, from: &str, to: &str) -> PathBuf {
    let path = copy_output(folder, name).join("SubProcesses/P0_gg_ttx");
    let at = path.join(file);
    let text = std::fs::read_to_string(&at).unwrap();
    assert!(text.contains(from), "{file} lacks {from}");
    std::fs::write(&at, text.replace(from, to)).unwrap();
    path
}
