//! All engines give the same answer. An estimate, which stands behind `~`, may differ by 5 %.

use crate::measure::Figures;
use crate::{Engine, Failed};

pub(crate) fn compare(job: &str, measured: &[(Engine, Figures)]) -> Result<(), Failed> {
    let Some((first, expected)) = measured.first() else { return Ok(()) };
    for (engine, figures) in &measured[1..] {
        let differ = |line: &usize| match (expected.answer.get(*line), figures.answer.get(*line)) {
            (Some(one), Some(other)) => !same(one, other),
            (one, other) => one.is_some() || other.is_some(),
        };
        let lines = expected.answer.len().max(figures.answer.len());
        if let Some(line) = (0..lines).find(differ) {
            return Err(format!(
                "{job}: {} and {} differ: {:?} and {:?}",
                first.name(),
                engine.name(),
                expected.answer.get(line),
                figures.answer.get(line)
            )
            .into());
        }
    }
    Ok(())
}

fn same(one: &str, other: &str) -> bool {
    match (one.split_once('~'), other.split_once('~')) {
        (Some((one, estimate)), Some((other, exact))) if one == other => {
            let (estimate, exact) = (estimate.parse::<f64>(), exact.parse::<f64>());
            matches!((estimate, exact), (Ok(one), Ok(other)) if (one - other).abs() <= other * 0.05)
        }
        _ => one == other,
    }
}
