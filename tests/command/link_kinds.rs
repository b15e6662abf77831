//! `mebridge link` with all kinds of MadEvent: its generations, several matrix elements, ungrouped, with the plugin.

use crate::madevent::*;
use crate::support::{copy, mebridge, same, snapshot, two_matrix_elements};
use std::fs;
use std::path::{Path, PathBuf};

/// Replaces all occurrences of a text in a file.
#[track_caller]
fn change(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{path:?} lacks {from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// An output as of MG5aMC 2.8 to 3.5, without vectors.
fn old_output(folder: &Path) -> PathBuf {
    let output = folder.join("an old output");
    let from = small().join("../outputs/old");
    for part in ["Cards", "Source", "SubProcesses/P1_gg_ttx"] {
        copy(&from.join(part), &output.join(part));
    }
    let p = p(&output);
    let put = |from: &str, to: PathBuf| fs::copy(small().join(from), to).unwrap();
    for name in ["driver.f", "auto_dsig.f", "auto_dsig1.f"] {
        put(&format!("old/{name}"), p.join(name));
    }
    put("makefile", p.join("makefile"));
    put("make_opts", output.join("Source/make_opts"));
    put("run_card.dat", output.join("Cards/run_card.dat"));
    fs::copy(output.join("Source/genps.inc"), p.join("genps.inc")).unwrap();
    fs::write(
        p.join("select_color.f"),
        "      SUBROUTINE NONE()\n      END\n",
    )
    .unwrap();
    fs::create_dir(output.join("lib")).unwrap();
    // The file that MG5aMC's launcher writes from the card.
    let entries = [
        ("MDL_MT", 172.0),
        ("MDL_WT", 1.4),
        ("MDL_MZ", 90.0),
        ("MDL_WZ", 2.6),
        ("MDL_MW", 81.0),
        ("MDL_WW", 2.2),
        ("MDL_MH", 120.0),
        ("MDL_MY", 450.0),
        ("MDL_WY", 7.0),
        ("AS", 0.12),
        ("MDL_EE", 0.31),
        ("MDL_GZ", 0.45),
        ("MDL_GW", 0.64),
        ("MDL_KAPPA", 1.3e-3),
    ];
    let lines =
        entries.map(|(name, value)| format!("      {name} = {value:e}\n").replace("e", "D"));
    fs::write(output.join("Source/param_card.inc"), lines.concat()).unwrap();
    // No Source/vector.inc, on which the makefile of the newer ones has the model depend.
    change(
        &p.join("makefile"),
        "$(LIBDIR)libmodel.$(libext): ../../Source/vector.inc\n",
        "",
    );
    output
}

/// Takes the numbers out of a P directory: `set group_subprocesses False`.
fn ungroup(p: &Path) {
    let path = p.join("matrix.f");
    fs::rename(p.join("matrix1.f"), &path).unwrap();
    change(&path, "SMATRIX1", "SMATRIX");
    change(&path, "MATRIX1", "MATRIX");
    fs::remove_file(p.join("auto_dsig1.f")).unwrap();
    // Numbers of configurations need not be those of diagrams.
    let data = |name: &str, values: [u32; 3]| {
        let line = |(config, value)| format!("      DATA {name}{config})/{value}/\n");
        (1..).zip(values).map(line).collect::<String>()
    };
    fs::write(p.join("config_subproc_map.inc"), data("CONFSUB(1,", [1; 3])).unwrap();
    let topology = "      DATA (IFOREST(I,-1,1),I=1,2)/4,3/\n      DATA TPRID(-1,1)/21/\n";
    let configs = data("MAPCONFIG(", [3, 1, 2]) + topology + "      DATA MAPCONFIG(0)/3/\n";
    fs::write(p.join("configs.inc"), configs).unwrap();
}

/// Runs the Fortran, then the linked program with the Fortran's own matrix element spoilt, then the unlinked one.
#[track_caller]
fn same_answers(output: &Path, file: &str, last: &str, inputs: &[&str]) {
    let before = snapshot(output);
    make(output);
    let fortran: Vec<_> = inputs.iter().map(|input| run(&p(output), input)).collect();
    assert!(fortran.iter().all(|(_, stderr)| stderr.is_empty()));
    for path in objects(output)
        .into_iter()
        .chain([p(output).join("madevent")])
    {
        fs::remove_file(path).unwrap();
    }
    assert!(link(output, &[]).ok().contains(", one event a call\n"));
    let source = p(output).join(file);
    let text = fs::read_to_string(&source).unwrap();
    let name = file.trim_end_matches(".f").to_uppercase();
    change(&source, last, &format!("{name} = 1D9"));
    conceal(output, file);
    make(output);
    for (input, (answers, _)) in inputs.iter().zip(&fortran) {
        let (library, stderr) = run(&p(output), input);
        assert!(
            stderr.contains("g g > t t~ WEIGHTED<=2 @1 from this executable"),
            "{stderr}"
        );
        agree(&library, answers);
    }
    fs::write(&source, text).unwrap();
    unlink(output).ok();
    for path in objects(output) {
        fs::remove_file(path).unwrap();
    }
    let after = snapshot(output).into_iter();
    let built = |path: &PathBuf| path.extension().is_some_and(|e| e == "o" || e == "a");
    same(&after.filter(|(path, _)| !built(path)).collect(), &before);
}

/// The statement where the old Fortran adds up colours.
const OLD: &str = "MATRIX = MATRIX\n     $         +DBLE(SUM_H*DCONJG(JAMP(F,B)))/BELOW(F)";

#[test]
fn the_old_generation_is_answered_one_event_a_call() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = old_output(d.path());
    let last = OLD.replace("MATRIX", "MATRIX1");
    same_answers(&output, "matrix1.f", &last, &["0 0\n", "0 1\n", "0 3\n"]);
}

#[test]
fn batches_are_not_promised_where_there_are_none() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = old_output(d.path());
    let before = snapshot(&output);
    let report = link(&output, &["--vector", "64"]);
    assert!(
        report
            .failed(1)
            .contains("one event at a time: batches came with MG5aMC 3.6"),
        "{}",
        report.stderr
    );
    same(&snapshot(&output), &before);
    let report = link(&output, &[]);
    assert!(
        report.ok().contains(
            "P1_gg_ttx: estimated from the number of amplitudes, the Fortran matrix element takes some 7 % of the time \
             of an event: runs are hardly faster when linked\n"
        ),
        "{}",
        report.stdout
    );
}

