//! The page of results: what is on it, as text and in a browser.

mod browser;
mod checked_in;
mod expected;
mod fixture;
mod merges;
mod page;
mod ratios;
mod results;
