/// How many times as often units of the candidate may be struck; the alternatives that the
/// evidence is averaged over.
const RATIOS: [f64; 7] = [1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0];

/// The share of the error budget that the first round has; all later rounds share the rest.
const FIRST_ROUND: f64 = 0.9;
/// The sum of 1/n² over all n.
const SUM_OF_SQUARES: f64 = std::f64::consts::PI * std::f64::consts::PI / 6.0;

/// The evidence that units of the candidate are struck more often than units of the base: a
/// likelihood ratio, averaged over [`RATIOS`].
///
/// If the arms are equal, each newly struck unit is one of the candidate's with the probability
/// `theta`, its share of the units not struck yet, because the salt dealt the units at random. Then
/// the expected value stays at most 1, and by Ville's inequality the evidence *ever* reaches x with
/// a probability of at most 1/x: looking often does not raise false alarms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence([f64; RATIOS.len()]);

impl Default for Evidence {
    fn default() -> Self {
        Self([0.0; RATIOS.len()])
    }
}

impl Evidence {
    /// Adds `struck` newly struck units, `on_candidate` of them on the candidate.
    pub fn add(&mut self, struck: u64, on_candidate: u64, theta: f64) {
        for (log, ratio) in self.0.iter_mut().zip(RATIOS) {
            *log += on_candidate as f64 * ratio.ln() - struck as f64 * (1.0 - theta + ratio * theta).ln();
        }
    }

    pub fn value(&self) -> f64 {
        self.0.iter().map(|log| log.exp()).sum::<f64>() / RATIOS.len() as f64
    }
}

/// The evidence at which a candidate is worse. Two tests share alpha, and so do all rounds of one:
/// the limit rises with each round.
pub fn limit(alpha: f64, round: u32) -> f64 {
    let share = match round {
        0 | 1 => FIRST_ROUND,
        later => (1.0 - FIRST_ROUND) / SUM_OF_SQUARES / f64::from(later - 1).powi(2),
    };
    2.0 / alpha / share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_all_rounds_share_alpha() {
        let spent: f64 = (1..100_000).map(|round| 1.0 / limit(0.01, round)).sum();
        assert!(spent < 0.005 && spent > 0.004_999, "{spent}");
        assert!((limit(0.01, 1) - 222.2).abs() < 0.1, "{}", limit(0.01, 1));
    }

    #[test]
    fn three_failures_of_a_small_candidate_suffice_and_two_do_not() {
        let mut evidence = Evidence::default();
        evidence.add(2, 2, 0.05);
        assert!(evidence.value() < limit(0.01, 1));
        evidence.add(1, 1, 0.05);
        assert!(evidence.value() > limit(0.01, 1));
    }

    #[test]
    fn failures_in_proportion_are_no_evidence() {
        let mut evidence = Evidence::default();
        evidence.add(100, 25, 0.25);
        assert!(evidence.value() < 1.0);
        evidence.add(1, 1, 1.0);
        evidence.add(1, 0, 0.0);
        assert!(evidence.value().is_finite());
    }
}
