//! Computes one digest of all entries of a database, and compares the digests of all engines.

use foldb_report::results::Results;
use xxhash_rust::xxh3::Xxh3;

use crate::engine::{Engine, Scan};
use crate::failure::Result;

/// In place of a digest, for a program that only its own benchmark can drive.
pub const NOT_CHECKED: &str = "not checked";

/// XXH3 over all keys and values in key order, each after its length (4 bytes, little-endian).
///
/// # Errors
/// Fails if the scan fails.
pub fn of<E: Engine>(engine: &E) -> Result<String> {
    let mut hash = Xxh3::new();
    let mut entries = 0_u64;
    engine.scan(Scan::Forward, |key, value| {
        add(&mut hash, key, value);
        entries += 1;
        true
    })?;
    Ok(text(&hash, entries))
}

/// Adds an entry to a digest.
pub fn add(hash: &mut Xxh3, key: &[u8], value: &[u8]) {
    for bytes in [key, value] {
        hash.update(&(bytes.len() as u32).to_le_bytes());
        hash.update(bytes);
    }
}

/// Writes a digest and the number of its entries as text.
pub fn text(hash: &Xxh3, entries: u64) -> String {
    format!("{:016x} of {entries} entries", hash.digest())
}

/// Returns a sentence for each row whose engines hold different entries.
pub fn disagreements(results: &Results) -> Vec<String> {
    let rows = results.workloads.iter().filter_map(|workload| {
        let mut seen: Vec<(&str, &str)> = Vec::new();
        let runs = results.runs.iter().filter(|run| run.workload == workload.name);
        for run in runs.filter(|run| run.digest != NOT_CHECKED) {
            if seen.iter().all(|(_, digest)| *digest != run.digest) {
                seen.push((&run.engine, &run.digest));
            }
        }
        let held: Vec<_> =
            seen.iter().map(|(engine, digest)| format!("{engine} has {digest}")).collect();
        (seen.len() > 1)
            .then(|| format!("{}: the databases differ: {}", workload.name, held.join(", ")))
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use foldb_report::results::{Run, Workload};

    use super::*;

    fn results(digests: &[(&str, &str)]) -> Results {
        let run = |(engine, digest): &(&str, &str)| Run {
            workload: "row".into(),
            engine: (*engine).into(),
            digest: (*digest).into(),
            ..Run::default()
        };
        Results {
            workloads: vec![Workload { name: "row".into(), ..Workload::default() }],
            runs: digests.iter().map(run).collect(),
            ..Results::default()
        }
    }

    #[test]
    fn equal_digests_and_unchecked_ones_agree() {
        let agreeing = results(&[("foldb", "a"), ("peer", "a"), ("mergedb", NOT_CHECKED)]);
        assert_eq!(disagreements(&agreeing), Vec::<String>::new());
    }

    #[test]
    fn another_digest_is_named_with_its_engine() {
        assert_eq!(
            disagreements(&results(&[("foldb", "a"), ("peer", "b"), ("foldb", "a")])),
            ["row: the databases differ: foldb has a, peer has b"]
        );
    }
}
