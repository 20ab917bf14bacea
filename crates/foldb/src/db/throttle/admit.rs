//! The decision at the gates: a write goes on, or waits for one thing.
//!
//! It is a pure function of what the gates show, so a test can draw any state. [`super::room`]
//! looks at the gates and acts on the verdict:
//!
//! ```text
//! look at the gates ─► admit ─► Go           the write begins
//!        ▲                  ├─► Seal         a memtable is sealed, then the next look
//!        └──────────────────┼─► CheckMemory  once for each write, then the next look
//!                           ├─► Wait         without the lock, then the next look
//!                           └─► Refuse       an error: the disk is full
//! ```
//!
//! Invariants: a write goes on only if its memtables have room. A memtable that is due is sealed
//! before any pause, because its flush ends the pause. All pauses of a write together are bounded.

use std::time::Duration;

use crate::events::StallReason;

/// Whether memtables are to be sealed before the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    NotDue,
    /// The memtables have room, but the next ones need the time of a flush.
    Early,
    /// The write has no room, or the log is long.
    Due,
}

/// A pause at the pace of flushes or compactions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause {
    /// When the pause ends.
    pub(super) until: Duration,
    /// The longest time of all pauses of the write together.
    pub(super) most: Duration,
    pub(super) why: StallReason,
}

/// What is known of the memory of all memtables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Memory {
    #[default]
    NotChecked,
    /// It exceeds its share: the write pauses once, until then.
    Over(Duration),
    Fits,
}

/// What the gates show to a write.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gates {
    /// Whether the disk is full, and the write does not only delete.
    pub(super) lacks_space: bool,
    pub(super) seal: Seal,
    /// Why nothing may be sealed now. `None` if it may, or if no seal is due.
    pub(super) stopped: Option<StallReason>,
    /// The pause that is due. `None` if a seal comes first.
    pub(super) pause: Option<Pause>,
    /// How long the write has paused at a pace so far.
    pub(super) paused: Duration,
    pub(super) memory: Memory,
}

/// What a write does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Go,
    Seal,
    CheckMemory,
    /// Wait until then; without a time, until memtables may be sealed.
    Wait {
        why: StallReason,
        until: Option<Duration>,
    },
    Refuse,
}

