# find_package(leveldb) gives leveldb::leveldb, the shared library, and leveldb::static.

get_filename_component(_leveldb_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET leveldb::leveldb)
  add_library(leveldb::leveldb SHARED IMPORTED)
  set_target_properties(leveldb::leveldb PROPERTIES
    IMPORTED_LOCATION "${_leveldb_prefix}/lib/libleveldb.so"
    IMPORTED_SONAME "libleveldb.so.1"
    INTERFACE_COMPILE_DEFINITIONS "LEVELDB_SHARED_LIBRARY"
    INTERFACE_INCLUDE_DIRECTORIES "${_leveldb_prefix}/include")
  add_library(leveldb::static STATIC IMPORTED)
  set_target_properties(leveldb::static PROPERTIES
    IMPORTED_LOCATION "${_leveldb_prefix}/lib/libleveldb.a"
    IMPORTED_LINK_INTERFACE_LANGUAGES "CXX"
    INTERFACE_INCLUDE_DIRECTORIES "${_leveldb_prefix}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()

unset(_leveldb_prefix)
