//! Gives the shared library its soname: a program that links `libfoldb.so` asks for
//! `libfoldb.so.0` when it starts. The number grows when the interface breaks.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfoldb.so.0");
    }
}
