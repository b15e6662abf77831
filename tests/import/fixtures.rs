//! The small directories of `fortran/outputs`, hand-written with the constructs of MG5aMC, compared with their Fortran
//! and with closed formulas.

use crate::common::gfortran;
use crate::support::{copy, mebridge};
use mebridge::import::import_directory;
use mebridge::process::{HelicitySum, Process};
use num_complex::Complex64;
use std::path::{Path, PathBuf};

/// Matrix elements of each output: directory, number behind `#` where there are several; channels;
/// relative difference that rounding makes. It is larger where an interference changes its sign,
/// and in a vector boson that is nearly on its mass shell at high energy.
type ReferenceCase = (&'static str, usize, f64);
const OLD: [ReferenceCase; 4] = [
    ("P1_gg_ttx", 3, 1e-12),
    ("P1_ll_ll", 2, 1e-13),
    ("P1_qq_qq", 5, 1e-11),
    ("P1_qq_wh_w_lv", 1, 1e-11),
];
const NEW: [ReferenceCase; 4] = [
    ("P1_ll_y_ll", 1, 1e-13),
    ("P1_qq_ff#1", 3, 1e-13),
    ("P1_qq_ff#2", 2, 1e-13),
    ("P1_qq_qq", 5, 1e-11),
];
const STANDALONE: [ReferenceCase; 2] = [("P1_ll_ll", 0, 1e-13), ("P1_qq_qq", 0, 1e-11)];

fn outputs() -> PathBuf {
    mebridge_testing::root().join("fortran/outputs")
}

/// The P directory `old/P1_ll_ll`.
fn directory(name: &str) -> PathBuf {
    let (output, p) = name.split_once('/').unwrap();
    outputs().join(output).join("SubProcesses").join(p)
}

/// A directory's only process.
fn process(name: &str) -> Process {
    let mut processes = import_directory(&directory(name)).unwrap();
    assert_eq!(processes.len(), 1);
    processes.remove(0)
}

/// Compares a whole output with its Fortran, plain events and channels.
fn agrees(output: &str, elements: &[ReferenceCase]) {
    if !gfortran() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let path = outputs().join(output);
    for how in ["--channels", "--plain"] {
        let path = path.to_str().unwrap();
        let ran = mebridge(d.path(), &["compare", path, how, "--json", "-"]);
        let rows: Vec<serde_json::Value> = serde_json::from_str(ran.ok()).unwrap();
        assert_eq!(rows.len(), elements.len());
        for (row, (name, channels, rounding)) in rows.iter().zip(elements) {
            assert!(row["directory"].as_str().unwrap().ends_with(name), "{row}");
            assert_eq!(row["verdict"], "ok", "{row}");
            assert_eq!(row["points"], 100);
            assert!(row["worst"].as_f64().unwrap() < *rounding, "{row}");
            assert_eq!(row["other_helicities"], 0, "{row}");
            if how != "--channels" {
                continue;
            }
            let found = row["channels"].as_array().map_or(0, Vec::len);
            assert_eq!(found, *channels, "{row}");
            for channel in row["channels"].as_array().into_iter().flatten() {
                assert!(channel["worst"].as_f64().unwrap() < *rounding, "{row}");
                assert_eq!(channel["other_helicities"], 0, "{row}");
                assert_eq!(channel["other_colors"], 0, "{row}");
            }
        }
    }
}

#[test]
fn the_old_layout_is_its_fortran() {
    agrees("old", &OLD);
}

#[test]
fn the_new_layout_is_its_fortran() {
    agrees("new", &NEW);
}

#[test]
fn standalone_outputs_are_their_fortran() {
    agrees("standalone", &STANDALONE);
}

// Numbers of Cards/param_card.dat.
const MZ: f64 = 90.0;
const WZ: f64 = 2.6;
const MW: f64 = 81.0;
const WW: f64 = 2.2;
const MY: f64 = 450.0;
const WY: f64 = 7.0;
const EE: f64 = 0.31;
const GZ: f64 = 0.45;
const GW: f64 = 0.64;
const KAPPA: f64 = 1.3e-3;

/// 1/(q^2 - m^2 + i m w).
fn propagator(q2: f64, mass: f64, width: f64) -> Complex64 {
    1.0 / Complex64::new(q2 - mass * mass, mass * width)
}

fn dot(a: [f64; 4], b: [f64; 4]) -> f64 {
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]
}

/// Events of two massless particles that become two others: momenta, s, t and u.
fn two_to_two() -> Vec<([[f64; 4]; 4], f64, f64, f64)> {
    let mut events = Vec::new();
    for energy in [15.0, 43.0, 45.2, 60.0, 224.0, 2000.0_f64] {
        for (cosine, phi) in [(-0.83, 0.4), (-0.2, 2.0), (0.31, 5.1), (0.9, 3.3_f64)] {
            let sine = f64::sqrt(1.0 - cosine * cosine);
            let [x, y, z] = [sine * phi.cos(), sine * phi.sin(), cosine].map(|c| c * energy);
            let momenta = [
                [energy, 0.0, 0.0, energy],
                [energy, 0.0, 0.0, -energy],
                [energy, x, y, z],
                [energy, -x, -y, -z],
            ];
            let s = 4.0 * energy * energy;
            let t = -0.5 * s * (1.0 - cosine);
            events.push((momenta, s, t, -s - t));
        }
    }
    events
}

/// |M|^2 of an event, whatever the signs of its parts.
fn total(process: &Process, momenta: &[[f64; 4]], g: f64) -> f64 {
    let card = process.model.default_card();
    process.evaluate(momenta, g, &card).total()
}

#[track_caller]
fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-11 * b.abs(), "{a} is not {b}");
}

/// Helicities are conserved along each line: 4 u^2 for equal ones of both lines and 4 t^2 for
/// opposite ones, times the couplings and propagators; Z couples to left-handed lines alone.
#[test]
fn two_leptons_become_two_others() {
    for name in ["old/P1_ll_ll", "standalone/P1_ll_ll"] {
        let process = process(name);
        assert_eq!(process.iden, 4);
        for (momenta, s, t, u) in two_to_two() {
            let photon = EE * EE / s;
            let both = photon + GZ * GZ * propagator(s, MZ, WZ);
            let expected =
                u * u * (both.norm_sqr() + photon * photon) + 2.0 * t * t * photon * photon;
            near(total(&process, &momenta, 1.1), expected);
        }
    }
}

