//! Tests which source of jobs the policy asks first.

use std::sync::Arc;

use crate::compaction::policy::choose::Decision;
use crate::compaction::policy::tests::drawing::Drawing;
use crate::compaction::policy::tests::policy;
use crate::compaction::policy::{
    CutRange, Loss, Policy, ReadJob, Shortage, Signals, Trials, Urgency, Verdict,
};
use crate::key::BytewiseComparator;
use crate::settings::CompactionPreset;

/// A tree of these lines, under lazy leveled with five levels.
fn tree(lines: &[&str]) -> (Policy, Drawing) {
    let mut policy = policy(CompactionPreset::LazyLeveled, 2 << 20);
    policy.num_levels = 5;
    let mut drawing = Drawing::new(5);
    for line in lines {
        assert!(drawing.line(line), "{line}");
    }
    (policy, drawing)
}

/// Its shape is right, reads meet three runs, and rest would compact the ripest slice.
fn three_runs() -> (Policy, Drawing) {
    tree(&[
        "dead 0.2",
        "L3: 3[g-l 60] 2[a-z 200]",
        "L4: 1[a-c 64, d-f 64, g-i 64, j-l 64, m-o 64, p-r 64, s-u 64, v-z 64]",
    ])
}

fn choose((policy, drawing): &(Policy, Drawing), signals: Signals) -> Decision {
    policy.choose(&drawing.tree, &signals, &BytewiseComparator)
}

fn urgency(decision: &Decision) -> Option<Urgency> {
    match decision.verdict {
        Verdict::Run(urgency, _) => Some(urgency),
        Verdict::Wait | Verdict::Rest => None,
    }
}

fn lost(job: ReadJob, bytes: u64) -> Loss {
    Loss { job, bytes }
}

#[test]
fn a_tree_in_its_shape_rests_until_something_asks() {
    let drawn = three_runs();
    assert_eq!(choose(&drawn, Signals::default()).verdict, Verdict::Rest);
    let idle = choose(&drawn, Signals { is_idle: true, ..Signals::default() });
    assert_eq!(urgency(&idle), Some(Urgency::Idle));
}

#[test]
fn reads_come_before_idle_time_and_learn_the_price_if_they_lost_too_little() {
    let drawn = three_runs();
    let little = [lost(ReadJob::FewerRuns, 1), lost(ReadJob::FewerTombstones, 1)];
    let decision = choose(&drawn, Signals { losses: &little, ..Signals::default() });
    assert_eq!(decision.verdict, Verdict::Rest);
    let price = decision.prices[0].expect("two runs lie above the last level");
    assert!(price > 1);
    assert_eq!(decision.prices[1], None, "there are no tombstones to be rid of");

    let much = [lost(ReadJob::FewerRuns, price)];
    let decision = choose(&drawn, Signals { losses: &much, is_idle: true, ..Signals::default() });
    assert_eq!(urgency(&decision), Some(Urgency::Reads));
    assert_eq!(decision.prices, [Some(price)]);
}

#[test]
fn a_loss_that_reaches_its_price_is_the_last_one_looked_at() {
    let drawn = three_runs();
    let only_b = CutRange { lo: Some(Arc::from(*b"b")), hi: Some(Arc::from(*b"b\0")) };
    let losses = [
        lost(ReadJob::FewerTombstones, 1),
        lost(ReadJob::FoldedKey(only_b), u64::MAX),
        lost(ReadJob::FewerRuns, u64::MAX),
    ];
    let decision = choose(&drawn, Signals { losses: &losses, ..Signals::default() });
    assert_eq!(urgency(&decision), Some(Urgency::Reads));
    assert_eq!(decision.prices.len(), 2, "fewer runs were not looked at");
    let Verdict::Run(_, pick) = decision.verdict else { panic!("a job runs") };
    assert_eq!(decision.prices[1], Some(pick.bytes / 8), "an eighth of the bytes");
}

#[test]
fn the_trees_own_need_comes_before_reads_and_a_caller_before_all() {
    let drawn =
        tree(&["L0: 9[a-z 2] 8[a-z 2] 7[a-z 2] 6[a-z 2] 5[a-z 2] 4[a-z 2]", "L4: 1[a-z 90]"]);
    let losses = [lost(ReadJob::FewerRuns, u64::MAX)];
    let signals = Signals { losses: &losses, is_idle: true, ..Signals::default() };
    let decision = choose(&drawn, signals);
    assert!(matches!(urgency(&decision), Some(Urgency::Needed(_))), "{decision:?}");
    assert!(decision.prices.is_empty(), "no price was looked for");
    let decision = choose(&drawn, Signals { caller: Some(&CutRange::ALL), ..signals });
    assert_eq!(urgency(&decision), Some(Urgency::Called));
}

/// The picks on a full disk, each of which turns out to give no space back.
fn trials(drawn: &(Policy, Drawing), most: usize) -> Vec<CutRange> {
    let (mut trials, mut tried) = (Trials::default(), Vec::new());
    while tried.len() < most {
        let Some(range) = trial(drawn, &trials) else { break };
        assert!(!tried.contains(&range), "{range:?} was tried");
        trials.note(range.clone());
        tried.push(range);
    }
    tried
}

