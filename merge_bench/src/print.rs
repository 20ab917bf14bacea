//! Results on standard output: tables, JSON, or a page.

use std::fmt::Write as _;
use std::io::Write as _;

use foldb_report::merges::{MergeResults, MergeRun, Section, Table, sections};
use foldb_report::page;

use crate::arguments::Format;
use crate::failure::Failure;
use crate::verify::Verified;

/// Prints help or version.
///
/// # Errors
/// Errors of writing.
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// Prints the results.
///
/// # Errors
/// Errors of writing.
pub(crate) fn results(results: &MergeResults, format: Format) -> Result<(), Failure> {
    let text = match format {
        Format::Markdown => markdown(&results.runs),
        Format::Json => {
            let json = serde_json::to_string_pretty(results);
            json.expect("results are numbers, strings and lists of them") + "\n"
        }
        Format::Html => page::merges(results),
    };
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes the tables, and below them the verified numbers.
fn markdown(runs: &[MergeRun]) -> String {
    let mut text = String::new();
    for Section { title, merge, load, notes } in sections(runs) {
        write(&mut text, format_args!("## {title}\n\n### Merge\n\n"));
        table(&mut text, &merge);
        write(&mut text, format_args!("\n### Load\n\n"));
        table(&mut text, &load);
        text.push('\n');
        for note in notes {
            write(&mut text, format_args!("{note}\n\n"));
        }
    }
    for run in runs {
        let verified = Verified { live: run.verified_live, deleted: run.verified_deleted };
        write(&mut text, format_args!("{}\n", verified.sentence()));
    }
    text
}

fn write(text: &mut String, content: std::fmt::Arguments<'_>) {
    text.write_fmt(content).expect("writing to a String does not fail");
}

/// Returns how many columns describe the case: words, to the left of all numbers.
fn words(table: &Table) -> usize {
    let words = ["dataset", "workload", "hint", "pattern", "budget"];
    table.heads.iter().take_while(|head| words.contains(head)).count()
}

fn table(text: &mut String, table: &Table) {
    let words = words(table);
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| row[column].chars().count());
        cells.fold(table.heads[column].len(), usize::max)
    };
    let widths: Vec<usize> = (0..table.heads.len()).map(width).collect();
    let mut line = |cells: &[&str]| {
        for (column, cell) in cells.iter().enumerate() {
            let width = widths[column];
            match column < words {
                true => write(text, format_args!("| {cell:<width$} ")),
                false => write(text, format_args!("| {cell:>width$} ")),
            }
        }
        text.push_str("|\n");
    };
    line(&table.heads);
    let rules: Vec<String> = widths
        .iter()
        .enumerate()
        .map(|(column, width)| match column < words {
            true => "-".repeat(*width),
            false => "-".repeat(width - 1) + ":",
        })
        .collect();
    line(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    for row in &table.rows {
        line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use foldb_report::merges::{
        LoadFigures, MergeCase, MergeFigures, MergeRepetition, MergeRun, Side,
    };

    use super::*;

    fn run(workload: &str, load: LoadFigures) -> MergeRun {
        let case = MergeCase {
            subcommand: "standard".to_owned(),
            dataset: "small-100k-128b".to_owned(),
            workload: workload.to_owned(),
            hint: "on".to_owned(),
            ..MergeCase::default()
        };
        let merge = MergeFigures {
            ms: 12.34,
            mib: 1.5,
            allocs: 1234,
            peak_alloc_bytes: 1_048_576,
            peak_lookup_bytes: 65_536,
            max_lock_hold_us: 7.25,
            batch_count: 2,
            reduction_ratio_pct: 31.25,
            bytes_per_mb_budget: 302_457.6,
            ..MergeFigures::default()
        };
        let repetition = MergeRepetition { merge, load, ..MergeRepetition::default() };
        MergeRun {
            verified_live: 90_000,
            verified_deleted: 10_000,
            ..MergeRun::of(case, vec![repetition])
        }
    }

    #[test]
    fn tables_have_the_documented_columns() {
        let side = Side {
            ops_per_sec: 1_234_567.8,
            percentiles_us: [0.5, 1.25, 2.125],
            max_us: 3456.0,
            timed: 3_703_703,
        };
        let read = LoadFigures::of(Some(side), None).with_rates(None, 1_234_567.8);
        let text = markdown(&[run("baseline", LoadFigures::default()), run("read", read)]);
        let expected = "\
## standard

### Merge

| dataset         | workload | hint | ms/op | MiB/op | allocs/op | peak_alloc_bytes | peak_lookup_bytes | max_lock_hold_us | batch_count | reduction_ratio_pct | bytes_per_mb_budget |
| --------------- | -------- | ---- | ----: | -----: | --------: | ---------------: | ----------------: | ---------------: | ----------: | ------------------: | ------------------: |
| small-100k-128b | baseline | on   |  12.3 |    1.5 |      1234 |          1048576 |             65536 |             7.25 |           2 |                31.2 |              302458 |
| small-100k-128b | read     | on   |  12.3 |    1.5 |      1234 |          1048576 |             65536 |             7.25 |           2 |                31.2 |              302458 |

### Load

| dataset         | workload | hint | read_ops_per_sec |     read_p50_us |      read_p95_us |      read_p99_us |      read_max_us | write_ops_per_sec | write_p50_us | write_p95_us | write_p99_us | write_max_us | baseline_ops_per_sec | merge_ops_per_sec | throughput_degradation_pct |
| --------------- | -------- | ---- | ---------------: | --------------: | ---------------: | ---------------: | ---------------: | ----------------: | -----------: | -----------: | -----------: | -----------: | -------------------: | ----------------: | -------------------------: |
| small-100k-128b | baseline | on   |                - |               - |                - |                - |                - |                 - |            - |            - |            - |            - |                    - |                 - |                          - |
| small-100k-128b | read     | on   |          1234568 | 0.5 (n=3703703) | 1.25 (n=3703703) | 2.12 (n=3703703) | 3456 (n=3703703) |                 - |            - |            - |            - |            - |                    - |           1234568 |                          - |

verified 90000 live, 10000 deleted keys after reopen: ok
verified 90000 live, 10000 deleted keys after reopen: ok
";
        assert_eq!(text, expected);
    }
}