/// As above. A tensor's exchange gives d^2_11 and d^2_1-1 in place of u and t.
#[test]
fn a_tensor_is_exchanged() {
    let process = process("new/P1_ll_y_ll");
    for (momenta, s, t, u) in two_to_two() {
        let c = (t - u) / s;
        let coupling = (KAPPA * KAPPA * propagator(s, MY, WY)).norm_sqr();
        let shape = 1.0 - 3.0 * c * c + 4.0 * c.powi(4);
        near(
            total(&process, &momenta, 1.0),
            4.0 * s.powi(4) * coupling * shape,
        );
    }
}

/// `J^dagger CF J` of u u~ > u u~.
fn flows(first: Complex64, second: Complex64) -> f64 {
    9.0 * (first.norm_sqr() + second.norm_sqr()) + 6.0 * (first * second.conj()).re
}

/// What is linear in the strong coupling squared: an exchange of a gluon in one channel with that
/// of photon or Z in the other, colour factor 4.
fn interference(s: f64, t: f64, u: f64, g: f64) -> [f64; 2] {
    let charge = (2.0 / 3.0 * EE) * (2.0 / 3.0 * EE);
    let z = |q2| GZ * GZ * propagator(q2, MZ, WZ).re;
    let of = |s_line: f64, t_line: f64| 32.0 * u * u * g * g * (t_line / s + s_line / t) / 36.0;
    [
        of(charge / s + z(s), charge / t + z(t)),
        of(charge / s, charge / t),
    ]
}

#[test]
fn an_interference_alone() {
    let g = 1.2;
    for name in ["old/P1_qq_qq", "new/P1_qq_qq", "standalone/P1_qq_qq"] {
        let process = process(name);
        let standalone = name.starts_with("standalone");
        let way = match standalone {
            true => HelicitySum::Signed,
            false => HelicitySum::Absolute,
        };
        assert_eq!(process.helicity_sum, way);
        assert_eq!((process.iden, process.diagrams), (36, 6));
        // A sum of amplitudes for each colour flow and order.
        assert_eq!(process.amplitudes.diagrams().unwrap().jamp.outputs.len(), 4);
        if !standalone {
            assert_eq!(process.color_flows(), 2);
        }
        let mut both_signs = 0;
        for (momenta, s, t, u) in two_to_two() {
            let [left, right] = interference(s, t, u, g);
            // The parts may cancel.
            let card = process.model.default_card();
            let found = process.evaluate(&momenta, g, &card);
            let size = left.abs() + right.abs();
            assert!(
                (found.total() - left - right).abs() < 1e-11 * size,
                "{name}"
            );
            if left * right < 0.0 {
                both_signs += 1;
            }
            // MadEvent takes absolute values, and the sign of the chosen helicity; the rows of
            // NHEL begin with left-handed particles.
            let answer = |random| found.answer(random);
            match standalone {
                true => near(answer(0.0), found.total()),
                false => {
                    let border = left.abs() / size;
                    near(answer(0.99 * border), size.copysign(left));
                    near(answer(border + 0.01 * (1.0 - border)), size.copysign(right));
                }
            }
        }
        assert!(both_signs > 3, "{both_signs}");
    }
}

#[test]
fn two_matrix_elements_of_one_directory() {
    let processes = import_directory(&directory("new/P1_qq_ff")).unwrap();
    let [quarks, leptons] = processes.as_slice() else {
        panic!("{} processes", processes.len());
    };
    assert_eq!((quarks.diagrams, quarks.color_flows()), (3, 2));
    assert_eq!((leptons.diagrams, leptons.color_flows()), (2, 1));
    assert_eq!(quarks.channels.config_diagram, [1, 2, 3]);
    assert_eq!(leptons.channels.config_diagram, [0, 1, 2]);
    let allowed = [[false, true], [true, false], [true, false]];
    assert_eq!(quarks.channels.color_allowed, allowed);
    assert_eq!(leptons.channels.color_allowed, [[false], [true], [true]]);
    let g = 1.15;
    let charge = 2.0 / 3.0 * EE;
    for (momenta, s, t, u) in two_to_two() {
        let gluon = Complex64::from(2.0 * g * g);
        let photon = Complex64::from(2.0 * charge * charge);
        let all = [
            // Equal helicities: both channels.
            flows(
                gluon * (u / s / 6.0 - u / t / 2.0) - photon * u / s,
                gluon * (u / t / 6.0 - u / s / 2.0),
            ),
            flows(gluon * t / s / 6.0 - photon * t / s, -gluon * t / s / 2.0),
            flows(-gluon * s / t / 2.0, gluon * s / t / 6.0),
        ];
        near(
            total(quarks, &momenta, g),
            2.0 * all.iter().sum::<f64>() / 36.0,
        );
        let photon = charge * EE / s;
        let both = photon - GZ * GZ * propagator(s, MZ, WZ);
        let lines = u * u * (both.norm_sqr() + photon * photon) + 2.0 * t * t * photon * photon;
        near(total(leptons, &momenta, g), 4.0 * lines * 3.0 / 36.0);
    }
}

/// 16 p1.p3 p2.p4 of left-handed currents, two propagators, couplings, colour 3/9 and spins 1/4.
#[test]
fn a_decay_chain() {
    let process = process("old/P1_qq_wh_w_lv");
    assert_eq!(process.name, "u d~ > w+ h WEIGHTED<=4 @1");
    assert_eq!(process.legs.len(), 5);
    // Momenta of e+, ve and h by hand: three legs that add up to zero, and one that is massive.
    let (e, v): ([f64; 3], [f64; 3]) = ([41.0, -23.0, 60.0], [-12.0, 55.0, 8.0]);
    let h: [f64; 3] = std::array::from_fn(|i| -e[i] - v[i]);
    let leg = |p: [f64; 3], mass: f64| {
        let energy = p.iter().fold(mass * mass, |sum, x| sum + x * x).sqrt();
        [energy, p[0], p[1], p[2]]
    };
    let out = [leg(e, 0.0), leg(v, 0.0), leg(h, 120.0)];
    let half = (out[0][0] + out[1][0] + out[2][0]) / 2.0;
    let momenta = [
        [half, 0.0, 0.0, half],
        [half, 0.0, 0.0, -half],
        out[0],
        out[1],
        out[2],
    ];
    let first = propagator(4.0 * half * half, MW, WW).norm_sqr();
    let second = propagator(2.0 * dot(out[0], out[1]), MW, WW).norm_sqr();
    let couplings = GW * GW / 2.0 * GW * MW * (1.0 + EE * EE);
    let currents = 16.0 * dot(momenta[0], out[0]) * dot(momenta[1], out[1]);
    let expected = currents * couplings * couplings * first * second * 3.0 / 36.0;
    near(total(&process, &momenta, 1.0), expected);
}

