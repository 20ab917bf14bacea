//! Runs foldb on a machine made of one seed, and checks every answer.

#![deny(unsafe_code)]

pub mod machine;
