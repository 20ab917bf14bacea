//! Block caches of the caller's own: what they store and drop, no read gives another answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use foldb::custom::{CustomCache, SharedBlock};
use foldb::env::MemFs;
use foldb::{Db, Options};

use crate::support::{PATH, options};

/// Stores the blocks of some keys only.
#[derive(Debug, Default)]
struct Choosy {
    blocks: Mutex<HashMap<Vec<u8>, SharedBlock>>,
    /// Stores one block of this many; 0 stores none.
    one_of: u64,
    ids: AtomicU64,
    inserted: AtomicU64,
    hits: AtomicU64,
    bytes: AtomicU64,
}

impl CustomCache for Choosy {
    fn new_id(&self) -> u64 {
        self.ids.fetch_add(1, Relaxed)
    }

    fn insert(&self, key: &[u8], block: SharedBlock, charge: usize) {
        let n = self.inserted.fetch_add(1, Relaxed);
        self.bytes.fetch_add(charge as u64, Relaxed);
        if self.one_of > 0 && n.is_multiple_of(self.one_of) {
            self.blocks.lock().unwrap().insert(key.to_vec(), block);
        }
    }

    fn lookup(&self, key: &[u8]) -> Option<SharedBlock> {
        let found = self.blocks.lock().unwrap().get(key).cloned();
        self.hits.fetch_add(u64::from(found.is_some()), Relaxed);
        found
    }
}

fn value(database: usize, n: usize) -> String {
    format!("{database}: value of {n}")
}

/// Two databases whose files have the same numbers share a cache. Each finds its own blocks.
#[test]
fn databases_share_a_cache_of_the_caller() {
    for one_of in [0, 1, 3] {
        let cache = Arc::new(Choosy { one_of, ..Choosy::default() });
        let open = |fs: &MemFs| {
            let own = Options { block_cache: Some(cache.clone()), ..options(fs) };
            Db::open(PATH, own).unwrap()
        };
        let dbs: Vec<_> = [MemFs::new(), MemFs::new()].iter().map(open).collect();
        for (at, db) in dbs.iter().enumerate() {
            for n in 0..5000 {
                db.put(format!("{n:05}"), value(at, n)).unwrap();
            }
            db.flush().unwrap();
        }
        for n in (0..5000).chain(0..5000) {
            for (at, db) in dbs.iter().enumerate() {
                let found = db.get(format!("{n:05}")).unwrap().unwrap();
                assert_eq!(found, value(at, n).as_bytes());
            }
        }
        let (inserted, hits) = (cache.inserted.load(Relaxed), cache.hits.load(Relaxed));
        assert!(inserted > 10 && cache.ids.load(Relaxed) == 2, "{inserted} blocks inserted");
        assert_eq!(hits > 0, one_of > 0, "one of {one_of}: {hits} hits");
        assert!(cache.bytes.load(Relaxed) > inserted * 1000);
        // The built-in cache has nothing.
        for db in dbs {
            assert_eq!(db.memory().block_cache, 0);
            assert_eq!(db.stats().block_cache_hits > 0, one_of > 0);
            db.close().unwrap();
        }
    }
}
