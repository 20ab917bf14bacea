//! Zstd: the only codec in C, so it exists only with the cargo feature `zstd`.
//!
//! Without the feature this module has the same functions. No code calls those that compress and
//! decompress: the options, and the reader of each frame, first ask
//! [`Compression::check_supported`](crate::Compression).

#[cfg(feature = "zstd")]
pub(crate) use with_feature::{Encoder, decompress, worst_case};
#[cfg(not(feature = "zstd"))]
pub(crate) use without_feature::{Encoder, decompress, worst_case};

#[cfg(feature = "zstd")]
mod with_feature {
    use std::cell::RefCell;

    use ::zstd::bulk::{Compressor, Decompressor};

    /// The library's default: most of the saving, at a speed that background work keeps up with.
    const LEVEL: i32 = 3;

    /// State of the codec. It is large, so it is made when it is first needed.
    #[derive(Default)]
    pub(crate) struct Encoder(Option<Compressor<'static>>);

    impl Encoder {
        /// Compresses `raw` into `out`, which has [`worst_case`] bytes. Returns the compressed
        /// length.
        pub(crate) fn compress(&mut self, raw: &[u8], out: &mut [u8]) -> Option<usize> {
            if self.0.is_none() {
                self.0 = Compressor::new(LEVEL).ok();
            }
            self.0.as_mut()?.compress_to_buffer(raw, out).ok()
        }
    }

    /// Returns the most bytes into which `len` bytes compress.
    pub(crate) fn worst_case(len: usize) -> usize {
        ::zstd::zstd_safe::compress_bound(len)
    }

    /// Fills `out`. Returns how many bytes that were.
    pub(crate) fn decompress(compressed: &[u8], out: &mut [u8]) -> Result<usize, String> {
        thread_local! {
            // The decoder is too large to be made for each block.
            static DECODER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
        }
        let mut decompress = |decoder: &mut Option<Decompressor<'static>>| {
            let decoder = match decoder {
                Some(decoder) => decoder,
                None => decoder.insert(Decompressor::new().map_err(|error| error.to_string())?),
            };
            decoder.decompress_to_buffer(compressed, &mut *out).map_err(|error| error.to_string())
        };
        // A program may read while its thread ends, when the thread's decoder is gone.
        let Ok(mut own) = DECODER.try_with(RefCell::take) else { return decompress(&mut None) };
        let read = decompress(&mut own);
        DECODER.set(own);
        read
    }
}

#[cfg(not(feature = "zstd"))]
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
        Err("zstd is not in this build".to_owned())
    }
}
