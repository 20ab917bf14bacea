//! Tests of folding on the way down, and of jobs and their slices. The policy has its own.

mod folding;
mod jobs;
mod order;
mod output;