/// |M|^2 = g^4 (1/(6 t1 t2) - 3/8) (t1^2 + t2^2 + rho - rho^2/(4 t1 t2)) for a stable quark, with
/// t1 = 2 p1.p3/s, t2 = 2 p2.p3/s, rho = 4 m^2/s (Ellis, Stirling, Webber, section 10.1).
#[test]
fn two_gluons_become_top_quarks() {
    let process = process("old/P1_gg_ttx");
    let color = &process.amplitudes.diagrams().unwrap().color;
    assert_eq!(color.entry(0, 0), 16.0 / 3.0);
    assert_eq!(color.entry(0, 1), -2.0 / 3.0);
    let (mass, g) = (172.0_f64, 1.2_f64);
    let mut card = process.model.default_card();
    for (value, parameter) in card.iter_mut().zip(&process.model.card) {
        if parameter.block == "decay" {
            *value = 0.0;
        }
    }
    for [x, y, z] in [[50.0, 20.0, 70.0], [-310.0, 5.0, 12.0], [2.0, 4.0, -900.0]] {
        let e = f64::sqrt(mass * mass + x * x + y * y + z * z);
        let momenta = [
            [e, 0.0, 0.0, e],
            [e, 0.0, 0.0, -e],
            [e, x, y, z],
            [e, -x, -y, -z],
        ];
        let s = 4.0 * e * e;
        let [t1, t2] = [0, 1].map(|i| 2.0 * dot(momenta[i], momenta[2]) / s);
        let rho = 4.0 * mass * mass / s;
        let color = 1.0 / (6.0 * t1 * t2) - 3.0 / 8.0;
        let shape = t1 * t1 + t2 * t2 + rho - rho * rho / (4.0 * t1 * t2);
        near(
            process.evaluate(&momenta, g, &card).total(),
            g.powi(4) * color * shape,
        );
    }
}

/// A copy of an output with one change in one file.
struct Changed {
    _folder: tempfile::TempDir,
    /// The P directory.
    path: PathBuf,
    /// The file, from there.
    file: String,
}

/// Replaces `from`, which stands in `file` once, by `to`; the file's path is relative to the P
/// directory.
#[track_caller]
fn changed(name: &str, file: &str, from: &str, to: &str) -> Changed {
    let folder = tempfile::tempdir().unwrap();
    let (output, p) = name.split_once('/').unwrap();
    copy(&outputs().join(output), folder.path());
    let path = folder.path().join("SubProcesses").join(p);
    let text = std::fs::read_to_string(path.join(file)).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from} in {file}");
    std::fs::write(path.join(file), text.replace(from, to)).unwrap();
    Changed {
        _folder: folder,
        path,
        file: file.to_owned(),
    }
}

impl Changed {
    /// Checks that it is refused for the statement that begins so, in the changed file; `what` is the reason.
    #[track_caller]
    fn is_refused_at(&self, statement: &str, what: &str) {
        let text = std::fs::read_to_string(self.path.join(&self.file)).unwrap();
        let line = text
            .lines()
            .position(|line| line.trim_start().starts_with(statement))
            .expect("the statement")
            + 1;
        let file = Path::new(&self.file).file_name().unwrap().to_string_lossy();
        self.is_refused(&format!("{file}:{line}: {what}"));
    }

    /// Checks that it is refused with a message that contains this.
    #[track_caller]
    fn is_refused(&self, what: &str) {
        let error = match import_directory(&self.path) {
            Ok(_) => panic!("it is imported"),
            Err(error) => error.to_string(),
        };
        assert!(error.contains(what), "{error}\nlacks\n{what}");
    }

    /// Checks that it is imported and agrees with its Fortran, if there is a gfortran.
    #[track_caller]
    fn agrees(&self) -> Process {
        let process = import_directory(&self.path).unwrap().remove(0);
        if gfortran() {
            let path = self.path.to_str().unwrap();
            let arguments = [
                "compare",
                path,
                "--points",
                "8",
                "--channels",
                "--json",
                "-",
            ];
            let ran = mebridge(&self.path, &arguments);
            let rows: serde_json::Value = serde_json::from_str(ran.ok()).unwrap();
            assert_eq!(rows[0]["verdict"], "ok", "{rows}");
        }
        process
    }
}

/// MG5aMC 3.1, and the vectorised 3.3 and 3.4: SMATRIX<i> hands JAMP2 out, and who calls it chooses.
#[test]
fn jamp2_may_be_passed_out() {
    let head = "SMATRIX1(P, RHEL, RCOL, CHANNEL, IVEC, ANS, IHEL,\n     $  ICOL)";
    let other = changed(
        "new/P1_qq_ff",
        "matrix1.f",
        head,
        "SMATRIX1(P, RHEL, CHANNEL, ANS, JAMP2, IVEC)",
    );
    let file = other.path.join("matrix1.f");
    let without = |statement: &str| {
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text.matches(statement).count(), 1, "{statement}");
        std::fs::write(&file, text.replace(statement, "")).unwrap();
    };
    without("      CALL SELECT_COLOR(RCOL, JAMP2, HERE, 1, ICOL)\n");
    let known = import_directory(&outputs().join("new/SubProcesses/P1_qq_ff")).unwrap();
    let process = other.agrees();
    assert_eq!(process.channels, known[0].channels);
    assert_eq!(process.helicities, known[0].helicities);
    let color = |process: &Process| process.amplitudes.diagrams().unwrap().color.clone();
    assert_eq!(color(&process), color(&known[0]));
    without("      JAMP2(0) = 2\n");
    other.is_refused("JAMP2 is not the sum over helicities");
}

