//! The formats of the files: databases of the present version are read, and others are refused.

mod fixtures;
mod history;
mod refusals;
