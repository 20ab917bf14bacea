//! The output of the demo.

use std::time::Duration;

use foldb::stats::Stats;
use indicatif::HumanCount;
use serde_json::{Value, json};

use crate::columns::{Side, align};
use crate::command::demo::job::Done;
use crate::form::json::integer;

/// Blocks in the longest bar of the chart.
const BAR_LEN: u64 = 40;

/// The input of the demo, in figures.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// The name of the texts: `foldb's own word list`.
    pub texts: String,
    /// Words in the texts.
    pub text_words: u64,
    /// Different words among those counted.
    pub different: u64,
    /// Words counted.
    pub total: u64,
}

/// Announces the task.
pub(super) fn announce(task: &Task) -> String {
    let Task { texts, text_words, different, total } = task;
    let (total_shown, different) = (HumanCount(*total), HumanCount(*different));
    let how = if total > text_words {
        let times = *total as f64 / *text_words as f64;
        let times = if times < 10.0 { format!("{times:.1}") } else { format!("{times:.0}") };
        format!(": {} words, read through {times} times", HumanCount(*text_words))
    } else if total < text_words {
        format!(": the first of {} words", HumanCount(*text_words))
    } else {
        String::new()
    };
    format!("Counting {total_shown} words, {different} different ones, of {texts}{how}.\n")
}

/// Draws the most frequent words as bars.
pub(super) fn chart(top: &[(&str, u64)]) -> String {
    let most = top.iter().map(|(_, count)| *count).max().unwrap_or(0).max(1);
    let rows: Vec<Vec<String>> = top
        .iter()
        .map(|(word, count)| {
            let len = (count * BAR_LEN).div_ceil(most) as usize;
            vec![(*word).to_owned(), HumanCount(*count).to_string(), "█".repeat(len)]
        })
        .collect();
    align("  ", &[Side::Left, Side::Right, Side::Left], &rows)
}

/// Reports what the engine did.
pub(super) fn engine(stats: &Stats) -> String {
    let row = |title: &str, value: String| vec![title.to_owned(), value];
    let count = |n: u64| HumanCount(n).to_string();
    let rows = [
        row("operands in", count(stats.merges)),
        row("records after folding, written by flushes", count(stats.flush_records_out)),
        row("flushes", count(stats.flushes)),
        row("compactions", count(stats.compactions)),
        row("write amplification", format!("{:.2}", stats.write_amplification())),
    ];
    format!("What the engine did:\n{}", align("  ", &[Side::Left, Side::Right], &rows))
}

/// Compares the times of both ways.
pub(super) fn times(total: u64, merge: Duration, get_put: Duration) -> String {
    let row = |title: &str, took: Duration| {
        let rate = total as f64 / took.as_secs_f64().max(1e-9);
        vec![
            title.to_owned(),
            format!("{:.2} s", took.as_secs_f64()),
            format!("{} words a second", HumanCount(rate as u64)),
        ]
    };
    let table = align(
        "  ",
        &[Side::Left, Side::Right, Side::Right],
        &[row("merge", merge), row("get + put", get_put)],
    );
    let ratio = ratio(merge, get_put);
    format!(
        "The same job in both ways, with the same durability and the same flushes:\n{table}\
         \x20 get + put takes {ratio:.2} times as long as merge\n"
    )
}

/// Returns the whole report as one object.
pub(super) fn to_json(task: &Task, top: &[(&str, u64)], merge: &Done, get_put: &Done) -> Value {
    let top = top.iter().map(|(word, count)| json!({ "word": word, "count": integer(*count) }));
    json!({
        "words": integer(task.total),
        "words_in_texts": integer(task.text_words),
        "different_words": integer(task.different),
        "counts_agree": true,
        "top": top.collect::<Vec<_>>(),
        "operands_in": integer(merge.stats.merges),
        "records_after_folding": integer(merge.stats.flush_records_out),
        "flushes": integer(merge.stats.flushes),
        "compactions": integer(merge.stats.compactions),
        "write_amplification": merge.stats.write_amplification(),
        "merge_seconds": merge.took.as_secs_f64(),
        "get_put_seconds": get_put.took.as_secs_f64(),
        "ratio": ratio(merge.took, get_put.took),
    })
}

fn ratio(merge: Duration, get_put: Duration) -> f64 {
    get_put.as_secs_f64() / merge.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_that_texts_are_read_again() {
        let task =
            |text_words, total| Task { texts: "a text".into(), text_words, different: 2, total };
        assert_eq!(
            announce(&task(1_000, 2_000_000)),
            "Counting 2,000,000 words, 2 different ones, of a text: 1,000 words, read through \
             2000 times.\n"
        );
        assert_eq!(announce(&task(7, 7)), "Counting 7 words, 2 different ones, of a text.\n");
        assert!(announce(&task(8, 7)).contains("the first of 8 words"));
        assert!(announce(&task(4, 6)).contains("read through 1.5 times"));
    }

    #[test]
    fn the_longest_bar_is_forty_blocks_and_none_is_empty() {
        let chart = chart(&[("the", 4_000), ("a", 2_000), ("fold", 1)]);
        let lines: Vec<&str> = chart.lines().collect();
        assert_eq!(lines[0], format!("  the   4,000  {}", "█".repeat(40)));
        assert_eq!(lines[1], format!("  a     2,000  {}", "█".repeat(20)));
        assert_eq!(lines[2], "  fold      1  █");
    }

    #[test]
    fn the_ratio_is_how_much_longer_get_and_put_takes() {
        let text = times(1_000, Duration::from_millis(500), Duration::from_secs(1));
        assert!(text.contains("2,000 words a second"), "{text}");
        assert!(text.contains("get + put takes 2.00 times as long"), "{text}");
    }
}
