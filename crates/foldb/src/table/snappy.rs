//! Snappy, LevelDB's codec. It exists only with the cargo feature `snappy`.
//!
//! Without the feature this module has the same functions. No code calls those that compress and
//! decompress: the options, and the reader of each frame, first ask
//! [`Compression::check_supported`](crate::Compression).

#[cfg(feature = "snappy")]
pub(super) use with_feature::{Encoder, decompress, worst_case};
#[cfg(not(feature = "snappy"))]
pub(super) use without_feature::{Encoder, decompress, worst_case};

#[cfg(feature = "snappy")]
mod with_feature {
    /// State of the codec, made when it is first needed.
    #[derive(Default)]
    pub(crate) struct Encoder(Option<snap::raw::Encoder>);

    impl Encoder {
        /// Compresses `raw` into `out`, which has [`worst_case`] bytes. Returns the compressed
        /// length.
        pub(crate) fn compress(&mut self, raw: &[u8], out: &mut [u8]) -> Option<usize> {
            self.0.get_or_insert_with(snap::raw::Encoder::new).compress(raw, out).ok()
        }
    }

    /// Returns the most bytes into which `len` bytes compress.
    pub(crate) fn worst_case(len: usize) -> usize {
        snap::raw::max_compress_len(len)
    }

    /// Fills `out`. Returns how many bytes that were.
    pub(crate) fn decompress(compressed: &[u8], out: &mut [u8]) -> Result<usize, String> {
        snap::raw::Decoder::new().decompress(compressed, out).map_err(|error| error.to_string())
    }
}

#[cfg(not(feature = "snappy"))]
mod without_feature {
    /// Stands for the codec's state; it compresses nothing.
    #[derive(Default)]
    pub(crate) struct Encoder(());

    impl Encoder {
        /// Returns `None`: the frame stays uncompressed.
        pub(crate) fn compress(&mut self, _raw: &[u8], _out: &mut [u8]) -> Option<usize> {
            None
        }
    }

    /// Returns 0: nothing is written.
    pub(crate) fn worst_case(_len: usize) -> usize {
        0
    }

    /// Fails always.
    pub(crate) fn decompress(_compressed: &[u8], _out: &mut [u8]) -> Result<usize, String> {
        Err("snappy is not in this build".to_owned())
    }
}
