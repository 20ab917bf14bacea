//! What all fuzz targets share.

use foldb::internals::decoder;

/// Gives bytes to the decoder of this name.
///
/// # Panics
/// When there is no such decoder, or it finds that it broke one of its promises.
pub fn decode(name: &str, bytes: &[u8]) {
    let decoder = decoder(name).expect("each target names a decoder");
    (decoder.decode)(bytes);
}
