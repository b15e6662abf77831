//! `mebridge compare`, with the directory that comes with the source.

use crate::common::gfortran;
use crate::support::{copy, directory, gg_ttx, mebridge, snapshot, two_matrix_elements};
use serde_json::Value;
use std::path::Path;

/// A copy of the output with g g > t t~, and its P directory.
fn copied(to: &Path) -> String {
    copy(&gg_ttx().join("../.."), to);
    to.join("SubProcesses/P1_gg_ttx").display().to_string()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_fortran_agrees() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let p = gg_ttx();
    let output = p.join("../..");
    // By the P directory, by SubProcesses, and by the output.
    for argument in [p.clone(), p.join(".."), output] {
        let argument = argument.to_str().unwrap();
        let ran = mebridge(d.path(), &["compare", argument, "--points", "20"]);
        let lines: Vec<&str> = ran.ok().lines().collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("directory "), "{}", lines[0]);
        assert!(lines[1].contains("  g g > t t~ WEIGHTED<=2 @1 "));
        assert!(lines[1].ends_with("  ok"), "{}", lines[1]);
    }
}

/// Events of a file instead of random ones.
#[test]
fn events_of_a_file() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let (e, m, x) = (300.0f64, 173.0f64, 120.0f64);
    let z = (e * e - m * m - x * x).sqrt();
    let particles = [
        (21, -1, [0.0, 0.0, e, e]),
        (21, -1, [0.0, 0.0, -e, e]),
        (6, 1, [x, 0.0, z, e]),
        (-6, 1, [-x, 0.0, -z, e]),
    ];
    let mut event = String::from("<event>\n4 1 1.0 91.0 0.0075 0.11\n");
    for (pdg, status, p) in particles {
        let p = p.map(|x| format!("{x:.15e}")).join(" ");
        event += &format!("{pdg} {status} 1 2 501 502 {p} 0.0 0.0 9.0\n");
    }
    event += "</event>\n";
    let other = event.replace("21 -1", "2 -1");
    let text = format!("<LesHouchesEvents>\n{event}{other}{event}</LesHouchesEvents>\n");
    std::fs::write(d.path().join("events.lhe"), text).unwrap();
    let p = gg_ttx();
    let arguments = [
        "compare",
        p.to_str().unwrap(),
        "--events",
        "events.lhe",
        "--values",
        "--json",
        "-",
    ];
    let rows = json(mebridge(d.path(), &arguments).ok());
    assert_eq!(
        (&rows[0]["verdict"], &rows[0]["points"]),
        (&"ok".into(), &2.into())
    );
    let g = rows[0]["values"]["g"][0].as_f64().unwrap();
    assert!((g * g / (4.0 * std::f64::consts::PI) - 0.11).abs() < 1e-12);
    let ran = mebridge(d.path(), &["compare", p.to_str().unwrap(), "--plot=x.svg"]);
    assert!(
        ran.failed(2).contains("benches/speed_figure.py"),
        "{}",
        ran.stderr
    );
    std::fs::write(
        d.path().join("none.lhe"),
        "<LesHouchesEvents>\n</LesHouchesEvents>\n",
    )
    .unwrap();
    let ran = mebridge(
        d.path(),
        &["compare", p.to_str().unwrap(), "--events", "none.lhe"],
    );
    assert!(
        ran.stdout
            .contains("no events: none.lhe has none of this process"),
        "{}",
        ran.stdout
    );
}

#[test]
fn channels_choices_and_quadruple_precision_agree() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let p = gg_ttx();
    for more in ["--quad", "--plain"] {
        let arguments = ["compare", p.to_str().unwrap(), "--channels", more];
        let ran = mebridge(d.path(), &[&arguments[..], &["--json", "-"]].concat());
        let rows = json(ran.ok());
        let row = &rows[0];
        assert_eq!(row["verdict"], "ok");
        assert_eq!(row["points"], 100);
        assert!(row["worst"].as_f64().unwrap() < 1e-11);
        let channels = row["channels"].as_array().unwrap();
        assert_eq!(channels.len(), 3);
        for channel in channels {
            assert!(channel["worst"].as_f64().unwrap() < 1e-11, "{channel}");
            assert_eq!(channel["other_helicities"], 0);
            assert_eq!(channel["other_colors"], 0);
        }
        if more == "--quad" {
            for error in ["fortran_error", "library_error"] {
                let error = row[error].as_f64().unwrap();
                assert!(0.0 < error && error < 1e-11, "{error}");
            }
        }
    }
}

