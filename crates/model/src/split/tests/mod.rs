mod golden;
mod properties;
mod sets;

use super::{Arm, Salt, Split, SplitError, Target, Weight};

fn release(id: &str) -> Target {
    Target::Release(id.to_owned())
}

fn arms(weights: &[(&str, u16)]) -> Vec<Arm> {
    let arm = |(id, weight): &(&str, u16)| Arm {
        target: release(id),
        weight: Weight::from_hundredths(*weight).expect("a weight"),
    };
    weights.iter().map(arm).collect()
}

fn split(salt: [u8; 16], weights: &[(&str, u16)]) -> Split {
    Split::new(Salt::from_bytes(salt), arms(weights)).expect("a split")
}

#[test]
fn refuses_arms_that_are_no_split() {
    let new = |weights: &[(&str, u16)]| Split::new(Salt::from_bytes([0; 16]), arms(weights)).expect_err("refused");
    assert_eq!(new(&[("a", 10_000)]), SplitError::Arms(1));
    let many: Vec<(String, u16)> =
        (0..9).map(|index| (index.to_string(), if index == 0 { 10_000 } else { 0 })).collect();
    let many: Vec<(&str, u16)> = many.iter().map(|(id, weight)| (id.as_str(), *weight)).collect();
    assert_eq!(new(&many), SplitError::Arms(9));
    assert_eq!(new(&[("a", 9000), ("a", 1000)]).to_string(), "release `a` is given twice");
    assert_eq!(new(&[("a", 9000), ("b", 500)]).to_string(), "the weights sum to 95 %, not to 100 %");
    assert_eq!(new(&[("a", 9000), ("b", 1001)]).to_string(), "the weights sum to 100.01 %, not to 100 %");
}

#[test]
fn weights_are_percentages_with_two_decimals() {
    for (text, hundredths) in
        [("5", 500), ("12.5", 1250), ("0.01", 1), ("100", 10_000), ("0", 0), ("5%", 500), ("5 %", 500)]
    {
        assert_eq!(text.parse::<Weight>().expect(text).hundredths(), hundredths, "{text}");
    }
    for text in ["", "%", "-1", "+5", "100.01", "101", "5.001", "1e1", ".5", "5.", "NaN", "65537"] {
        assert!(text.parse::<Weight>().is_err(), "{text}");
    }
    for hundredths in 0..=10_000 {
        let weight = Weight::from_hundredths(hundredths).expect("in range");
        assert_eq!(weight.to_string().parse(), Ok(weight));
        let json = serde_json::to_string(&weight).expect("JSON");
        assert_eq!(serde_json::from_str::<Weight>(&json).expect("a weight"), weight, "{json}");
    }
    assert_eq!(Weight::from_hundredths(10_001), None);
    assert!(serde_json::from_str::<Weight>("5.001").is_err());
}
