//! Writing: the commit of one call's writes.

mod commit;
