// Locks of files, from the Rust half: the engine's own, which exclude LevelDB's too.

#ifndef FOLDB_LEVELDB_PORT_FILE_LOCKS_H_
#define FOLDB_LEVELDB_PORT_FILE_LOCKS_H_

extern "C" {

struct foldbport_lock_t;

// Locks a file, and creates it if it is missing. Returns 0 and stores the lock, -1 if this process
// has the lock already, or the number of a system error.
int foldbport_lock_file(const char* path, foldbport_lock_t** lock);

// Releases a lock.
void foldbport_unlock_file(foldbport_lock_t* lock);

}  // extern "C"

#endif  // FOLDB_LEVELDB_PORT_FILE_LOCKS_H_
