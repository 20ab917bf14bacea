//! Tests of the page of results, as text and in a browser.

mod browser;
mod checked_in;
mod expected;
mod fixture;
mod growing;
mod merges;
mod page;
mod ratios;
mod results;
