//! Sells from a stock: `cargo run -p foldb-typed --example orders`.
//!
//! An order and what it takes from the stock are one commit. Orders are found by their customer
//! and day.

use std::path::Path;

use foldb_typed::foldb::Db;
use foldb_typed::{Error, ErrorKind, Index, IndexedTable, Result, Table};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Order {
    customer: u32,
    day: u32,
    item: String,
    pieces: u64,
}

static BY_CUSTOMER: Index<u64, Order, (u32, u32)> =
    Index::new("by_customer", |_, order| Some((order.customer, order.day)));
static BY_DAY: Index<u64, Order, u32> = Index::new("by_day", |_, order| Some(order.day));

/// Takes orders: customer, day, item and pieces. An order of more than there is, is refused.
/// Returns what the `customers` ordered, the orders of ten days, and the rest of the stock.
pub(crate) fn orders(
    path: &Path,
    stock_at_start: impl Iterator<Item = (String, u64)>,
    orders: impl Iterator<Item = (u32, u32, String, u64)>,
    customers: &[u32],
) -> Result<Vec<String>> {
    let db = Db::create(path)?;
    let stock = Table::<String, u64>::open(&db, "stock")?;
    let taken = IndexedTable::<u64, Order>::open(&db, "orders", &[&BY_CUSTOMER, &BY_DAY])?;
    for (item, pieces) in stock_at_start {
        stock.put(item, pieces)?;
    }
    let mut refused = 0;
    for (number, (customer, day, item, pieces)) in (0u64..).zip(orders) {
        let order = Order { customer, day, item, pieces };
        let outcome = db.transact(|transaction| {
            let stock = stock.within(transaction);
            let left = stock.get(&order.item)?.unwrap_or(0).checked_sub(order.pieces);
            stock.put(&order.item, left.ok_or_else(|| Error::aborted("too few"))?)?;
            taken.within(transaction).put(number, &order)
        });
        match outcome {
            Err(error) if error.kind() == ErrorKind::Aborted => refused += 1,
            outcome => outcome?,
        }
    }
    db.sync()?;

    let mut report = vec![format!("refused {refused}")];
    for customer in customers {
        let (mut count, mut pieces) = (0, 0);
        for order in taken.by(&BY_CUSTOMER)?.prefix((*customer,))? {
            (count, pieces) = (count + 1, pieces + order?.1.pieces);
        }
        report.push(format!("customer {customer}: {count} orders, {pieces} pieces"));
    }
    let ten_days = taken.by(&BY_DAY)?.range(10..20)?.count();
    let left = stock.iter()?.map(|entry| Ok(entry?.1)).sum::<Result<u64>>()?;
    report.push(format!("{ten_days} orders in ten days, {left} pieces left"));
    db.close()?;
    Ok(report)
}

pub(crate) fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let stock = [("tea".to_owned(), 10), ("cup".to_owned(), 3)];
    let asked = [(1, 9, "tea", 4), (2, 10, "cup", 2), (1, 11, "cup", 2), (1, 12, "tea", 6)];
    let asked = asked.into_iter().map(|(who, day, item, n)| (who, day, item.to_owned(), n));
    let report = orders(&dir.path().join("db"), stock.into_iter(), asked, &[1])?;
    report.iter().for_each(|line| println!("{line}"));
    let expected =
        ["refused 1", "customer 1: 2 orders, 10 pieces", "2 orders in ten days, 1 pieces left"];
    assert_eq!(report, expected);
    Ok(())
}
