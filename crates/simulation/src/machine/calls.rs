//! Definitions of C library calls in place of the library's own.
//!
//! The linker prefers these definitions to those of the C library. In threads of a run, the
//! scheduler answers the calls. [`real`] passes the calls of all other threads to the C library,
//! and all calls that the machine does not own.

#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ptr;

use libc::{
    EAGAIN, ETIMEDOUT, FUTEX_CMD_MASK, FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAKE,
    FUTEX_WAKE_BITSET, c_int, c_long, c_void, pthread_attr_t, pthread_t, timespec,
};

use super::real::{self, Baton, Routine};
use super::scheduler::{Machine, Nanos, Stuck, ThreadId, Trace, Wait};

/// The wall clock when the machine is switched on: 2026-01-01, in seconds since 1970.
const WALL_SECONDS: i64 = 1_767_225_600;

/// The machine of the run, if there is one.
struct Slot(UnsafeCell<Option<Switched>>);

struct Switched {
    machine: Machine,
    seed: u64,
    /// The system's names of the threads.
    handles: Vec<(pthread_t, ThreadId)>,
}

// SAFETY: only the thread with the baton reaches it (`with`), and handing over the baton orders its
// accesses before those of the next thread. Outside of runs, only `switch_on` and `switch_off`
// reach it, under the lock of `machine::run`.
unsafe impl Sync for Slot {}

static SLOT: Slot = Slot(UnsafeCell::new(None));

thread_local! {
    /// The id of this thread in the run. It has no destructor, so that it can be read until the
    /// very end.
    static ME: Cell<Option<ThreadId>> = const { Cell::new(None) };
    /// Whether the next thread that this one starts is the first one of a run.
    static STARTS_FIRST: Cell<bool> = const { Cell::new(false) };
}

pub(super) fn switch_on(seed: u64) {
    let switched = Switched { machine: Machine::new(seed), seed, handles: Vec::new() };
    // SAFETY: no run is on, and the caller holds the lock of all runs.
    unsafe { *SLOT.0.get() = Some(switched) };
}

/// Ends a run whose first thread has ended.
pub(super) fn switch_off() -> Trace {
    // SAFETY: as in `switch_on`; the run's threads have all ended.
    let switched = unsafe { (*SLOT.0.get()).take() };
    switched.map(|switched| switched.machine.trace()).unwrap_or_default()
}

/// Makes the thread that `start` starts the first one of the run.
pub(super) fn as_first_thread<T>(start: impl FnOnce() -> T) -> T {
    STARTS_FIRST.set(true);
    let started = start();
    STARTS_FIRST.set(false);
    started
}

/// Calls `ask` with the machine, if this thread belongs to a run and so holds the baton. Otherwise
/// returns `None`.
fn with<T>(ask: impl FnOnce(&mut Machine, ThreadId) -> T) -> Option<T> {
    let me = ME.get()?;
    Some(switched(|switched| ask(&mut switched.machine, me)))
}

/// Calls `ask` with the machine. The caller is a thread of the run and so holds the baton.
fn switched<T>(ask: impl FnOnce(&mut Switched) -> T) -> T {
    // SAFETY: the caller holds the baton. No `ask` calls back into this module: none allocates a
    // lock, reads a clock or starts a thread.
    match unsafe { &mut *SLOT.0.get() } {
        Some(switched) => ask(switched),
        None => std::process::abort(),
    }
}

/// Hands the baton to the chosen thread, and waits until this one gets it back.
fn hand_over(me: ThreadId, next: Result<ThreadId, Stuck>) {
    let next = next.unwrap_or_else(|stuck| give_up(&stuck));
    if next == me {
        return;
    }
    let (own, other) = switched(|now| (now.machine.baton(me), now.machine.baton(next)));
    other.give();
    own.wait();
}

fn give_up(stuck: &Stuck) -> ! {
    let seed = switched(|switched| switched.seed);
    // From here on this thread belongs to no run, so that it can print.
    ME.set(None);
    eprintln!("seed {seed}: {}", stuck.0);
    std::process::exit(3);
}

/// A call at which another thread may run.
fn may_give_way() {
    if let Some(Some((me, next))) =
        with(|machine, me| machine.gives_way().then(|| (me, machine.give_way())))
    {
        hand_over(me, next);
    }
}

