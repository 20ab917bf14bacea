//! The benchmarks of codecs: the libraries that the engine compresses blocks with.

use std::hint::black_box;

use foldb::{Compression, Result};

use super::Task;
use crate::histogram::Operation;

/// Bytes to compress, and to decompress.
const TOTAL: u64 = 1 << 30;

/// A codec at work.
enum Codec {
    Lz4,
    Snappy(Box<snap::raw::Encoder>),
    #[cfg(feature = "zstd")]
    Zstd,
}

impl Codec {
    /// Returns a codec; `None` if there is none, or if the build lacks it.
    fn new(compression: Compression) -> Option<Codec> {
        match compression {
            Compression::Lz4 => Some(Codec::Lz4),
            Compression::Snappy => Some(Codec::Snappy(Box::new(snap::raw::Encoder::new()))),
            #[cfg(feature = "zstd")]
            Compression::Zstd => Some(Codec::Zstd),
            _ => None,
        }
    }

    fn compress(&mut self, input: &[u8]) -> std::result::Result<Vec<u8>, String> {
        match self {
            Codec::Lz4 => Ok(lz4_flex::block::compress(input)),
            Codec::Snappy(encoder) => encoder.compress_vec(input).map_err(|e| e.to_string()),
            #[cfg(feature = "zstd")]
            Codec::Zstd => zstd::bulk::compress(input, 0).map_err(|e| e.to_string()),
        }
    }

    fn uncompress(&self, input: &[u8], size: usize) -> std::result::Result<Vec<u8>, String> {
        match self {
            Codec::Lz4 => lz4_flex::block::decompress(input, size).map_err(|e| e.to_string()),
            Codec::Snappy(_) => {
                snap::raw::Decoder::new().decompress_vec(input).map_err(|e| e.to_string())
            }
            #[cfg(feature = "zstd")]
            Codec::Zstd => zstd::bulk::decompress(input, size).map_err(|e| e.to_string()),
        }
    }
}

impl<'a> Task<'a> {
    /// Compresses one block again and again (RocksDB: `Compress`).
    pub(super) fn compress(&mut self, given: Option<Compression>) -> Result<()> {
        let (input, Some(mut codec)) = self.block_and_codec(given) else { return Ok(()) };
        let (mut bytes, mut produced) = (0_u64, 0_u64);
        while bytes < TOTAL {
            match codec.compress(black_box(input)) {
                Ok(output) => produced += black_box(output).len() as u64,
                Err(error) => {
                    self.recorder.message(&format!("(compression failure: {error})"));
                    return Ok(());
                }
            }
            bytes += input.len() as u64;
            self.recorder.bytes(input.len());
            self.recorder.finished(1, Operation::Compress);
        }
        let percent = produced as f64 * 100.0 / bytes as f64;
        self.recorder.message(&format!("(output: {percent:.1}%)"));
        Ok(())
    }

    /// Decompresses one block again and again (RocksDB: `Uncompress`).
    pub(super) fn uncompress(&mut self, given: Option<Compression>) -> Result<()> {
        let (input, Some(mut codec)) = self.block_and_codec(given) else { return Ok(()) };
        let mut bytes = 0_u64;
        let compressed = codec.compress(input);
        while bytes < TOTAL {
            let output = match &compressed {
                Ok(compressed) => codec.uncompress(black_box(compressed), input.len()),
                Err(error) => Err(error.clone()),
            };
            match output {
                Ok(output) => bytes += black_box(output).len() as u64,
                Err(error) => {
                    self.recorder.message(&format!("(decompression failure: {error})"));
                    return Ok(());
                }
            }
            self.recorder.bytes(input.len());
            self.recorder.finished(1, Operation::Uncompress);
        }
        Ok(())
    }

    fn block_and_codec(&mut self, given: Option<Compression>) -> (&'a [u8], Option<Codec>) {
        let compression = given.unwrap_or_else(|| self.shared.options.default.compression());
        let codec = Codec::new(compression);
        if codec.is_none() {
            self.recorder.message("(compression type not supported)");
        }
        (self.values.of(self.sizes.block_size.max(1)), codec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_return_what_they_compressed() {
        let input = b"one piece, one piece, one piece, one piece, and another".repeat(9);
        for compression in [Compression::Lz4, Compression::Snappy, Compression::Zstd] {
            let Some(mut codec) = Codec::new(compression) else { continue };
            let compressed = codec.compress(&input).unwrap();
            assert!(compressed.len() < input.len() / 2, "{}", compression.name());
            assert_eq!(codec.uncompress(&compressed, input.len()).unwrap(), input);
        }
        assert!(Codec::new(Compression::None).is_none());
    }
}
