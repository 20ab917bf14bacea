//! Tests of the fold: the operators' laws, the chain routine, the registry.

mod broken;
mod builtins;
mod chain;
mod expiring;
mod law_kit;
mod laws;
mod page;
mod registry;
mod summaries;
mod versions;
