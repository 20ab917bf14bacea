//! Code that all fuzz targets share.

use foldb::internals::decoder;

/// Passes bytes to the decoder of this name.
///
/// # Panics
/// If there is no such decoder, or the decoder breaks one of its promises.
pub fn decode(name: &str, bytes: &[u8]) {
    let decoder = decoder(name).expect("each target names a decoder");
    (decoder.decode)(bytes);
}
