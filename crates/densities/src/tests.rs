use super::axis::{Axis, cubic, hermite};
use super::{
    BosonBeam, BosonOrder, Densities, FormFactor, PhotonPairs, Radiator, StrongCoupling, evolved,
};
use mebridge_simd::Level;
use std::path::PathBuf;

const X: [f64; 11] = [1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 0.6, 0.9, 1.0];
const Q: [[f64; 5]; 2] = [
    [1.5, 2.0, 2.7, 3.6, 4.75],
    [4.75, 10.0, 30.0, 100.0, 1000.0],
];

/// A grid of LHAPDF with two parts.
fn grid(codes: &[i32], value: impl Fn(usize, i32, f64, f64) -> f64) -> String {
    let words = |numbers: &[f64]| {
        let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
        words.join(" ")
    };
    let mut text = "PdfType: central\nFormat: lhagrid1\n---\n".to_owned();
    for (part, scales) in Q.iter().enumerate() {
        let names: Vec<String> = codes.iter().map(i32::to_string).collect();
        text += &format!("{}\n{}\n{}\n", words(&X), words(scales), names.join(" "));
        for &x in &X {
            for &q in scales {
                let row: Vec<String> = codes
                    .iter()
                    .map(|&c| format!("{:.9e}", value(part, c, x, q)))
                    .collect();
                text += &(row.join(" ") + "\n");
            }
        }
        text += "---\n";
    }
    text
}

fn smooth(part: usize, code: i32, x: f64, q: f64) -> f64 {
    let size = (1.0 + 0.5 * part as f64) * f64::from(code + 2);
    size * x.sqrt() * (1.0 - x).powi(3) * (1.0 + 0.1 * (q * q).ln())
}

/// A file with this text, which is removed when the first value is dropped.
fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    named("some_0000.dat", text)
}

fn named(name: &str, text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    (folder, file)
}

fn read(text: &str) -> Densities {
    let (_folder, file) = file(text);
    Densities::open(&file).unwrap()
}

fn at(densities: &Densities, x: f64, q: f64) -> Vec<f64> {
    let mut values = vec![0.0; densities.codes().len()];
    densities.evaluate(&[x], &[q * q], &mut values);
    values
}

#[track_caller]
fn near(found: f64, wanted: f64, relative: f64) {
    assert!(
        (found - wanted).abs() <= relative * wanted.abs(),
        "{found:e} for {wanted:e}"
    );
}

/// The sum over nucleons: up in a neutron is down in a proton.
#[test]
fn densities_of_ions() {
    let codes = [-2, -1, 1, 2, 3, 21];
    let text = grid(&codes, |_, code, x, q| {
        f64::from(code + 4) * x.sqrt() * (1.0 - x) * q.ln()
    });
    let proton = at(&read(&text), 0.03, 50.0);
    let ion = read(&text).of_ion([82, 126]);
    assert!(ion.is_of_ion() && !read(&text).is_of_ion());
    let found = at(&ion, 0.03, 50.0);
    for (place, other) in [(0, 1), (1, 0), (2, 3), (3, 2), (4, 4), (5, 5)] {
        near(
            found[place],
            82.0 * proton[place] + 126.0 * proton[other],
            1e-14,
        );
    }
    // Two points, with one of the two quarks only.
    let mut values = [0.0; 4];
    let few = read(&grid(&[21, 2], smooth)).of_ion([1, 1]);
    few.evaluate(&[0.1, 0.2], &[100.0; 2], &mut values);
    let alone = read(&grid(&[21, 2], smooth));
    for (point, x) in [0.1, 0.2].into_iter().enumerate() {
        let of_proton = at(&alone, x, 10.0);
        near(values[2 * point], 2.0 * of_proton[0], 1e-14);
        near(values[2 * point + 1], 2.0 * of_proton[1], 1e-14);
    }
}

/// Comparison with NeoPDF 0.4.0, which is itself tested against LHAPDF, on the same grid.
#[test]
fn another_reader_finds_the_same() {
    let densities = read(&grid(&[-1, 21, 2], smooth));
    assert_eq!(densities.codes(), [-1, 21, 2]);
    #[rustfmt::skip]
    let cases = [
        ([2e-05, 1.6], [0.005201141640700493, 0.1196262577551893, 0.020804566567360468]),
        ([0.0001, 2.2], [0.011573441988697782, 0.2661891658426128, 0.046293767976639574]),
        ([0.0005, 4.0], [0.02893969438355675, 0.6656129709256894, 0.11575877750018546]),
        ([0.002, 4.7], [0.05781897644219108, 1.3298364581544704, 0.23127590578940396]),
        ([0.02, 5.0], [0.2661536663447897, 6.121534326143633, 1.0646146655206905]),
        ([0.05, 20.0], [0.466805644650506, 10.736529824382249, 1.8672225787888552]),
        ([0.2, 60.0], [0.6036518897969352, 13.88399346461061, 2.4146075591411105]),
        ([0.5, 500.0], [0.2854654057396302, 6.565704330470674, 1.1418616228890746]),
        ([0.95, 999.0], [-0.0008888712995146431, -0.020444039878121004, -0.0035554851964780644]),
        ([0.7, 3.0], [0.032586477717037154, 0.74948898724001, 0.1303459108634429]),
    ];
    for ([x, q], wanted) in cases {
        for (found, wanted) in at(&densities, x, q).into_iter().zip(wanted) {
            near(found, wanted, 1e-12);
        }
    }
}

