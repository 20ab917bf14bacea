//! Random calls against a model: a list of jobs in memory.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use foldb::env::Clock;
use foldb_queue::{Claimed, Depth, Fate, PushOptions, QueueOptions};
use proptest::prelude::*;

use crate::support::{Stage, audit, is_lost};

const MAX_ATTEMPTS: u32 = 3;
const RETRY_DELAY: u64 = 2;
/// Fewer than a claim wakes at once.
const MOST_JOBS: usize = 60;

#[derive(Clone, Debug)]
enum Step {
    Push { priority: i32, delay: u64 },
    Claim { lease: u64 },
    Ack(u8),
    Extend(u8, u64),
    Retry(u8, u64),
    Fail(u8),
    Bury(u8),
    Revive(u8),
    Discard(u8),
    Later(u64),
    Earlier(u64),
    Flush,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    // Few different numbers, so that times and priorities meet.
    let priority = prop_oneof![3 => Just(0), 1 => -1..=1, 1 => Just(i32::MIN)];
    prop_oneof![
        8 => (priority, prop_oneof![2 => Just(0), 1 => 0..6u64])
            .prop_map(|(priority, delay)| Step::Push { priority, delay }),
        10 => (0..8u64).prop_map(|lease| Step::Claim { lease }),
        5 => any::<u8>().prop_map(Step::Ack),
        2 => (any::<u8>(), 0..8u64).prop_map(|(claim, lease)| Step::Extend(claim, lease)),
        2 => (any::<u8>(), 0..4u64).prop_map(|(claim, after)| Step::Retry(claim, after)),
        2 => any::<u8>().prop_map(Step::Fail),
        1 => any::<u8>().prop_map(Step::Bury),
        1 => any::<u8>().prop_map(Step::Revive),
        1 => any::<u8>().prop_map(Step::Discard),
        5 => (1..5u64).prop_map(Step::Later),
        1 => (1..5u64).prop_map(Step::Earlier),
        1 => Just(Step::Flush),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Ready,
    Delayed { until: u64 },
    Leased { until: u64, claim: usize },
    Dead { reason: String },
    Done,
    Discarded,
}

/// What a job becomes that its claim held.
enum Next {
    Is(State),
    /// Ready after this many seconds. At its last attempt, dead for this reason.
    Attempt(u64, &'static str),
}

struct Job {
    priority: i32,
    attempts: u32,
    state: State,
}

/// The jobs by id. Seconds since 1970.
#[derive(Default)]
struct Model {
    now: u64,
    jobs: BTreeMap<u64, Job>,
}

impl Model {
    fn end_attempt(&mut self, id: u64, after: u64, reason: &str) -> Fate {
        let job = self.jobs.get_mut(&id).unwrap();
        if job.attempts >= MAX_ATTEMPTS {
            job.state = State::Dead { reason: reason.to_owned() };
            return Fate::Dead;
        }
        job.state = match after {
            0 => State::Ready,
            _ => State::Delayed { until: self.now + after },
        };
        Fate::Waits
    }

    fn claim(&mut self, lease: u64, claim: usize) -> Option<u64> {
        let ids: Vec<u64> = self.jobs.keys().copied().collect();
        for id in ids {
            match self.jobs[&id].state {
                State::Delayed { until } if until <= self.now => {
                    self.jobs.get_mut(&id).unwrap().state = State::Ready;
                }
                State::Leased { until, .. } if until <= self.now => {
                    self.end_attempt(id, 0, "the lease of worker 'ann' ended");
                }
                _ => {}
            }
        }
        let ready = self.jobs.iter().filter(|(_, job)| job.state == State::Ready);
        let (&id, _) = ready.min_by_key(|(id, job)| (-i64::from(job.priority), **id))?;
        let job = self.jobs.get_mut(&id).unwrap();
        job.attempts += 1;
        job.state = State::Leased { until: self.now + lease, claim };
        Some(id)
    }

    /// Returns the job that a claim holds.
    fn held(&self, claim: usize, id: u64) -> bool {
        matches!(self.jobs[&id].state, State::Leased { claim: own, .. } if own == claim)
    }

    fn depth(&self) -> [u64; 5] {
        let mut depth = [0; 5];
        for job in self.jobs.values() {
            let place = match job.state {
                State::Ready => 0,
                State::Delayed { .. } => 1,
                State::Leased { .. } => 2,
                State::Dead { .. } => 3,
                State::Done => 4,
                State::Discarded => continue,
            };
            depth[place] += 1;
        }
        depth
    }

    fn next_due(&self) -> Option<Duration> {
        let due = |job: &Job| match job.state {
            State::Ready => Some(0),
            State::Delayed { until } | State::Leased { until, .. } => {
                Some(until.saturating_sub(self.now))
            }
            _ => None,
        };
        self.jobs.values().filter_map(due).min().map(Duration::from_secs)
    }

    fn dead(&self, which: u8) -> Option<u64> {
        let is_dead = |job: &Job| matches!(job.state, State::Dead { .. });
        let dead: Vec<u64> =
            self.jobs.iter().filter(|(_, job)| is_dead(job)).map(|(id, _)| *id).collect();
        dead.get(usize::from(which) % dead.len().max(1)).copied()
    }
}

/// The queue and its model, and all claims that there ever were.
struct Play {
    stage: Stage,
    model: Model,
    claims: Vec<Claimed>,
    bodies: BTreeMap<u64, String>,
}

impl Play {
    fn push(&mut self, priority: i32, delay: u64) {
        if self.model.jobs.len() == MOST_JOBS {
            return;
        }
        let body = format!("push {}", self.bodies.len());
        let options = PushOptions { priority, delay: Duration::from_secs(delay) };
        let id = self.stage.jobs.push_with(&body, options).unwrap();
        assert!(self.bodies.keys().all(|&earlier| earlier < id), "ids rise");
        self.bodies.insert(id, body);
        let state = match delay {
            0 => State::Ready,
            _ => State::Delayed { until: self.model.now + delay },
        };
        self.model.jobs.insert(id, Job { priority, attempts: 0, state });
    }

