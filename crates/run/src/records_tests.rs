use super::*;
use mebridge::lhe::Record;
use std::fs;

/// Headers written by NumPy 2.4: `np.lib.format.write_array_header_2_0` for records, `np.save` for the others.
#[test]
fn headers_are_those_of_numpy() {
    let one = header(&record_kind(1), &[7], 2);
    let text = "{'descr': [('process_id', '<i4'), ('weight', '<f8'), ('scale', '<f8'), ('alpha_qed', '<f8'), \
                ('alpha_qcd', '<f8'), ('part1_pdg_id', '<i4'), ('part1_status_code', '<i4'), ('part1_mother1', '<i4'), \
                ('part1_mother2', '<i4'), ('part1_color', '<i4'), ('part1_anti_color', '<i4'), ('part1_px', '<f8'), \
                ('part1_py', '<f8'), ('part1_pz', '<f8'), ('part1_energy', '<f8'), ('part1_mass', '<f8'), \
                ('part1_lifetime', '<f8'), ('part1_spin', '<f8')], 'fortran_order': False, 'shape': (7,), }";
    assert_eq!(one[..12], *b"\x93NUMPY\x02\x00\xf4\x01\x00\x00");
    assert_eq!(one[12..], *format!("{text:<499}\n").as_bytes());
    let doubles = header(DOUBLE, &[0, 4], 1);
    assert_eq!(doubles[..10], *b"\x93NUMPY\x01\x00v\x00");
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 4), }";
    assert_eq!(doubles[10..], *format!("{text:<117}\n").as_bytes());
    let matched = header(&matched_kind(7), &[0], 1);
    assert_eq!(matched[..10], *b"\x93NUMPY\x01\x006\x01");
    let text = "{'descr': [('weight', '<f8'), ('start', '<f8'), ('pt', '<f8', (5,)), ('steps', '<f8', (5,)), \
                ('legs', '<i4', (5, 3)), ('emissions', '<f8', (5,)), ('pdg', '<i4', (2, 7)), ('x', '<f8', (2, 7)), \
                ('q', '<f8', (2, 7))], 'fortran_order': False, 'shape': (0,), }";
    assert_eq!(matched[10..], *format!("{text:<309}\n").as_bytes());
    assert_eq!([2, 3, 7].map(MatchingRecord::bytes), [132, 172, 476]);
    for (particles, events, bytes) in [(5, 50_000, 1856), (12, 123_456, 4096)] {
        assert_eq!(header(&record_kind(particles), &[events], 2).len(), bytes);
    }
    // Lengths above 16 bits need version 2.
    assert_eq!(header(&"x".repeat(70_000), &[1], 1)[6], 2);
}

fn records(weights: &[f64]) -> Vec<u8> {
    let mut bytes = vec![0; record_bytes(2).unwrap() * weights.len()];
    for (row, weight) in bytes
        .chunks_exact_mut(record_bytes(2).unwrap())
        .zip(weights)
    {
        row[4..12].copy_from_slice(&weight.to_le_bytes());
    }
    bytes
}

fn append(path: &Path, bytes: &[u8]) {
    let file = fs::OpenOptions::new().append(true).open(path);
    file.unwrap().write_all(bytes).unwrap();
}

