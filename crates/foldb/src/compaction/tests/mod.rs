//! Tests of jobs and their slices. The policy has its own tests.

mod jobs;
mod order;
mod parts;
