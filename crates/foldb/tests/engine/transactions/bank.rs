//! A bank: transfers by many threads create and lose no money, and no balance falls below zero.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use foldb::{Db, Error, ErrorKind, Isolation, Options, Result, Transaction, TransactionOptions};
use tempfile::TempDir;

const THREADS: u64 = 8;
const ACCOUNTS: u64 = 10_000;
const TRANSFERS: u64 = 4_000;
const BALANCE: u64 = 10;

fn key(account: u64) -> [u8; 8] {
    account.to_be_bytes()
}

fn balance(transaction: &Transaction, account: u64) -> Result<u64> {
    let bytes = transaction.get(key(account))?.unwrap();
    Ok(u64::from_le_bytes(bytes[..].try_into().unwrap()))
}

/// Moves money, unless the account has too little.
fn transfer(transaction: &Transaction, from: u64, to: u64, amount: u64) -> Result<()> {
    let left = balance(transaction, from)?.checked_sub(amount);
    let left = left.ok_or_else(|| Error::aborted("too little money"))?;
    transaction.put(key(from), left.to_le_bytes())?;
    let sum = balance(transaction, to)? + amount;
    transaction.put(key(to), sum.to_le_bytes())
}

fn check_the_sum(db: &Db, accounts: u64) {
    let balances = db.iter().unwrap().map(|entry| entry.unwrap().1);
    let balances: Vec<u64> =
        balances.map(|bytes| u64::from_le_bytes(bytes[..].try_into().unwrap())).collect();
    assert_eq!(balances.len() as u64, accounts);
    assert_eq!(balances.iter().sum::<u64>(), accounts * BALANCE);
}

fn run(accounts: u64, transfers: u64, isolation: Isolation) -> (u64, u64) {
    let dir = TempDir::new().unwrap();
    let small =
        Options { create_if_missing: true, write_buffer_size: 256 << 10, ..Options::default() };
    let db = Db::open(dir.path().join("bank"), small).unwrap();
    for account in 0..accounts {
        db.put(key(account), BALANCE.to_le_bytes()).unwrap();
    }
    let (attempts, commits) = (AtomicU64::new(0), AtomicU64::new(0));
    let options = TransactionOptions { isolation, ..Default::default() };
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (db, attempts, commits, options) = (&db, &attempts, &commits, &options);
            scope.spawn(move || {
                let mut random = fastrand(thread);
                for _ in 0..transfers {
                    let from = random(accounts);
                    let to = (from + 1 + random(accounts - 1)) % accounts;
                    let amount = random(5);
                    let outcome = db.with(options).transact(|transaction| {
                        attempts.fetch_add(1, Ordering::Relaxed);
                        transfer(transaction, from, to, amount)
                    });
                    match outcome {
                        Ok(()) => commits.fetch_add(1, Ordering::Relaxed),
                        Err(error) if error.kind() == ErrorKind::Aborted => {
                            commits.fetch_add(1, Ordering::Relaxed)
                        }
                        Err(error) => panic!("{error}"),
                    };
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..20 {
                // A snapshot is a moment between transfers.
                let transaction = db.begin().unwrap();
                let sum: u64 = (0..accounts).map(|n| balance(&transaction, n).unwrap()).sum();
                assert_eq!(sum, accounts * BALANCE);
            }
        });
    });
    check_the_sum(&db, accounts);
    db.close().unwrap();
    let db = Db::open(dir.path().join("bank"), Options::default()).unwrap();
    check_the_sum(&db, accounts);
    (attempts.into_inner(), commits.into_inner())
}

/// A small generator: xorshift.
fn fastrand(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |below| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    }
}

#[test]
fn a_bank_of_eight_threads_keeps_its_money() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let (attempts, commits) = run(ACCOUNTS, TRANSFERS, isolation);
        let share = attempts as f64 / commits as f64;
        println!("{isolation:?}: {attempts} attempts for {commits} commits: {share:.4}");
        assert!(share <= 1.01, "{share} attempts a commit");
    }
}

/// The bank at its full size: a million transfers.
#[test]
#[ignore = "takes half a minute; the shorter form above runs always"]
fn a_bank_of_a_million_transfers_keeps_its_money() {
    let begun = std::time::Instant::now();
    let (attempts, commits) = run(ACCOUNTS, 1_000_000 / THREADS, Isolation::Serializable);
    let share = attempts as f64 / commits as f64;
    println!("{attempts} attempts for {commits} commits: {share:.5}, in {:?}", begun.elapsed());
    assert!(share <= 1.01, "{share} attempts a commit");
}

/// Few accounts: most transactions meet another one, and all of them end.
#[test]
fn a_crowded_bank_keeps_its_money() {
    for isolation in [Isolation::Serializable, Isolation::Snapshot] {
        let (attempts, commits) = run(4, 500, isolation);
        println!("{isolation:?}: {attempts} attempts for {commits} commits");
    }
}

/// Increments of an account that a backward seek finds. The step behind it must not lose the claim.
#[test]
fn increments_that_iterators_read_are_not_lost() {
    const INCREMENTS: u64 = 200;
    const WRITERS: u64 = 4;
    let dir = TempDir::new().unwrap();
    let db = Db::create(dir.path().join("bank")).unwrap();
    db.put(key(1), 0u64.to_le_bytes()).unwrap();
    db.put(key(2), 0u64.to_le_bytes()).unwrap();
    let increment = |transaction: &Transaction| {
        let mut accounts = transaction.iter()?;
        assert!(accounts.seek_for_prev(key(1))?);
        let sum = u64::from_le_bytes(accounts.value()?[..].try_into().unwrap()) + 1;
        assert!(accounts.advance()?);
        drop(accounts);
        transaction.put(key(1), sum.to_le_bytes())
    };
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| (0..INCREMENTS).for_each(|_| db.transact(increment).unwrap()));
        }
    });
    assert_eq!(db.get(key(1)).unwrap().unwrap(), (WRITERS * INCREMENTS).to_le_bytes());
}
