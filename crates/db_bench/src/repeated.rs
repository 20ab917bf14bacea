//! The lines of a benchmark that runs several times: `readrandom[X5]`.

use crate::report::Totals;

/// Standard deviations around the mean that hold 95 % of a normal distribution.
const WITHIN_95_PERCENT: f64 = 1.959_964;

/// The rates of the runs so far.
#[derive(Debug, Default)]
pub(crate) struct Repeated {
    operations: Vec<f64>,
    /// Megabytes a second, of runs that count bytes.
    megabytes: Vec<f64>,
}

impl Repeated {
    /// Adds a run.
    pub(crate) fn add(&mut self, totals: &Totals) {
        let seconds = totals.elapsed().as_secs_f64();
        self.operations.push(totals.done.max(1) as f64 / seconds);
        if totals.bytes > 0 {
            self.megabytes.push(totals.bytes as f64 / f64::from(1 << 20) / seconds);
        }
    }

    /// Returns the line after a run: averages, or 95 % confidence intervals. `None` before the
    /// second one.
    pub(crate) fn line(&self, name: &str, interval_only: bool) -> Option<String> {
        let runs = self.operations.len();
        if runs < 2 {
            return None;
        }
        let (rate, error) = (average(&self.operations), confidence(&self.operations));
        let mut line = match interval_only {
            true => format!(
                "{name} [CI95 {runs} runs] : ({:.0}, {:.0}) ops/sec",
                rate - error,
                rate + error
            ),
            false => format!("{name} [AVG {runs} runs] : {rate:.0} (± {error:.0}) ops/sec"),
        };
        if let Some((rate, error)) = self.bytes() {
            line.push_str(&match interval_only {
                true => format!("; ({:.1}, {:.1}) MB/sec", rate - error, rate + error),
                false => format!("; {rate:6.1} (± {error:.1}) MB/sec"),
            });
        }
        Some(line)
    }

    /// Returns the lines after the last run: average and median.
    pub(crate) fn last_lines(&self, name: &str) -> Option<String> {
        let runs = self.operations.len();
        if runs < 2 {
            return None;
        }
        let (rate, error) = (average(&self.operations), confidence(&self.operations));
        let mut mean = format!(
            "\n{name} [AVG    {runs} runs] : {rate:.0} (± {error:.0}) ops/sec; {:.3} ms/op",
            1000.0 / rate
        );
        let mut middle =
            format!("{name} [MEDIAN {runs} runs] : {:.0} ops/sec", median(&self.operations));
        if let Some((rate, error)) = self.bytes() {
            mean.push_str(&format!("; {rate:6.1} (± {error:.1}) MB/sec"));
            middle.push_str(&format!("; {:6.1} MB/sec", median(&self.megabytes)));
        }
        Some(format!("{mean}\n{middle}"))
    }

    fn bytes(&self) -> Option<(f64, f64)> {
        (self.megabytes.len() == self.operations.len())
            .then(|| (average(&self.megabytes), confidence(&self.megabytes)))
    }
}

fn average(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

/// Returns half the width of the interval that has the true average with 95 % confidence.
fn confidence(numbers: &[f64]) -> f64 {
    let (count, mean) = (numbers.len() as f64, average(numbers));
    let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    WITHIN_95_PERCENT * (squares / (count - 1.0)).sqrt() / count.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_average_interval_and_median() {
        let mut repeated = Repeated { operations: vec![100.0], ..Repeated::default() };
        assert!(repeated.line("readseq", false).is_none());
        repeated.operations = vec![100.0, 200.0, 600.0];
        assert_eq!(
            repeated.line("readseq", false).unwrap(),
            "readseq [AVG 3 runs] : 300 (± 299) ops/sec"
        );
        assert_eq!(
            repeated.line("readseq", true).unwrap(),
            "readseq [CI95 3 runs] : (1, 599) ops/sec"
        );
        repeated.megabytes = vec![1.0, 1.0, 4.0];
        assert_eq!(
            repeated.last_lines("readseq").unwrap(),
            "\nreadseq [AVG    3 runs] : 300 (± 299) ops/sec; 3.333 ms/op;    2.0 (± 2.0) MB/sec\n\
             readseq [MEDIAN 3 runs] : 200 ops/sec;    1.0 MB/sec"
        );
    }
}