#[test]
fn files_that_are_not_whole_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("round0000.npy");
    let found: Vec<f64> = (1..=1000).map(f64::from).collect();
    begin(&path, 1000, 2).unwrap();
    append(&path, &records(&found));
    let (table, _) = RowFile::records(&path, 1000).unwrap();
    let mut there = Vec::new();
    let take = |row: &[u8]| there.push(Record::new(row).weight());
    table.each(1000, take).unwrap();
    assert_eq!(there, found);
    let whole = fs::read(&path).unwrap();
    let refused = |bytes: &[u8], events: usize, why: &str| {
        fs::write(&path, bytes).unwrap();
        let error = RowFile::records(&path, events).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    let size = whole.len();
    for cut in [0, 5, 11, 100, 1000, size / 2, size - 1] {
        refused(
            &whole[..cut],
            1000,
            "does not hold the 1000 events that were made; is the disk full?",
        );
    }
    refused(&[&whole[..], b"x"].concat(), 1000, "1000 events");
    refused(&whole, 999, "999 events");
    let mut other = whole.clone();
    let place = whole.windows(6).position(|word| word == b"weight").unwrap();
    other[place] = b'h';
    refused(
        &other,
        1000,
        "has other fields than those of this version; make the run again",
    );
    refused(&header(DOUBLE, &[3, 2], 1), 3, "other fields");
    fs::remove_file(&path).unwrap();
    assert!(
        RowFile::records(&path, 1)
            .unwrap_err()
            .to_string()
            .contains("round0000.npy")
    );
}

#[test]
fn weights_are_summed_up() {
    let of = |weights: &[f64]| RoundWeights::read("x.npy".as_ref(), weights);
    let found = of(&[2.0, -2.0, 2.0 + 1e-9, 5.0, 1e30, -1e30]).unwrap();
    let wanted = RoundWeights {
        nominal: 2.0,
        total: 7.0 + 1e-9,
        above: 3,
        largest: 1e30,
        absolute: 2e30,
        biased: None,
    };
    assert_eq!(found, wanted);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0] {
        let error = of(&[1.0, bad]).unwrap_err().to_string();
        assert_eq!(
            error,
            "x.npy does not hold the 2 events that were made; is the disk full?"
        );
    }
    assert!(of(&[]).is_err());
    // Also as lists, as earlier versions wrote them.
    let list = serde_json::json!([2.0, 7.0 + 1e-9, 3, 1e30, 2e30]);
    assert_eq!(
        serde_json::from_value::<RoundWeights>(list).unwrap(),
        wanted
    );
}

#[test]
fn weights_with_a_bias_are_summed_up() {
    let (weights, biased) = ([4.0, -1.0, 0.5], [2.0, -2.0, 3.0]);
    let found = RoundWeights::from_biased("x.npy".as_ref(), &weights, &biased, 2.0).unwrap();
    let wanted = RoundWeights {
        nominal: 2.0,
        total: 3.5,
        above: 1,
        largest: 3.0,
        absolute: 5.5,
        biased: Some(7.0),
    };
    assert_eq!(found, wanted);
    assert_eq!(found.drawn(), 7.0);
    let without = RoundWeights::read("x.npy".as_ref(), &weights).unwrap();
    assert_eq!(without.drawn(), 5.5);
    assert!(
        RoundWeights::from_biased("x.npy".as_ref(), &[1.0, f64::NAN], &biased[..2], 2.0).is_err()
    );
}

#[test]
fn what_lies_beside_records() {
    let folder = tempfile::tempdir().unwrap();
    let round = folder.path().join("round0012.npy");
    let names = [ratios(&round), scales(&round), matched(&round)];
    let names = names.map(|path| path.file_name().unwrap().to_owned());
    assert_eq!(
        names,
        [
            "round0012.weights.npy",
            "round0012.scales.npy",
            "round0012.matched.npy"
        ]
    );
    let (numbers, path) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], scales(&round));
    write_doubles(&path, &numbers, 2, 3).unwrap();
    let table = RowFile::doubles(&path, 3, 2).unwrap();
    let mut bytes = Vec::new();
    table.read(1, 2, &mut bytes).unwrap();
    assert_eq!(doubles(&bytes).collect::<Vec<_>>(), numbers[2..]);
    let columns = RowFile::doubles(&path, 3, 3).unwrap_err().to_string();
    assert!(columns.contains("other fields"), "{columns}");
    let path = matched(&round);
    write_matched(&path, &vec![0; 2 * MatchingRecord::bytes(5)], 5).unwrap();
    assert_eq!(RowFile::matched(&path, 2).unwrap().1, 5);
    append(&path, b"x");
    assert!(RowFile::matched(&path, 2).is_err());
}