#[test]
fn each_matrix_element_of_a_directory_has_a_line() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let p = two_matrix_elements(&d.path().join("two"));
    // gfortran wants a value for each of what are now two columns.
    for file in ["matrix1.f", "matrix2.f"] {
        let text = std::fs::read_to_string(p.join(file)).unwrap();
        let text = text.replace("DATA NTRY /0/", "DATA NTRY /2*0/");
        let text = text.replace("/NCOMB*.FALSE./", "/32*.FALSE./");
        std::fs::write(p.join(file), text).unwrap();
    }
    let ran = mebridge(d.path(), &["compare", p.to_str().unwrap(), "--points", "4"]);
    let text = ran.ok();
    assert!(text.contains("P1_gg_ttx#1  ") && text.contains("P1_gg_ttx#2  "));
    assert_eq!(text.matches("  ok\n").count(), 2, "{text}");
}

#[test]
fn what_does_not_agree_ends_with_status_1() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let p = gg_ttx();
    let arguments = ["compare", p.to_str().unwrap(), "--tolerance", "1e-30"];
    let ran = mebridge(d.path(), &arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert!(ran.stdout.ends_with("  differs\n"), "{}", ran.stdout);
}

/// The directory's own files are compiled: a factor in its Fortran appears in the values.
#[test]
fn the_fortran_is_the_directorys_own() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let p = copied(&d.path().join("changed"));
    let values = |factor: &str| {
        let file = Path::new(&p).join("matrix1.f");
        let text = std::fs::read_to_string(gg_ttx().join("matrix1.f")).unwrap();
        std::fs::write(&file, text.replace("DATA IDEN/256/", factor)).unwrap();
        let arguments = ["compare", &p, "--points", "3", "--json", "-", "--values"];
        let rows = json(mebridge(d.path(), &arguments).ok());
        let of = |key: &str| rows[0]["values"][key][2].as_f64().unwrap();
        (of("fortran"), of("library"))
    };
    let before = values("DATA IDEN/256/");
    let after = values("DATA IDEN/128/");
    assert!((after.0 / before.0 - 2.0).abs() < 1e-14);
    assert!((after.1 / before.1 - 2.0).abs() < 1e-14);
}

#[test]
fn what_cannot_be_compared_says_why() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let p = copied(&d.path().join("refused"));
    let file = Path::new(&p).join("matrix1.f");
    let text = std::fs::read_to_string(&file).unwrap();
    let verdict = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let ran = mebridge(d.path(), &["compare", &p, "--points", "2"]);
        ran.ok().lines().last().unwrap().to_owned()
    };
    // A call that mebridge cannot import, which also stops the Fortran.
    let line = verdict(&text.replace("JAMP(:,:) =", "CALL NOWHERE(AMP)\n      JAMP(:,:) ="));
    assert!(line.contains("  refused: "), "{line}");
    let line = verdict(&text.replace("SMATRIX1(P, RHEL", "SMATRIX1(P, WHAT"));
    assert!(line.contains("SMATRIX1 has an argument WHAT"), "{line}");
    let ran = mebridge(d.path(), &["compare", "."]);
    assert!(ran.failed(1).contains("there is no matrix<i>.f"));
}

/// With completely polarised beams MadEvent's channels are those of good helicities.
#[test]
fn channels_agree_where_beams_leave_helicities_out() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let to = d.path().join("polarised");
    copy(&gg_ttx().join("../../../outputs/old"), &to);
    let p = to.join("SubProcesses/P1_ll_ll");
    let file = p.join("matrix1.f");
    let text = std::fs::read_to_string(&file).unwrap();
    let declared = "      REAL*8 BEAM(2)
      COMMON/TO_POLARIZATION/BEAM
      DATA AVERAGE/4/
";
    let part = "          PART(ROW) = MATRIX1(P,NHEL(1,ROW),SENSE,ROW)\n";
    let weighed = format!(
        "{part}          DO LEG = 1, 2
            IF (BEAM(LEG)*NHEL(LEG,ROW).GT.0D0.AND.BEAM(LEG).NE.1D0) THEN
              PART(ROW) = PART(ROW)*ABS(BEAM(LEG))
            ELSEIF (BEAM(LEG).NE.1D0) THEN
              PART(ROW) = PART(ROW)*(2D0-ABS(BEAM(LEG)))
            ENDIF
          ENDDO
"
    );
    let text = text.replace("      DATA AVERAGE/4/\n", declared);
    std::fs::write(&file, text.replace(part, &weighed)).unwrap();
    let card = to.join("Cards/run_card.dat");
    for (beams, points) in [
        ([100, -100], "3"),
        ([100, -100], "40"),
        ([-100, 0], "40"),
        ([60, -80], "40"),
    ] {
        // If an entry occurs twice, the last one counts.
        let [a, b] = beams;
        let text = format!(" 20 = polbeam1\n {a} = polbeam1\n {b} = POLBEAM2\n");
        std::fs::write(&card, text).unwrap();
        let p = p.to_str().unwrap();
        let arguments = [
            "compare",
            p,
            "--channels",
            "--points",
            points,
            "--json",
            "-",
        ];
        let rows = json(mebridge(d.path(), &arguments).ok());
        assert_eq!(rows[0]["verdict"], "ok", "{rows}");
        assert_eq!(rows[0]["channels"].as_array().unwrap().len(), 2);
    }
}

