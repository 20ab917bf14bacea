use std::path::Path;

use redb::{Database, Durability, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::{Failed, Outcome};

const STOCK: TableDefinition<'_, &str, u64> = TableDefinition::new("stock");
/// Customer, day, item and pieces by number.
const ORDERS: TableDefinition<'_, u64, (u32, u32, &str, u64)> = TableDefinition::new("orders");
const BY_CUSTOMER: TableDefinition<'_, (u32, u32, u64), ()> = TableDefinition::new("by customer");
const BY_DAY: TableDefinition<'_, (u32, u64), ()> = TableDefinition::new("by day");

pub(crate) fn orders(
    path: &Path,
    stock_at_start: impl Iterator<Item = (String, u64)>,
    orders: impl Iterator<Item = (u32, u32, String, u64)>,
    customers: &[u32],
) -> Outcome {
    let db = Database::create(path)?;
    let start = db.begin_write()?;
    {
        let mut stock = start.open_table(STOCK)?;
        for (item, pieces) in stock_at_start {
            stock.insert(&*item, pieces)?;
        }
        start.open_table(ORDERS)?;
        start.open_table(BY_CUSTOMER)?;
        start.open_table(BY_DAY)?;
    }
    start.commit()?;
    let mut refused = 0;
    for (number, order) in (0u64..).zip(orders) {
        if !take(&db, number, order)? {
            refused += 1;
        }
    }
    db.begin_write()?.commit()?; // durable, with all commits before it

    let read = db.begin_read()?;
    let taken = read.open_table(ORDERS)?;
    let mut report = vec![format!("refused {refused}")];
    for customer in customers {
        let (mut count, mut pieces) = (0, 0);
        let range = (*customer, 0, 0)..=(*customer, u32::MAX, u64::MAX);
        for entry in read.open_table(BY_CUSTOMER)?.range(range)? {
            let number = entry?.0.value().2;
            let order = taken.get(number)?.ok_or("the index has an order that is not there")?;
            (count, pieces) = (count + 1, pieces + order.value().3);
        }
        report.push(format!("customer {customer}: {count} orders, {pieces} pieces"));
    }
    let mut ten_days = 0;
    for entry in read.open_table(BY_DAY)?.range((10, 0)..(20, 0))? {
        let order = taken.get(entry?.0.value().1)?;
        ten_days += order.map_or(0, |_| 1);
    }
    let mut left = 0;
    for entry in read.open_table(STOCK)?.iter()? {
        left += entry?.1.value();
    }
    report.push(format!("{ten_days} orders in ten days, {left} pieces left"));
    Ok(report)
}

fn take(db: &Database, number: u64, order: (u32, u32, String, u64)) -> Result<bool, Failed> {
    let (customer, day, item, pieces) = order;
    let mut step = db.begin_write()?;
    step.set_durability(Durability::None)?;
    {
        let mut stock = step.open_table(STOCK)?;
        let there = stock.get(&*item)?.map_or(0, |there| there.value());
        let Some(left) = there.checked_sub(pieces) else {
            drop(stock);
            step.abort()?;
            return Ok(false);
        };
        stock.insert(&*item, left)?;
        step.open_table(ORDERS)?.insert(number, (customer, day, &*item, pieces))?;
        step.open_table(BY_CUSTOMER)?.insert((customer, day, number), ())?;
        step.open_table(BY_DAY)?.insert((day, number), ())?;
    }
    step.commit()?;
    Ok(true)
}
