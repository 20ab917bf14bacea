// LEVELDB_EXPORT, the macro that marks the classes and functions of the public interface.
//
// Programs need no definition for it on Linux. The build of the library itself defines
// LEVELDB_SHARED_LIBRARY and LEVELDB_COMPILE_LIBRARY, and hides every name without the macro.

#ifndef STORAGE_LEVELDB_INCLUDE_EXPORT_H_
#define STORAGE_LEVELDB_INCLUDE_EXPORT_H_

#ifndef LEVELDB_EXPORT
#if !defined(LEVELDB_SHARED_LIBRARY)
#define LEVELDB_EXPORT
#elif defined(_WIN32) && defined(LEVELDB_COMPILE_LIBRARY)
#define LEVELDB_EXPORT __declspec(dllexport)
#elif defined(_WIN32)
#define LEVELDB_EXPORT __declspec(dllimport)
#elif defined(LEVELDB_COMPILE_LIBRARY)
#define LEVELDB_EXPORT __attribute__((visibility("default")))
#else
#define LEVELDB_EXPORT
#endif
#endif

#endif  // STORAGE_LEVELDB_INCLUDE_EXPORT_H_
