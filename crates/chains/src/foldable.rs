//! The newest versions of a key, for a writer that folds them.

use crate::layout::IN_NODE;
use crate::node::Node;
use crate::versions::Version;

/// A version that may be folded with others, and the versions it stands for.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Foldable<'a> {
    /// The version.
    pub version: Version<'a>,
    /// Sequence number of the oldest version it stands for; its own if it was not folded.
    pub first_seqno: u64,
    /// How often it was folded: 0 if it is as it was inserted, else one more than the highest level
    /// among the versions it stands for.
    pub level: u8,
}

impl<'a> Node<'a> {
    /// Iterates over the versions that may be folded, from the newest on: all but the oldest, which
    /// lies inside the node and stays there.
    pub fn foldable(&self) -> impl Iterator<Item = Foldable<'a>> + use<'a> {
        let node = *self;
        let mut link = node.newest();
        std::iter::from_fn(move || {
            if link == IN_NODE {
                return None;
            }
            // SAFETY: `newest` is an acquired link, and so are those below it; not `IN_NODE`.
            unsafe {
                let version = node.version_at(link);
                let (first_seqno, level) = node.first_and_level(link);
                link = node.version(link).older;
                Some(Foldable { version, first_seqno, level })
            }
        })
    }
}