#[test]
fn knots_have_their_values_and_shared_scales_the_upper_part() {
    let densities = read(&grid(&[1], smooth));
    for (part, scales) in Q.iter().enumerate() {
        for &x in &X {
            for &q in &scales[..4] {
                let (found, wanted) = (at(&densities, x, q)[0], smooth(part, 1, x, q));
                // At x = 1 it is zero.
                assert!(
                    (found - wanted).abs() <= 1e-9 * wanted + 1e-17,
                    "{found:e} for {wanted:e}"
                );
            }
        }
    }
    assert_eq!(densities.range_of_x(), [1e-5, 1.0]);
    assert_eq!(densities.range_of_q2(), [2.25, 1e6]);
}

#[test]
fn weights_add_up_and_keep_straight_lines() {
    let knots = [-3.0, -1.0, 0.5, 0.75, 2.0, 5.0];
    let axis = Axis::new(knots.to_vec(), |i, at| hermite(&knots, i, at));
    for i in 0..=80 {
        let at = -3.0 + f64::from(i) * 0.1;
        let (first, of) = axis.weights(at);
        let sum = |value: &dyn Fn(f64) -> f64| -> f64 {
            let some = of.iter().enumerate().filter(|(_, of)| **of != 0.0);
            some.map(|(i, of)| of * value(knots[first + i])).sum()
        };
        near(sum(&|_| 1.0), 1.0, 1e-14);
        assert!(
            (sum(&|x| 2.0 * x - 1.0) - (2.0 * at - 1.0)).abs() < 1e-13,
            "at {at}"
        );
    }
    // A cubic polynomial is reproduced by four knots.
    let knots = [0.1, 0.2, 0.5, 0.9];
    let sum: f64 = cubic(0.3, knots)
        .iter()
        .zip(knots)
        .map(|(of, x)| of * x.powi(3))
        .sum();
    near(sum, 0.027, 1e-13);
}

/// Powers of x and of Q^2 are continued; below the least scale, densities vanish with the power of the slope there.
#[test]
fn outside_of_a_grid_densities_go_on() {
    let power = |_: usize, _: i32, x: f64, q: f64| x.powf(-0.3) * q.powf(0.2);
    let densities = read(&grid(&[21], power));
    near(at(&densities, 1e-7, 10.0)[0], power(0, 0, 1e-7, 10.0), 1e-8);
    near(at(&densities, 1e-2, 1e4)[0], power(0, 0, 1e-2, 1e4), 1e-8);
    near(at(&densities, 1e-7, 1e4)[0], power(0, 0, 1e-7, 1e4), 1e-8);
    let share = (1.0f64 / 1.5).powi(2);
    let end = |x: f64, q2: f64| at(&densities, x, f64::sqrt(q2))[0];
    for x in [1e-7, 1e-2] {
        let low = end(x, 2.25);
        let slope = (end(x, 2.25 * 1.01) - low) / low / 0.01;
        near(
            at(&densities, x, 1.0)[0],
            low * share.powf(slope * share + 1.0 - share),
            1e-9,
        );
    }
    // Negative values are continued linearly; above x = 1 densities vanish.
    let negative = read(&grid(&[21], |_, _, x, _| 1.0 + x.ln()));
    near(at(&negative, 1e-6, 10.0)[0], 1.0 + f64::ln(1e-6), 1e-8);
    assert_eq!(at(&densities, 1.0 + 1e-9, 10.0), [0.0]);
    assert!(
        at(&densities, f64::NAN, 10.0)[0].is_nan() && at(&densities, 0.1, f64::NAN)[0].is_nan()
    );
}

