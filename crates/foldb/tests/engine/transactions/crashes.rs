//! A power loss at every step of a commit leaves all of the transaction, or nothing.

use foldb::env::MemFs;
use foldb::env::mem::Fault;
use foldb::{Db, Keyspace, KeyspaceOptions, Options, Result, TransactionOptions, WriteOptions};

use crate::support::{PATH, options};

const TRANSFERS: u64 = 12;
const ACCOUNTS: u64 = 4;
const BALANCE: u64 = 100;
/// Number of crash outcomes to check.
const SEEDS: u64 = 4;

fn with(fs: &MemFs) -> Options {
    Options { write_buffer_size: 4 << 10, ..options(fs) }
}

fn number(bytes: Option<foldb::Value>) -> u64 {
    bytes.map_or(0, |bytes| u64::from_le_bytes(bytes[..].try_into().unwrap()))
}

/// Opens the accounts of a second keyspace; `None` if the crash came before its creation.
fn accounts(db: &Db) -> Option<Keyspace> {
    db.keyspace("accounts").ok()
}

/// Moves money in circles. The default keyspace counts the transfers, by merges.
fn program(fs: &MemFs, acknowledged: &mut u64) -> Result<()> {
    let db = Db::open(PATH, with(fs))?;
    let accounts = match accounts(&db) {
        Some(accounts) => accounts,
        None => db.create_keyspace("accounts", KeyspaceOptions::default())?,
    };
    let durable = TransactionOptions {
        write: WriteOptions { sync: true, ..Default::default() },
        ..Default::default()
    };
    db.with(&durable).transact(|opening| {
        let accounts = opening.keyspace(&accounts);
        for account in 0..ACCOUNTS {
            accounts.put(account.to_be_bytes(), BALANCE.to_le_bytes())?;
        }
        Ok(())
    })?;
    for transfer in 0..TRANSFERS {
        let [from, to] = [transfer, transfer + 1].map(|n| (n % ACCOUNTS).to_be_bytes());
        db.with(&durable).transact(|transaction| {
            let balances = transaction.keyspace(&accounts);
            let left = number(balances.get(from)?) - 5;
            balances.put(from, left.to_le_bytes())?;
            let sum = number(balances.get(to)?) + 5;
            balances.put(to, sum.to_le_bytes())?;
            transaction.put(format!("note {transfer}"), [b'n'; 300])?;
            transaction.merge("transfers", 1u64.to_le_bytes())
        })?;
        *acknowledged += 1;
        if transfer % 5 == 4 {
            db.flush()?;
        }
    }
    db.close()
}

fn check(fs: &MemFs, acknowledged: u64, moment: &str) {
    let db = Db::open(PATH, with(fs)).unwrap_or_else(|error| panic!("{moment}: {error}"));
    let transfers = number(db.get("transfers").unwrap());
    assert!((acknowledged..=acknowledged + 1).contains(&transfers), "{moment}: {transfers}");
    assert_eq!(db.prefix("note ").unwrap().count() as u64, transfers, "{moment}");
    let Some(accounts) = accounts(&db) else { return };
    let mut expected = [BALANCE; ACCOUNTS as usize];
    for transfer in 0..transfers {
        expected[(transfer % ACCOUNTS) as usize] -= 5;
        expected[((transfer + 1) % ACCOUNTS) as usize] += 5;
    }
    let found: Vec<u64> =
        accounts.iter().unwrap().map(|entry| number(Some(entry.unwrap().1))).collect();
    assert!(found == expected || (found.is_empty() && transfers == 0), "{moment}: {found:?}");
}

#[test]
fn a_crash_at_every_step_of_a_commit_leaves_all_or_nothing() {
    let whole = MemFs::new();
    let mut acknowledged = 0;
    program(&whole, &mut acknowledged).unwrap();
    assert_eq!(acknowledged, TRANSFERS);
    let calls = whole.counts().mutations();
    for point in 1..=calls {
        let fs = MemFs::new();
        fs.inject(Fault::on_mutation().nth(point).forever());
        let mut acknowledged = 0;
        // The first failing calls may be ones whose failure does no harm.
        let _stopped = program(&fs, &mut acknowledged);
        for seed in 0..SEEDS {
            let moment = format!("call {point} of {calls}, seed {seed}");
            check(&fs.crash_with(seed), acknowledged, &moment);
        }
        check(&fs.kill(), acknowledged, &format!("call {point} of {calls}, killed"));
    }
}