/// Where large terms cancel, one event says little: which of two roundings loses more there is chance. Over many, the
/// engine loses what gfortran's double precision loses, less than a decimal digit more or less, by the same Fortran in
/// quadruple precision. (That takes the momenta as they are rounded, the engine legs as on their mass shells.)
#[test]
fn the_engine_loses_what_gfortran_loses_where_terms_cancel() {
    if !gfortran() {
        return;
    }
    let d = directory();
    for (i, process) in ["e+ e- > w+ w- z", "w+ w- > w+ w-"].iter().enumerate() {
        let output = format!("process{i}");
        mebridge(d.path(), &["generate", process, "--fortran", &output]).ok();
        let arguments = ["compare", &output, "--quad", "--points", "50"];
        let more = ["--values", "--json", "-"];
        let rows = json(mebridge(d.path(), &[&arguments[..], &more].concat()).ok());
        let values = |name: &str| -> Vec<f64> {
            let values = rows[0]["values"][name].as_array().expect(name);
            values.iter().map(|x| x.as_f64().unwrap()).collect()
        };
        let quad = values("quad");
        let sorted_errors = |name: &str| {
            let pairs = values(name).into_iter().zip(&quad);
            let mut errors: Vec<f64> = pairs.map(|(x, q)| (x / q - 1.0).abs()).collect();
            errors.sort_by(f64::total_cmp);
            errors
        };
        let (library, fortran) = (sorted_errors("library"), sorted_errors("fortran"));
        assert_eq!((library.len(), fortran.len()), (50, 50));
        for (share, at_most) in [(0.5, 3.0), (0.9, 3.0)] {
            let at = (share * library.len() as f64) as usize;
            let (x, y) = (library[at], fortran[at]);
            assert!(
                y > 0.0 && x <= at_most * y,
                "{process}: {share}: {x:e}, gfortran {y:e}"
            );
        }
    }
}

/// Three bosons of 10 to 15 TeV: diagrams are 1e6 times their sum. What both lose of it is rounding; what a Higgs boson of
/// another mass changes is not, although it is less than 1e-14 of the squares of diagrams.
#[test]
fn what_cancels_differs_by_no_more_than_rounding_does() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let arguments = ["generate", "e+ e- > w+ w- z", "--fortran", "output"];
    mebridge(d.path(), &arguments).ok();
    let masses = [80.41900244575616f64, 80.41900244575616, 91.188];
    let mut events = String::new();
    for i in 0..10 {
        let along = |angle: f64, size: f64| {
            [0.6 * angle.sin(), 0.8 * angle.sin(), angle.cos()].map(|x| size * x)
        };
        let (angle, i) = (0.4 + 0.25 * f64::from(i), f64::from(i));
        let one = along(angle, 6000.0);
        let other = along(angle + 2.0 + 0.07 * i, 6000.0 * (0.7 + 0.03 * i));
        let last = [0, 1, 2].map(|k| -one[k] - other[k]);
        let momenta = [one, other, last].into_iter().zip(masses);
        let legs = momenta.map(|(p, m)| {
            let square = p.iter().map(|x| x * x).sum::<f64>() + m * m;
            [square.sqrt(), p[0], p[1], p[2]]
        });
        let legs: Vec<[f64; 4]> = legs.collect();
        let beam = legs.iter().map(|p| p[0]).sum::<f64>() / 2.0;
        let beams = [[beam, 0.0, 0.0, beam], [beam, 0.0, 0.0, -beam]];
        for p in beams.iter().chain(&legs) {
            events += &(p.map(|x| format!("{x:.17e}")).join(" ") + "\n");
        }
        events += "\n";
    }
    std::fs::write(d.path().join("events.txt"), events).unwrap();
    let arguments = ["compare", "output", "--events", "events.txt", "--json", "-"];
    let tolerance = ["--tolerance", "1e-13"];
    let row = json(mebridge(d.path(), &[&arguments[..], &tolerance].concat()).ok())[0].clone();
    assert_eq!(
        (&row["verdict"], &row["points"]),
        (&"ok".into(), &10.into())
    );
    assert!(
        row["note"].as_str().unwrap().contains("events agree to"),
        "{row}"
    );
    let file = d.path().join("output/Source/MODEL/lha_read.f");
    let text = std::fs::read_to_string(&file).unwrap();
    let read = "        X = SLHA_VALUE(PATH, TRIM(BLOCK), KEY)\n";
    assert!(text.contains(read));
    let other = format!("{read}        IF (NAME.EQ.'MDL_MH') X = 1.02D0*X\n");
    std::fs::write(&file, text.replace(read, &other)).unwrap();
    let ran = mebridge(d.path(), &arguments);
    let row = json(&ran.stdout)[0].clone();
    assert_eq!((ran.code, &row["verdict"]), (1, &"differs".into()), "{row}");
    let worst = row["worst"].as_f64().unwrap();
    assert!((1e-8..1e-5).contains(&worst), "{row}");
}