/// `set group_subprocesses False`: matrix.f, which goes by MAPCONFIG of configs.inc; what CONFSUB says is not meant.
#[test]
fn ungrouped_outputs_are_their_fortran() {
    let of_all = "          IF (CONFSUB(1,D).GT.0) BOTH = BOTH+AMP2(CONFSUB(1,D))\n";
    let name = "old/P1_gg_ttx";
    let mut other = changed(name, "matrix1.f", of_all, "          BOTH = BOTH+AMP2(D)\n");
    let text = std::fs::read_to_string(other.path.join("matrix1.f")).unwrap();
    let text = ["SMATRIX", "MATRIX"]
        .iter()
        .fold(text, |text, name| text.replace(&format!("{name}1"), name));
    let diagram = "      INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG\n      COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG\n";
    let text = text
        .replace("DO D = 1, LMAXCONFIGS", "DO D = 1, NDIAGS")
        .replace("AMP2(POLE(1))", "AMP2(MAPCONFIG(ICONFIG))")
        .replace("      INTEGER POLE(MAXSPROC), BEAMS(2)\n", diagram)
        .replace("      COMMON/TO_SUB_DIAG/POLE,BEAMS\n", "");
    let write = |file: &str, text: &str| std::fs::write(other.path.join(file), text).unwrap();
    write("matrix.f", &text);
    std::fs::remove_file(other.path.join("matrix1.f")).unwrap();
    let data = |name: &str, values: [u32; 3]| {
        let line = |(config, value)| format!("      DATA {name}{config})/{value}/\n");
        (1..).zip(values).map(line).collect::<String>()
    };
    write("config_subproc_map.inc", &data("CONFSUB(1,", [1; 3]));
    let topology = "      DATA (IFOREST(I,-1,1),I=1,2)/4,3/\n      DATA TPRID(-1,1)/21/\n";
    // Numbers of configurations need not be those of diagrams; ICOLAMP goes by diagrams.
    let configs = data("MAPCONFIG(", [3, 1, 2]) + topology + "      DATA MAPCONFIG(0)/3/\n";
    write("configs.inc", &configs);
    let known = import_directory(&outputs().join("old/SubProcesses/P1_gg_ttx")).unwrap();
    other.file = "matrix.f".into();
    let (channels, known) = (other.agrees().channels, &known[0].channels);
    assert_eq!(channels.amp2, known.amp2);
    assert_eq!(channels.config_diagram, [3, 1, 2]);
    let order = [2, 0, 1].map(|config: usize| known.color_allowed[config].clone());
    assert_eq!(channels.color_allowed, order);
    let configs = other.path.join("configs.inc");
    std::fs::write(&configs, data("MAPCONFIG(", [1, 2, 7])).unwrap();
    other.is_refused("configs.inc: MAPCONFIG names a diagram that does not exist");
    std::fs::remove_file(&configs).unwrap();
    other.is_refused("it has no configs.inc");
}

/// The run card's polbeam1 and polbeam2, as SMATRIX<i> has them in COMMON blocks.
#[test]
fn beams_may_be_polarised() {
    let before = "          PART(ROW) = MATRIX1(P,NHEL(1,ROW),SENSE,ROW)\n";
    let weighed = "          DO LEG = 1, 2
            IF (BEAM(LEG)*NHEL(LEG,ROW).GT.0D0.AND.BEAM(LEG).NE.1D0) THEN
              PART(ROW) = PART(ROW)*ABS(BEAM(LEG))*STATES(LEG)/2D0
            ELSEIF (BEAM(LEG).NE.1D0) THEN
              PART(ROW) = PART(ROW)*(2D0-ABS(BEAM(LEG)))*STATES(LEG)/2D0
            ENDIF
          ENDDO
";
    let ll = "old/P1_ll_ll";
    let other = changed(ll, "matrix1.f", before, &format!("{before}{weighed}"));
    let file = other.path.join("matrix1.f");
    let text = std::fs::read_to_string(&file).unwrap();
    let declared = "      REAL*8 BEAM(2)
      COMMON/TO_POLARIZATION/BEAM
      INTEGER STATES(2)
      COMMON/NB_HEL_STATE/STATES
      DATA AVERAGE/4/
";
    let text = text.replacen("      DATA AVERAGE/4/\n", declared, 1);
    std::fs::write(&file, text).unwrap();
    let states = "      DATA NB_SPIN_STATE/2,4/\n";
    std::fs::write(other.path.join("auto_dsig.f"), states).unwrap();
    let polarise = |change: &Changed, first: f64, second: f64| {
        let card = format!(" {first} = polbeam1 ! per cent\n {second} = polbeam2\n");
        let at = change.path.join("../../Cards/run_card.dat");
        std::fs::write(at, card).unwrap();
    };
    let weights = |process: &Process| -> Vec<f64> { process.beam_weights[..].to_vec() };
    polarise(&other, 60.0, -50.0);
    let process = other.agrees();
    // Of (-, -), (-, +), (+, -) and (+, +), four helicities of the other legs each.
    for (row, expected) in [(0, 0.4 * 3.0), (4, 0.4), (8, 1.6 * 3.0), (12, 1.6)] {
        near(process.beam_weights[row], expected);
    }
    polarise(&other, 0.0, 100.0);
    let process = import_directory(&other.path).unwrap().remove(0);
    near(process.beam_weights[4], 4.0);
    assert_eq!(
        (process.beam_weights[0], process.beam_weights.len()),
        (0.0, 16)
    );
    // Rows without a weight are no good helicities, and the engine's sum is that of the others.
    let unpolarised = self::process(ll);
    assert!(weights(&unpolarised).is_empty());
    let (momenta, ..) = two_to_two()[5];
    let card = unpolarised.model.default_card();
    let parts = unpolarised.evaluate(&momenta, 1.1, &card).contributions;
    let expected: f64 = parts
        .iter()
        .zip(weights(&process))
        .map(|(x, w)| x * w)
        .sum();
    near(total(&process, &momenta, 1.1), expected);
    // A standalone program knows of no beams.
    let other = changed(
        "standalone/P1_ll_ll",
        "matrix.f",
        "SPINS/4, 4/",
        "SPINS/8, 4/",
    );
    polarise(&other, 60.0, -50.0);
    assert!(weights(&other.agrees()).is_empty());
}

const ROW: &str = "      DATA (NHEL(LEG, 5),LEG=1,4) /-1, 1,-1,-1/\n";
const SUM: &str = "SUBROUTINE SMATRIX1(";
const MATRIX: &str = "REAL*8 FUNCTION MATRIX1(";

