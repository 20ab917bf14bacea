//! Every job leaves the same database in foldb as in a map of the standard library, and as in the
//! peers that were built.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use foldb_compare::child;
use foldb_compare::engine::{Engine, Name, Nominal, Operator, Scan, State};
use foldb_compare::failure::Result;
use foldb_compare::scale::Scale;
use foldb_compare::workload::{self, JOBS, Job};
use foldb_report::results::{BackgroundEvent, Run};

/// A database that is right and nothing else. It lives as long as the process, by directory, for
/// jobs open theirs twice.
struct Model {
    map: &'static Map,
    operator: Option<Operator>,
}

type Map = Mutex<BTreeMap<Vec<u8>, Vec<u8>>>;

static MAPS: Mutex<BTreeMap<std::path::PathBuf, &'static Map>> = Mutex::new(BTreeMap::new());

impl Engine for Model {
    fn open(nominal: &Nominal, directory: &Path) -> Result<Model> {
        let mut maps = MAPS.lock().unwrap();
        let map =
            maps.entry(directory.to_owned()).or_insert_with(|| Box::leak(Box::new(Map::default())));
        Ok(Model { map, operator: nominal.operator })
    }

    fn settings(_: &Nominal) -> String {
        "none".to_owned()
    }

    fn put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.map.lock().unwrap().insert(key.to_vec(), value.to_vec());
        Ok(())
    }

    fn merge(&self, key: &[u8], operand: &[u8]) -> Result<()> {
        let mut map = self.map.lock().unwrap();
        let value = map.get(key).map(Vec::as_slice);
        let value = self.operator.unwrap().apply(value, operand);
        map.insert(key.to_vec(), value);
        Ok(())
    }

    fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.map.lock().unwrap().get(key).map(|value| read(value)))
    }

    fn scan(&self, scan: Scan<'_>, mut visit: impl FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
        let map = self.map.lock().unwrap();
        let mut visit = |(key, value): (&Vec<u8>, &Vec<u8>)| visit(key, value);
        let _all = match scan {
            Scan::Forward => map.iter().all(&mut visit),
            Scan::Reverse => map.iter().rev().all(&mut visit),
            Scan::From(from) => map.range(from.to_vec()..).all(&mut visit),
        };
        Ok(())
    }

    fn rest(&self, _: bool) -> Result<()> {
        Ok(())
    }

    fn state(&self) -> State {
        State::default()
    }

    fn events(&self) -> Vec<BackgroundEvent> {
        Vec::new()
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}

fn by_model(job: &Job) -> Vec<Run> {
    let directory = tempfile::tempdir().unwrap();
    workload::run::<Model>(job, Scale::Tiny, directory.path()).unwrap()
}

fn by(engine: Name, job: &Job) -> Vec<Run> {
    let directory = tempfile::tempdir().unwrap();
    child::dispatch(job, engine, Scale::Tiny, directory.path()).unwrap()
}

fn digests(runs: &[Run]) -> Vec<(&str, &str)> {
    runs.iter().map(|run| (run.workload.as_str(), run.digest.as_str())).collect()
}

#[test]
fn foldb_holds_what_the_model_holds_after_every_job() {
    for job in JOBS {
        let (model, foldb) = (by_model(job), by(Name::Foldb, job));
        assert_eq!(digests(&foldb), digests(&model));
        let rows: Vec<_> = foldb.iter().map(|run| run.workload.as_str()).collect();
        assert_eq!(rows, job.rows.iter().map(|row| row.name).collect::<Vec<_>>());
        assert!(foldb.iter().all(|run| run.operations > 0 && run.seconds > 0.0), "{}", job.name);
    }
}

#[test]
fn peers_that_were_built_hold_it_too() {
    for job in JOBS {
        let model = by_model(job);
        let peers = job.engines[1..].iter().copied();
        for peer in peers.filter(|peer| *peer != Name::MergeDb && peer.absent().is_none()) {
            assert_eq!(digests(&by(peer, job)), digests(&model), "{} on {peer:?}", job.name);
        }
    }
}

/// The digest sees a single bit of a single value.
#[test]
fn a_database_with_one_value_changed_has_another_digest() {
    let directory = tempfile::tempdir().unwrap();
    let model = Model::open(
        &workload::find("scan-8b").unwrap().sizes(Scale::Tiny).nominal,
        directory.path(),
    )
    .unwrap();
    for number in 0..1000_u64 {
        model.put(&number.to_be_bytes(), b"value").unwrap();
    }
    let before = foldb_compare::digest::of(&model).unwrap();
    model.put(&500_u64.to_be_bytes(), b"valud").unwrap();
    assert_ne!(foldb_compare::digest::of(&model).unwrap(), before);
}
