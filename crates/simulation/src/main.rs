//! `foldb-simulate`: runs seeds, and says which gave a wrong answer.
//!
//! Only builds with debug assertions have the points where the simulator takes over. Other builds
//! say so and run nothing.

#![deny(unsafe_code)]

#[cfg(debug_assertions)]
mod command;

#[cfg(debug_assertions)]
fn main() -> std::process::ExitCode {
    command::run()
}

#[cfg(not(debug_assertions))]
fn main() -> std::process::ExitCode {
    eprintln!(
        "foldb-simulate: this build has no debug assertions, so it cannot simulate; build it with \
         `cargo build --profile torture -p foldb-simulation`"
    );
    std::process::ExitCode::FAILURE
}
