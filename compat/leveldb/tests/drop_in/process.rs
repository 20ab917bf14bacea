//! The process around a database: forks, exits, few descriptors, objects that a program forgets.

use crate::everything::prints_the_same;
use crate::program::Program;

const PROCESS: Program = Program { name: "process", directories: &["process", "support"] };

#[test]
fn processes_fork_exit_and_run_short_of_descriptors() {
    prints_the_same(PROCESS);
}
