# find_package(foldb) gives foldb::foldb, the shared library, and foldb::static.

get_filename_component(_foldb_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET foldb::foldb)
  add_library(foldb::foldb SHARED IMPORTED)
  set_target_properties(foldb::foldb PROPERTIES
    IMPORTED_LOCATION "${_foldb_prefix}/lib/libfoldb.so"
    IMPORTED_SONAME "libfoldb.so.0"
    INTERFACE_INCLUDE_DIRECTORIES "${_foldb_prefix}/include")
  add_library(foldb::static STATIC IMPORTED)
  set_target_properties(foldb::static PROPERTIES
    IMPORTED_LOCATION "${_foldb_prefix}/lib/libfoldb.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_foldb_prefix}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()

unset(_foldb_prefix)
