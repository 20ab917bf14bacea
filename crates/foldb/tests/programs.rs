//! Programs made of bytes against the model: those that a fuzzer kept, and mutations of them.
//!
//! `fuzz/fuzz_targets/program.rs` plays the same programs under a fuzzer. `FOLDB_FUZZ_INPUT` names
//! a file to play instead, and prints it as a program. `FOLDB_FUZZ_SECONDS` sets how long inputs
//! are mutated. `FOLDB_PLANT` plants a fault in all threads, so this is a program of its own.

mod support;

use std::time::{Duration, Instant};

use support::model::{decode, run};
use support::{mutator, quiet};

/// Longest input played. Longer ones repeat what shorter ones do.
const LONGEST: usize = 4096;

fn inputs() -> Vec<Vec<u8>> {
    match std::env::var_os("FOLDB_FUZZ_INPUT") {
        Some(path) => vec![std::fs::read(path).expect("FOLDB_FUZZ_INPUT is a file")],
        None => mutator::corpus("program"),
    }
}

/// Plays the program of some bytes.
///
/// # Panics
/// When database and model differ, with the program and the bytes.
fn play(bytes: &[u8]) {
    let program = decode::program(bytes);
    if let Err(reason) = quiet::catch(|| run::play(&program)) {
        let path = std::env::temp_dir().join("foldb-program");
        let kept = std::fs::write(&path, bytes);
        panic!("{reason}\n\nthe bytes are in {} ({kept:?}):\n{program:?}", path.display());
    }
}

#[test]
fn programs_of_the_corpus_do_as_the_model_does() {
    support::plant_from_environment();
    let inputs = inputs();
    assert!(!inputs.is_empty(), "fuzz/corpus/program is empty");
    inputs.iter().for_each(|input| play(input));
}

#[test]
fn mutated_programs_do_as_the_model_does() {
    support::plant_from_environment();
    let inputs = inputs();
    let mut rng = fastrand::Rng::new();
    let (begun, mut runs) = (Instant::now(), 0);
    while begun.elapsed() < mutator::time(Duration::from_secs(3)) {
        let mut input = mutator::mutate(&mut rng, &inputs);
        input.truncate(LONGEST);
        play(&input);
        runs += 1;
    }
    println!("{runs} programs");
}

/// Any bytes are a program: the end of the bytes is no error.
#[test]
fn any_bytes_are_a_program() {
    let mut rng = fastrand::Rng::with_seed(5);
    for len in 0..500 {
        let bytes: Vec<u8> = (0..len).map(|_| rng.u8(..)).collect();
        let program = decode::program(&bytes);
        assert!(program.steps.len() <= len, "a step takes a byte at least");
    }
    let kinds: std::collections::BTreeSet<String> = (0..200)
        .flat_map(|_| {
            let bytes: Vec<u8> = (0..2000).map(|_| rng.u8(..)).collect();
            decode::program(&bytes).steps
        })
        .map(|step| format!("{step:?}").split(['(', ' ']).next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(kinds.len(), 34, "some kinds of step are missing: {kinds:?}");
}

/// Writes the first inputs of the corpus. Run it by name when the decoding changes.
#[test]
#[ignore = "writes into the source tree"]
fn write_first_inputs() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/program");
    std::fs::create_dir_all(&corpus).unwrap();
    for seed in 0..20 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let bytes: Vec<u8> = (0..100 + 40 * seed).map(|_| rng.u8(..)).collect();
        std::fs::write(corpus.join(format!("first-{seed:02}")), bytes).unwrap();
    }
}