/// Missing, repeated or damaged lines and numbers are errors with the file and, if possible, the line; never wrong
/// densities.
#[test]
fn damaged_grids_are_errors() {
    let text = grid(&[1, 21], smooth);
    let lines: Vec<&str> = text.lines().collect();
    let spoiled = |at: usize, line: &[&str]| {
        let mut lines = lines.clone();
        lines.splice(at..=at, line.iter().copied());
        let (_folder, file) = file(&(lines.join("\n") + "\n"));
        Densities::open(&file).err()
    };
    let shorter = |line: &str| {
        line.rsplit_once(' ')
            .map_or("", |(start, _)| start)
            .to_owned()
    };
    for (at, &line) in lines.iter().enumerate().skip(1) {
        // Without its last ---, a grid is incomplete.
        assert!(spoiled(at, &[]).is_some(), "without line {}", at + 1);
        if line != "---" {
            assert!(
                at == 1 || spoiled(at, &[line, line]).is_some(),
                "line {} twice",
                at + 1
            );
        }
        if at > 2 && line != "---" {
            for other in [
                shorter(line),
                line.replacen(' ', " nan ", 1),
                line.replacen('e', "x", 1) + "?",
            ] {
                let error =
                    spoiled(at, &[&other]).unwrap_or_else(|| panic!("line {}: {other}", at + 1));
                let text = error.to_string();
                assert!(text.contains("some_0000.dat"), "{text}");
            }
        }
    }
    let error = spoiled(10, &["1.0 ****"]).unwrap();
    assert_eq!(error.line, Some(11));
    assert_eq!(error.what, "`****` is not a finite number");
    let missing = Densities::open("/nowhere/some_0000.dat".as_ref()).unwrap_err();
    assert!(
        missing.to_string().starts_with("/nowhere/some_0000.dat: "),
        "{missing}"
    );
}

/// Any number of points, all levels, and NaN, which propagates.
#[test]
fn levels_and_lanes_agree() {
    let codes: Vec<i32> = (-5..=5)
        .map(|code| if code == 0 { 21 } else { code })
        .collect();
    let text = grid(&codes, smooth);
    let x: Vec<f64> = (0..37)
        .map(|i| 10f64.powf(-6.0 * f64::from(i) / 36.0))
        .collect();
    let mut q2: Vec<f64> = (0..37)
        .map(|i| 10f64.powf(f64::from(i * 7 % 37) / 5.0))
        .collect();
    q2[11] = f64::NAN;
    let mut first = vec![0.0; 37 * 11];
    read(&text)
        .at_level(Level::None)
        .evaluate(&x, &q2, &mut first);
    assert!(first[11 * 11..12 * 11].iter().all(|value| value.is_nan()));
    for level in Level::supported() {
        let densities = read(&text).at_level(level);
        for count in [0, 1, 2, 7, 8, 9, 37] {
            let mut values = vec![-1.0; count * 11];
            densities.evaluate(&x[..count], &q2[..count], &mut values);
            for (&found, &wanted) in values.iter().zip(&first) {
                let same = (found - wanted).abs() <= 1e-12 * wanted.abs();
                assert!(
                    same || (found.is_nan() && wanted.is_nan()),
                    "{level}: {found:e} for {wanted:e}"
                );
            }
        }
    }
}

#[test]
fn a_coupling_has_parts() {
    let scales = [1.0, 2.0, 4.0, 4.0, 10.0, 100.0];
    let values = [0.5, 0.4, 0.3, 0.29, 0.2, 0.1];
    let coupling = StrongCoupling::new(&scales, &values).unwrap();
    for (scale, value) in [
        (1.0, 0.5),
        (2.0, 0.4),
        (4.0, 0.29),
        (10.0, 0.2),
        (100.0, 0.1),
        (1e5, 0.1),
    ] {
        near(coupling.at(scale * scale), value, 1e-14);
    }
    // The power law of the first interval below the table, and separate parts.
    near(coupling.at(0.25), 0.5 * (0.5f64 / 0.4), 1e-14);
    let alone = StrongCoupling::new(&scales[3..], &values[3..]).unwrap();
    near(coupling.at(36.0), alone.at(36.0), 1e-15);
    for (scales, values) in [
        (&[1.0][..], &[0.1][..]),
        (&[1.0, 2.0], &[0.1]),
        (&[2.0, 1.0], &[0.1, 0.2]),
        (&[0.0, 1.0], &[0.1, 0.2]),
        (&[1.0, 2.0], &[0.1, -0.2]),
        (&[1.0, 2.0], &[0.1, f64::NAN]),
        (&[1.0, 1.0, 2.0], &[0.1, 0.1, 0.1]),
    ] {
        StrongCoupling::new(scales, values).unwrap_err();
    }
}

#[test]
fn a_coupling_is_read_from_a_file_of_lhapdf() {
    let of = |text: &str| {
        let (_folder, file) = file(text);
        StrongCoupling::read(&file)
    };
    let found = of(
        "MZ: 91.2\nAlphaS_Qs: [1.0, 2.0,\n  4.0]\nAlphaS_Vals: [0.5, 0.4, 0.3]\n---\nAlphaS_Qs: [no\n",
    );
    near(found.unwrap().unwrap().at(4.0), 0.4, 1e-14);
    assert!(of("MZ: 91.2\n").unwrap().is_none());
    for text in [
        "AlphaS_Qs: [1.0, 2.0]\n",
        "AlphaS_Qs: [1.0, 2.0]\nAlphaS_Vals: [0.5]\n",
        "AlphaS_Qs: [1.0, 2.0\nAlphaS_Vals: [0.5, 0.4]\n",
        "AlphaS_Qs: [1.0, two]\nAlphaS_Vals: [0.5, 0.4]\n",
    ] {
        assert!(of(text).unwrap_err().line.is_some(), "{text}");
    }
}

