//! How the build script reads declarations of C.

#[path = "../facts/rust_types.rs"]
mod rust_types;

use rust_types::Types;

fn types() -> Types {
    let mut types = Types::of_c();
    types.add_object("rocksdb_t");
    types.add_callback("void (*heard_cb)(void* state, const rocksdb_t* db)").expect("a callback");
    types
}

#[test]
fn declarations_become_function_pointers() {
    for (declaration, name, rust) in [
        ("rocksdb_t* a(void)", "a", "fn() -> *mut rocksdb_t"),
        ("void b(const rocksdb_t* db, char** errptr)", "b", "fn(*const rocksdb_t, *mut *mut c_char)"),
        ("unsigned char c(unsigned char v, unsigned int n)", "c", "fn(c_uchar, c_uint) -> c_uchar"),
        ("void d(const char* const* keys, char*** lists)", "d", "fn(*const *const c_char, *mut *mut *mut c_char)"),
        ("void e(const rocksdb_t* const* dbs)", "e", "fn(*const *const rocksdb_t)"),
        ("bool f(const uint32_t id, size_t* len)", "f", "fn(u32, *mut usize) -> bool"),
        ("const char* g(heard_cb heard)", "g", "fn(Option<unsafe extern \"C\" fn(*mut c_void, *const rocksdb_t)>) -> *const c_char"),
        ("void h(char* (*made)(void*, const char* k, size_t), void* p)", "h", "fn(Option<unsafe extern \"C\" fn(*mut c_void, *const c_char, usize) -> *mut c_char>, *mut c_void)"),
    ] {
        let read = types().function(declaration).expect(declaration);
        assert_eq!(read, (name, format!("unsafe extern \"C\" {rust}")), "{declaration}");
    }
}

#[test]
fn what_is_no_known_declaration_is_refused() {
    for (declaration, refusal) in [
        ("void a", "'void a' is not RESULT NAME(PARAMETERS)"),
        ("void b(rocksdb_lost_t* x)", "'rocksdb_lost_t' is an unknown type"),
        ("void c(long x)", "'long' is an unknown type"),
        ("void d(const char* const keys[])", "'keys[]' is no part of a type"),
    ] {
        assert_eq!(types().function(declaration).unwrap_err(), refusal);
    }
}
