//! Tests of jobs and their slices. The policy has its own.

mod jobs;
mod order;
