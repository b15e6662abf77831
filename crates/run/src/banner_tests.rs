use super::*;
use crate::event_file::InitBeams;
use serde_json::json;

fn head() -> CommonBanner {
    CommonBanner {
        blocks: Blocks {
            beams: InitBeams::equal([2212, 2212], 13_000.0, 0),
            powers: Vec::new(),
            matched: false,
            clustering: false,
            names: Vec::new(),
            numbers: vec![1],
        },
        norm: Norm::Average,
        generator: generator("a test"),
        header: "<initrwgt>\n</initrwgt>\n".to_owned(),
        cards: Some(Cards {
            version: "3.7.1".to_owned(),
            process: "import model sm\ngenerate g g > t t~\n\n".to_owned(),
            run: "# a card\n  10 = nevents ! events\n 0 = ISEED\n True = use_syst # x\n\n"
                .to_owned(),
            parameters: "Block mass\n  6 173.0\n".to_owned(),
        }),
    }
}

/// As the Python package wrote it.
#[test]
fn a_banner_repeats_the_cards() {
    let wanted = "<MGVersion>\n#3.7.1\n</MGVersion>\n\
                  <MG5ProcCard>\n<![CDATA[\nimport model sm\ngenerate g g > t t~\n]]>\n</MG5ProcCard>\n\
                  <MGRunCard>\n<![CDATA[\n# a card\n  300 = nevents ! events\n  9007199254740993 = ISEED\n True = use_syst # x\n]]>\n</MGRunCard>\n\
                  <slha>\nBlock mass\n  6 173.0\n</slha>\n\
                  <MGGenerationInfo>\n#  Number of Events        :       300\n\
                  #  Integrated weight (pb)  :       1e-05\n</MGGenerationInfo>\n\
                  <initrwgt>\n</initrwgt>\n";
    assert_eq!(head().banner(300, (1 << 53) + 1, 1e-5), wanted);
    let file = head().banner_file(300, (1 << 53) + 1, 1e-5);
    let whole = format!(
        "<LesHouchesEvents version=\"3.0\">\n<header>\n{wanted}</header>\n</LesHouchesEvents>\n"
    );
    assert_eq!(file, whole);
    let plain = CommonBanner {
        cards: None,
        ..head()
    };
    assert_eq!(plain.banner(300, 1, 1.0), "<initrwgt>\n</initrwgt>\n");
}

#[test]
fn what_makes_a_run_is_json() {
    #[derive(Serialize)]
    struct Asked {
        output: &'static str,
        cuts: serde_json::Value,
        list: [i32; 2],
    }
    let requested = Asked {
        output: "pp_tt",
        cuts: json!({"pt": 30.0}),
        list: [1, 2],
    };
    let overweights = Overweights {
        events: 0,
        share: 0.0,
        largest: 1.0,
    };
    let text = HeaderBlock {
        arguments: &requested,
        overweights,
        bias: None,
    }
    .json()
    .unwrap();
    let wanted = "{\n \"output\": \"pp_tt\",\n \"cuts\": {\n  \"pt\": 30.0\n },\n \"list\": [\n  1,\n  2\n ],\n \
                  \"overweights\": {\n  \"events\": 0,\n  \"share\": 0.0,\n  \"largest\": 1.0\n }\n}";
    assert_eq!(text, wanted);
}

#[test]
fn norms_say_what_weights_are() {
    let of = |entry| {
        let norm = Norm::from_card(entry);
        (norm.mean(12.0, 4), norm.strategy())
    };
    assert_eq!(of("Average"), (12.0, -4));
    assert_eq!(of("unity"), (1.0, -4));
    assert_eq!(of("SUM"), (3.0, -3));
}

/// As in the plan of a pack.
#[test]
fn a_head_is_read_as_it_is_written() {
    let written = serde_json::to_string(&head()).unwrap();
    assert_eq!(
        serde_json::from_str::<CommonBanner>(&written).unwrap(),
        head()
    );
}
