use super::*;
use crate::densities::tests::sets;
use mebridge_densities::Radiator;

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The first member of a set whose others are 90001 and 90002.
fn toy(sets: &tempfile::TempDir) -> PdfMember {
    PdfMember::read(&sets.path().join("toy")).unwrap()
}

fn message<T>(found: Result<T>) -> String {
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
        format!("<weight id=\"{name}\" MUR=\"0.5\" MUF=\"1.0\" PDF=\"90000\"> {name} </weight>");
    let header = found.header();
    assert!(header.contains(&line), "{header}");
    assert!(
        header.starts_with("<initrwgt>\n<weightgroup name=\"Central scale variation\" combine=")
    );
    assert!(header.ends_with("</weight>\n</weightgroup>\n</initrwgt>"));
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Systematics>(&text).unwrap(), found);

    // A single member, and an alpha_s that is common to all.
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
        message(choose(&["scale", "scale"])),
        "systematics has MUR=0.5__MUF=0.5__LHAPDF=90000 twice; leave out one of both"
    );
    assert!(
        message(choose(&["./nothing"])).starts_with("there are no parton densities './nothing'")
    );
}

#[test]
fn not_all_densities_have_others() {
    let sets = sets();
    let plain = PdfMember::read(&sets.path().join("plain/plain_0000.dat")).unwrap();
    let plain = BeamDensities::Set(plain);
    let photons = BeamDensities::Photons(Radiator::Proton);
    for densities in [&plain, &photons] {
        let found = message(Systematics::choose(&words(&["pdf"]), Some(densities), true));
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
        message(choose(&["pdf"])),
        "weights for densities ('pdf') need densities; give pdf"
    );
    assert_eq!(choose(&[]).unwrap(), Systematics::default());
}

/// For arguments, the name, text and group of each weight.
fn listed(found: &Systematics) -> Vec<[String; 3]> {
    let (mut rows, mut group) = (Vec::new(), String::new());
    for line in found.header().lines() {
        let word = |after: &str| {
            let (_, rest) = line.split_once(after).unwrap();
            rest.split('"').next().unwrap().to_owned()
        };
        match line {
            line if line.starts_with("<weightgroup") => group = word("name=\""),
            "</weightgroup>" => group.clear(),
            line if line.starts_with("<weight ") => {
                let (_, about) = line.split_once('>').unwrap();
                let about = about.strip_suffix("</weight>").unwrap().trim().to_owned();
                rows.push([word("id=\""), about, group.clone()]);
            }
            _ => {}
        }
    }
    rows
}

#[test]
fn a_run_card_has_arguments() {
    let sets = sets();
    let of = |arguments: &[&str]| Systematics::from_arguments(&words(arguments), &toy(&sets));
    let found = of(&["--mur=0.5,1,2", "--muf=0.5,1,2", "--pdf=errorset"]).unwrap();
    // Both scales and five dynamical scales, except for the nominal weight; and all members.
    let (names, rows) = (found.names(), listed(&found));
    assert_eq!(names.len(), 3 * 3 * 5 - 1 + 3);
    assert_eq!(names[1], "MUR=0.5__MUF=0.5__DYN=1__LHAPDF=90000");
    let scale = CENTRAL.to_owned();
    assert_eq!(
        rows[1],
        ["2", "MUR=0.5 MUF=0.5 dyn_scale_choice=sum pt", &scale]
    );
    assert_eq!(rows[44], ["45", "", "toy"]);
    assert_eq!(rows[46], ["47", "PDF=90000 MemberID=2", "toy"]);
    let header = found.header();
    for line in [
        "<weight id=\"2\" MUR=\"0.5\" MUF=\"0.5\" DYN_SCALE=\"1\" PDF=\"90000\"> MUR=0.5",
        "<weightgroup name=\"toy\" combine=\"replicas\"> # 90000: \n<weight id=\"45\" MUR=\"1.0\" MUF=\"1.0\" PDF=\"90000\">",
    ] {
        assert!(header.contains(line), "{header}");
    }
    let few = of(&["--mur=1", "--muf='1, 2'", "--dyn=-1", "--pdf=central"]).unwrap();
    assert_eq!(few.names(), ["MUR=1__MUF=2__LHAPDF=90000"]);
    let one = of(&[
        "--mur=1",
        "--muf=1",
        "--dyn=-1",
        "--pdf=errorset@2,errorset@0",
    ])
    .unwrap();
    assert_eq!(one.names(), ["MUR=1__MUF=1__LHAPDF=90002"]);
    // A single member is in no group.
    assert_eq!(listed(&one), [["1", "PDF=90000 MemberID=2", ""]]);
    let emissions = of(&[
        "mur=1",
        "muf=1",
        "dyn=-1",
        "pdf=central",
        "alps=0.5",
        "alps=1",
    ]);
    let emissions = emissions.unwrap();
    assert_eq!(
        emissions.names(),
        ["MUR=1__MUF=1__ALPSFACT=0.5__LHAPDF=90000"]
    );
    assert_eq!(listed(&emissions), [["1", "alpsfact=0.5", EMISSION]]);
    let header = emissions.header();
    assert!(
        header.contains("MUF=\"1.0\" ALPSFACT=\"0.5\" PDF="),
        "{header}"
    );
}