#[test]
fn loop_induced_outputs_are_refused_as_such() {
    let d = tempfile::tempdir().unwrap();
    let output = old_output(d.path());
    fs::create_dir(p(&output).join("MadLoop5_resources")).unwrap();
    // Its SMATRIX1 has no MATRIX1.
    change(&p(&output).join("matrix1.f"), "MATRIX1", "LOOPS1");
    let report = link(&output, &[]);
    assert!(
        report.failed(1).contains("loop-induced process"),
        "{}",
        report.stderr
    );
}

/// Run card entries that are part of the process: the doctor reports beforehand that executables will stop.
#[test]
fn other_settings_than_those_of_the_link_are_told() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = old_output(d.path());
    let card = output.join("Cards/run_card.dat");
    let set = |text: &str| {
        let card_now = fs::read_to_string(&card).unwrap();
        fs::write(&card, card_now + text).unwrap();
    };
    let doctor = |settings: Option<&str>| {
        let report = mebridge(&output, &["doctor", "."]);
        let line = settings.map(|s| {
            format!("!! P1_gg_ttx: the run card has another {s} than when the output was linked")
        });
        match line {
            None => assert!(
                !report.stdout.contains("the run card has another"),
                "{}",
                report.stdout
            ),
            Some(line) => assert!(report.stdout.contains(&line), "{}", report.stdout),
        }
    };
    // Nothing depends on the entry yet.
    link(&output, &[]).ok();
    doctor(None);
    set("  30.0 = bwcutoff\n");
    doctor(None);
    set("  1e-4 = small_width_treatment\n");
    doctor(Some("small_width_treatment"));
    link(&output, &[]).ok();
    doctor(None);
    // A routine of DHELAS that cuts.
    let routine = output.join("Source/DHELAS/CUT.f");
    fs::write(
        routine,
        "      SUBROUTINE CUT(X)\n      REAL*8 X,BWCUTOFF\n      COMMON/TO_BWCUTOFF/BWCUTOFF\n      X=BWCUTOFF\n      END\n",
    )
    .unwrap();
    link(&output, &[]).ok();
    doctor(None);
    set("  40.0 = bwcutoff\n");
    doctor(Some("bwcutoff"));
    set("  1e-5 = small_width_treatment\n");
    doctor(Some("small_width_treatment and bwcutoff"));
}

