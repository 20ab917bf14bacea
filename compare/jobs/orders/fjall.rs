use std::path::Path;

use fjall::{
    KeyspaceCreateOptions, PersistMode, Readable as _, SingleWriterTxDatabase,
    SingleWriterTxKeyspace,
};

use crate::{Failed, Outcome};

struct Shop {
    db: SingleWriterTxDatabase,
    stock: SingleWriterTxKeyspace,
    /// Customer, day and pieces by number, and behind them the item.
    orders: SingleWriterTxKeyspace,
    by_customer: SingleWriterTxKeyspace,
    by_day: SingleWriterTxKeyspace,
}

pub(crate) fn orders(
    path: &Path,
    stock_at_start: impl Iterator<Item = (String, u64)>,
    orders: impl Iterator<Item = (u32, u32, String, u64)>,
    customers: &[u32],
) -> Outcome {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let shop = Shop {
        stock: db.keyspace("stock", KeyspaceCreateOptions::default)?,
        orders: db.keyspace("orders", KeyspaceCreateOptions::default)?,
        by_customer: db.keyspace("by customer", KeyspaceCreateOptions::default)?,
        by_day: db.keyspace("by day", KeyspaceCreateOptions::default)?,
        db,
    };
    for (item, pieces) in stock_at_start {
        shop.stock.insert(item, pieces.to_be_bytes())?;
    }
    let mut refused = 0;
    for (number, order) in (0u64..).zip(orders) {
        if !take(&shop, number, order)? {
            refused += 1;
        }
    }
    shop.db.persist(PersistMode::SyncAll)?;

    let read = shop.db.read_tx();
    let mut report = vec![format!("refused {refused}")];
    for customer in customers {
        let (mut count, mut pieces) = (0, 0);
        for entry in read.prefix(&shop.by_customer, customer.to_be_bytes()) {
            let key = entry.key()?;
            let order = read.get(&shop.orders, &key[8..])?;
            let order = order.ok_or("the index has an order that is not there")?;
            (count, pieces) = (count + 1, pieces + number_of(&order[8..16])?);
        }
        report.push(format!("customer {customer}: {count} orders, {pieces} pieces"));
    }
    let mut ten_days = 0;
    for entry in read.range(&shop.by_day, 10u32.to_be_bytes()..20u32.to_be_bytes()) {
        let order = read.get(&shop.orders, &entry.key()?[4..])?;
        ten_days += order.map_or(0, |_| 1);
    }
    let mut left = 0;
    for entry in read.iter(&shop.stock) {
        left += number_of(&entry.value()?)?;
    }
    report.push(format!("{ten_days} orders in ten days, {left} pieces left"));
    Ok(report)
}

fn take(shop: &Shop, number: u64, order: (u32, u32, String, u64)) -> Result<bool, Failed> {
    let (customer, day, item, pieces) = order;
    let mut step = shop.db.write_tx();
    let there = step.get(&shop.stock, &item)?.map_or(Ok(0), |there| number_of(&there))?;
    let Some(left) = there.checked_sub(pieces) else {
        step.rollback();
        return Ok(false);
    };
    let (customer, day) = (customer.to_be_bytes(), day.to_be_bytes());
    let number = number.to_be_bytes();
    let order = [&customer[..], &day, &pieces.to_be_bytes(), item.as_bytes()].concat();
    step.insert(&shop.stock, item, left.to_be_bytes());
    step.insert(&shop.orders, number, order);
    step.insert(&shop.by_customer, [&customer[..], &day, &number].concat(), "");
    step.insert(&shop.by_day, [&day[..], &number].concat(), "");
    step.commit()?;
    Ok(true)
}

fn number_of(bytes: &[u8]) -> Result<u64, std::array::TryFromSliceError> {
    Ok(u64::from_be_bytes(bytes.try_into()?))
}
