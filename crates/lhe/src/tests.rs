use super::*;

/// A record of `room` particles.
fn record(head: (i32, [f64; 4]), particles: &[([i32; 6], [f64; 7])], room: usize) -> Vec<u8> {
    let mut bytes = head.0.to_le_bytes().to_vec();
    bytes.extend(head.1.iter().flat_map(|x| x.to_le_bytes()));
    for (integers, doubles) in particles {
        bytes.extend(integers.iter().flat_map(|x| x.to_le_bytes()));
        bytes.extend(doubles.iter().flat_map(|x| x.to_le_bytes()));
    }
    bytes.resize(record_bytes(room).expect("small"), 0);
    bytes
}

fn written(records: &[u8], particles: usize, factor: f64) -> Result<String> {
    let mut text = Vec::new();
    push_events(&mut text, records, particles, factor)?;
    Ok(String::from_utf8(text).expect("digits"))
}

const HEAD_OF_EVENT: (i32, [f64; 4]) = (3, [2.0, 91.188, 0.0, 0.118]);
const GLUON: ([i32; 6], [f64; 7]) = (
    [21, -1, 0, 0, 501, 502],
    [0.0, -0.0, 100.0, 100.0, 0.0, 0.0, -1.0],
);
const ANTIQUARK: ([i32; 6], [f64; 7]) = (
    [-2, -1, 0, 0, 0, 501],
    [0.0, 0.0, -50.5, 50.5, 0.0, 0.0, 1.0],
);
const Z: ([i32; 6], [f64; 7]) = (
    [23, 2, 1, 2, 0, 0],
    [1.25, -3e-5, 49.5, 150.5, 91.1, 0.0, 9.0],
);

#[test]
fn an_event_is_written_as_the_accord_has_it() {
    let text = written(&record(HEAD_OF_EVENT, &[GLUON, ANTIQUARK, Z], 5), 5, 0.5).expect("events");
    let lines = [
        "<event>",
        "   3    3 +1.0000000000e+00 9.1188000000e+01 0.0000000000e+00 1.1800000000e-01",
        "  21   -1    0    0  501  502 +0.0000000000000000e+00 -0.0000000000000000e+00 +1.0000000000000000e+02 \
         1.0000000000000000e+02 0.0000000000000000e+00 0.0000e+00 -1.0000e+00",
        "  -2   -1    0    0    0  501 +0.0000000000000000e+00 +0.0000000000000000e+00 -5.0500000000000000e+01 \
         5.0500000000000000e+01 0.0000000000000000e+00 0.0000e+00 +1.0000e+00",
        "  23    2    1    2    0    0 +1.2500000000000000e+00 -3.0000000000000001e-05 +4.9500000000000000e+01 \
         1.5050000000000000e+02 9.1099999999999994e+01 0.0000e+00 +9.0000e+00",
        "</event>\n",
    ];
    assert_eq!(text, lines.join("\n"));
}

#[test]
fn what_is_no_event_is_an_error() {
    let good = record(HEAD_OF_EVENT, &[GLUON, ANTIQUARK], 2);
    let empty = record(HEAD_OF_EVENT, &[], 2);
    let error = written(&[good.clone(), empty].concat(), 2, 1.0).expect_err("no particles");
    assert!(error.to_string().contains("event 1 (from 0)"), "{error}");
    for at in [4, 12, 20, 28, 36 + 24, 36 + 80 + 72] {
        let mut bad = good.clone();
        bad[at..at + 8].copy_from_slice(&f64::NAN.to_le_bytes());
        written(&bad, 2, 1.0).expect_err("NaN");
    }
    written(&good, 2, f64::INFINITY).expect_err("an infinite weight");
}

#[test]
fn the_longest_text_has_room() {
    let number = -f64::MIN_POSITIVE * 1.234_567_890_123_456_7;
    let particle = ([i32::MIN; 6], [number; 7]);
    let text =
        written(&record((i32::MIN, [number; 4]), &[particle; 9], 9), 9, 1.0).expect("events");
    assert!(text.len() <= EVENT_TEXT + 9 * PARTICLE_TEXT);
    let longest = text.lines().map(str::len).max().expect("lines");
    assert!(
        (PARTICLE_TEXT - 20..PARTICLE_TEXT).contains(&longest),
        "{longest}"
    );
}

#[test]
fn what_is_written_is_read() {
    let written_record = record(HEAD_OF_EVENT, &[GLUON, ANTIQUARK, Z], 3);
    let text = written(&written_record, 3, 1.0).expect("events");
    let text = format!("<LesHouchesEvents>\n{text}</LesHouchesEvents>\n");
    let path = std::path::Path::new("f");
    let mut reader =
        Reader::new(Box::new(std::io::Cursor::new(text)), path, false).expect("a file");
    let (mut event, mut heads, mut particles) = (Event::default(), Vec::new(), Vec::new());
    assert!(reader.next(&mut event).expect("an event"));
    event.push_head(&mut heads);
    event.push_particles(&mut particles);
    heads.append(&mut particles);
    assert_eq!(heads, written_record);
}
