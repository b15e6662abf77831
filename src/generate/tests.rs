use super::*;

#[test]
fn placeholder() {
    let process = generate("g g > t t~").unwrap().remove(0);
    assert_eq!(process.diagrams, 3);
}
