//! Tables of results: on standard output after a run, and between the markers of a page of
//! documentation.

mod details;
mod figures;
mod markdown;
#[cfg(test)]
mod tests;
mod text;

pub use self::figures::fastest_peer;
pub use self::markdown::{MARKERS, markdown, replace};
pub use self::text::text;
