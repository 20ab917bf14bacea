//! The decoders of value segments, for fuzzing: see [`crate::decoders`].

use crate::encoding::ByteReader;
use crate::segment::format::{FileHeader, parse_section_header};
use crate::separated::address::Address;
use crate::separated::extents::PieceReader;
use crate::separated::references::ReferencesEntry;

pub(crate) fn value_address(bytes: &[u8]) {
    let Ok(address) = Address::decode(bytes) else { return };
    assert!(address.end() >= address.position, "an address covers some bytes");
    let mut encoded = Vec::new();
    address.encode(&mut encoded);
    assert_eq!(Address::decode(&encoded).expect("an encoded address decodes"), address);
}

pub(crate) fn headers(bytes: &[u8]) {
    let _header = FileHeader::decode(bytes);
    let _section = parse_section_header(bytes);
}

pub(crate) fn references(bytes: &[u8]) {
    let _entry = ReferencesEntry::decode(bytes);
    let (mut piece, mut reader) = (ByteReader::new(bytes), PieceReader::default());
    reader.begin();
    while !piece.is_empty() {
        let Ok(stretch) = reader.next(&mut piece) else { return };
        assert!(stretch.start < stretch.end, "an extent has bytes");
    }
}