#[test]
fn ungrouped_outputs_are_answered_one_event_a_call() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = old_output(d.path());
    let p = p(&output);
    ungroup(&p);
    let dsig = small().join("old/auto_dsig_ungrouped.f");
    fs::copy(dsig, p.join("auto_dsig.f")).unwrap();
    let path = p.join("matrix.f");
    let diagram = "      INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG\n      COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG\n";
    change(
        &path,
        "IF (CONFSUB(1,D).GT.0) BOTH = BOTH+AMP2(CONFSUB(1,D))",
        "BOTH = BOTH+AMP2(D)",
    );
    change(&path, "DO D = 1, LMAXCONFIGS", "DO D = 1, NDIAGS");
    change(&path, "AMP2(POLE(1))", "AMP2(MAPCONFIG(ICONFIG))");
    change(&path, "      INTEGER POLE(MAXSPROC), BEAMS(2)\n", diagram);
    change(&path, "      COMMON/TO_SUB_DIAG/POLE,BEAMS\n", "");
    same_answers(&output, "matrix.f", OLD, &["0 0\n", "0 1\n", "0 3\n"]);
}

/// From MG5aMC 3.6 on there are arguments for a batch, but no batches.
#[test]
fn new_ungrouped_outputs_are_answered_one_event_a_call() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let output = output(d.path(), "auto_dsig1_single.f");
    let p = p(&output);
    ungroup(&p);
    fs::copy(small().join("auto_dsig_ungrouped.f"), p.join("auto_dsig.f")).unwrap();
    let path = p.join("matrix.f");
    change(
        &path,
        "CHANNEL, IVEC, ANS, IHEL,\n     $  ICOL)",
        "DUM, IVEC, ANS,\n     $  SELECTED_HEL, SELECTED_COL)",
    );
    change(
        &path,
        "INTEGER CHANNEL, IVEC, IHEL, ICOL",
        "INTEGER DUM, IVEC, SELECTED_HEL, SELECTED_COL, IHEL, ICOL",
    );
    change(
        &path,
        "MATRIX(P, NHEL, IC, IHEL, AMP2, JAMP2, IVEC)",
        "MATRIX(P, NHEL, IC, IVEC)",
    );
    change(
        &path,
        "MATRIX(P,NHEL(1,ROW),SENSE,ROW,AMP2,JAMP2,IVEC)",
        "MATRIX(P,NHEL(1,ROW),SENSE,IVEC)",
    );
    let amps = "      REAL*8 AMP2(MAXAMPS), JAMP2(0:MAXFLOW)\n";
    change(
        &path,
        amps,
        &format!("{amps}      COMMON/TO_AMPS/AMP2,JAMP2\n"),
    );
    let diagram = "      INTEGER MAPCONFIG(0:LMAXCONFIGS), ICONFIG\n      COMMON/TO_MCONFIGS/MAPCONFIG, ICONFIG\n      LOGICAL MANY\n      INTEGER ISUM\n      COMMON/TO_MATRIX/ISUM,MANY\n";
    change(
        &path,
        "      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)\n",
        &format!("{diagram}      INTEGER CONFSUB(MAXSPROC,LMAXCONFIGS)\n"),
    );
    change(
        &path,
        "      IF (CHANNEL.NE.0) THEN\n",
        "      IF (MANY) THEN\n",
    );
    change(
        &path,
        "        DO D = LMAXCONFIGS, 1, -1\n          IF (CONFSUB(1,D).EQ.CHANNEL) CONFIG = D\n          IF (CONFSUB(1,D).GT.0) BOTH = BOTH+AMP2(CONFSUB(1,D))\n",
        "        CONFIG = ICONFIG\n        DO D = 1, NDIAGS\n          BOTH = BOTH+AMP2(D)\n",
    );
    change(&path, "AMP2(CHANNEL)", "AMP2(MAPCONFIG(ICONFIG))");
    change(
        &path,
        "      IF (IGRAPH(IVEC).NE.0) CONFIG = IGRAPH(IVEC)\n      ICOL = 0\n",
        "      ICOL = 0\n",
    );
    change(
        &path,
        "SELECT_COLOR(RCOL,JAMP2,CONFIG,1,ICOL)\n",
        "SELECT_COLOR(RCOL,JAMP2,CONFIG,1,ICOL)\n      SELECTED_HEL = IHEL\n      SELECTED_COL = ICOL\n",
    );
    // Sizes that MadEvent does not support here.
    let before = snapshot(&output);
    let message = link(&output, &["--vector", "64"]).failed(1).to_owned();
    assert!(
        message.contains("the output is ungrouped, where MadEvent cannot take batches"),
        "{message}"
    );
    same(&snapshot(&output), &before);
    same_answers(
        &output,
        "matrix.f",
        "MATRIX = MATRIX/BELOW",
        &["0 0\n", "0 1\n", "0 3\n", "1 1\n"],
    );
    assert!(
        link(&output, &[])
            .ok()
            .contains("Cards/run_card.dat: the output is ungrouped, so events come one by one")
    );
    let doctor = mebridge(d.path(), &["doctor", output.to_str().unwrap()]);
    assert!(!doctor.stdout.contains("vector_size"), "{}", doctor.stdout);
    change(&output.join("Source/vector.inc"), "=1)", "=32)");
    make(&output);
    let message = stops(&p, "0 0\n");
    assert!(
        message.contains("set vector_size and nb_warp to 1"),
        "{message}"
    );
}

