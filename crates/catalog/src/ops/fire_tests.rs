use milepost_model::Selector;
use milepost_model::clock::from_millis;

use super::*;

const MINUTE: i64 = 60_000;

fn job(cron: Option<&str>, next_at: i64) -> Job {
    Job {
        id: "j".to_owned(),
        name: String::new(),
        function: "f".parse().expect("a name"),
        selector: Selector::Latest,
        version: None,
        cron: cron.map(str::to_owned),
        zone: String::new(),
        first_at: None,
        count: None,
        input: None,
        state: JobState::Running,
        next_at: Some(from_millis(next_at)),
        fired: 1,
        created_at: from_millis(0),
        created_by: String::new(),
        updated_at: None,
    }
}

fn ticks(step: &Step) -> Vec<i64> {
    step.ticks.iter().map(|tick| tick.as_millisecond() / MINUTE).collect()
}

#[test]
fn a_punctual_job_fires_its_tick_and_schedules_the_next() {
    let step = step(&job(Some("* * * * *"), 10 * MINUTE), from_millis(10 * MINUTE + 5));
    assert_eq!(ticks(&step), [10]);
    let after = step.advance("j".to_owned(), 1, 1);
    assert_eq!((after.next_at, after.state), (Some(from_millis(11 * MINUTE)), JobState::Running));
    assert_eq!((after.fired, after.remaining), (2, None));
}

#[test]
fn after_downtime_endless_jobs_run_the_newest_tick_and_counted_jobs_none() {
    let now = from_millis(100 * MINUTE + 30_000);
    let endless = step(&job(Some("*/10 * * * *"), 20 * MINUTE), now);
    assert_eq!((ticks(&endless), endless.skipped), (vec![100], 8));
    let late = from_millis(105 * MINUTE);
    let endless = step(&job(Some("*/10 * * * *"), 20 * MINUTE), late);
    assert_eq!((ticks(&endless), endless.skipped), (vec![100], 8));
    let counted = step(&Job { count: Some(3), ..job(Some("*/10 * * * *"), 20 * MINUTE) }, late);
    assert_eq!((ticks(&counted), counted.skipped), (vec![], 9));
    let after = counted.advance("j".to_owned(), 1, 0);
    assert_eq!((after.next_at, after.remaining), (Some(from_millis(110 * MINUTE)), Some(3)));
}

#[test]
fn the_first_time_fires_however_late() {
    let first = Job { first_at: Some(from_millis(5 * MINUTE)), fired: 0, ..job(None, 5 * MINUTE) };
    let done = step(&Job { count: Some(1), ..first.clone() }, from_millis(500 * MINUTE));
    assert_eq!(ticks(&done), [5]);
    let after = done.advance("j".to_owned(), 0, 1);
    assert_eq!((after.remaining, after.state), (Some(0), JobState::Done));
    let more = Job { cron: Some("*/10 * * * *".to_owned()), ..first };
    let step = step(&more, from_millis(505 * MINUTE));
    assert_eq!((ticks(&step), step.next_at), (vec![5], Some(from_millis(510 * MINUTE))));
}

#[test]
fn the_last_counted_execution_ends_the_job() {
    let last = Job { count: Some(1), ..job(Some("@every 1s"), MINUTE) };
    let step = step(&last, from_millis(MINUTE + 10_000));
    assert_eq!(ticks(&step), [1]);
    let after = step.advance("j".to_owned(), 1, 1);
    assert_eq!((after.remaining, after.next_at, after.state), (Some(0), None, JobState::Done));
}

#[test]
fn a_tick_with_an_execution_is_not_counted_again() {
    let last = Job { count: Some(1), ..job(Some("@every 1s"), MINUTE) };
    let step = step(&last, from_millis(MINUTE + 500));
    let next_at = step.next_at;
    let after = step.advance("j".to_owned(), 7, 0);
    assert_eq!((after.fired, after.remaining, after.state), (7, Some(1), JobState::Running));
    assert_eq!((after.next_at, next_at.is_some()), (next_at, true));
}