#[test]
fn other_helicities_are_refused() {
    let file = "matrix1.f";
    changed("old/P1_ll_ll", file, ROW, "").is_refused_at(
        SUM,
        "NHEL(1, 5) is 0, which the particle of IXXXXX cannot have",
    );
    let undeclared = ROW.replace("LEG", "NO_LEG");
    changed("old/P1_ll_ll", file, ROW, &undeclared).is_refused_at(
        "DATA (NHEL(NO_LEG",
        "NO_LEG is not declared, in a unit of IMPLICIT NONE",
    );
    let twice = ROW.replace("-1, 1,-1,-1", "-1,-1,-1,-1");
    changed("old/P1_ll_ll", file, ROW, &twice).is_refused_at(
        SUM,
        "SMATRIX1: the helicities [-1, -1, -1, -1] stand twice in NHEL",
    );
    changed("new/P1_qq_ff", file, ROW, "").is_refused_at(SUM, "NHEL(1, 5) is 0");
    let row = ROW.replace("-1, 1,-1,-1", "-1, 3,-1,-1");
    changed("standalone/P1_ll_ll", "matrix.f", ROW, &row)
        .is_refused_at("SUBROUTINE M0_SMATRIX(", "NHEL(2, 5) is 3");
    changed("old/P1_ll_ll", file, "NHEL(3),+1*IC(3)", "NHEL(4),+1*IC(3)")
        .is_refused_at("CALL OXXXXX(P(0,3)", "OXXXXX: the helicity is not NHEL(3)");
    let row = ROW.replace("-1, 1,-1,-1", "-1, 4,-1,-1");
    changed("old/P1_gg_ttx", file, ROW, &row).is_refused_at(
        SUM,
        "NHEL(2, 5) is 4, which the particle of VXXXXX cannot have; {G}, {H}, {Q}, {W}, {S} and {A} are parts",
    );
}

#[test]
fn bound_states_are_refused() {
    for mark in [
        "use dual_variables",
        "type(Dual) :: W(6,8)",
        "CALL ONIA_PROJ(W(1,1))",
    ] {
        let begins = "REAL*8 MATRIX1, PART(NCOMB), LEFT, BOTH\n";
        let with = format!("{begins}      {mark}\n");
        changed("old/P1_gg_ttx", "matrix1.f", begins, &with).is_refused_at(
            SUM,
            "this is of a quarkonium or leptonium process of MG5aMC 3.8, and mebridge has no bound states",
        );
    }
}

#[test]
fn other_sums_are_refused() {
    let file = "matrix1.f";
    for name in ["old/P1_ll_ll", "new/P1_qq_qq"] {
        let end = "ANS = ANS/AVERAGE";
        changed(name, file, end, "ANS = ANS/(AVERAGE+0.5D0)")
            .is_refused_at(SUM, "SMATRIX1: the sum over helicities is divided by");
        changed(name, file, end, "ANS = ANS/AVERAGE+1D-3").is_refused_at(SUM, "SMATRIX1: ");
        changed(name, file, "      ANS = SIGN(ANS,PART(ROW))\n", "").is_refused_at(
            SUM,
            "SMATRIX1: contributions of both signs are added in a way that is not known",
        );
        changed(
            name,
            file,
            "          ANS = ANS+ABS(PART(ROW))\n",
            "          ANS = ANS+PART(ROW)**2\n",
        )
        .is_refused_at(SUM, "SMATRIX1: ");
    }
    let file = "matrix.f";
    changed(
        "standalone/P1_qq_qq",
        file,
        "EACH(0) = EACH(0)+EACH(K)\n",
        "EACH(0) = EACH(K)**2\n",
    )
    .is_refused_at("SUBROUTINE SMATRIX(", "SMATRIX: ");
    changed(
        "standalone/P1_qq_qq",
        file,
        "      CALL SMATRIX_SPLITORDERS(P,EACH)\n",
        "",
    )
    .is_refused_at("ANS = EACH(0)", "EACH has no value here");
    changed(
        "standalone/P1_ll_ll",
        file,
        "FUNCTION M0_MATRIX",
        "FUNCTION M1_MATRIX",
    )
    .is_refused("matrix.f: there is no M0_MATRIX");
}

#[test]
fn other_matrix_elements_are_refused() {
    let (ll, file) = ("old/P1_ll_ll", "matrix1.f");
    let amp2 = "      AMP2(2)=AMP2(2)+AMP(2)*";
    changed(ll, file, amp2, "      AMP2(2)=AMP2(2)+WHAT*").is_refused_at(
        "AMP2(2)=",
        "WHAT is not declared, in a unit of IMPLICIT NONE",
    );
    changed(ll, file, amp2, "      AMP2(2)=AMP2(2)+2*AMP(2)*")
        .is_refused_at(MATRIX, "AMP2(2) is not added to, by a sum of |AMP|^2");
    changed(ll, file, "        FRESH = .FALSE.\n", "")
        .is_refused_at(MATRIX, "a second call of MATRIX1 computes something else");
    changed(ll, file, "      SAVE KEPT_WZ\n", "").is_refused_at(
        "IF (MDL_WZ.NE.0D0)",
        "a value is set on one side of a condition only",
    );
    changed(ll, file, "NGRAPHS=2", "NGRAPHS=3")
        .is_refused_at(MATRIX, "2 amplitudes are computed, and NGRAPHS is 3");
    changed(ll, file, "CALL FFV2_0(", "CALL FFV9_0(").is_refused_at(
        "CALL FFV9_0(",
        "FFV9_0: no file in Source/DHELAS has a subroutine of that name",
    );
    changed("old/P1_gg_ttx", file, "      DATA BELOW(2)/6/\n", "").is_refused_at(
        "MATRIX1 = MATRIX1",
        "a coefficient that is no finite number",
    );
    changed("new/P1_qq_qq", file, "      DATA BELOW/1/\n", "")
        .is_refused_at("MATRIX1 = MATRIX1/BELOW", "BELOW has no value here");
    changed("new/P1_qq_qq", file, "        PLACE = 0\n", "")
        .is_refused_at("PLACE = PLACE+1", "PLACE has no value here");
    changed("old/P1_qq_qq", file, "GOTO 50", "GOTO 51").is_refused_at(
        "INTEGER FUNCTION SOINDEX_FOR_SQUARED_ORDERS1(",
        "there is no label 51 to jump to",
    );
    for name in ["old/P1_qq_qq", "new/P1_qq_qq"] {
        changed(name, file, ".FALSE.,.TRUE.,.FALSE.", "3*.FALSE.")
            .is_refused_at(MATRIX, "the matrix element is zero");
    }
}