/// Results of MG5aMC 3.5.7's `ALPHAS`.
#[test]
fn a_coupling_runs_by_loops() {
    for (scale, at_z, loops, wanted) in [
        (91.188, 0.13, 2, 0.13),
        (1000.0, 0.13, 2, 0.09308544703260904),
        (10.0, 0.13, 2, 0.2074987611696788),
        (3.0, 0.119, 2, 0.25708965557354463),
        (1.0, 0.119, 2, 0.46933522953108603),
        (10.0, 0.13, 1, 0.20018898832648335),
    ] {
        near(evolved(scale, at_z, loops), wanted, 1e-13);
    }
}

/// A grid in the format of `NNPDF23*.grid`: densities that are cubic in ln x below 0.1 and linear in ln Q^2.
#[test]
fn grids_of_nnpdf_are_polynomials() {
    let x = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 0.6, 1.0];
    let q2 = [2.0, 10.0, 100.0, 1e4];
    let value = |flavor: usize, x: f64, q2: f64| {
        let t = x.ln();
        (flavor as f64 + 1.0) * (2.0 + t + 0.1 * t * t + 0.01 * t * t * t) * (1.0 + 0.2 * q2.ln())
    };
    let join = |numbers: &[f64]| {
        numbers
            .iter()
            .map(|n| format!("{n:.15e}\n"))
            .collect::<String>()
    };
    let mut text = format!(
        "'Description:'\n'NNPDF20int'\n 1 1\n{}\n{}",
        x.len(),
        join(&x)
    );
    text += &format!("{}\n{}\n{}1\n", q2.len(), q2[0], join(&q2));
    for &x in &x {
        for &q2 in &q2 {
            let row: Vec<f64> = (0..14).map(|flavor| value(flavor, x, q2)).collect();
            text += &join(&row).replace('\n', " ");
            text.push('\n');
        }
    }
    let (_folder, written) = named("NNPDF23.grid", &text);
    let densities = Densities::open(&written).unwrap();
    assert_eq!(densities.codes()[6], 21);
    for (x, q) in [(2e-5, 2.0), (5e-4, 5.0), (3e-3, 50.0)] {
        for (flavor, found) in at(&densities, x, q).into_iter().enumerate() {
            near(found, value(flavor, x, q * q), 1e-11);
        }
    }
    // Outside the grid, the value is that at the boundary.
    assert_eq!(at(&densities, 1e-9, 1.0), at(&densities, 1e-5, 2f64.sqrt()));
    for spoiled in [&text[..text.len() / 2], &(text.clone() + " 1.0"), "nothing"] {
        let (_folder, spoiled) = named("NNPDF23.grid", spoiled);
        Densities::open(&spoiled).unwrap_err();
    }
}

/// A table in the format of `cteq6*.tbl`: constant densities x f are constant everywhere, and values at knots are those
/// of the table.
#[test]
fn tables_of_cteq_have_their_values_at_knots() {
    let x = [0.0, 1e-6, 1e-4, 1e-2, 0.1, 0.4, 0.7, 1.0];
    let scales = [1.3, 2.0, 5.0, 50.0, 1e4];
    let value =
        |row: usize, x: f64, q: f64| (row as f64 + 1.0) * (1.0 - x) / (x + 0.01) * (1.0 + q.ln());
    let join = |numbers: &[f64]| {
        numbers
            .iter()
            .map(|n| format!(" {n:.9E}"))
            .collect::<String>()
            + "\n"
    };
    let mut text = " Parton Distribution Table : some\n  Ordr, Nfl, lambda\n    1. 5. 0.2 0 0 0.2 1.3 4.5 180.\n".to_owned();
    text += &format!(
        "   NX,  NT,  NfMx\n {} {} 5\nQINI, QMAX, (QV(I), I =0, NT)\n",
        x.len() - 1,
        scales.len() - 1
    );
    text += &join(&[1.3, 1e4]);
    text += &join(&scales);
    text += "XMIN, (XV(I), I =0, NX)\n";
    text += &join(&[1e-6]);
    text += &join(&x);
    text += "Parton Distribution Table:\n";
    for row in 0..8 {
        for &q in &scales {
            text += &join(&x.map(|x| value(row, x, q)));
        }
    }
    let (_folder, written) = named("cteq6.tbl", &text);
    let densities = Densities::open(&written).unwrap();
    let place = |code| densities.codes().iter().position(|&c| c == code).unwrap();
    for &x in &x[1..7] {
        for &q in &scales {
            let found = at(&densities, x, q);
            near(found[place(21)], x * value(5, x, q), 1e-8);
            near(found[place(2)], x * value(6, x, q), 1e-8);
            assert_eq!(found[place(3)], found[place(-3)]);
        }
    }
    for spoiled in [
        &text[..text.len() - 40],
        &(text.clone() + " 1.0"),
        &text.replace(" 5\nQINI", " 4\nQINI"),
        "nothing",
    ] {
        let (_folder, spoiled) = named("cteq6.tbl", spoiled);
        Densities::open(&spoiled).unwrap_err();
    }
}

