use super::*;
use std::io::Cursor;

/// Three events with the extra text that programs put around them.
const FILE: &str = r#"<LesHouchesEvents version="3.0">
<!-- <event> <init> -->
<header>
<!--
<event>
-->
<card>
<![CDATA[
a < b </header> <init>
]]>
</card>
<initrwgt>
<weightgroup name='g'>
<weight MUR="2" id='a'>first</weight>
<weight id="b">second</weight>
</weightgroup>
</initrwgt>
</header>
<init>
 -11 11 1.0D+02 1.0e+02 -1 -1 -1 -1 -4 1
 2.5e+00 1.0e-02 2.5e+00 1
<generator name='x' version='1'>y</generator>
</init>
<event>
 4 1 +2.5e+00 2.0e+02 7.5e-03 1.18e-01
 -11 -1 0 0 0 0 0.0 0.0 100.0 100.0 0.0 0.0 -1.0
 11 -1 0 0 0 0 0.0 0.0 -100.0 100.0 0.0 0.0 1.0
 -13 1 1 2 0 0 60.0 0.0 80.0 100.0 0.0 0.0 -1.0
 13 1 1 2 0 0 -60.0 0.0 -80.0 100.0 0.0 0.0 1.0
#pdf 1 2 3
<mgrwt>
<rscale> 0 0.2E+03</rscale>
</mgrwt>
<rwgt>
<wgt id='a'> 1.5 </wgt>
<wgt id='b'> 2.5 </wgt>
</rwgt>
</event>
<event npLO=" -1 " npNLO=' > '>
 3 1 -2.5e+00 2.0e+02 7.5e-03 nan
 -11 -1 0 0 0 0 0.0 0.0 90.0 90.0 0.0 0.0 -1.0
 11 -1 0 0 0 0 0.0 0.0 -90.0 90.0 0.0 0.0 1.0
 23 1 1 2 0 0 0.0 0.0 0.0 180.0 180.0 0.0 9.0
<rwgt>
<wgt id='a'> 1.25 </wgt>
<wgt id='b'> 2.25 </wgt>
</rwgt>
</event>
<!-- <event> -->
<event>
 4 2 +2.5e+00 2.0e+02 7.5e-03 1.18e-01
 -11 -1 0 0 0 0 0.0 0.0 80.0 80.0 0.0 0.0 -1.0
 11 -1 0 0 0 0 0.0 0.0 -80.0 80.0 0.0 0.0 1.0
 -15 1 1 2 0 0 48.0 0.0 64.0 80.0 0.0 0.0 -1.0
 15 1 1 2 0 0 -48.0 0.0 -64.0 80.0 0.0 0.0 1.0
<rwgt>
<wgt id='a'> 1.125 </wgt>
<wgt id='b'> 2.125 </wgt>
</rwgt>
</event>
</LesHouchesEvents>
"#;

/// The numbers of an event, as text: NaN is not equal to itself.
fn numbers(event: &Event) -> String {
    let Event {
        process,
        weight,
        scale,
        alpha_qed,
        alpha_qcd,
        particles,
        ..
    } = event;
    format!("{process} {weight} {scale} {alpha_qed} {alpha_qcd} {particles:?}")
}

/// Everything read from a file.
#[derive(Debug, PartialEq)]
struct Found {
    events: Vec<String>,
    weights: Vec<Vec<f64>>,
    names: Vec<String>,
    closed: bool,
    second: Option<u64>,
}

/// A file that is read a few bytes at a time.
struct Slow<'a>(Cursor<&'a [u8]>, usize);

impl Read for Slow<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let most = self.1.min(bytes.len());
        self.0.read(&mut bytes[..most])
    }
}