#[test]
fn each_matrix_element_of_a_directory_has_its_bridge() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let both = d.path().join("both");
    let with = two_matrix_elements(&both);
    let output = output(d.path(), "auto_dsig1_batch.f");
    let p = p(&output);
    for file in [
        "matrix2.f",
        "maxamps.inc",
        "coloramps.inc",
        "config_subproc_map.inc",
        "leshouche.inc",
    ] {
        fs::copy(with.join(file), p.join(file)).unwrap();
    }
    // The second is half of the first, and has its diagrams in another order of configurations.
    let path = p.join("matrix2.f");
    change(&path, "DATA BELOW/3/", "DATA BELOW/6/");
    change(&path, "CONFSUB(1,", "CONFSUB(2,");
    change(&path, "JAMP2,CONFIG,1,ICOL", "JAMP2,CONFIG,2,ICOL");
    change(&path, "EVENTS(1)", "EVENTS(2)");
    change(&path, "(ROW,1)", "(ROW,2)");
    let map = p.join("config_subproc_map.inc");
    change(&map, "/1,1/", "/1,3/");
    change(&map, "/3,3/", "/3,1/");
    let colors = p.join("coloramps.inc");
    let text = fs::read_to_string(&colors).unwrap();
    let (one, three) = (
        "ICOLAMP(I,1,2),I=1,2)/.TRUE.,.TRUE./",
        "ICOLAMP(I,3,2),I=1,2)/.FALSE.,.TRUE./",
    );
    assert!(text.contains(one) && text.contains(three), "{text}");
    let text = text.replace(one, "ICOLAMP(I,1,2),I=1,2)/.FALSE.,.TRUE./");
    fs::write(
        &colors,
        text.replace(three, "ICOLAMP(I,3,2),I=1,2)/.TRUE.,.TRUE./"),
    )
    .unwrap();
    let second = fs::read_to_string(p.join("auto_dsig1.f")).unwrap();
    let second = second
        .replace("DSIG1", "DSIG2")
        .replace("SMATRIX1", "SMATRIX2");
    // One channel for all events, as before 3.6.0 was released.
    let second = second
        .replace("RCOL, CHANNELS, IGRAPH", "RCOL, CHANNELS(1), IGRAPH")
        .replace("COL_RAND, CHANNELS", "COL_RAND, CHANNEL")
        .replace("INTEGER CHANNELS(VECSIZE_MEMMAX)", "INTEGER CHANNEL")
        .replace("CHANNELS(IVEC)", "CHANNEL");
    assert!(second.contains("COL_RAND(IVEC), CHANNEL, IVEC"), "{second}");
    fs::write(p.join("auto_dsig2.f"), second).unwrap();
    // One program that asks the first, and one that asks the second.
    let driver = p.join("driver.f");
    let mut fortran = Vec::new();
    let caller = ["CALL DSIG1(", "CALL DSIG2("];
    for turn in [0, 1] {
        make(&output);
        fortran.push(INPUTS.map(|input| run(&p, input).0));
        change(&driver, caller[turn], caller[1 - turn]);
    }
    for (a, b) in fortran[0][0].iter().zip(&fortran[1][0]) {
        assert!((a.0 / b.0 - 2.0).abs() < 1e-12);
    }
    let report = link(&output, &["--vector", "64"]);
    assert!(
        report.ok().contains("@1, batches of 64 events\n"),
        "{}",
        report.stdout
    );
    assert!(
        report.stdout.contains("@2, batches of 64 events\n"),
        "{}",
        report.stdout
    );
    for file in ["matrix1.f", "matrix2.f"] {
        let name = file.trim_end_matches(".f").to_uppercase();
        change(
            &p.join(file),
            &format!("{name} = {name}/BELOW"),
            &format!("{name} = 1D9"),
        );
        conceal(&output, file);
    }
    for turn in [0, 1] {
        make(&output);
        for (input, answers) in INPUTS[..3].iter().zip(&fortran[turn]) {
            let (library, stderr) = run(&p, input);
            assert!(
                stderr.contains(&format!("@{} from this executable", turn + 1)),
                "{stderr}"
            );
            agree(&library, answers);
        }
        change(&driver, caller[turn], caller[1 - turn]);
    }
}

