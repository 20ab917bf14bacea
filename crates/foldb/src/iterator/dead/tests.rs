//! What is known of a key, compared with a list of all stretches in the order of their discovery.

use fastrand::Rng;

use super::*;
use crate::key::BytewiseComparator as Bytewise;

fn edge(rng: &mut Rng) -> Edge {
    let key = [rng.u8(..30)];
    match rng.u8(..10) {
        0 => Edge::Lowest,
        1 => Edge::Highest,
        2..=5 => Edge::Before(key[..].into()),
        _ => Edge::Behind(key[..].into()),
    }
}

#[test]
fn the_newest_stretch_of_a_key_is_known() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let (stretches, mut all) = (DeadStretches::default(), Vec::new());
        for seqno in 1..40 {
            let (start, end) = (edge(&mut rng), edge(&mut rng));
            let dead = Dead { start, end, seqno, newest_file: seqno, installs: seqno };
            stretches.learn(&Bytewise, dead.clone());
            all.push(dead);
            for key in 0..30 {
                let expected = all.iter().rfind(|dead| dead.holds(&Bytewise, &[key]));
                let found = stretches.find(&Bytewise, &[key], SeqNo::MAX, u64::MAX);
                let seqno = |dead: &Dead| dead.seqno;
                assert_eq!(found.as_ref().map(seqno), expected.map(seqno), "{seed}, {key}");
                let newest = expected.map_or(0, seqno);
                let known = |reader, installs| {
                    stretches.find(&Bytewise, &[key], reader, installs).is_some()
                };
                assert!(
                    newest == 0 || !known(newest - 1, u64::MAX) && !known(u64::MAX, newest - 1)
                );
            }
        }
    }
}

#[test]
fn the_number_of_stretches_is_bounded() {
    let stretches = DeadStretches::default();
    for n in 0..2 * MOST as u32 {
        let start = Edge::Before((2 * n).to_be_bytes()[..].into());
        let end = Edge::Before((2 * n + 1).to_be_bytes()[..].into());
        stretches.learn(&Bytewise, Dead { start, end, seqno: 1, newest_file: 1, installs: 0 });
    }
    assert_eq!(stretches.lock().len(), MOST);
}
