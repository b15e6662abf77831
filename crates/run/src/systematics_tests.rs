use super::*;
use crate::densities::tests::sets;
use mebridge_densities::Radiator;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The first member of a set whose others are 90001 and 90002.
fn toy(sets: &tempfile::TempDir) -> PdfSet {
    PdfSet::read(&sets.path().join("toy")).unwrap()
}

fn said<T>(found: Result<T>) -> String {
    found
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default()
}

#[test]
fn a_caller_names_weights() {
    let sets = sets();
    let densities = BeamDensities::Set(toy(&sets));
    let choose = |named: &[&str]| Systematics::choose(&words(named), Some(&densities), true);
    let found = choose(&["scale", "pdf"]).unwrap();
    let points = [
        "0.5__MUF=0.5",
        "0.5__MUF=1",
        "1__MUF=0.5",
        "1__MUF=2",
        "2__MUF=1",
        "2__MUF=2",
    ];
    let points = points
        .iter()
        .map(|point| format!("MUR={point}__LHAPDF=90000"));
    let members = [90001, 90002].map(|number| format!("MUR=1__MUF=1__LHAPDF={number}"));
    assert_eq!(found.names(), points.chain(members).collect::<Vec<_>>());
    let groups = found
        .groups
        .iter()
        .map(|group| [group.name.as_str(), &group.combined]);
    let groups: Vec<_> = groups.collect();
    assert_eq!(
        groups,
        [["Central scale variation", "envelope"], ["toy", "replicas"]]
    );
    assert_eq!(
        found.members[0].alpha_s.as_ref().unwrap().values,
        [0.4, 0.1]
    );
    assert_eq!(
        found.members[1].alpha_s.as_ref().unwrap().values,
        [0.3, 0.2, 0.1]
    );
    let name = "MUR=0.5__MUF=1__LHAPDF=90000";
    let line =
        format!("<weight id=\"{name}\" MUR=\"0.5\" MUF=\"1\" PDF=\"90000\"> {name} </weight>");
    let header = found.header();
    assert!(header.contains(&line), "{header}");
    assert!(
        header.starts_with("<initrwgt>\n<weightgroup name=\"Central scale variation\" combine=")
    );
    assert!(header.ends_with("</weight>\n</weightgroup>\n</initrwgt>"));
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Systematics>(&text).unwrap(), found);

    // One member alone, and an alpha_s that is that of all.
    let file = sets.path().join("toy/toy_0002.dat");
    let alone = [file.to_str().unwrap()];
    let found = Systematics::choose(&words(&alone), Some(&densities), false).unwrap();
    assert_eq!(found.names(), ["MUR=1__MUF=1__LHAPDF=90002"]);
    assert_eq!(found.members[0].alpha_s, None);
    assert_eq!(
        found.files().collect::<Vec<_>>(),
        [file.canonicalize().unwrap()]
    );
    assert_eq!(
        said(choose(&["scale", "scale"])),
        "systematics has MUR=0.5__MUF=0.5__LHAPDF=90000 twice; leave out one of both"
    );
    assert!(said(choose(&["./nothing"])).starts_with("there are no parton densities './nothing'"));
}

#[test]
fn not_all_densities_have_others() {
    let sets = sets();
    let plain = PdfSet::read(&sets.path().join("plain/plain_0000.dat")).unwrap();
    let plain = BeamDensities::Set(plain);
    let photons = BeamDensities::Photons(Radiator::Proton);
    for densities in [&plain, &photons] {
        let found = said(Systematics::choose(&words(&["pdf"]), Some(densities), true));
        assert!(
            found.ends_with("has no other members than the one of the events"),
            "{found}"
        );
    }
    let found = Systematics::choose(&words(&["scale"]), Some(&photons), true).unwrap();
    assert_eq!(found.names()[0], "MUR=0.5__MUF=0.5__LHAPDF=iww");
    let choose = |named: &[&str]| Systematics::choose(&words(named), None, true);
    assert_eq!(
        choose(&["scale"]).unwrap().names(),
        ["MUR=0.5__MUF=1", "MUR=2__MUF=1"]
    );
    assert_eq!(
        said(choose(&["pdf"])),
        "weights for densities ('pdf') need densities; give pdf"
    );
    assert_eq!(choose(&[]).unwrap(), Systematics::default());
}

#[test]
fn a_run_card_has_arguments() {
    let sets = sets();
    let of = |arguments: &[&str], matched: bool| {
        Systematics::of_arguments(&words(arguments), &toy(&sets), matched)
    };
    let found = of(&["--mur=0.5,1,2", "--muf=0.5,1,2", "--pdf=errorset"], false).unwrap();
    // Both scales and five choices of them, but for the weight that events have; and the other members.
    let names = found.names();
    assert_eq!(names.len(), 3 * 3 * 5 - 1 + 2);
    assert_eq!(names[1], "MUR=0.5__MUF=0.5__DYN=1__LHAPDF=90000");
    assert_eq!(names[45], "MUR=1__MUF=1__LHAPDF=90002");
    let header = found.header();
    assert!(
        header.contains("MUR=\"0.5\" MUF=\"0.5\" DYN_SCALE=\"1\" PDF=\"90000\""),
        "{header}"
    );
    let few = of(
        &["--mur=1", "--muf='1, 2'", "--dyn=-1", "--pdf=central"],
        false,
    )
    .unwrap();
    assert_eq!(few.names(), ["MUR=1__MUF=2__LHAPDF=90000"]);
    let one = of(
        &[
            "--mur=1",
            "--muf=1",
            "--dyn=-1",
            "--pdf=errorset@2,errorset@0,errorset@7",
        ],
        false,
    );
    assert_eq!(one.unwrap().names(), ["MUR=1__MUF=1__LHAPDF=90002"]);
    let emissions = of(
        &["mur=1", "muf=1", "dyn=-1", "pdf=central", "alps=0.5,1"],
        true,
    )
    .unwrap();
    assert_eq!(
        emissions.names(),
        ["MUR=1__MUF=1__ALPSFACT=0.5__LHAPDF=90000"]
    );
    assert!(
        emissions
            .header()
            .contains("MUF=\"1\" ALPSFACT=\"0.5\" PDF=")
    );
    assert!(of(&["--alps=1.0"], false).is_ok());
    for (argument, wrong) in [
        ("--alps=0.5,1,2", "has --alps=0.5,1,2, and no emissions"),
        (
            "--together=mur",
            "has --together=mur, which is not made here; set systematics_program",
        ),
        ("--dyn=7", "has --dyn=7; there are -1, 1, 2, 3 and 4"),
        ("--dyn=0", "has --dyn=0; there are"),
        ("--dyn=x", "systematics_arguments has --dyn with 'x'"),
        ("--mur=x", "systematics_arguments has --mur with 'x'"),
        (
            "--pdf=errorset@x",
            "systematics_arguments has --pdf with 'errorset@x'",
        ),
    ] {
        let found = said(of(&[argument], false));
        assert!(found.contains(wrong), "{found}");
    }
}
