//! What cookies and stored splits depend on. The buckets and orders were computed by a program of
//! its own, which was checked with SipHash's reference vector: never change a value here.

use super::{Salt, Split, split};

const COUNTING: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const KEYS: [&str; 4] = ["", "visitor-1", "a", "client@example.com"];

#[test]
fn buckets_of_keys() {
    let buckets = |salt| KEYS.map(|key| Salt::from_bytes(salt).bucket(key.as_bytes()));
    assert_eq!(buckets([0; 16]), [8202, 9857, 2517, 8859]);
    assert_eq!(buckets(COUNTING), [6705, 7772, 1099, 4390]);
}

#[test]
fn orders_of_buckets() {
    let zero = Salt::from_bytes([0; 16]).order();
    assert_eq!(
        (&zero[..8], &zero[9997..]),
        (&[4382, 7621, 1485, 5510, 6350, 6843, 1352, 9131][..], &[7850, 4757, 5350][..])
    );
    let counting = Salt::from_bytes(COUNTING).order();
    assert_eq!(
        (&counting[..8], &counting[9997..]),
        (&[4483, 4361, 1289, 7477, 5668, 844, 2117, 449][..], &[2758, 3713, 1107][..])
    );
}

#[test]
fn the_stored_form_and_its_digest() {
    let split = split(COUNTING, &[("base", 9500), ("next", 500)]);
    let json = r#"{"format":1,"arms":[{"target":{"release":"base"},"weight":95},{"target":{"release":"next"},"weight":5}],"salt":"000102030405060708090a0b0c0d0e0f","table":[[1,500],[0,9500]]}"#;
    assert_eq!(serde_json::to_string(&split).expect("JSON"), json);
    assert_eq!(split.digest().to_string(), "sha256:9f1d3e4ff77701536434d87183139473266d78df005d41f10b8c322e10af741d");
    assert_eq!(serde_json::from_str::<Split>(json).expect("a split"), split);
}

#[test]
fn a_stored_split_that_contradicts_itself_is_refused() {
    let json = serde_json::to_string(&split(COUNTING, &[("base", 9500), ("next", 500)])).expect("JSON");
    for (what, with) in [
        ("[1,500],[0,9500]", "[1,501],[0,9499]"),
        ("[1,500],[0,9500]", "[1,500],[0,9501]"),
        ("[1,500],[0,9500]", "[1,500],[2,9500]"),
        ("[1,500],[0,9500]", "[1,500]"),
        (":95}", ":94}"),
        ("\"format\":1", "\"format\":2"),
        ("0e0f", "0e0"),
    ] {
        let changed = json.replacen(what, with, 1);
        assert_ne!(changed, json);
        assert!(serde_json::from_str::<Split>(&changed).is_err(), "{changed}");
    }
}
