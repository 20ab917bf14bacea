use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::Outcome;

const SCHEMA: &str =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -65536;
     CREATE TABLE stock (item TEXT PRIMARY KEY, pieces INTEGER) WITHOUT ROWID;
     CREATE TABLE orders (number INTEGER PRIMARY KEY, customer INTEGER, day INTEGER,
         item TEXT, pieces INTEGER);
     CREATE INDEX by_customer ON orders (customer, day);
     CREATE INDEX by_day ON orders (day);";

pub(crate) fn orders(
    path: &Path,
    stock_at_start: impl Iterator<Item = (String, u64)>,
    orders: impl Iterator<Item = (u32, u32, String, u64)>,
    customers: &[u32],
) -> Outcome {
    let mut db = Connection::open(path)?;
    db.execute_batch(SCHEMA)?;
    let start = db.transaction()?;
    for entry in stock_at_start {
        start.prepare_cached("INSERT INTO stock VALUES (?1, ?2)")?.execute(entry)?;
    }
    start.commit()?;
    let mut refused = 0;
    for (number, (customer, day, item, pieces)) in (0u64..).zip(orders) {
        let step = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let taken = step
            .prepare_cached(
                "UPDATE stock SET pieces = pieces - ?1 WHERE item = ?2 AND pieces >= ?1",
            )?
            .execute((pieces, &item))?;
        if taken == 0 {
            refused += 1;
            continue;
        }
        step.prepare_cached("INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((number, customer, day, item, pieces))?;
        step.commit()?;
    }

    let mut report = vec![format!("refused {refused}")];
    let mut ordered =
        db.prepare("SELECT count(*), ifnull(sum(pieces), 0) FROM orders WHERE customer = ?1")?;
    for customer in customers {
        let (count, pieces): (u64, u64) =
            ordered.query_row([customer], |row| Ok((row.get(0)?, row.get(1)?)))?;
        report.push(format!("customer {customer}: {count} orders, {pieces} pieces"));
    }
    let ten_days: u64 =
        db.query_row("SELECT count(*) FROM orders WHERE day >= 10 AND day < 20", (), |row| {
            row.get(0)
        })?;
    let left: u64 = db.query_row("SELECT sum(pieces) FROM stock", (), |row| row.get(0))?;
    report.push(format!("{ten_days} orders in ten days, {left} pieces left"));
    Ok(report)
}