/// A place in the engine at which another thread may run.
pub(super) fn scheduling_point() {
    let away = with(|machine, me| Some((me, machine.is_away_until()?)));
    if let Some(Some((me, until))) = away {
        let next = switched(|now| now.machine.sleep(until));
        hand_over(me, next);
    }
}

fn nanos_of(time: &timespec) -> Nanos {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

fn fail(error: c_int) -> c_long {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Handles `futex`, the wait and wake of all locks of the standard library and of parking_lot.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    let Some(me) = ME.get() else {
        // SAFETY: the caller's arguments as they are.
        return unsafe { real::syscall(number, a, b, c, d, e, f) };
    };
    let command = b as c_int & FUTEX_CMD_MASK;
    match (number, command) {
        (libc::SYS_futex, FUTEX_WAIT | FUTEX_WAIT_BITSET) => {
            // SAFETY: the caller passes a futex word, and a time or null.
            let (word, time) = unsafe { (*(a as *const u32), (d as *const timespec).as_ref()) };
            if word != c as u32 {
                return fail(EAGAIN);
            }
            futex_wait(me, a as usize, time, command == FUTEX_WAIT)
        }
        (libc::SYS_futex, FUTEX_WAKE | FUTEX_WAKE_BITSET) => {
            let count = usize::try_from(c).unwrap_or(0);
            let woken = switched(|now| now.machine.wake_at_futex(a as usize, count));
            may_give_way();
            woken as c_long
        }
        // SAFETY: the caller's arguments as they are.
        _ => unsafe { real::syscall(number, a, b, c, d, e, f) },
    }
}

fn futex_wait(me: ThreadId, address: usize, time: Option<&timespec>, is_relative: bool) -> c_long {
    let next = switched(|now| {
        let machine = &mut now.machine;
        if machine.ends_without_cause() {
            return None;
        }
        let start = if is_relative { machine.now() } else { 0 };
        let until = time.map(|time| start.saturating_add(nanos_of(time)));
        Some(machine.wait_at_futex(address, until))
    });
    let Some(next) = next else { return 0 };
    hand_over(me, next);
    match switched(|now| now.machine.outcome_of_wait()) {
        Wait::Woken => 0,
        Wait::TimedOut => fail(ETIMEDOUT),
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut timespec) -> c_int {
    let is_own =
        matches!(clock, libc::CLOCK_MONOTONIC | libc::CLOCK_REALTIME | libc::CLOCK_BOOTTIME);
    let now = if is_own { with(|machine, _| machine.now()) } else { None };
    let Some(now) = now else {
        // SAFETY: the caller's arguments as they are.
        return unsafe { real::clock_gettime(clock, time) };
    };
    let start = if clock == libc::CLOCK_REALTIME { WALL_SECONDS } else { 0 };
    let (tv_sec, tv_nsec) = (start + (now / 1_000_000_000) as i64, (now % 1_000_000_000) as i64);
    // SAFETY: the caller passes room for a time.
    unsafe { *time = timespec { tv_sec, tv_nsec } };
    may_give_way();
    0
}

/// Sleeps by the machine's clock. Returns `None` if this thread belongs to no run.
fn sleep(time: &timespec, is_absolute: bool) -> Option<()> {
    let (me, next) = with(|machine, me| {
        let start = if is_absolute { 0 } else { machine.now() };
        (me, machine.sleep(start.saturating_add(nanos_of(time))))
    })?;
    hand_over(me, next);
    Some(())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    request: *const timespec,
    remaining: *mut timespec,
) -> c_int {
    // SAFETY: the caller passes a time.
    match sleep(unsafe { &*request }, flags & libc::TIMER_ABSTIME != 0) {
        Some(()) => 0,
        // SAFETY: the caller's arguments as they are.
        None => unsafe { real::clock_nanosleep(clock, flags, request, remaining) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(request: *const timespec, remaining: *mut timespec) -> c_int {
    // SAFETY: the caller passes a time.
    match sleep(unsafe { &*request }, false) {
        Some(()) => 0,
        // SAFETY: the caller's arguments as they are.
        None => unsafe { real::nanosleep(request, remaining) },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_yield() -> c_int {
    match with(|machine, me| (me, machine.give_way())) {
        Some((me, next)) => {
            hand_over(me, next);
            0
        }
        // SAFETY: no arguments.
        None => unsafe { real::sched_yield() },
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(buffer: *mut c_void, length: usize, flags: u32) -> isize {
    if ME.get().is_none() {
        // SAFETY: the caller's arguments as they are.
        return unsafe { real::getrandom(buffer, length, flags) };
    }
    for at in 0..length {
        let byte = switched(|now| now.machine.random()) as u8;
        // SAFETY: the caller passes room for `length` bytes.
        unsafe { buffer.cast::<u8>().add(at).write(byte) };
    }
    length as isize
}

/// The data that a new thread of the run starts with.
struct Beginning {
    me: ThreadId,
    baton: std::sync::Arc<Baton>,
    routine: Routine,
    argument: *mut c_void,
}

/// The body of every thread of a run. It begins with the baton, and ends after the destructors of
/// its thread-locals, which are part of the run.
extern "C" fn begin(beginning: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` made it by `Box::into_raw` for this thread.
    let Beginning { me, baton, routine, argument } =
        *unsafe { Box::from_raw(beginning.cast::<Beginning>()) };
    baton.wait();
    ME.set(Some(me));
    // SAFETY: the key exists; any value but null makes the destructor run.
    unsafe { libc::pthread_setspecific(last_key(), ptr::dangling()) };
    routine(argument)
}

/// The key whose destructor ends a thread of a run. The C library runs destructors of keys after
/// those of Rust's thread-locals.
fn last_key() -> libc::pthread_key_t {
    extern "C" fn end(_: *mut c_void) {
        let Some(_me) = ME.get() else { return };
        let next = switched(|now| now.machine.end()).unwrap_or_else(|stuck| give_up(&stuck));
        let baton = next.map(|next| switched(|now| now.machine.baton(next)));
        ME.set(None);
        if let Some(baton) = baton {
            baton.give();
        }
    }
    static KEY: std::sync::OnceLock<libc::pthread_key_t> = std::sync::OnceLock::new();
    *KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: room for a key, and a destructor that does not unwind.
        let outcome = unsafe { libc::pthread_key_create(&mut key, Some(end)) };
        if outcome != 0 {
            std::process::abort();
        }
        key
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    routine: Routine,
    argument: *mut c_void,
) -> c_int {
    let is_first = STARTS_FIRST.replace(false);
    if ME.get().is_none() && !is_first {
        // SAFETY: the caller's arguments as they are.
        return unsafe { real::pthread_create(thread, attributes, routine, argument) };
    }
    let (me, baton) = switched(|now| {
        let me = now.machine.add_thread();
        (me, now.machine.baton(me))
    });
    let first_baton = is_first.then(|| std::sync::Arc::clone(&baton));
    let beginning = Box::into_raw(Box::new(Beginning { me, baton, routine, argument }));
    // SAFETY: the caller's arguments, but for a routine that calls the caller's.
    let outcome = unsafe { real::pthread_create(thread, attributes, begin, beginning.cast()) };
    if outcome != 0 {
        // SAFETY: no thread was started, so nothing else has it.
        drop(unsafe { Box::from_raw(beginning) });
        switched(|now| now.machine.remove_last_thread());
        return outcome;
    }
    // SAFETY: the call has written the thread's name.
    let name = unsafe { *thread };
    switched(|now| now.handles.push((name, me)));
    match first_baton {
        Some(baton) => baton.give(),
        None => may_give_way(),
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(thread: pthread_t, result: *mut *mut c_void) -> c_int {
    if let Some(me) = ME.get() {
        // Takes the newest match: the system reuses the name of an ended thread.
        let joined = switched(|now| {
            now.handles.iter().rev().find(|(name, _)| *name == thread).map(|&(_, id)| id)
        });
        if let Some(joined) = joined {
            let next = switched(|now| now.machine.join(joined));
            hand_over(me, next);
        }
    }
    // SAFETY: the caller's arguments as they are. The thread holds no baton any more.
    unsafe { real::pthread_join(thread, result) }
}
