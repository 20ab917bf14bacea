//! The screen of `top`: one database, drawn from a [`View`].
//!
//! ```text
//! ┌ what, whose, how old ────────────────────────────────────────────┐
//! │ rates and times of calls          │ memory by item              │
//! │ levels                            │ keys that stand out         │
//! │ the last events                                                 │
//! └──────────────────────────────────────────────────────────────────┘
//! ```

use indicatif::{HumanBytes, HumanCount};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Paragraph};

use crate::watch::doctor::Finding;
use crate::watch::view::{Key, RATES};
use crate::watch::{View, clock};

/// What the screen shows.
pub(crate) struct Screen<'a> {
    pub(crate) title: &'a str,
    /// The process that records, and how old the figures are.
    pub(crate) state: String,
    pub(crate) view: &'a View,
    pub(crate) findings: &'a [Finding],
}

impl Screen<'_> {
    /// Draws the screen.
    pub(crate) fn draw(&self, frame: &mut Frame<'_>) {
        let levels = self.view.levels();
        let heights = [
            Constraint::Length(2 + self.findings.len().min(4) as u16),
            Constraint::Length(12),
            Constraint::Length(levels.len().max(6) as u16 + 3),
            Constraint::Min(3),
        ];
        let [head, calls, tree, events] = Layout::vertical(heights).areas(frame.area());
        frame.render_widget(self.head(), head);
        let [left, right] = halves(calls);
        frame.render_widget(panel("calls", self.calls()), left);
        frame.render_widget(panel("memory", self.memory()), right);
        let [left, right] = halves(tree);
        frame.render_widget(panel("tree", self.tree()), left);
        frame.render_widget(panel("keys", self.keys()), right);
        let room = usize::from(events.height.saturating_sub(2));
        frame.render_widget(panel("events, newest first", self.events(room)), events);
    }

    fn head(&self) -> Paragraph<'_> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut lines = vec![Line::from(vec![
            Span::styled(self.title, bold),
            Span::from(format!("  {}", self.state)),
        ])];
        let alarm = Style::new().fg(Color::Red);
        let found = self.findings.iter().take(4);
        lines.extend(found.map(|own| Line::styled(format!("! {}", own.seen), alarm)));
        Paragraph::new(lines)
    }

    fn calls(&self) -> Text<'static> {
        let mut lines = vec![format!("{:<13}{:>11}{:>10}{:>10}", "", "a second", "median", "P99")];
        for calls in &self.view.calls {
            lines.push(format!(
                "{:<13}{:>11}{:>10}{:>10}",
                calls.call.replace('_', " "),
                HumanCount(calls.per_second as u64).to_string(),
                time(calls.median_micros),
                time(calls.p99_micros),
            ));
        }
        for (name, figure) in RATES {
            let rate = self.view.rate(figure);
            if rate > 0.0 {
                let shown = match name {
                    "stall_seconds" => format!("{:.0} %", 100.0 * rate),
                    name if name.ends_with("bytes") => HumanBytes(rate as u64).to_string(),
                    _ => HumanCount(rate as u64).to_string(),
                };
                lines.push(format!("{:<13}{shown:>11}", name.replace('_', " ")));
            }
        }
        lines.truncate(10);
        Text::from_iter(lines)
    }

    fn memory(&self) -> Text<'static> {
        let bytes = |name: &str| self.view.now(name);
        let mut items = self.view.labelled("foldb_memory_bytes");
        items.retain(|(_, bytes)| *bytes > 0.0);
        items.sort_by(|a, b| b.1.total_cmp(&a.1));
        let total: f64 = items.iter().map(|(_, bytes)| bytes).sum();
        let budget = bytes("foldb_memory_budget_bytes");
        let row = |name: &str, bytes: f64| {
            format!("{:<22}{:>11}", name, HumanBytes(bytes as u64).to_string())
        };
        let mut lines = vec![row("all, of the budget", total), row("budget", budget)];
        lines
            .extend(items.iter().take(8).map(|(item, bytes)| row(&item.replace('_', " "), *bytes)));
        Text::from_iter(lines)
    }

    fn tree(&self) -> Text<'static> {
        let mut lines = vec![format!(
            "{:<7}{:>5}{:>7}{:>12}{:>13}",
            "level", "runs", "tables", "bytes", "written/s"
        )];
        for level in self.view.levels() {
            lines.push(format!(
                "{:<7}{:>5}{:>7}{:>12}{:>13}",
                level.level,
                level.runs,
                level.tables,
                HumanBytes(level.bytes as u64).to_string(),
                HumanBytes(level.written_per_second as u64).to_string(),
            ));
        }
        let debt = self.view.now("foldb_compaction_debt_bytes");
        lines.push(format!("debt {}", HumanBytes(debt as u64)));
        Text::from_iter(lines)
    }

    fn keys(&self) -> Text<'static> {
        let row = |what: &str, key: &Key, figure: String| {
            let shown: String = key.key.chars().take(24).collect();
            format!("{what:<6}{shown:<25}{figure:>9}")
        };
        let count = |key: &Key| HumanCount(key.figure as u64).to_string();
        let view = self.view;
        let hot = view.hot.iter().take(3).map(|key| row("hot", key, count(key)));
        let slow = view.slow.iter().take(2).map(|key| row("slow", key, time(key.figure)));
        let long = view.chains.iter().take(2).map(|key| row("chain", key, count(key)));
        Text::from_iter(hot.chain(slow).chain(long).collect::<Vec<String>>())
    }

    fn events(&self, room: usize) -> Text<'static> {
        let line = |event: &foldb::recorder::RecordedEvent| {
            let times = if event.count > 1 { format!(" x{}", event.count) } else { String::new() };
            let level = event.level.map_or(String::new(), |level| format!(" to level {level}"));
            let keyspace = &event.keyspace;
            let bytes = match event.bytes_written {
                0 => String::new(),
                bytes => format!(", {}", HumanBytes(bytes)),
            };
            let detail =
                if event.detail.is_empty() { String::new() } else { format!(": {}", event.detail) };
            format!(
                "{} {}{times}{level} {keyspace}{detail} ({:.1?}{bytes})",
                clock::time_of_day(event.at),
                event.name,
                event.total,
            )
        };
        Text::from_iter(self.view.events.iter().rev().take(room).map(line).collect::<Vec<String>>())
    }
}

fn halves(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(area)
}

fn panel<'a>(title: &'a str, text: Text<'a>) -> Paragraph<'a> {
    Paragraph::new(text).block(Block::bordered().title(format!(" {title} ")))
}

/// Shows microseconds.
pub(crate) fn time(micros: f64) -> String {
    match micros {
        micros if micros >= 1e6 => format!("{:.1} s", micros / 1e6),
        micros if micros >= 1e3 => format!("{:.1} ms", micros / 1e3),
        micros => format!("{micros:.1} µs"),
    }
}
