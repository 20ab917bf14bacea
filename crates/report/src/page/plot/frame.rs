//! The field of a plot and its axes.

use maud::{Markup, html};

use super::{WIDTH, level, px, upright};

/// The field in which values are drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// Its left edge.
    pub left: f64,
    /// Its upper edge.
    pub top: f64,
    /// Its right edge.
    pub right: f64,
    /// Its lower edge.
    pub bottom: f64,
}

/// A mark of an axis: its place (0 to 1) and its label.
pub(super) type Tick = (f64, String);

impl Frame {
    /// A field with these margins in a plot of `height`.
    pub(super) fn new(height: f64, left: f64, top: f64, right: f64, bottom: f64) -> Frame {
        Frame { left, top, right: WIDTH - right, bottom: height - bottom }
    }

    /// The place at `share` of its width.
    pub(super) fn x(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    /// The place at `share` of its height, from below.
    pub(super) fn y(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    /// Marks below, with lines across the field if `lines`, and what is marked.
    pub(super) fn below(&self, ticks: &[Tick], lines: bool, quantity: &str) -> Markup {
        html! {
            @for (share, label) in ticks {
                @let x = self.x(*share);
                @if lines { path class="grid" d=(upright(x, self.top, self.bottom)) {} }
                text class="tick" x=(px(x)) y=(px(self.bottom + 15.0)) text-anchor="middle" { (label) }
            }
            path class="axis" d=(level(self.bottom, self.left, self.right)) {}
            @if !quantity.is_empty() {
                text class="axis-title" x=(px((self.left + self.right) / 2.0))
                    y=(px(self.bottom + 31.0)) text-anchor="middle" { (quantity) }
            }
        }
    }

    /// Marks on the left, with lines across the field, and above it what is marked.
    pub(super) fn beside(&self, ticks: &[Tick], quantity: &str) -> Markup {
        html! {
            @for (share, label) in ticks {
                @let y = self.y(*share);
                path class="grid" d=(level(y, self.left, self.right)) {}
                text class="tick" x=(px(self.left - 6.0)) y=(px(y + 4.0)) text-anchor="end" {
                    (label)
                }
            }
            text class="axis-title" x="0" y="11" { (quantity) }
        }
    }
}