fn read_in(file: &[u8], at_a_time: usize, keeps: bool) -> Result<Found> {
    let input: &'static [u8] = file.to_vec().leak();
    let input = Box::new(Slow(Cursor::new(input), at_a_time));
    let mut reader = Reader::new(input, Path::new("f"), keeps)?;
    let mut bytes = reader.head().bytes.clone();
    let (mut event, mut row) = (Event::default(), Vec::new());
    let (mut events, mut weights) = (Vec::new(), Vec::new());
    while reader.next(&mut event)? {
        events.push(numbers(&event));
        reader.weights(&event, &mut row)?;
        weights.push(row.clone());
        bytes.extend(&event.before);
        bytes.extend(&event.text);
        assert!(
            event.text[event.end..]
                .to_ascii_lowercase()
                .starts_with(b"</event")
        );
        if let Some(end) = event.list_end {
            assert!(
                event.text[end..]
                    .to_ascii_lowercase()
                    .starts_with(b"</rwgt")
            );
        }
    }
    // The end stays the end.
    assert!(!reader.next(&mut event)?);
    bytes.extend(reader.rest());
    if keeps {
        assert!(bytes == file, "bytes are lost");
    }
    for row in &mut weights {
        row.resize(reader.names().len(), f64::NAN);
    }
    Ok(Found {
        events,
        weights,
        names: reader.names().to_vec(),
        closed: reader.closed(),
        second: reader.second(),
    })
}

fn read(file: impl AsRef<[u8]>) -> Result<Found> {
    let file = file.as_ref();
    let found = read_in(file, usize::MAX, true);
    for (at_a_time, keeps) in [(1, false), (7, true)] {
        let again = read_in(file, at_a_time, keeps);
        assert_eq!(
            found.as_ref().ok().map(|f| format!("{f:?}")),
            again.ok().map(|f| format!("{f:?}"))
        );
    }
    found
}

#[track_caller]
fn same(file: impl AsRef<[u8]>) {
    let found = read(file).expect("it can be read");
    assert_eq!(found, read(FILE).expect("it can be read"));
}

#[track_caller]
fn wrong(file: impl AsRef<[u8]>, what: &str) {
    let error = read(file).expect_err("it is damaged").to_string();
    assert!(error.contains(what), "{error}");
}

/// The file with all `times` occurrences of `from` replaced.
#[track_caller]
fn with(from: &str, to: &str, times: usize) -> String {
    assert_eq!(FILE.matches(from).count(), times, "{from}");
    FILE.replace(from, to)
}

#[test]
fn a_file_is_read() {
    let found = read(FILE).expect("it can be read");
    assert_eq!(found.events.len(), 3);
    assert!(
        found.events[1]
            .starts_with("1 -2.5 200 0.0075 NaN [Particle { pdg: -11, status: -1, mothers: [0, 0]")
    );
    assert_eq!(found.names, ["a", "b"]);
    assert_eq!(found.weights, [[1.5, 2.5], [1.25, 2.25], [1.125, 2.125]]);
    assert!(found.closed);
    let input = Box::new(Cursor::new(FILE.as_bytes()));
    let reader = Reader::new(input, Path::new("f"), true).expect("it can be read");
    let init = reader.init().expect("it is there");
    assert_eq!(
        (init.beams, init.energies, init.strategy),
        ([-11, 11], [100.0, 100.0], -4)
    );
    assert_eq!(init.processes, [(1, [2.5, 0.01, 2.5])]);
    let head = reader.head();
    let at = |place: usize| &FILE[place..];
    assert!(at(head.header_end.expect("it is there")).starts_with("</header>\n<init>"));
    assert!(at(head.init.expect("it is there")).starts_with("<init>\n -11"));
    let weights = head.weights.clone().expect("they are there");
    assert!(at(weights.start).starts_with("<initrwgt>\n<weightgroup"));
    assert!(at(weights.end).starts_with("</initrwgt>"));
    assert_eq!(head.listed, ["a", "b"]);
    let open = with("</initrwgt>", "", 1);
    let reader = Reader::new(Box::new(Cursor::new(open)), Path::new("f"), true);
    assert_eq!(reader.expect("it can be read").head().weights, None);
}

