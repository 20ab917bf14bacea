//! The newest versions of a key, as the writer looks at them to fold them.

use crate::chains::Node;
use crate::layout::IN_NODE;
use crate::versions::Version;

/// A version that others may be folded with, and what it stands for itself.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Foldable<'a> {
    /// The version.
    pub version: Version<'a>,
    /// Sequence number of the oldest version it stands for; its own if it was not folded.
    pub first_seqno: u64,
    /// How often it was folded: 0 if it is as it was inserted, else one more than the highest level
    /// among those it was folded of.
    pub level: u8,
}

impl<'a> Node<'a> {
    /// The versions from the newest on, as far as they may be folded: all but the oldest, which
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
