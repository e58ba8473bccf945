use milepost_model::clock::from_millis;
use milepost_model::rollout::judge::{ClosedTick, Judge, Observation, Outcome, SlowLimits, Tick, Verdict};
use milepost_model::rollout::{Event, Plan, Rollout, Scope, State};
use milepost_model::split::{BucketSet, Target, Weight};

/// Traffic and a candidate. Times are in seconds, shares from 0 to 1.
#[derive(Clone)]
pub struct World {
    /// Requests a second, of all clients.
    pub rate: f64,
    pub clients: usize,
    /// The standard deviation of the logarithm of a client's activity.
    pub skew: f64,
    /// The share of requests that fail on either arm.
    pub failing: f64,
    /// Those that fail on the candidate in addition, from a time on.
    pub candidate_failing: f64,
    pub from: f64,
    /// So many clients fail with this probability and are this much more active.
    pub bad_clients: (usize, f64, f64),
    /// Both arms fail with a probability from one time to another.
    pub outage: Option<(f64, f64, f64)>,
    /// The candidate's factor of time.
    pub slower: f64,
    /// So many first requests of the candidate wait for an instance.
    pub cold: u64,
    /// The share of the candidate's requests that go to the slow route; the base's is 0.2.
    pub mix: f64,
    /// Percent.
    pub steps: Vec<u16>,
    /// Of each step.
    pub time: f64,
}

impl Default for World {
    fn default() -> Self {
        Self {
            rate: 20.0,
            clients: 5000,
            skew: 1.0,
            failing: 0.002,
            candidate_failing: 0.0,
            from: 0.0,
            bad_clients: (0, 0.0, 1.0),
            outage: None,
            slower: 1.0,
            cold: 0,
            mix: 0.2,
            steps: vec![5, 25, 50],
            time: 120.0,
        }
    }
}

pub struct Ended {
    pub aborted: bool,
    pub promoted: bool,
    pub candidate_requests: u64,
}

/// SplitMix64: the same numbers on every machine.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.share()).ln()
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.share()).ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

struct Client {
    /// The activity of this one and all before it.
    until: f64,
    bucket: u16,
    failing: f64,
}

fn clients(world: &World, dice: &mut Dice) -> Vec<Client> {
    let mut until = 0.0;
    let client = |index: usize| {
        let (count, failing, activity) = world.bad_clients;
        let (failing, activity) = if index < count { (failing, activity) } else { (0.0, 1.0) };
        until += (world.skew * dice.normal()).exp() * activity;
        Client { until, bucket: (dice.next() % 10_000) as u16, failing }
    };
    (0..world.clients).map(client).collect()
}

/// Two routes: most requests take 50 ms at the median, the others 300 with a longer tail.
fn request(world: &World, candidate: bool, dice: &mut Dice) -> (&'static str, u64) {
    let mix = if candidate { world.mix } else { 0.2 };
    let (route, median, spread) = if dice.share() < mix { ("/report", 300_000.0, 0.8) } else { ("/", 50_000.0, 0.5) };
    let factor = if candidate { world.slower } else { 1.0 };
    (route, (median * factor * (spread * dice.normal()).exp()) as u64)
}

/// The seconds of a tick, and those after a failure.
const TICK: f64 = 10.0;
const AFTER_FAILURE: f64 = 0.25;
/// Steps hold at most this many times their time.
const PATIENCE: f64 = 4.0;

/// Plays a rollout to its end, as the gateway and the judge would. Buckets are dealt to clients at
/// random, so the candidate may have the lowest numbers.
pub fn simulate(world: &World, seed: u64) -> Ended {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 77);
    let clients = clients(world, &mut dice);
    let active = clients.last().map_or(0.0, |client| client.until);
    let plan: Plan = serde_json::from_value(serde_json::json!({
        "steps": world.steps,
        "for": format!("{}s", world.time),
        "min": 50,
        "clients": 3,
    }))
    .expect("a plan");
    plan.check().expect("a plan that can be carried out");
    let moment = |seconds: f64| from_millis(1_800_000_000_000 + (seconds * 1000.0) as i64);
    let target = |id: &str| Target::Release(id.to_owned());
    let new = Rollout::new(Scope::App, target("base"), target("next"), plan.clone(), moment(0.0));
    let apply = |rollout: &Rollout, event: Event, now: f64| rollout.apply(&event, moment(now)).expect("fits").rollout;
    let mut rollout = apply(&apply(&new, Event::Begin, 0.0), Event::Ready, 0.0);

    let mut judge = Judge::default();
    let (mut now, mut candidate_requests, mut cold) = (0.0, 0, world.cold);
    let last = world.time * world.steps.len() as f64 * PATIENCE;
    while rollout.is_open() && now < last {
        let cut = rollout.weight.hundredths();
        let (mut tick, mut ends) = (Tick::default(), now + TICK);
        let limits: SlowLimits = judge.slow_limits(&plan);
        loop {
            let next = now + dice.exponential() / world.rate;
            if next > ends {
                now = ends;
                break;
            }
            now = next;
            let at = dice.share() * active;
            let Client { bucket, failing, .. } =
                clients[clients.partition_point(|client| client.until < at).min(clients.len() - 1)];
            let candidate = bucket < cut;
            let outage =
                world.outage.filter(|(from, to, _)| (*from..*to).contains(&now)).map_or(0.0, |(_, _, share)| share);
            let mut fails = world.failing.max(failing).max(outage);
            if candidate {
                candidate_requests += 1;
                if now >= world.from {
                    fails += world.candidate_failing * (1.0 - fails);
                }
            }
            let starts = candidate && cold > 0;
            cold -= u64::from(starts);
            let (route, micros) = request(world, candidate, &mut dice);
            let outcome = if dice.share() < fails { Outcome::Failed } else { Outcome::Answered };
            if outcome == Outcome::Failed {
                ends = ends.min(now + AFTER_FAILURE);
            }
            let micros = if starts { micros + 2_000_000 } else { micros };
            tick.record(
                Observation { bucket, arm: usize::from(candidate), outcome, cold: starts, route, micros },
                &limits,
            );
        }
        let candidates: BucketSet = (0..cut).collect();
        let weight = Weight::from_hundredths(cut).expect("a weight");
        judge.add(&ClosedTick { ended: moment(now), weight, candidates, tick }, &plan.sticky);
        let verdict: Verdict = judge.verdict(&plan, rollout.step, rollout.since, moment(now));
        let step = rollout.step;
        rollout = apply(&rollout, Event::Judged { step, verdict }, now);
        if rollout.step != step {
            judge.begin_step();
        }
    }
    Ended {
        aborted: matches!(rollout.state, State::Aborted { .. }),
        promoted: matches!(rollout.state, State::Promoted { .. }),
        candidate_requests,
    }
}