#[test]
fn what_others_write_is_read() {
    for end in ["\r", "\r\n", "\n\n", "\t \n"] {
        same(FILE.replace('\n', end));
    }
    let mixed: String = FILE
        .lines()
        .zip(["\n", "\r", "\r\n"].iter().cycle())
        .map(|(line, end)| line.to_owned() + end)
        .collect();
    same(mixed);
    same(format!("\u{feff}{FILE}"));
    same(format!("\n <?xml version=\"1.0\"?>\n{FILE}"));
    same(FILE.replace(" 1.0\n", " 1.0 # text <event>\n"));
    same(FILE.replace(" -1.0\n", " -1.0\n# 1 2 3\n\n<!-- 4\n5 -->"));
    same(FILE.replace("<event>\n", "<event> # 4 1\n"));
    same(FILE.replace(" 100.0 100.0 ", " 100.0<!-- E --> 100.0 "));
    same(with("<event>\n 4", "<EVENT >\n 4", 2).replace("</event>", "</EVENT>"));
    same(with("<init>\n -", "<Init>\n -", 1).replace("</init>", "</INIT >"));
    same(with("<event>\n 4", "<event id='<!-- &lt;'>\n 4", 2).replace("'<!-- ", "'-- "));
    same(FILE.replace("<wgt id='a'>", "<wgt name=\"x\" id = \" a \">"));
    same(FILE.replace("<wgt id='a'>", "<wgt name='id=' ID=a>"));
    same(FILE.replace("<wgt id='a'>", "<wgt\n  checked id\t=\n'&#97;' >"));
    same(
        FILE.replace(" 2.5 </wgt>", "2.5D+00</wgt>")
            .replace("1.125 ", "0.1125d1"),
    );
    same(
        FILE.replace(" 1.5 </wgt>", "<!-- --> 1.5</wgt>")
            .replace("<!-- -->", ""),
    );
    same(
        FILE.replace("<rwgt>\n", "<rwgt> ")
            .replace("</wgt>\n", "</wgt>"),
    );
    same(FILE.replace(" 100.0 100.0 0.0", " 1.0D+2 1.0+002 0.D0"));
    same(
        FILE.replace("</init>\n", "</init>\n<eventgroup n='1'>\n")
            .replace("</LesHouchesEvents>", "</eventgroup>\n</LesHouchesEvents>"),
    );
    same(FILE.replace("</event>\n", "</event>\n\n# between\n"));
    same(with(
        "<mgrwt>\n",
        "<mgrwt> a < b\n<scale> without an end\n",
        1,
    ));
    same(with("</mgrwt>\n", "", 1));
    same(format!("{FILE}\n<!-- after -->\n#Random 1\n"));
    let one_line: Vec<&str> = FILE.lines().filter(|line| !line.starts_with('#')).collect();
    same(one_line.join(" "));
    let mut latin: Vec<u8> = FILE.into();
    let at = FILE.find("first").expect("it is there");
    latin[at] = 0xfc;
    same(latin);
    // The list of weights may be in <init>, and its groups may end wrongly.
    let list = &FILE[FILE.find("<initrwgt>").expect("it is there")
        ..FILE.rfind("</header>").expect("it is there")];
    same(with(list, "", 1).replace("</init>", &format!("{list}</init>")));
    same(with(
        "<weight id=\"b\"",
        "<weightgroup>\n</weightgroup> PDF\n<weight id=\"b\"",
        1,
    ));
}

