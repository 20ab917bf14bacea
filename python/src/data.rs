//! Where reads go: a keyspace, one that is only read, or one at a moment.

use std::sync::Arc;

use foldb::KeyspaceReader;

use crate::snapshot::{Home, Moment};

/// Where reads go.
#[derive(Clone)]
pub(crate) enum Data {
    /// A keyspace of a database that this process writes.
    Live(foldb::Keyspace),
    /// A keyspace of a database that is only read.
    Reader(KeyspaceReader),
    /// A keyspace at the moment of a snapshot.
    Moment(Arc<Moment>, Home),
}

/// Runs an expression over whichever handle reads.
macro_rules! reading {
    ($data:expr, $reader:ident => $read:expr) => {
        $crate::callbacks::guarded(|| match $data {
            Data::Live($reader) => $read,
            Data::Reader($reader) => $read,
            Data::Moment(moment, home) => {
                let $reader = &moment.reader(home)?;
                $read
            }
        })
    };
}
pub(crate) use reading;

/// Runs an expression over the keyspace that a handle is of.
macro_rules! described {
    ($data:expr, $own:ident => $call:expr) => {
        match $data {
            Data::Live($own) | Data::Moment(_, Home::Live($own)) => $call,
            Data::Reader($own) | Data::Moment(_, Home::ReadOnly($own)) => $call,
        }
    };
}
pub(crate) use described;
