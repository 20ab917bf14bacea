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

/// Each expected type lacks the words `unsafe extern "C"` before every `fn`.
#[test]
fn declarations_become_function_pointers() {
    for (declaration, name, rust) in [
        ("rocksdb_t* a(void)", "a", "fn() -> *mut rocksdb_t"),
        ("void b(const rocksdb_t* d, char** e)", "b", "fn(*const rocksdb_t, *mut *mut c_char)"),
        ("unsigned char c(unsigned char v, unsigned int n)", "c", "fn(c_uchar, c_uint) -> c_uchar"),
        ("void d(const char* const* k)", "d", "fn(*const *const c_char)"),
        ("void e(char*** l, const rocksdb_t* const* d)", "e", E),
        ("bool f(const uint32_t id, size_t* len)", "f", "fn(u32, *mut usize) -> bool"),
        ("const char* g(heard_cb heard)", "g", G),
        ("void h(char* (*made)(void*, const char* k, size_t), void* p)", "h", H),
    ] {
        let (read, pointer) = types().function(declaration).expect(declaration);
        assert_eq!((read, &*pointer.replace("unsafe extern \"C\" ", "")), (name, rust));
        let called = pointer.matches("fn(").count();
        assert_eq!(pointer.matches("unsafe extern \"C\" fn(").count(), called, "{pointer}");
    }
}

const E: &str = "fn(*mut *mut *mut c_char, *const *const rocksdb_t)";
const G: &str = "fn(Option<fn(*mut c_void, *const rocksdb_t)>) -> *const c_char";
const H: &str = "fn(Option<fn(*mut c_void, *const c_char, usize) -> *mut c_char>, *mut c_void)";

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