/// Under IMPLICIT NONE every name has a type, a PARAMETER ahead of its value; without, a type that its letter implies
/// is not changed. gfortran refuses all of these.
#[test]
fn names_without_a_type_are_refused() {
    let lorentz = "../../Source/DHELAS/FFV2_0.f";
    let (none, ty) = ("      IMPLICIT NONE\n", "      COMPLEX*16 CI\n");
    let value = "      PARAMETER (CI=(0D0,1D0))\n";
    let whole = [none, ty, value].concat();
    let undeclared = |name: &str| format!("{name} is not declared, in a unit of IMPLICIT NONE");
    let place = "PARAMETER (CI=";
    changed("old/P1_ll_ll", lorentz, ty, "").is_refused_at(place, &undeclared("CI"));
    changed("old/P1_ll_ll", lorentz, &whole, &[none, value, ty].concat())
        .is_refused_at(place, &undeclared("CI"));
    changed("old/P1_ll_ll", lorentz, &whole, &[value, ty].concat())
        .is_refused_at("COMPLEX*16 CI", "CI has another type already");
    changed("old/P1_ll_ll", lorentz, &whole, value).is_refused("a variable in single precision");
    changed("old/P1_ll_ll", lorentz, "      COMPLEX*16 COUP\n", "")
        .is_refused_at("SUBROUTINE FFV2_0(", &undeclared("COUP"));
    let file = "matrix1.f";
    #[rustfmt::skip]
    let cases = [
        ("      REAL*8 NARROW\n", "", "COMMON/NARROW_WIDTH/", "NARROW"),
        ("      LOGICAL FRESH\n", "", "SAVE FRESH", "FRESH"),
        ("LOGICAL WANTED(", "DIMENSION WANTED(", "DIMENSION WANTED(", "WANTED"),
        ("REAL*8 MATRIX1, PART", "REAL*8 PART", "PART(ROW) = MATRIX1(", "MATRIX1"),
        ("      REAL*8 FUNCTION MATRIX1(", "      FUNCTION MATRIX1(", "FUNCTION MATRIX1(", "MATRIX1"),
    ];
    for (from, to, place, name) in cases {
        changed("old/P1_ll_ll", file, from, to).is_refused_at(place, &undeclared(name));
    }
}

/// Entries of the card that two names share, or that have more indices than a name says.
#[test]
fn other_names_of_the_cards_entries_are_refused() {
    let ident = "../../Cards/ident_card.dat";
    for (from, to, line) in [
        ("decay 6 ", "decay 23 ", 12),
        ("gauge 3 mdl_GW", "gauge 3 mdl_GZ", 9),
    ] {
        changed("standalone/P1_ll_ll", ident, from, to).is_refused(&format!(
            "ident_card.dat: line {line}: an entry of the card, or a name, stands here twice"
        ));
    }
    let card = "../../Cards/param_card.dat";
    changed("old/P1_ll_ll", card, "    2 4.5", "    2 1 4.5")
        .is_refused("line 12: `2 1 4.500000e-01` is not the entry 2 of block gauge (MDL_GZ)");
}

/// The contents of HEL_BUFF, which MadEvent writes to event files.
#[test]
fn other_told_helicities_are_refused() {
    let report = "(NHEL(LEG,ROW),LEG=1,NEXTERNAL)";
    for other in [
        "(NHEL(LEG,ROW),LEG=2,NEXTERNAL)",
        "(NHEL(LEG,NCOMB),LEG=1,NEXTERNAL)",
        "(NHEL(LEG,LEG),LEG=1,NEXTERNAL)",
        "(NHEL(NEXTERNAL+1-LEG,ROW),LEG=1,NEXTERNAL)",
    ] {
        changed("old/P1_ll_ll", "matrix1.f", report, other).is_refused_at(
            SUM,
            "SMATRIX1: HEL_BUFF does not tell the helicities that the random number chooses",
        );
    }
    let (line, other) = (format!("'(20I5)') {report}"), format!("'(20I4)') {report}"));
    changed("old/P1_ll_ll", "matrix1.f", &line, &other)
        .is_refused_at(SUM, "SMATRIX1: HEL_BUFF does not tell");
}

/// JAMP2 of a call without channels holds what earlier ones left.
#[test]
fn sums_that_depend_on_earlier_squares_are_refused() {
    let (zero, if_zero) = (
        "      ANS = 0D0\n      WRITE",
        "      IF (JAMP2(SIDE).EQ.0D0) ANS = 0D0\n      WRITE",
    );
    changed("old/P1_gg_ttx", "matrix1.f", zero, if_zero).is_refused("matrix1.f");
}

/// The Fortran writes over the next wavefunction.
#[test]
fn columns_that_are_too_short_are_refused() {
    changed(
        "old/P1_ll_ll",
        "matrix1.f",
        "W(6,NWAVEFUNCS)",
        "W(5,NWAVEFUNCS)",
    )
    .is_refused_at(
        "CALL IXXXXX(P(0,1)",
        "IXXXXX: a wavefunction of 6 components, and W has 5 rows",
    );
}

/// Powers whose value hangs on the sign of a zero, or that have none at zero.
#[test]
fn other_powers_in_lorentz_structures_are_refused() {
    let file = "../../Source/DHELAS/FFV1P0_3.f";
    let at = "DENOM =";
    for (other, what) in [
        ("Q(2)**2**Q(3)**2", "a power whose exponent is no number"),
        (
            "Q(2)**2-Q(3)**(-2)",
            "a negative power, which has no value at zero",
        ),
        (
            "Q(2)**2-COUP**0.5D0",
            "a power of a complex number that is not whole",
        ),
    ] {
        changed("old/P1_ll_ll", file, "Q(2)**2-Q(3)**2", other).is_refused_at(at, what);
    }
    changed("old/P1_ll_ll", file, "Q(2)**2-Q(3)**2", "Q(2)**2D0-Q(3)**2").agrees();
}

