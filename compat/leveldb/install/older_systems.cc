// What the headers of newer compilers call, and libstdc++ and glibc of older systems lack.
//
// A release is linked with this file, so that its shared library runs with glibc 2.28 and the
// libstdc++ of GCC 8. Invariant: each name is local in the library, and does what the newer system
// does. The names are the linker's, because headers of different compilers declare them
// differently.

#include <pthread.h>

#include <condition_variable>
#include <mutex>
#include <new>

extern "C" {

// glibc 2.32 has it. False is right with one thread too: counters then change atomically.
extern const char single_threaded __asm__("__libc_single_threaded");
const char single_threaded = 0;

// std::__throw_bad_array_new_length(), since GCC 11.
[[noreturn]] void throw_bad_length() __asm__("_ZSt28__throw_bad_array_new_lengthv");
void throw_bad_length() { throw std::bad_array_new_length(); }

// std::condition_variable::wait(): GCC 12 has a newer version, from which threads can be cancelled.
void wait_for(std::condition_variable*, std::unique_lock<std::mutex>*) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void wait_for(std::condition_variable* condition, std::unique_lock<std::mutex>* lock) {
  pthread_cond_wait(condition->native_handle(), lock->mutex()->native_handle());
}

}  // extern "C"