#[test]
fn weights_without_names_have_those_that_are_listed_or_numbers() {
    let list = |text: &str| {
        let text = text.replace("<rwgt>\n<wgt id='a'>", "<weights>");
        text.replace("</wgt>\n<wgt id='b'>", "\n")
            .replace("</wgt>\n</rwgt>", "</weights>")
    };
    same(list(FILE));
    let unlisted = FILE
        .replace("<initrwgt>", "<x>")
        .replace("</initrwgt>", "</x>");
    let numbered = |file: String| {
        let found = read(file).expect("it can be read");
        assert_eq!(found.names, ["1", "2"]);
        assert_eq!(found.weights, [[1.5, 2.5], [1.25, 2.25], [1.125, 2.125]]);
    };
    numbered(list(&unlisted));
    numbered(
        unlisted
            .replace("<wgt id='a'>", "<wgt>")
            .replace("<wgt id='b'>", "<wgt name='b'>"),
    );
    wrong(
        list(FILE).replace(" 2.25 ", " 2.25 3 "),
        "line 42: <weights> has 3 numbers, and 2 in an event before",
    );
    wrong(
        list(&with(
            "<weight id=\"b\"",
            "<weight id='c'/><weight id=\"b\"",
            1,
        )),
        "line 34: <weights> has 2 numbers, and <initrwgt> lists 3",
    );
    // Weights that only some events have.
    let found = read(with("<wgt id='b'> 2.25 </wgt>\n", "", 1)).expect("it can be read");
    assert!(found.weights[1][1].is_nan() && found.weights[2][1] == 2.125);
    // Weights that are listed and also have their own `<wgt>`.
    let both = list(FILE).replace(
        "</weights>",
        "</weights>\n<rwgt>\n<wgt id='c'>7</wgt></rwgt>",
    );
    let both = both.replace("<weight id=\"b\"", "<weight id='c'/><weight id=\"b\"");
    assert_eq!(
        read(both).expect("it can be read").weights[0],
        [7.0, 1.5, 2.5]
    );
}

#[test]
fn what_is_damaged_names_its_line() {
    wrong("", "the file is empty");
    wrong(" \n", "the file is empty");
    wrong(
        "hello\n",
        "this is no event file (<LesHouchesEvents>): it begins with `hello`",
    );
    wrong([0; 64], "this is no event file");
    wrong("<!-- ", "there is no --> for the <!-- of line 1");
    wrong(
        "<header>\n",
        "there is no </header> for the <header> of line 1",
    );
    wrong(
        with("</init>", "</inti>", 1),
        "there is no </init> for the <init> of line 19",
    );
    wrong(
        with("<event npLO", "<evemt npLO", 1),
        "line 39 has `<evemt npLO=\" -1 \" npNLO=' > '>` after event 1",
    );
    wrong(
        with("<event npLO=\" -1 \" npNLO=' > '>\n", "", 1),
        "line 39 has `3 1 -2.5e+00",
    );
    wrong(
        with("</event>\n<event np", "</evemt>\n<event np", 1),
        "line 38 has </evemt>, but no element is open",
    );
    wrong(
        with("</event>\n<event np", "<event np", 1),
        "event 1 (from 1; line 24) has no </event> until line 38",
    );
    wrong(
        with("</event>\n</Les", "</Les", 1),
        "event 3 (from 1; line 50) has no </event> until line 60",
    );
    wrong(
        &FILE[..FILE.len() - 30],
        "the file ends within event 3 (from 1; line 50)",
    );
    wrong(
        with(" 3 1 -2.5", " 2 1 -2.5", 1),
        "line 43 has `23 1 1 2 0 0 0.0",
    );
    wrong(
        with(" 3 1 -2.5", " 4 1 -2.5", 1),
        "line 44 is not that of a particle: `<rwgt>`",
    );
}

#[test]
fn damaged_numbers_name_their_line() {
    for count in ["0", "-1", "1001", "4000000000", "3.5", "x"] {
        wrong(
            with(" 3 1 -2.5", &format!(" {count} 1 -2.5"), 1),
            "line 40 is no first line of an event",
        );
    }
    for weight in [
        "nan",
        "inf",
        "1e999",
        "****",
        "1_1",
        "2,5",
        "1..5",
        &"1".repeat(100_000),
    ] {
        let line = if weight.len() > 1000 {
            "line 40 has a word of more than 1024 bytes"
        } else {
            "line 40 is no first line"
        };
        wrong(with(" 3 1 -2.5", &format!(" 3 1 {weight}"), 1), line);
        wrong(
            with(" 0.0 180.0 180.0", &format!(" {weight} 180.0 180.0"), 1),
            "line 43 ",
        );
    }
    wrong(
        with("23 1 1 2", "2.5 1 1 2", 1),
        "line 43 is not that of a particle: ` 2.5 1 1 2 0 0",
    );
    wrong(
        with("23 1 1 2", "1_1 1 1 2", 1),
        "(IDUP is `1_1`, no integer)",
    );
    wrong(
        with(" 180.0 9.0\n", "", 0).replace(" 0.0 9.0\n", " 0.0\n"),
        "line 43 is not that of a particle",
    );
    wrong(
        FILE.replace(" 0.0 9.0\n", " 0.0 9.0 1\n"),
        "line 43 has `1` after the numbers",
    );
    wrong(
        FILE.replace(" 90.0 90.0 0.0", " 90.0 90.0 0.0 0.0"),
        "line 41 is not that of a particle",
    );
    wrong(
        FILE.replace(" 23 1", " \x0023 1"),
        "line 43 is not that of a particle",
    );
    wrong(with("-2.5e+00 2.0e+02", "-2.5e+00 1 2.0e+02", 1), "line 40");
}