/// The arguments of CMS's genproductions.
#[test]
fn weights_have_the_order_and_the_numbers_of_mg5amc() {
    let sets = sets();
    let of = |arguments: &[&str]| Systematics::from_arguments(&words(arguments), &toy(&sets));
    let common = [
        "--mur=1,2,0.5",
        "--muf=1,2,0.5",
        "--dyn=-1",
        "--start_id=1001",
    ];
    let with = |more: &[&str]| of(&[&common[..], more].concat()).unwrap();
    let found = with(&[
        "--together=muf,mur",
        "--pdf=errorset",
        "--alps=0.5,1,2",
        "--remove_wgts=all",
    ]);
    let rows = listed(&found);
    let about = rows.iter().map(|[_, about, _]| about.as_str());
    let wanted = [
        "MUR=2.0",
        "MUR=0.5",
        "MUF=2.0",
        "MUR=2.0 MUF=2.0",
        "MUR=0.5 MUF=2.0",
        "MUF=0.5",
        "MUR=2.0 MUF=0.5",
        "MUR=0.5 MUF=0.5",
        "alpsfact=0.5",
        "alpsfact=2.0",
        "",
        "PDF=90000 MemberID=1",
        "PDF=90000 MemberID=2",
    ];
    assert_eq!(about.collect::<Vec<_>>(), wanted);
    let numbers = (1001..).take(wanted.len()).map(|number| number.to_string());
    assert_eq!(found.ids(), numbers.collect::<Vec<_>>());
    let groups = [vec![CENTRAL; 8], vec![EMISSION; 2], vec!["toy"; 3]].concat();
    assert_eq!(
        rows.iter().map(|row| &row[2]).collect::<Vec<_>>(),
        groups.iter().collect::<Vec<_>>()
    );
    // Blocks may have the same variations: each has its own numbers.
    let twice = with(&[
        "--together=mur",
        "--together=mur,pdf",
        "--muf=1",
        "--pdf=central",
    ]);
    assert_eq!(twice.ids().len(), 2 + 2 + 2);
    // Weights varied together with densities are in no group.
    let both = of(&[
        "--mur=1,2",
        "--muf=1",
        "--dyn=-1",
        "--together=pdf,mur",
        "--pdf=errorset",
    ])
    .unwrap();
    let rows = listed(&both);
    let rows: Vec<_> = rows
        .iter()
        .map(|[_, about, group]| (about.as_str(), group.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("MUR=2.0", CENTRAL),
            ("", "toy"),
            ("PDF=90000 MemberID=1", "toy"),
            ("MUR=2.0 PDF=90000 MemberID=1", ""),
            ("PDF=90000 MemberID=2", ""),
            ("MUR=2.0 PDF=90000 MemberID=2", ""),
        ]
    );
    // The names used by ATLAS.
    let info = "--weight_info=MUR%(mur).1f_MUF%(muf).1f_PDF%(pdf)i";
    let named = with(&[
        "--together=muf,mur",
        "--pdf=central",
        info,
        "--weight_format=w_%(id)04d",
    ]);
    assert_eq!(
        listed(&named)[0],
        ["w_1001", "MUR2.0_MUF1.0_PDF90000", CENTRAL]
    );
    let text = serde_json::to_string(&named).unwrap();
    assert_eq!(serde_json::from_str::<Systematics>(&text).unwrap(), named);
}

#[test]
fn wrong_arguments_are_named() {
    let sets = sets();
    let of = |argument: &str| {
        message(Systematics::from_arguments(
            &words(&[argument]),
            &toy(&sets),
        ))
    };
    #[rustfmt::skip]
    let cases = [
        ("--only_beam=1", "has --only_beam=1, which is not made here; set systematics_program"),
        ("--together=mur,mu", "has --together with 'mu'; there are mur, muf, alps, dyn, pdf"),
        ("--dyn=7", "has --dyn=7; there are -1, 1, 2, 3 and 4"),
        ("--dyn=0", "has --dyn=0; there are"),
        ("--dyn=x", "systematics_arguments has --dyn with 'x'"),
        ("--mur=x", "systematics_arguments has --mur with 'x'"),
        ("--mur=-1", "--mur with '-1'; write a positive number"),
        ("--start_id=-5", "systematics_arguments has --start_id with '-5'"),
        ("--start_id=1e3", "systematics_arguments has --start_id with '1e3'"),
        ("--pdf=errorset@x", "systematics_arguments has --pdf with 'errorset@x'"),
        ("--pdf=errorset@7", "'errorset@7'; the set has no such member here"),
    ];
    for (argument, wrong) in cases {
        let found = of(argument);
        assert!(found.contains(wrong), "{found}");
    }
    let many = vec!["1.5"; 4000].join(",");
    let many = words(&[&format!("--mur={many}"), &format!("--muf={many}")]);
    let found = message(Systematics::from_arguments(&many, &toy(&sets)));
    assert!(
        found.contains("more than 100000 weights of an event"),
        "{found}"
    );
}
