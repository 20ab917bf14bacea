//! Calls that the engine must refuse without any harm.

use foldb::limits::{MAX_KEY_BYTES, MAX_VALUE_BYTES, max_batch_bytes};
use foldb::{ErrorKind, Result, WriteBatch};

use crate::check::Wrong;
use crate::features::{BadDisk, Operator};
use crate::stage::Stage;

/// Makes one call that the engine must refuse.
pub(crate) fn make_one(stage: &Stage, rng: &mut fastrand::Rng) -> std::result::Result<(), Wrong> {
    let keyspace = rng.choice(&stage.keyspaces).unwrap_or(&stage.tally);
    match rng.u8(..20) {
        0..8 if stage.features.own_order => {
            // No key has this check byte.
            let mut key = stage.features.stored_key(b"no key");
            if let Some(check) = key.last_mut() {
                *check ^= 1;
            }
            let value = 0u64.to_le_bytes();
            expect_refusal("a key that cannot be compared", keyspace.put(&key, value))
        }
        0..8 => {
            let key = vec![b'k'; MAX_KEY_BYTES + 1];
            expect_refusal("a key that is too long", stage.tally.put(key, 0u64.to_le_bytes()))
        }
        8..14 => {
            let value = vec![0; MAX_VALUE_BYTES + 1];
            expect_refusal(
                "a value that is too long",
                keyspace.put(stage.features.stored_key(b""), value),
            )
        }
        14 => {
            let most = max_batch_bytes(stage.features.options().write_buffer_size);
            let mut batch = WriteBatch::new();
            let (key, value) = (stage.features.stored_key(b"bulk"), vec![0; 32 << 20]);
            while batch.memtable_bytes() <= most {
                batch.put_in(keyspace, &key, &value);
            }
            expect_refusal("a batch that is too large", stage.db.write(&batch))
        }
        15 => a_result_that_is_too_long(stage),
        _ => Ok(()),
    }
}

fn expect_refusal(what: &str, outcome: Result<()>) -> std::result::Result<(), Wrong> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::InvalidArgument => Ok(()),
        Err(error) => Err(format!("{what} is refused as {error}")),
        Ok(()) => Err(format!("{what} was taken")),
    }
}

/// Merges operands whose result is longer than a value may be. Only reads of that key may fail.
fn a_result_that_is_too_long(stage: &Stage) -> std::result::Result<(), Wrong> {
    // A bad disk is too slow for such large operands. While the directory is away, they fail.
    if stage.features.disk != BadDisk::Nothing || stage.features.surroundings.moves {
        return Ok(());
    }
    let (key, half) = ([u8::MAX], vec![0; MAX_VALUE_BYTES / 2 + 1]);
    let told = crate::check::told("a long operand");
    let operator = stage.db.operator(&Operator::Append(b',').name()).map_err(&told)?;
    for _ in 0..2 {
        stage.tally.merge_with(&operator, key, &half).map_err(&told)?;
    }
    let read = stage.tally.get(key);
    stage.tally.delete(key).map_err(&told)?;
    match read {
        Err(error) if error.kind() == ErrorKind::MergeFailed => Ok(()),
        // Another thread has deleted the key.
        Ok(Some(value)) if value.len() <= MAX_VALUE_BYTES => Ok(()),
        Ok(None) => Ok(()),
        Ok(Some(value)) => Err(format!("a merge made a value of {} bytes", value.len())),
        Err(error) => Err(format!("a merge that makes too much fails as {error}")),
    }
}