#[test]
fn what_is_between_events_names_its_line() {
    wrong(
        FILE.replace("</event>\n<event np", "</event>\n1 2 3\n<event np"),
        "line 39 has `1 2 3` after event 1",
    );
    wrong(
        FILE.replace("</event>\n<event np", "</event>\n\0<event np"),
        "line 39 has `\\u{0}<event np",
    );
    wrong(
        format!("{FILE}<event>\n"),
        "line 62 has `<event>` after </LesHouchesEvents>",
    );
    wrong(
        format!("{FILE}x"),
        "line 62 has `x` after </LesHouchesEvents>",
    );
    wrong(
        FILE.replace("</rwgt>\n</event>\n<event np", "</event>\n<event np"),
        "line 37 has </event>, but <rwgt> of line 34 is open",
    );
    wrong(
        with("<rscale>", "<rscale", 1),
        "line 32: the tag `<rscale 0 0.2E+03",
    );
    wrong(with("'b'> 2.25", "'b\"> 2.25", 1), "line 46: the tag");
    wrong(
        with("> 1.25 <", "> much <", 1),
        "event 2 (from 1; line 39): line 45: the weight 'a' is `much`, no number",
    );
    wrong(
        with("> 1.25 </wgt>", "/>", 1),
        "line 45: the weight 'a' is ``, no number",
    );
    wrong(
        with("'b'> 2.25", "'a'> 2.25", 1),
        "line 46: the weight 'a' is there twice, as 1.25 and 2.25",
    );
    let none = with(" 2.5e+00 1.0e-02 2.5e+00 1\n<gen", "<gen", 1);
    let none = none.replace("<generator name='x' version='1'>y</generator>\n", "");
    let reader = Reader::new(Box::new(Cursor::new(none)), Path::new("f"), false);
    let init = reader.expect("its events can be read").init();
    assert_eq!(init.expect("GiBUU lists no processes").processes, []);
    let many = "<a>".repeat(20_000);
    wrong(
        FILE.replace("#pdf", &many),
        "event 1 (from 1; line 24) has more than 10000 elements without an end",
    );
    let init = with(" -4 1\n", " -4 2\n", 1);
    let reader = Reader::new(Box::new(Cursor::new(init)), Path::new("f"), false)
        .expect("its events can be read");
    let error = reader.init().expect_err("a process is missing").to_string();
    assert!(
        error.contains("<init> of line 19 does not hold what"),
        "{error}"
    );
}

#[test]
fn a_file_without_an_end_is_not_closed() {
    let cut = &FILE[..FILE.find("</LesHouches").expect("it is there")];
    let found = read(cut).expect("its events are whole");
    assert!(!found.closed && found.events.len() == 3);
}

#[test]
fn two_files_are_two() {
    let found = read(FILE.to_owned() + FILE).expect("it can be read");
    assert_eq!((found.events.len(), found.second), (6, Some(62)));
    assert_eq!(found.events[..3], found.events[3..]);
    let marked = read(format!("{FILE}\u{feff}{FILE}")).expect("it can be read");
    assert_eq!(marked, found);
    let other = FILE.to_owned()
        + &with(
            " 2.5e+00 1.0e-02 2.5e+00 1",
            " 3.5e+00 1.0e-02 2.5e+00 1",
            1,
        );
    let mut reader =
        Reader::new(Box::new(Cursor::new(other)), Path::new("f"), false).expect("a file");
    while reader.next(&mut Event::default()).expect("events") {}
    let error = reader.init().expect_err("it is another one").to_string();
    assert!(
        error.contains("line 62: a second file begins whose <init> says something else"),
        "{error}"
    );
}