/// Returns what a write does next.
pub(super) fn admit(gates: &Gates, now: Duration) -> Verdict {
    if gates.lacks_space {
        return Verdict::Refuse;
    }
    match (gates.seal, gates.stopped) {
        (Seal::Due, Some(why)) => return Verdict::Wait { why, until: None },
        (Seal::Due | Seal::Early, None) => return Verdict::Seal,
        (Seal::NotDue, _) | (Seal::Early, Some(_)) => {}
    }
    if let Some(Pause { until, most, why }) = gates.pause {
        let until = until.min(now + most.saturating_sub(gates.paused));
        if until > now {
            return Verdict::Wait { why, until: Some(until) };
        }
    }
    match gates.memory {
        Memory::NotChecked => Verdict::CheckMemory,
        Memory::Over(until) if until > now => {
            Verdict::Wait { why: StallReason::Memory, until: Some(until) }
        }
        Memory::Over(_) | Memory::Fits => Verdict::Go,
    }
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn stalls() -> impl Strategy<Value = StallReason> {
        prop_oneof![Just(StallReason::Memtables), Just(StallReason::CompactionDebt)]
    }

    fn times() -> impl Strategy<Value = Duration> {
        (0..200u64).prop_map(Duration::from_millis)
    }

    fn pauses() -> impl Strategy<Value = Pause> {
        (times(), times(), stalls()).prop_map(|(until, most, why)| Pause { until, most, why })
    }

    prop_compose! {
        /// Any state of the gates, at any time of the write.
        fn gates()(
            lacks_space in prop::bool::weighted(0.1),
            seal in prop_oneof![Just(Seal::NotDue), Just(Seal::Early), Just(Seal::Due)],
            stopped in option::of(stalls()),
            pause in option::of(pauses()),
            paused in times(),
            memory in prop_oneof![
                Just(Memory::NotChecked),
                Just(Memory::Fits),
                times().prop_map(Memory::Over),
            ],
        ) -> Gates {
            Gates { lacks_space, seal, stopped, pause, paused, memory }
        }
    }

    proptest! {
        #[test]
        fn a_write_goes_on_only_through_open_gates(gates in gates(), now in times()) {
            match admit(&gates, now) {
                Verdict::Refuse => prop_assert!(gates.lacks_space),
                _ if gates.lacks_space => prop_assert!(false, "it takes the last space"),
                Verdict::Go => {
                    prop_assert!(gates.seal != Seal::Due, "there is no room");
                    prop_assert!(gates.memory != Memory::NotChecked);
                }
                Verdict::Seal => {
                    prop_assert!(gates.seal != Seal::NotDue && gates.stopped.is_none());
                }
                Verdict::CheckMemory => prop_assert_eq!(gates.memory, Memory::NotChecked),
                // A worker ends this wait: there is a reason, and so there is work.
                Verdict::Wait { why, until: None } => prop_assert_eq!(gates.stopped, Some(why)),
                Verdict::Wait { until: Some(until), .. } => {
                    prop_assert!(until > now, "a pause takes time");
                    let seals = gates.seal != Seal::NotDue && gates.stopped.is_none();
                    prop_assert!(!seals && gates.seal != Seal::Due, "a seal comes before a pause");
                }
            }
        }

        /// However the gates change while a write waits, it pauses no longer than the longest bound
        /// that it met, and once for memory.
        #[test]
        fn all_pauses_of_a_write_are_bounded(looks in prop::collection::vec(gates(), 1..60)) {
            let (mut now, mut paused) = (Duration::ZERO, Duration::ZERO);
            let mut memory = Memory::default();
            let (mut most, mut for_memory) = (Duration::ZERO, 0);
            for look in looks {
                let pause = look.pause.map(|pause| Pause { until: now + pause.until, ..pause });
                most = pause.map_or(most, |pause| pause.most.max(most));
                match admit(&Gates { pause, paused, memory, ..look }, now) {
                    Verdict::CheckMemory => memory = Memory::Over(now + Duration::from_millis(10)),
                    Verdict::Wait { why: StallReason::Memory, until } => {
                        for_memory += 1;
                        now = until.expect("such a pause has an end");
                    }
                    Verdict::Wait { until: Some(until), .. } => {
                        paused += until - now;
                        now = until;
                    }
                    _ => {}
                }
                prop_assert!(paused <= most && for_memory <= 1, "{paused:?} of {most:?}");
            }
        }

        /// Workers that do what a stopped write waits for, and time that passes, let each write
        /// through after few looks.
        #[test]
        fn a_write_goes_on_once_workers_have_done_their_work(
            mut gates in gates(),
            flushes in 0..5u32,
        ) {
            gates.lacks_space = false;
            let (mut now, mut flushes) = (Duration::ZERO, flushes);
            for _ in 0..20 {
                match admit(&gates, now) {
                    Verdict::Go => return Ok(()),
                    Verdict::Refuse => prop_assert!(false, "there is space"),
                    Verdict::Seal => gates.seal = Seal::NotDue,
                    Verdict::CheckMemory => {
                        gates.memory = Memory::Over(now + Duration::from_millis(10));
                    }
                    Verdict::Wait { until: None, .. } => {
                        flushes = flushes.saturating_sub(1);
                        gates.stopped = gates.stopped.filter(|_| flushes > 0);
                    }
                    Verdict::Wait { why: StallReason::Memory, until } => now = until.unwrap_or(now),
                    Verdict::Wait { until: Some(until), .. } => {
                        gates.paused += until - now;
                        now = until;
                    }
                }
            }
            prop_assert!(false, "still waiting: {gates:?} at {now:?}");
        }
    }
}
