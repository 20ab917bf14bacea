//! Tests of the parts of transactions.