/// Results of `epa_proton` and `epa_lepton` in MG5aMC 3.5.7's `PhotonFlux.f`, whose constants have single precision.
#[test]
fn photons_are_those_of_fortran() {
    let beams = [Radiator::Proton, Radiator::Electron, Radiator::Muon];
    let x = [1e-4, 0.01, 0.3, 0.8, 0.9, 1.0, 0.3];
    let q2 = [100.0, 4.0, 8315.0, 20.0, 1.0, 1e4, f64::NAN];
    #[rustfmt::skip]
    let wanted = [
        [0.03670240049446156, 0.08638584891160671, 0.06161316209051913],
        [0.01514234884494342, 0.05692101966200196, 0.03239236898072351],
        [0.001071165849056125, 0.04378584647452804, 0.02532834941610951],
        [3.110189812189915e-6, 0.02006339430995055, 0.007181138911298537],
        [0.0, 0.01509890399873399, 0.002608455254448872],
        [0.0; 3],
        [f64::NAN; 3],
    ];
    for level in Level::supported() {
        for (i, beam) in beams.into_iter().enumerate() {
            let flux = Densities::photons(beam).at_level(level);
            assert_eq!(flux.codes(), [22]);
            let mut found = [1.0; 7];
            flux.evaluate(&x, &q2, &mut found);
            for (found, wanted) in found.into_iter().zip(wanted) {
                assert!(
                    (found - wanted[i]).abs() <= 2e-6 * wanted[i]
                        || (found.is_nan() && wanted[i].is_nan()),
                    "{beam:?}: {found:e} for {:e}",
                    wanted[i]
                );
            }
        }
    }
}

/// The text of an `eepdf.f` with grids of two x and two scales: `value` of the component, of whether the beam is a
/// positron, of x and of ln(Q / mass).
fn eepdf(value: impl Fn(usize, bool, f64, f64) -> f64) -> String {
    let (x, q) = ([0.25, 0.75], [8.0, 16.0]);
    let number = |n: f64| format!("{n:.17e}").replace('e', "D");
    let list = |name: &str, numbers: &[f64]| {
        let words: Vec<String> = numbers.iter().map(|n| number(*n)).collect();
        let [first, rest @ ..] = &words[..] else {
            unreachable!("numbers")
        };
        let rest: String = rest
            .iter()
            .map(|word| format!(",\n     # {word}"))
            .collect();
        format!("      data {name}/\n     # {first}{rest}/\n")
    };
    let mut text = "      function eepdf_tilde(y,Q2,icom,ipart,ibeam)\n      real*8 y\n".to_owned();
    for (component, kind) in (1..=4).flat_map(|n| ["1_1", "1_2", "2_2"].map(|kind| (n, kind))) {
        text += &format!("      function eepdf_{component}_{kind}(y,z)\n");
        text += &list("yv", &x);
        text += &list("zv", &q);
        for (row, q) in (1..).zip(q) {
            let values = x.map(|x| value(component, kind == "1_1", x, q));
            text += &list(&format!("(gridv(iny, {row:2}),iny=1,100)"), &values);
        }
        text += "      data firsttime/.true./\n      end\n";
    }
    text
}

/// Components are bilinear functions times powers of 1 - x, which has all digits, within the grid and outside.
#[test]
fn leptons_are_powers_of_what_is_missing() {
    let value = |n: usize, anti: bool, x: f64, z: f64| {
        (n as f64 + f64::from(anti)) * (1.0 + 0.5 * x) * (3.0 + z)
    };
    let (_folder, file) = named("eepdf.f", &eepdf(value));
    let rest = [
        1e-290, 1e-100, 1e-17, 1e-12, 1e-3, 0.4, 0.9, 0.5, 1.0, 1.5, -0.1,
    ];
    let z = [
        8.0, 9.0, 10.0, 16.0, 12.0, 18.0, 7.0, 13.3, 9.0, 9.0, 9.0f64,
    ];
    let mass = 0.511e-3;
    let q2 = z.map(|z| (mass * z.exp()).powi(2));
    for (anti, powers) in [(false, [0.0, 1.0, 0.0, 1.0]), (true, [0.0, 0.0, 1.0, 1.0])] {
        let of = Densities::leptons(&file, anti).unwrap();
        assert_eq!(
            (of.codes(), of.components()),
            (&[if anti { -11 } else { 11 }][..], 4)
        );
        assert!(of.is_of_lepton());
        assert_eq!(of.range_of_x(), [0.25, 1.0]);
        let ends = of.range_of_q2().map(|q2| (q2.sqrt() / mass).ln());
        assert!((ends[0] - 8.0).abs() < 1e-12 && (ends[1] - 16.0).abs() < 1e-12);
        let mut found = vec![1.0; 4 * rest.len()];
        of.evaluate(&rest, &q2, &mut found);
        for (k, (rest, z)) in rest.into_iter().zip(z).enumerate() {
            let beta = 0.007_562_397 / std::f64::consts::PI * (2.0 * z - 1.0);
            let x = 1.0 - rest;
            for n in 0..4 {
                let power = beta - 1.0 + powers[n] / 3.0;
                let wanted = match (0.0..1.0).contains(&rest) {
                    true => x * value(n + 1, anti, x, z) * rest.powf(power),
                    false => 0.0,
                };
                let found = found[4 * k + n];
                assert!(
                    (found - wanted).abs() <= 1e-11 * wanted,
                    "{rest} {found:e} {wanted:e}"
                );
            }
        }
        let mut undefined = [1.0; 4];
        of.evaluate(&[f64::NAN], &[100.0], &mut undefined);
        assert!(undefined[0].is_nan());
    }
}