/// The range that a full disk lets compact next.
fn trial(drawn: &(Policy, Drawing), trials: &Trials) -> Option<CutRange> {
    let shortage = Some(Shortage { room: 32 << 20, trials });
    let decision = choose(drawn, Signals { shortage, is_idle: true, ..Signals::default() });
    let Verdict::Run(_, pick) = decision.verdict else { return None };
    Some(pick.range)
}

#[test]
fn on_a_full_disk_the_range_with_the_most_dead_bytes_comes_first_and_none_comes_twice() {
    let drawn = tree(&["dead 0", "L3: 3[m-o 40 d90] 2[g-i 64]", "L4: 1[a-f 64, g-l 64, m-z 64]"]);
    let tried = trials(&drawn, usize::MAX);
    let begins: Vec<_> = tried.iter().map(|range| range.lo.as_deref()).collect();
    assert_eq!(begins, [Some(&b"m"[..]), Some(b"g")], "nothing lies over the first table");
}

#[test]
fn on_a_full_disk_a_tree_without_a_last_level_has_slices_too() {
    let drawn = tree(&["L0: 2[a-z 1 d90] 1[a-f 64, g-l 64, m-z 64]"]);
    assert!(trials(&drawn, 2).iter().all(|range| *range != CutRange::ALL));
}

/// The largest run was cut alone. It was newer than the deletes and had no dead bytes, and four
/// ranges of it were tried for good.
#[test]
fn on_a_full_disk_each_run_is_cut_along_its_own_tables() {
    let drawn = tree(&["L0: 4[a-c 64, d-f 64] 3[a-z 2 d90] 2[m-p 50] 1[q-t 50]"]);
    let mut begins: Vec<_> = trials(&drawn, 2).into_iter().map(|range| range.lo).collect();
    begins.sort();
    assert_eq!(
        begins.iter().map(Option::as_deref).collect::<Vec<_>>(),
        [Some(&b"m"[..]), Some(b"q")]
    );
}

#[test]
fn on_a_full_disk_every_range_is_tried_before_any_comes_twice() {
    let tables: Vec<String> = (b'a'..=b'z').map(|c| format!("{0}-{0} 64", c as char)).collect();
    let drawn = tree(&["L3: 2[a-z 9 d50]", &format!("L4: 1[{}]", tables.join(", "))]);
    let mut trials = Trials::default();
    let round = |trials: &mut Trials| {
        let mut tried = Vec::new();
        while let Some(range) = trial(&drawn, trials) {
            trials.note(range.clone());
            tried.push(range);
        }
        assert!(trials.begin_next());
        tried
    };
    let (first, second) = (round(&mut trials), round(&mut trials));
    assert!(first.iter().all(|range| !second.contains(range)), "{first:?} {second:?}");
    assert_eq!(first.len() + second.len(), 25, "all tables but the last, where the deletes end");
    assert!(round(&mut trials).iter().eq(&first), "then it begins anew");
}

#[test]
fn on_a_full_disk_no_range_over_damage_comes_twice() {
    let drawn = tree(&["L3: 3[a-z 9] 2[a-z 9]", "L4: 1[a-f 64, g-l 64, m-z 64]", "damage 1 g..h"]);
    let tried = trials(&drawn, usize::MAX);
    assert!(tried.iter().any(|range| range.lo.as_deref() == Some(b"g")), "{tried:?}");
}

/// The job over the damage was the most urgent one, gave nothing, and kept the other ranges from
/// being tried.
#[test]
fn on_a_full_disk_a_fruitless_job_over_damage_hides_no_other() {
    let newer = "L0: 5[a-z 2] 4[a-z 2] 3[a-z 2] 2[a-z 2]";
    let drawn = tree(&[newer, "L4: 1[a-f 64, g-l 64, m-z 64]", "damage 1 g..h"]);
    let tried = trials(&drawn, usize::MAX);
    for begin in [&b"a"[..], b"g", b"m"] {
        assert!(tried.iter().any(|range| range.lo.as_deref() == Some(begin)), "{tried:?}");
    }
}

/// A newer table goes only with all that it covers, and a part of that was fruitless.
#[test]
fn on_a_full_disk_a_range_around_a_fruitless_one_is_tried_too() {
    let drawn = tree(&["L3: 3[b-b 2 d90] 2[a-c 1]", "L4: 1[a-a 20, b-b 64, c-c 64]"]);
    let tried = trials(&drawn, usize::MAX);
    let key = |name: &[u8]| Some(Arc::from(name));
    let place = |lo: &[u8]| {
        let range = CutRange { lo: key(lo), hi: key(b"c") };
        tried.iter().position(|tried| *tried == range)
    };
    let (inside, around) = (place(b"b").unwrap(), place(b"a").unwrap());
    assert!(inside < around, "{tried:?}");
}

#[test]
fn on_a_full_disk_trials_end() {
    let tables: Vec<String> = (b'a'..=b'z').map(|c| format!("{0}-{0} 64", c as char)).collect();
    let drawn = tree(&["L3: 2[a-z 9 d50]", &format!("L4: 1[{}]", tables.join(", "))]);
    let tried = trials(&drawn, usize::MAX).len();
    assert!((2..26).contains(&tried), "{tried}");
}

#[test]
fn urgencies_are_in_the_order_in_which_trees_are_served() {
    let order = [
        Urgency::Idle,
        Urgency::Reads,
        Urgency::Needed(0.1),
        Urgency::Needed(1.0),
        Urgency::Needed(40.0),
        Urgency::Called,
    ];
    assert!(order.is_sorted_by(|a, b| a < b));
}
