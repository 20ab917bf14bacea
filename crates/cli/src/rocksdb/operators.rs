//! Which of foldb's operators gives the answers of one of RocksDB's.

use foldb_rocksdb_format::options::Section;

/// RocksDB's operators, by the names that its releases store, and the built-in ones.
const KNOWN: [(&[&str], &str); 7] = [
    // RocksDB counts an operand of another width as 0.
    (&["UInt64AddOperator", "uint64add"], "uint64add:rocksdb_lenient"),
    (&["PutOperator", "put", "put_v1"], "put"),
    (&["MaxOperator", "max"], "max"),
    (&["BytesXOR", "bytesxor"], "bytesxor"),
    (&["MergeSortOperator", "sortlist"], FORGETS_BASE),
    (&["StringAppendOperator", "stringappend"], "stringappend"),
    (&["StringAppendTESTOperator", "stringappendtest"], "stringappend"),
];

/// The operator whose answers in RocksDB have nothing of a value below its operands.
const FORGETS_BASE: &str = "sortlist";

/// Returns whether reads forget the value below the operands of this operator.
pub(super) fn forgets_base(operator: &str) -> bool {
    operator == FORGETS_BASE
}

/// Returns the operator, as the shell takes it. `None` if there is none with the same answers.
pub(super) fn known(name: &str, options: &Section) -> Option<String> {
    let (_, ours) = KNOWN.iter().find(|(names, _)| names.contains(&name))?;
    if *ours != "stringappend" {
        return Some((*ours).to_owned());
    }
    // Old releases store no delimiter. Then it is a comma, unless the program set another one.
    let delimiter = options.get("delimiter").or_else(|| options.get("delim"));
    Some(format!("{ours}:{}", delimiter.map_or(",", String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_are_known_by_their_stored_names() {
        let none = Section::new();
        assert_eq!(known("PutOperator", &none).as_deref(), Some("put"));
        let own = Section::from([("delimiter".to_owned(), "--".to_owned())]);
        assert_eq!(known("StringAppendOperator", &own).as_deref(), Some("stringappend:--"));
        assert_eq!(known("stringappend", &none).as_deref(), Some("stringappend:,"));
        assert_eq!(known("MyOperator", &none), None);
    }
}
