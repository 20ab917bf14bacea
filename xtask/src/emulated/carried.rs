//! Databases of every feature that this platform and another one change in turn.
//!
//! `crates/foldb/tests/model.rs` plays programs in stages. Each stage opens what the stage before
//! it left, compares it with the model, changes it, and leaves it for the next. Both platforms
//! begin once.

use std::fs;
use std::path::Path;

use crate::emulated::machine::Machine;
use crate::prefix::target_directory;
use crate::shared_library::told;
use crate::step::Step;

/// How this platform plays a stage. The program is the one of a test of the whole workspace.
pub(super) const OF_THE_WORKSPACE: &str = "cargo test -q --workspace --test model";

/// The same with the engine alone.
pub(super) const OF_THE_ENGINE: &str = "cargo test -q -p foldb --test model";

/// How the other platform plays a stage.
const THERE: &str = "cargo test -q -p foldb --test model --features foldb/untested-platform";

/// The test that plays a stage.
const TEST: &str = "carried_databases_hold_what_the_platform_before_wrote";

/// Number of stages.
const STAGES: usize = 3;

/// Plays all stages twice: once this platform begins, once the other.
///
/// # Errors
/// A stage that found another database than the model expects.
pub(super) fn there_and_back(machine: &Machine, here: &str) -> Result<(), String> {
    let root = target_directory()?.join("carried").join(machine.target);
    for begins_here in [true, false] {
        let directory = root.join(if begins_here { "from-here" } else { "from-there" });
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(|error| told("remove", &directory, error))?;
        }
        for stage in 1..=STAGES {
            let is_here = begins_here == (stage % 2 == 1);
            let step = if is_here { Step::new(here) } else { machine.tested(THERE) };
            let step = played(step, &directory, stage);
            println!("\n== {step}");
            step.run()?;
        }
    }
    fs::remove_dir_all(&root).map_err(|error| told("remove", &root, error))
}

fn played(step: Step, directory: &Path, stage: usize) -> Step {
    step.with(["--", "--exact", TEST, "--nocapture"])
        .set("FOLDB_CARRIED", directory.display().to_string())
        .set("FOLDB_CARRIED_STAGE", stage.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::root;

    #[test]
    fn the_test_that_plays_a_stage_exists() {
        let source = fs::read_to_string(root().join("crates/foldb/tests/model.rs")).unwrap();
        for part in [TEST, "FOLDB_CARRIED", "FOLDB_CARRIED_STAGE"] {
            assert!(source.contains(part), "{part}");
        }
        let path = "crates/foldb/tests/support/model/carried.rs";
        let stages = fs::read_to_string(root().join(path)).unwrap();
        assert!(stages.contains(&format!("STAGES: usize = {STAGES};")));
    }
}