/// Electrons of which none is lost: the integral of the density is 1.
#[test]
fn leptons_are_as_many_as_in_the_beam() {
    let beta = |z: f64| 0.007_562_397 / std::f64::consts::PI * (2.0 * z - 1.0);
    let value = |n: usize, _: bool, _: f64, z: f64| if n == 1 { beta(z) } else { 0.0 };
    let (_folder, file) = named("eepdf.f", &eepdf(value));
    let of = Densities::leptons(&file, false).unwrap();
    for z in [9.0, 12.0, 15.0f64] {
        let (q2, count) = ((0.511e-3 * z.exp()).powi(2), 1000);
        let mut sum = 0.0;
        for i in 0..count {
            // The density is flat in this power of 1 - x.
            let t = (f64::from(i) + 0.5) / f64::from(count);
            let rest = t.powf(1.0 / beta(z));
            let mut found = [0.0; 4];
            of.evaluate(&[rest], &[q2], &mut found);
            assert_eq!(found[1..], [0.0; 3]);
            if rest < 1.0 {
                let slope = rest / t / beta(z);
                sum += found[0] / (1.0 - rest) * slope / f64::from(count);
            }
        }
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }
}

#[test]
fn spoiled_leptons_are_refused() {
    let text = eepdf(|n, _, _, _| n as f64);
    #[rustfmt::skip]
    let cases = [
        (text.replace("eepdf_3_2_2", "eepdf_9_2_2"), "the function eepdf_3_2_2 is missing"),
        (text.replacen("data zv/", "data nothing/", 30), "needs two scales"),
        (text.replace("7.5", "1.5"), "are not positive ascending numbers"),
        (text.replacen("(gridv(iny,  2)", "nothing(", 30), "has 2 values for 2 x and 2 scales"),
        (text.replace("2.50000000000000000D-1", "x"), "is not a finite number"),
        (eepdf(|_, _, _, _| 0.0), "the first component is 0"),
        ("nothing".to_owned(), "the function eepdf_1_2_2 is missing"),
    ];
    for (spoiled, said) in cases {
        let (_folder, file) = named("eepdf.f", &spoiled);
        let error = Densities::leptons(&file, false).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Values of `PhotonPhotonFlux_pp` in MG5aMC 3.5.7's `ElasticPhotonPhotonFlux.f90`.
#[test]
fn pairs_of_photons_are_those_of_fortran() {
    #[rustfmt::skip]
    let wanted = [
        (1.1633331020958796e-6, 0.11416939935102446, 1054.3224938049113),
        (0.09691837851497331, 1.0684692851801346e-7, 19824.735702651327),
        (6.239874893995281e-7, 1.0299485917420113e-6, 5_003_256_217.665_149),
        (1.4586793735711411e-6, 0.0046969838057271725, 128613.34192513775),
        (4.207972212137076e-5, 4.235031147218856e-6, 10517641.894702462),
        (5.950334978334113e-8, 0.0005714707570799646, 52_944_720.056_931_47),
    ];
    let pairs = PhotonPairs::new(FormFactor::ElectricDipole, [6500.0; 2]);
    for (first, second, wanted) in wanted {
        let found = pairs.at([first, second]);
        assert!(
            (found / wanted - 1.0).abs() < 1e-11,
            "{found:e} for {wanted:e}"
        );
    }
}

/// Protons that can come close to each other have fewer photons than independent ones of `PhotonFlux.f`, and hardly
/// fewer at small x, where distances are large.
#[test]
fn pairs_of_photons_are_nearly_products_at_small_x() {
    let single = Densities::photons(Radiator::Proton);
    let pairs = [FormFactor::ElectricDipole, FormFactor::Charge];
    for form in pairs {
        let pairs = PhotonPairs::new(form, [6500.0; 2]);
        let ratio = |x: f64| {
            let mut one = [0.0];
            // Virtualities of photons from intact protons end far below this.
            single.evaluate(&[x], &[10.0], &mut one);
            pairs.at([x; 2]) * x * x / (one[0] * one[0])
        };
        let ratios = [1e-6, 1e-4, 1e-2, 0.1].map(ratio);
        assert!(ratios.windows(2).all(|two| two[0] > two[1]), "{ratios:?}");
        assert!(
            ratios[0] > 0.85 && ratios[0] < 1.0 && ratios[3] < 0.7,
            "{ratios:?}"
        );
        assert_eq!(pairs.at([0.01, 1.1]), 0.0);
        assert_eq!(pairs.at([0.0, 0.1]), 0.0);
        let turned = pairs.at([3e-3, 2e-5]) / pairs.at([2e-5, 3e-3]);
        assert!((turned - 1.0).abs() < 1e-12, "{turned}");
    }
}

/// Results of MG5aMC 3.7.1's `ElectroweakFluxDriver.f`, as in [`bosons_are_those_of_fortran`], with `evaorder` and `eva_xcut`.
#[test]
#[expect(clippy::too_many_lines, reason = "a table of numbers")]
fn bosons_beyond_logarithms_are_those_of_fortran() {
    use BosonOrder::{LeadingPower, Logarithm, NextToLeadingPower};
    use Radiator::{Electron, Muon};
    let beam = BosonBeam {
        of: Electron,
        anti: false,
        left_handed: 0.9,
        by_transverse_momentum: false,
        order: LeadingPower,
        energy: 5000.0,
        above_mass: true,
        alpha: 1.0 / 132.507,
        masses: [80.419, 91.188],
    };
    let wanted: [(BosonBeam, f64, f64, [f64; 8]); 6] = [
        (
            beam,
            0.2,
            250_000.0,
            [
                3.194_263_402_787_182e-2,
                2.239_960_643_448_273e-2,
                1.245_077_317_419_346_7e-3,
                8.002_426_070_786_478e-4,
                8.468_661_877_334_385e-4,
                6.579_635_401_328_06e-3,
                3.793_035_990_103_562e-3,
                4.210_966_656_849_959e-3,
            ],
        ),
        (
            BosonBeam {
                of: Muon,
                anti: true,
                order: NextToLeadingPower,
                energy: 1500.0,
                ..beam
            },
            0.07,
            250_000.0,
            [
                2.005_325_304_081_359_6e-2,
                1.785_621_547_464_35e-2,
                -5.431_713_806_511_938e-3,
                2.329_391_923_383_385_3e-5,
                -5.202_597_098_440_46e-3,
                -3.958_354_193_987_82e-3,
                9.005_940_645_349_82e-5,
                -4.205_119_890_234_639e-3,
            ],
        ),
        (
            BosonBeam {
                of: Muon,
                left_handed: 0.3,
                by_transverse_momentum: true,
                order: NextToLeadingPower,
                energy: 1500.0,
                above_mass: false,
                ..beam
            },
            0.05,
            250_000.0,
            [
                1.899_790_862_732_197_7e-2,
                1.979_309_879_256_539_7e-2,
                -1.261_634_102_841_011_8e-2,
                -6.545_811_655_783_57e-4,
                -1.273_553_132_578_751e-2,
                -2.713_236_341_340_309_6e-2,
                -8.972_574_365_000_369e-4,
                -2.587_992_280_325_396e-2,
            ],
        ),
        // Z bosons with less energy than their mass, and a scale below those of W bosons.
        (
            BosonBeam {
                anti: true,
                left_handed: 0.5,
                by_transverse_momentum: true,
                energy: 1000.0,
                ..beam
            },
            0.085,
            2500.0,
            [
                2.545_558_920_188_250_8e-2,
                2.545_558_920_188_250_8e-2,
                0.0,
                0.0,
                0.0,
                1.944_606_618_264_751_4e-4,
                1.181_380_312_958_134e-3,
                2.322_681_021_547_078e-4,
            ],
        ),
        (
            BosonBeam {
                of: Muon,
                order: NextToLeadingPower,
                energy: 1000.0,
                ..beam
            },
            0.9,
            5000.0,
            [
                1.408_184_497_449_316_8e-2,
                1.703_575_030_210_604_8e-3,
                9.294_110_764_698_179e-5,
                5.116_125_152_066_017_5e-5,
                7.508_082_975_928_473e-6,
                4.685_144_870_106_341e-4,
                2.413_033_843_102_042_4e-4,
                4.575_855_392_897_971e-6,
            ],
        ),
        // The energies of bosons are cut for the logarithm alone, too.
        (
            BosonBeam {
                order: Logarithm,
                energy: 300.0,
                ..beam
            },
            0.2,
            250_000.0,
            [
                3.194_263_402_787_182e-2,
                2.239_960_643_448_273e-2,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
                0.0,
            ],
        ),
    ];
    for (beam, x, q2, wanted) in wanted {
        let densities = Densities::bosons(beam);
        let mut found = [1.0; 2 * 8];
        densities.evaluate(&[x, x], &[q2, f64::NAN], &mut found);
        for (&found, wanted) in found[..8].iter().zip(wanted) {
            near(found, wanted, 1e-12);
        }
        assert!(found[8].is_nan());
        // Longitudinal ones depend on the scale as well, unless they are cut.
        assert_eq!(found[14].is_nan(), wanted[6] != 0.0);
    }
}

/// Beam, whether it is the antiparticle, its left-handed fraction, whether by transverse momentum, x, Q, and the values of
/// [`bosons_are_those_of_fortran`].
type OfBosons = (Radiator, bool, f64, bool, f64, f64, [f64; 8]);

/// Results of `eva_get_pdf_by_PID` in MG5aMC 3.5.7's `ElectroweakFluxDriver.f` times x, for masses of 80.419 and 91.188 GeV
/// and 1 / alpha = 132.507.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of numbers")]
fn bosons_are_those_of_fortran() {
    use Radiator::{Electron, Muon};
    let wanted: [OfBosons; 5] = [
        (
            Electron,
            false,
            0.5,
            false,
            0.2,
            500.0,
            [
                2.717112023117728e-2,
                2.717112023117728e-2,
                1.2860209737231413e-3,
                7.034349241996057e-4,
                1.1678792728515386e-3,
                4.937872487846329e-3,
                2.16175417534338e-3,
                3.1602383922216502e-3,
            ],
        ),
        (
            Electron,
            false,
            0.9,
            true,
            0.9,
            3000.0,
            [
                3.622501757237591e-2,
                4.382382813972223e-3,
                4.48503456705943e-3,
                1.0335743509184934e-4,
                3.636530692970377e-4,
                2.320301919042788e-2,
                4.8639468945226044e-4,
                2.3203019190427861e-4,
            ],
        ),
        (
            Muon,
            true,
            0.9,
            false,
            0.2,
            500.0,
            [
                1.95960789580678e-2,
                1.3741648729931367e-2,
                1.168063252046536e-3,
                5.800103676644164e-4,
                8.552761291294146e-4,
                6.3204767844433e-4,
                4.3235083506867596e-4,
                9.875744975692655e-4,
            ],
        ),
        (
            Muon,
            true,
            0.5,
            true,
            0.9,
            3000.0,
            [
                1.383584717424146e-2,
                1.383584717424146e-2,
                1.6190721811079193e-3,
                8.792936552495068e-5,
                2.505856297570223e-3,
                1.2890566216904368e-4,
                2.7021927191792246e-4,
                1.2890566216904377e-2,
            ],
        ),
        // Transverse bosons have no density at scales below their masses.
        (
            Muon,
            false,
            0.9,
            false,
            1e-3,
            50.0,
            [
                1.4793627693107218e-2,
                1.4769964993526754e-2,
                0.0,
                1.0325407765675752e-3,
                0.0,
                0.0,
                4.8590829476280835e-3,
                0.0,
            ],
        ),
    ];
    for (of, anti, left_handed, by_transverse_momentum, x, q, wanted) in wanted {
        let beam = BosonBeam {
            of,
            anti,
            left_handed,
            by_transverse_momentum,
            order: BosonOrder::Logarithm,
            energy: 5000.0,
            above_mass: false,
            alpha: 1.0 / 132.507,
            masses: [80.419, 91.188],
        };
        for level in Level::supported() {
            let densities = Densities::bosons(beam).at_level(level);
            let emitted = if anti { 24 } else { -24 };
            let codes = [22, 22, 23, 23, 23, emitted, emitted, emitted];
            assert_eq!(densities.codes(), codes);
            assert_eq!(densities.helicities(), [-1, 1, -1, 0, 1, -1, 0, 1]);
            // Beyond 1 there are none, nor within 1e-8 of the ends, and NaN is kept.
            let x = [x, 1.5, 1.0, 1e-9, 1.0 - 1e-9, f64::NAN, x];
            let q2 = [q * q, 1e6, 1e6, 1e6, 1e6, 1e6, f64::NAN];
            let mut found = [1.0; 7 * 8];
            densities.evaluate(&x, &q2, &mut found);
            for (&found, wanted) in found.iter().zip(wanted) {
                near(found, wanted, 1e-12);
            }
            assert_eq!(found[8..40], [0.0; 32]);
            assert!(found[40..48].iter().all(|value| value.is_nan()));
            // Longitudinal ones do not depend on the scale.
            let transverse = (48..56).filter(|place| ![51, 54].contains(place));
            assert!(transverse.into_iter().all(|place| found[place].is_nan()));
            near(found[51], wanted[3], 1e-12);
        }
    }
}