#[test]
fn other_tables_are_refused() {
    let file = "coloramps.inc";
    let row = "      DATA(ICOLAMP(I,2,1),I=1,1)/.TRUE./\n";
    changed("old/P1_ll_ll", file, row, "").is_refused(
        "coloramps.inc: ICOLAMP is not set for all of the 1 colour flows of configuration 2",
    );
    let row = "      DATA(ICOLAMP(I,3,2),I=1,2)/.TRUE.,.FALSE./\n";
    changed("new/P1_qq_ff", file, row, "").is_refused(
        "coloramps.inc: ICOLAMP is not set for all of the 1 colour flows of configuration 3",
    );
    let file = "config_subproc_map.inc";
    changed("new/P1_qq_ff", file, "/2,1/", "/2,7/")
        .is_refused("CONFSUB names a diagram that does not exist");
    let row = "      DATA (CONFSUB(I,2),I=1,1)/2/\n";
    changed("old/P1_ll_ll", file, row, "")
        .is_refused("coloramps.inc:3: ICOLAMP has more configurations than there are");
    let file = "leshouche.inc";
    let row = "      DATA (IDUP(I,1,2),I=1,4)/2,-2,13,-13/\n";
    changed("new/P1_qq_ff", file, row, "")
        .is_refused("leshouche.inc: it does not say which particle each leg is (IDUP)");
    let row = "      PMASS(5)=ABS(MDL_MH)\n";
    changed("old/P1_qq_wh_w_lv", "pmass.inc", row, "")
        .is_refused("pmass.inc: there is no PMASS(5)");
}

#[test]
fn other_lorentz_structures_and_models_are_refused() {
    let file = "../../Source/DHELAS/FFV2_0.f";
    let second = "      END\n      SUBROUTINE FFV1_0(F1)\n      END\n";
    changed("old/P1_ll_ll", file, "      END\n", second).is_refused_at(
        "SUBROUTINE FFV1_0(",
        "FFV1_0 is defined a second time; the first is in",
    );
    changed("new/P1_qq_ff", file, "      COMPLEX*16 DOWN\n", "")
        .is_refused_at("DOWN =", "DOWN is not declared, in a unit of IMPLICIT NONE");
    let file = "../../Source/DHELAS/FFT1_3.f";
    changed(
        "new/P1_ll_y_ll",
        file,
        "      DO M = 1, 4\n",
        "      DO M = 1, 3\n",
    )
    .is_refused_at(
        "SUBROUTINE FFT1_3(",
        "FFT1_3 does not set component 15 of T3",
    );
    let file = "../../Source/DHELAS/aloha_functions.f";
    changed(
        "standalone/P1_ll_ll",
        file,
        "LARGE = NSF*LARGE",
        "LARGE = -NSF*LARGE",
    )
    .is_refused_at(
        "SUBROUTINE IXXXXX(",
        "IXXXXX computes another wavefunction than HELAS's routine of that name",
    );
    let file = "../../Source/MODEL/couplings1.f";
    changed(
        "standalone/P1_ll_ll",
        file,
        "MDL_COMPLEXI*MDL_GZ",
        "MDL_COMPLEXI*MDL_GX",
    )
    .is_refused_at(
        "GC_3 =",
        "MDL_GX is not declared, in a unit of IMPLICIT NONE",
    );
    let file = "../../Source/MODEL/param_read.inc";
    let other = "'mdl_EE',MDL_GZ";
    changed("standalone/P1_qq_qq", file, "'mdl_EE',MDL_EE", other).is_refused_at(
        "CALL LHA_GET_REAL(NPARA,PARAM,VALUE,'mdl_EE'",
        "LHA_GET_REAL: the parameter MDL_EE goes to the variable MDL_GZ",
    );
    let file = "../../Source/MODEL/rw_para.f";
    changed("new/P1_qq_ff", file, "      CALL COUP()\n", "")
        .is_refused_at("SUBROUTINE SETPARA(", "SETPARA calls COUP 0 times");
}

// Changes that mean something: the library computes something else then, as the Fortran does.

/// |M|^2 behind a change over that before.
#[track_caller]
fn ratio(name: &str, change: Changed) -> f64 {
    let (momenta, ..) = two_to_two()[5];
    let before = total(&process(name), &momenta, 1.1);
    total(&change.agrees(), &momenta, 1.1) / before
}

#[test]
fn other_averages_are_computed() {
    let (ll, file) = ("old/P1_ll_ll", "matrix1.f");
    near(
        ratio(ll, changed(ll, file, "      ANS = ANS/AVERAGE\n", "")),
        4.0,
    );
    near(
        ratio(ll, changed(ll, file, "DATA AVERAGE/4/", "DATA AVERAGE/8/")),
        0.5,
    );
    let sa = "standalone/P1_ll_ll";
    let average = "ANS = ANS/AVERAGE";
    let change = changed(sa, "matrix.f", average, "ANS = ANS*SPINS/AVERAGE");
    near(ratio(sa, change), 4.0);
    // A flow without diagrams of an order is not set.
    let (sa, file_of_sa) = ("standalone/P1_qq_qq", "matrix.f");
    let flow = "      JAMP(2,2) = AMP(4)+AMP(6)\n";
    let without = |instead: &str| {
        let change = changed(sa, file_of_sa, flow, instead);
        let processes = import_directory(&change.path).unwrap();
        total(&processes[0], &two_to_two()[5].0, 1.1)
    };
    assert_eq!(without(""), without("      JAMP(2,2) = (0D0,0D0)\n"));
    let both = "      JAMP(1,2) = -AMP(1)-AMP(3)\n      JAMP(2,2) = AMP(4)+AMP(6)\n";
    changed(sa, file_of_sa, both, "")
        .is_refused_at("RES(K) = RES(K)+DBLE", "JAMP has no value here");
    let qq = "new/P1_qq_qq";
    near(
        ratio(qq, changed(qq, file, "DATA BELOW/1/", "DATA BELOW/3/")),
        1.0 / 3.0,
    );
    near(
        ratio(qq, changed(qq, file, "DATA BELOW/1/", "DATA BELOW/-1/")),
        -1.0,
    );
}