#[test]
fn what_never_ends_is_not_held() {
    let blank = " ".repeat(100) + "\n";
    for text in [blank.as_str(), "<!--"] {
        let endless = FILE.as_bytes()[..FILE.find("<event np").expect("it is there")].to_vec();
        let input = Cursor::new(endless).chain(Endless(text.repeat(1000)));
        let mut reader = Reader::new(Box::new(input), Path::new("f"), false).expect("a file");
        let mut event = Event::default();
        assert!(reader.next(&mut event).expect("an event"));
        assert!(reader.next(&mut event).is_err(), "{text}");
    }
}

/// A text that begins again with each read.
struct Endless(String);

impl Read for Endless {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.0.as_bytes().read(bytes)
    }
}

/// After any change of a line or a character, the same events are read, or there is an error, or the end is known to be
/// missing.
#[test]
fn no_damage_gives_other_events() {
    let right = read(FILE).expect("it can be read");
    let check = |file: &[u8], what: &dyn Fn() -> String| {
        let Ok(found) = read_in(file, usize::MAX, false) else {
            return;
        };
        if !found.closed {
            let all = found.events.len();
            assert_eq!(found.events, right.events[..all], "{}", what());
            return;
        }
        assert_eq!(found.events, right.events, "{}", what());
        // Weights that lost their tag or name are missing, but no others appear.
        for (i, name) in right.names.iter().enumerate() {
            let Some(column) = found.names.iter().position(|of| of == name) else {
                continue;
            };
            for (row, expected) in found.weights.iter().zip(&right.weights) {
                assert!(
                    row[column].is_nan() || row[column] == expected[i],
                    "{}",
                    what()
                );
            }
        }
    };
    let lines: Vec<&str> = FILE.split_inclusive('\n').collect();
    for i in 0..lines.len() {
        let joined = |lines: &[&str]| lines.concat();
        let mut less = lines.clone();
        let line = less.remove(i);
        check(joined(&less).as_bytes(), &|| format!("without {line}"));
        for j in 0..=less.len() {
            let mut moved = less.clone();
            moved.insert(j, line);
            // The order of particles is up to the file, and so is the text of comments.
            let particles = |at: usize| {
                lines
                    .get(at)
                    .is_some_and(|line| line.split(' ').count() == 14)
            };
            let comment = |line: &str| {
                line == "<!--\n" || line == "-->\n" || line == "<![CDATA[\n" || line == "]]>\n"
            };
            if !(particles(i) || comment(line)) {
                check(joined(&moved).as_bytes(), &|| {
                    format!("{line} moved to {j}")
                });
            }
            let mut twice = lines.clone();
            twice.insert(j, line);
            if !comment(line) {
                check(joined(&twice).as_bytes(), &|| {
                    format!("{line} again at {j}")
                });
            }
        }
    }
    let begin = FILE.find("<init>\n -").expect("it is there");
    for (at, &byte) in FILE.as_bytes().iter().enumerate().skip(begin) {
        let number = byte.is_ascii_digit() || b"+-.".contains(&byte);
        let of_number = number || byte == b'e' && FILE.as_bytes()[at + 1].is_ascii_punctuation();
        if of_number {
            continue;
        }
        let mut less = FILE.as_bytes().to_vec();
        less.remove(at);
        check(&less, &|| format!("without byte {at}"));
        for other in *b" <>/#'\"=\n\r\0x!?&\xff" {
            less = FILE.as_bytes().to_vec();
            less[at] = other;
            check(&less, &|| format!("byte {at} is {:?}", char::from(other)));
        }
    }
    for end in 0..FILE.len() {
        check(&FILE.as_bytes()[..end], &|| format!("cut at {end}"));
    }
}
