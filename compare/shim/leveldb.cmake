# LevelDB asks whether the compiler checks locks, as Clang does. Asked with warnings off, GCC says yes, and then refuses
# the flag: answered here.
set(HAVE_CLANG_THREAD_SAFETY OFF CACHE INTERNAL "")
