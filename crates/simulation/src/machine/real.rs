//! The C library's own versions of the calls that this program replaces.
//!
//! Invariant: nothing here is recorded or replayed. The scheduler waits through these calls, and
//! threads outside a simulation use them through [`super::calls`].

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use libc::{c_int, c_long, c_void, pthread_attr_t, pthread_t, timespec};

/// Returns the address of the C library's function of this name, looked up once.
fn address(cache: &AtomicPtr<c_void>, name: &CStr) -> *mut c_void {
    let known = cache.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: the name ends in a zero byte. RTLD_NEXT skips this program's own definition.
    let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if found.is_null() {
        // No message: printing would come back here.
        std::process::abort();
    }
    cache.store(found, Ordering::Relaxed);
    found
}

/// Defines a function that calls the C library's function of the same name and signature.
macro_rules! real {
    ($($name:ident ( $($argument:ident : $kind:ty),* ) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the C library's function of this name.
        pub(super) unsafe fn $name($($argument: $kind),*) -> $result {
            static CACHE: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            const NAME: &CStr =
                match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!("a name without a zero byte"),
                };
            // SAFETY: the C library defines the function with this signature, and the caller keeps
            // its rules.
            unsafe {
                let function: unsafe extern "C" fn($($kind),*) -> $result =
                    std::mem::transmute(address(&CACHE, NAME));
                function($($argument),*)
            }
        }
    )*};
}

/// The body of a new thread.
pub(super) type Routine = extern "C" fn(*mut c_void) -> *mut c_void;

real! {
    syscall(
        number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long
    ) -> c_long;
    clock_gettime(clock: c_int, time: *mut timespec) -> c_int;
    clock_nanosleep(
        clock: c_int, flags: c_int, request: *const timespec, remaining: *mut timespec
    ) -> c_int;
    nanosleep(request: *const timespec, remaining: *mut timespec) -> c_int;
    sched_yield() -> c_int;
    getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize;
    pthread_create(
        thread: *mut pthread_t, attributes: *const pthread_attr_t, routine: Routine,
        argument: *mut c_void
    ) -> c_int;
    pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int;
}

/// The right to run: a flag that one thread at a time takes.
#[derive(Debug, Default)]
pub(super) struct Baton(AtomicU32);

impl Baton {
    /// Hands the baton over: the thread that waits for it continues.
    pub(super) fn give(&self) {
        self.0.store(1, Ordering::Release);
        // SAFETY: a futex call on a word that lives as long as `self`.
        unsafe {
            let flags = c_long::from(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG);
            syscall(libc::SYS_futex, self.word(), flags, 1, 0, 0, 0);
        }
    }

    /// Waits until the baton is given, and takes it.
    pub(super) fn wait(&self) {
        while self.0.swap(0, Ordering::Acquire) == 0 {
            // SAFETY: a futex call on a word that lives as long as `self`, without a time limit.
            unsafe {
                let flags = c_long::from(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG);
                syscall(libc::SYS_futex, self.word(), flags, 0, 0, 0, 0);
            }
        }
    }

    fn word(&self) -> c_long {
        self.0.as_ptr() as c_long
    }
}