/// HELAS's spinors have E + pz, which loses its digits towards -z, where the Fortran that mebridge writes and the
/// library have them. No difference is reported.
#[test]
fn what_helas_loses_towards_the_negative_axis_is_no_difference() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let arguments = ["generate", "u u~ > e+ e- g", "--fortran", "output"];
    mebridge(d.path(), &arguments).ok();
    let angle = 1e-6f64;
    let positron = [
        200.0 * angle,
        0.0,
        -200.0 * (1.0 - angle * angle).sqrt(),
        200.0,
    ];
    let rest = [-positron[0], 0.0, -positron[2], 800.0];
    let n = [0.6, 0.48, 0.64];
    let square = 800f64.powi(2) - 200f64.powi(2);
    let e = 0.5 * square / (800.0 - (0..3).map(|i| rest[i] * n[i]).sum::<f64>());
    let electron = [e * n[0], e * n[1], e * n[2], e];
    let gluon = [0, 1, 2, 3].map(|i| rest[i] - electron[i]);
    let particles = [
        (2, -1, [0.0, 0.0, 500.0, 500.0]),
        (-2, -1, [0.0, 0.0, -500.0, 500.0]),
        (-11, 1, positron),
        (11, 1, electron),
        (21, 1, gluon),
    ];
    let mut event = String::from("<event>\n5 1 1.0 91.0 0.0075 0.11\n");
    for (pdg, status, p) in particles {
        let p = p.map(|x| format!("{x:.17e}")).join(" ");
        event += &format!("{pdg} {status} 1 2 0 0 {p} 0.0 0.0 9.0\n");
    }
    let text = format!("<LesHouchesEvents>\n{event}</event>\n</LesHouchesEvents>\n");
    std::fs::write(d.path().join("events.lhe"), text).unwrap();
    let compared = |more: &[&str]| {
        let arguments = ["compare", "output", "--events", "events.lhe", "--json", "-"];
        json(mebridge(d.path(), &[&arguments[..], more].concat()).ok())[0].clone()
    };
    let row = compared(&["--quad"]);
    let error = |of: &str| row[of].as_f64().unwrap();
    assert!(
        error("library_error") < 1e-12 && error("fortran_error") < 1e-12,
        "{row}"
    );
    let file = d.path().join("output/Source/DHELAS/aloha_functions.f");
    let text = std::fs::read_to_string(&file).unwrap();
    let without_loss = "        IF (P(3).LT.0D0) PLUS = (P(1)**2+P(2)**2)/(PP - P(3))\n";
    assert!(text.contains(without_loss));
    std::fs::write(&file, text.replace(without_loss, "")).unwrap();
    for more in [&["--values"][..], &["--values", "--quad"]] {
        let row = compared(more);
        assert_eq!((&row["verdict"], &row["points"]), (&"ok".into(), &1.into()));
        assert!(row["note"].as_str().unwrap().contains("digits"), "{row}");
        let value = |of: &str| row["values"][of][0].as_f64().unwrap();
        assert!(
            (value("library") / value("fortran") - 1.0).abs() > 1e-7,
            "{row}"
        );
    }
}

#[test]
fn nothing_is_written_into_the_directory() {
    if !gfortran() {
        return;
    }
    let d = directory();
    let copied = d.path().join("output");
    copy(&gg_ttx().join("../.."), &copied);
    let before = snapshot(&copied);
    let p = copied.join("SubProcesses/P1_gg_ttx");
    mebridge(d.path(), &["compare", p.to_str().unwrap()]).ok();
    assert!(before == snapshot(&copied));
}