/// The treatment of the card in a standalone program.
#[test]
fn other_cards_are_computed() {
    let file_of_card = "../../Source/MODEL/param_read.inc";
    let last = "'mdl_WY',MDL_WY,7D0)\n";
    for (statement, other) in [
        ("MDL_WZ = SIGN(2D0*MDL_WZ,MDL_MZ)", true),
        ("MDL_WZ = SIGN(MDL_WZ,MDL_MZ)", false),
        ("IF (MDL_MZ.LT.0D0) MDL_WZ = -MDL_WZ", false),
        ("MDL_GZ = 0.3D0", true),
    ] {
        let sa = "standalone/P1_ll_ll";
        let changed = changed(
            sa,
            file_of_card,
            last,
            &format!("{last}      {statement}\n"),
        );
        assert_eq!(
            (ratio(sa, changed) - 1.0).abs() > 1e-4,
            other,
            "{statement}"
        );
    }
}

#[test]
fn other_conditions_are_computed() {
    let (ll, file) = ("old/P1_ll_ll", "matrix1.f");
    // Without its width the Z is another one.
    for condition in ["MDL_WZ.LT.0D0", "MDL_MZ.GT.91D0"] {
        let change = changed(ll, file, "MDL_WZ.NE.0D0", condition);
        assert!((ratio(ll, change) - 1.0).abs() > 1e-4);
    }
    // All squared orders: positive.
    for qq in ["old/P1_qq_qq", "new/P1_qq_qq"] {
        let change = changed(qq, file, ".FALSE.,.TRUE.,.FALSE.", "3*.TRUE.");
        assert_eq!(change.agrees().helicity_sum, HelicitySum::Positive);
    }
    // The other matrix element of a configuration.
    let change = changed("new/P1_qq_ff", "config_subproc_map.inc", "/2,1/", "/2,0/");
    change.agrees();
    let processes = import_directory(&change.path).unwrap();
    assert_eq!(processes[1].channels.config_diagram, [0, 0, 2]);
}

/// The card makes all amplitudes vanish: the answer is zero, as the Fortran's.
#[test]
fn a_vanishing_matrix_element_is_zero() {
    let card = "../../Cards/param_card.dat";
    let coupling = "    3 6.400000e-01";
    let change = changed("old/P1_qq_wh_w_lv", card, coupling, "    3 0.0");
    if gfortran() {
        let path = change.path.to_str().unwrap();
        let arguments = ["compare", path, "--channels", "--values", "--json", "-"];
        let ran = mebridge(&change.path, &arguments);
        let rows: serde_json::Value = serde_json::from_str(ran.ok()).unwrap();
        assert_eq!(rows[0]["verdict"], "ok", "{rows}");
        for side in ["fortran", "library"] {
            let values = rows[0]["values"][side].as_array().unwrap();
            assert_eq!(values.len(), 100);
            assert!(values.iter().all(|x| x.as_f64() == Some(0.0)), "{rows}");
        }
    }
}

/// Few helicities often have contributions of one sign, which all ways of adding them treat alike.
#[test]
fn three_helicities_with_signs() {
    let change = changed("old/P1_qq_qq", "matrix1.f", "(NCOMB=16,", "(NCOMB=3,");
    let path = change.path.join(&change.file);
    let text = std::fs::read_to_string(&path).unwrap();
    let beyond = |line: &&str| {
        let rest = line.trim_start().strip_prefix("DATA (NHEL(LEG,");
        let row = rest.and_then(|rest| rest.split(')').next()?.trim().parse::<u32>().ok());
        row.is_none_or(|row| [6, 7, 10].contains(&row))
    };
    let mut rows = ["1", "2", "3"].iter();
    let lines = text.lines().filter(beyond).map(|line| {
        let Some(rest) = line.trim_start().strip_prefix("DATA (NHEL(LEG,") else {
            return line.to_owned();
        };
        let (_, rest) = rest.split_once(')').unwrap();
        format!("      DATA (NHEL(LEG,{}){rest}", rows.next().unwrap())
    });
    let text = lines.collect::<Vec<String>>().join("\n") + "\n";
    std::fs::write(&path, text).unwrap();
    let process = change.agrees();
    assert_eq!(process.helicities.len(), 3);
    assert_eq!(process.helicity_sum, HelicitySum::Absolute);
}

/// A matrix element that is refused leaves the other one of its directory alone.
#[test]
fn a_refused_neighbour() {
    let change = changed("new/P1_qq_ff", "matrix2.f", "CALL FFV2_0(", "CALL FFV9_0(");
    change.is_refused("FFV9_0");
    let path = change.path.to_str().unwrap();
    let first = mebridge(&change.path, &["info", &format!("{path}#1")]);
    assert!(first.ok().contains("u u~ > u u~ @1"), "{}", first.stdout);
    let second = mebridge(&change.path, &["info", &format!("{path}#2")]);
    assert!(second.failed(1).contains("FFV9_0"));
    if gfortran() {
        let ran = mebridge(&change.path, &["compare", path, "--points", "8"]);
        let verdicts: Vec<bool> = ran
            .stdout
            .lines()
            .map(|line| line.contains(" ok"))
            .collect();
        assert_eq!(verdicts, [false, true, false], "{}", ran.stdout);
    }
}

/// In the s channel alone gluon and photon do not interfere: colours cancel but for rounding, which is no
/// difference.
#[test]
fn what_cancels_is_compared_with_its_terms() {
    if !gfortran() {
        return;
    }
    let (file, both) = ("matrix1.f", "JAMP(2,2) = AMP(4)+AMP(6)");
    let change = changed("old/P1_qq_qq", file, both, "JAMP(2,2) = (0D0,0D0)");
    let path = change.path.join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines = text.lines().map(|line| match line.trim_start() {
        start if start.starts_with("JAMP(1,1) =") => "      JAMP(1,1) = (1D0/6D0)*AMP(2)",
        start if start.starts_with("JAMP(2,1) =") => "      JAMP(2,1) = -0.5D0*AMP(2)",
        _ => line,
    });
    std::fs::write(&path, lines.collect::<Vec<_>>().join("\n") + "\n").unwrap();
    let ran = mebridge(&change.path, &["compare", change.path.to_str().unwrap()]);
    let agree = "events agree to 1e-14 of the terms that cancel";
    assert!(
        ran.code == 0 && ran.stdout.contains(agree),
        "{}",
        ran.stdout
    );
    let zero = "with this card |M|^2 vanishes at all points; 0 is given";
    assert!(ran.stderr.contains(zero), "{}", ran.stderr);
}
