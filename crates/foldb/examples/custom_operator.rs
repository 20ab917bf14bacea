//! An operator of your own, the best score of a game: `cargo run --example custom_operator`.

use std::error::Error;
use std::sync::Arc;

use foldb::operators::laws::Check;
use foldb::operators::{Full, Growth, MergeOperator, Partial};
use foldb::{Db, KeyspaceOptions, Options};

/// Keeps the operand with the highest score. Operand and value have one form: the score in 4 bytes,
/// big-endian, then the name of the player.
#[derive(Debug)]
struct BestScore;

/// The operand of a game.
fn scored(score: u32, player: &str) -> Vec<u8> {
    [&score.to_be_bytes()[..], player.as_bytes()].concat()
}

impl MergeOperator for BestScore {
    fn name(&self) -> &str {
        "example.best_score"
    }

    /// Big-endian numbers compare as their bytes do. Equal scores: the later name wins.
    fn full(&self, _: &[u8], base: Option<&[u8]>, operands: &[&[u8]], _: &mut Vec<u8>) -> Full {
        let mut best = (base.unwrap_or_default(), Full::Existing);
        for (i, &operand) in operands.iter().enumerate() {
            if operand > best.0 {
                best = (operand, Full::Operand(i));
            }
        }
        best.1
    }

    /// With this the memtable and compactions keep one operand of a key, not all of them.
    fn partial(&self, _: &[u8], operands: &[&[u8]], out: &mut Vec<u8>) -> Partial {
        out.extend_from_slice(operands.iter().max().copied().unwrap_or_default());
        Partial::Operand
    }

    fn growth(&self) -> Growth {
        Growth::Shrinks
    }

    fn check_operand(&self, operand: &[u8]) -> Result<(), String> {
        if operand.len() >= 4 { Ok(()) } else { Err(format!("4 bytes, not {}", operand.len())) }
    }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    // An operator must give the same bytes however its operands are grouped.
    let operands = [scored(7, "ada"), scored(7, "bob"), scored(300, "eve")];
    Check::new(operands).commutative().idempotent().run(&BestScore)?;

    let dir = tempfile::tempdir()?;
    let options = Options {
        create_if_missing: true,
        operators: vec![Arc::new(BestScore)],
        default: KeyspaceOptions::with_operator("example.best_score"),
        ..Options::default()
    };
    let db = Db::open(dir.path().join("scores.db"), options)?;
    db.merge("chess", scored(1200, "ada"))?;
    db.merge("chess", scored(2100, "eve"))?;
    db.merge("chess", scored(1800, "bob"))?;
    assert!(db.merge("chess", "x").is_err(), "check_operand refuses it");

    let best = db.get("chess")?.ok_or("no game was played")?;
    let (score, player) = best.split_first_chunk().ok_or("a score has 4 bytes")?;
    println!("{}: {}", String::from_utf8_lossy(player), u32::from_be_bytes(*score));
    assert_eq!(&best[..], scored(2100, "eve"));
    Ok(())
}
