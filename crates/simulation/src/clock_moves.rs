//! Moves of the time of day by clients, and resets of the database's time.

use std::time::Duration;

use foldb::WriteOptions;
use foldb_env::Clock as _;
use foldb_model::{Change, Operation, Reset};

use crate::client::{Answer, Client};
use crate::counts::Counted;

/// The database stores a second within this time, even on a disk that hangs.
const LONGEST_STORE: Duration = Duration::from_secs(60);

impl Client<'_> {
    /// Moves the time of day while no call runs, and lets the database see it. Resets a time that
    /// is ahead now and then.
    pub(crate) fn move_clock_now_and_then(&mut self) -> Answer<()> {
        let features = self.stage.features;
        if features.expiry.is_none() || self.rng.u8(..12) > 0 {
            return Ok(());
        }
        let day = self.stage.day;
        let _stopped = day.stop();
        // After a failed call the database may store no seconds, and its time stands still.
        let is_sound = || !self.stage.disk.is_dead() && self.stage.disk.happened().failures == 0;
        if !is_sound() {
            return Ok(());
        }
        let seconds = match self.rng.u8(..8) {
            0 => self.rng.i64(-10..0),
            1 => self.rng.i64(8..30),
            _ => self.rng.i64(1..6),
        };
        day.move_by(seconds);
        let fading = &self.stage.keyspaces[self.stage.keyspaces.len() - 1];
        // While another thread holds the tree, a read may show an older second.
        for _ in 0..2 {
            std::thread::sleep(LONGEST_STORE);
            if fading.get(features.key(0)).is_err() {
                break;
            }
        }
        if !is_sound() {
            day.note_unsure();
            return Ok(());
        }
        self.stage.counts.add(Counted::ClockMove);
        day.note_seen();
        if features.resets && day.is_behind() && self.rng.bool() {
            let outcome = self.reset_clock();
            if outcome.is_err() {
                // The time may be set back or not. From here on it is what it was before.
                day.catch_up();
                day.note_unsure();
            }
            return outcome;
        }
        Ok(())
    }

    /// Sets the database's time back to the time of day, while no other call runs. Records what is
    /// left of the entries.
    fn reset_clock(&mut self) -> Answer<()> {
        let (features, day) = (self.stage.features, self.stage.day);
        let (before, after) = (day.second(), day.time_of_day().as_secs());
        self.stage.db.reset_clock()?;
        // A write of its own separates what reads show before and after. A power cut leaves both.
        let key = features.key(0);
        let value = self.value(features.operators[0], key.len());
        let operations = vec![Operation { keyspace: 0, change: Change::Put(key, value) }];
        let options = WriteOptions { sync: true, ..WriteOptions::default() };
        let began = self.begin_write();
        let answer = self.submit(&operations, &options);
        let number = self.wrote(began, true, &answer, operations).map(|write| *write.numbers.end());
        answer?;
        let keyspace = features.operators.len() - 1;
        let iterator = self.stage.keyspaces[keyspace].iter()?;
        let entries = self.entries(iterator)?;
        if let Some(number) = number {
            self.history.resets.push(Reset { number, before, after, keyspace, entries });
        }
        day.note_reset();
        self.stage.counts.add(Counted::Reset);
        Ok(())
    }
}