/// An output with the plugin.
fn plugin_output(folder: &Path) -> PathBuf {
    let output = output(folder, "auto_dsig1_batch.f");
    let p = p(&output);
    for name in ["makefile", "cudacpp.mk", "CPPProcess.cc", "auto_dsig1.f"] {
        fs::copy(small().join("plugin").join(name), p.join(name)).unwrap();
    }
    fs::create_dir(output.join("src")).unwrap();
    fs::copy(
        small().join("plugin/cudacpp_config.mk"),
        output.join("src/cudacpp_config.mk"),
    )
    .unwrap();
    let card = output.join("Cards/run_card.dat");
    let text = fs::read_to_string(&card).unwrap();
    fs::write(&card, text + "  32 = vector_size\n  2 = nb_warp\n").unwrap();
    change(
        &output.join("Source/vector.inc"),
        "VECSIZE_MEMMAX=",
        "VECSIZE_MEMMAX=64) !",
    );
    output
}

#[test]
fn the_library_stands_in_the_place_of_the_plugins() {
    if !compiler() {
        return;
    }
    let d = tempfile::tempdir().unwrap();
    let plain = output(d.path(), "auto_dsig1_batch.f");
    make(&plain);
    let fortran = INPUTS.map(|input| run(&p(&plain), input).0);
    fs::rename(&plain, d.path().join("plain")).unwrap();
    let output = plugin_output(d.path());
    let before = snapshot(&output);
    let report = link(&output, &[]);
    assert!(
        report
            .ok()
            .contains("in the place of the plugin's libraries, batches of 64 events\n"),
        "{}",
        report.stdout
    );
    make_target(&output, "madevent_cpp_link");
    let answer = |input: &str| run(&p(&output), input).0;
    for (input, answers) in INPUTS[..3].iter().zip(&fortran) {
        agree(&answer(input), answers);
    }
    // Helicities that are now sampled.
    let message = stops(&p(&output), INPUTS[3]);
    assert!(message.contains("set nhel to 0"), "{message}");
    // The batch size has changed: everything is recompiled.
    let vector = output.join("Source/vector.inc");
    change(&vector, "VECSIZE_MEMMAX=64", "VECSIZE_MEMMAX=32");
    make_target(&output, "madevent_cpp_link");
    let time = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
    let objects = objects(&output);
    assert!(objects.len() > 4, "{objects:?}");
    for object in &objects {
        assert!(time(object) > time(&vector), "{object:?} is old");
    }
    agree(&answer(INPUTS[1]), &fortran[1]);
    change(&vector, "VECSIZE_MEMMAX=32", "VECSIZE_MEMMAX=64");
    for object in objects {
        fs::remove_file(object).unwrap();
    }
    unlink(&output).ok();
    let built = |path: &PathBuf| path.extension().is_some_and(|e| e == "o" || e == "a");
    same(
        &snapshot(&output)
            .into_iter()
            .filter(|(path, _)| !built(path))
            .collect(),
        &before,
    );
    // Both at link, and when the Fortran would be called.
    let card = output.join("Cards/run_card.dat");
    let text = fs::read_to_string(&card).unwrap();
    fs::write(&card, format!("{text}  1 = nhel\n")).unwrap();
    assert!(link(&output, &[]).failed(1).contains("nhel"));
    fs::write(&card, "  1 = nhel\n").unwrap();
    assert!(
        link(&output, &[])
            .failed(1)
            .contains("its own Fortran's; set nhel to 0")
    );
}