    fn claim(&mut self, lease: u64) {
        let claim = self.stage.jobs.claim("ann", Duration::from_secs(lease)).unwrap();
        let expected = self.model.claim(lease, self.claims.len());
        assert_eq!(claim.as_ref().map(|claim| claim.id), expected);
        let Some(claim) = claim else { return };
        let job = &self.model.jobs[&claim.id];
        assert_eq!((claim.attempt, claim.priority), (job.attempts, job.priority));
        assert_eq!(claim.body, self.bodies[&claim.id].as_bytes());
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(self.model.now + lease);
        assert_eq!(claim.lease_end(), end);
        self.claims.push(claim);
    }

    /// Returns a claim, and whether it still holds its job.
    fn draw(&self, which: u8) -> Option<(usize, Claimed, bool)> {
        let at = usize::from(which) % self.claims.len().max(1);
        // Newer ones more often.
        let at = self.claims.len().checked_sub(1 + at / 2)?;
        let claim = self.claims[at].clone();
        let is_held = self.model.held(at, claim.id);
        Some((at, claim, is_held))
    }

    fn end(&mut self, which: u8, step: &Step) {
        let Some((at, claim, is_held)) = self.draw(which) else { return };
        let (jobs, id, now) = (&self.stage.jobs, claim.id, self.model.now);
        let (outcome, next) = match *step {
            Step::Ack(_) => (jobs.ack(&claim).map(|()| None), Next::Is(State::Done)),
            Step::Extend(_, lease) => {
                let outcome = jobs.extend(&mut self.claims[at], Duration::from_secs(lease));
                let state = State::Leased { until: now + lease, claim: at };
                (outcome.map(|()| None), Next::Is(state))
            }
            Step::Retry(_, after) => {
                let outcome = jobs.retry(&claim, Duration::from_secs(after));
                (outcome.map(Some), Next::Attempt(after, "worker 'ann' gave the job back"))
            }
            Step::Fail(_) => {
                (jobs.fail(&claim, "why").map(Some), Next::Attempt(RETRY_DELAY, "why"))
            }
            _ => {
                let state = State::Dead { reason: "hopeless".to_owned() };
                (jobs.bury(&claim, "hopeless").map(|()| None), Next::Is(state))
            }
        };
        assert_eq!(is_held, !is_lost(&outcome), "{outcome:?}");
        if !is_held {
            return;
        }
        let fate = outcome.unwrap();
        match next {
            Next::Is(state) => self.model.jobs.get_mut(&id).unwrap().state = state,
            Next::Attempt(after, why) => {
                assert_eq!(fate, Some(self.model.end_attempt(id, after, why)));
            }
        }
    }

    fn check(&self) {
        let Depth { ready, delayed, leased, dead, done, .. } = self.stage.jobs.depth().unwrap();
        assert_eq!([ready, delayed, leased, dead, done], self.model.depth());
        assert_eq!(self.stage.jobs.next_due().unwrap(), self.model.next_due());
        let letters = self.stage.jobs.dead().unwrap().map(|letter| {
            let letter = letter.unwrap();
            assert_eq!(letter.body, self.bodies[&letter.id].as_bytes());
            assert_eq!(letter.attempts, self.model.jobs[&letter.id].attempts);
            (letter.id, State::Dead { reason: letter.reason })
        });
        let letters: Vec<_> = letters.collect();
        let dead = self.model.jobs.iter().map(|(id, job)| (*id, job.state.clone()));
        let dead: Vec<_> = dead.filter(|(_, state)| matches!(state, State::Dead { .. })).collect();
        assert_eq!(letters, dead);
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Push { priority, delay } => self.push(priority, delay),
            Step::Claim { lease } => self.claim(lease),
            Step::Ack(which)
            | Step::Extend(which, _)
            | Step::Retry(which, _)
            | Step::Fail(which)
            | Step::Bury(which) => self.end(which, step),
            Step::Revive(which) => {
                let Some(id) = self.model.dead(which) else { return };
                self.stage.jobs.revive(id).unwrap();
                let job = self.model.jobs.get_mut(&id).unwrap();
                (job.attempts, job.state) = (0, State::Ready);
            }
            Step::Discard(which) => {
                let Some(id) = self.model.dead(which) else { return };
                self.stage.jobs.discard(id).unwrap();
                self.model.jobs.get_mut(&id).unwrap().state = State::Discarded;
            }
            Step::Later(seconds) => {
                self.stage.later(seconds);
                self.model.now += seconds;
            }
            Step::Earlier(seconds) => {
                self.model.now -= seconds;
                self.stage.clock.set_time_of_day(self.model.now);
            }
            Step::Flush => self.stage.db.flush().unwrap(),
            Step::Reopen => self.stage.reopen(),
        }
    }
}

fn play(steps: &[Step]) {
    let stage = Stage::new(QueueOptions {
        max_attempts: MAX_ATTEMPTS,
        retry_delay: Duration::from_secs(RETRY_DELAY),
        ..QueueOptions::default()
    });
    let model = Model { now: stage.clock.time_of_day().as_secs(), ..Model::default() };
    let mut play = Play { stage, model, claims: Vec::new(), bodies: BTreeMap::new() };
    for step in steps {
        play.step(step);
        play.check();
    }
    audit(&play.stage.db, &play.stage.jobs);
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_queue_does_as_its_model(steps in prop::collection::vec(step(), 1..120)) {
        play(&steps);
    }
}
