// Threads for Env::Schedule() and Env::StartThread().

#ifndef FOLDB_LEVELDB_PORT_BACKGROUND_H_
#define FOLDB_LEVELDB_PORT_BACKGROUND_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace leveldb {

// One thread that runs scheduled work in its order. The thread starts with the first work, and ends
// with the process. So the object must never be destroyed.
class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Runs function(arg) after all work that was scheduled before.
  void Schedule(void (*function)(void* arg), void* arg);

 private:
  struct Work {
    void (*function)(void*);
    void* arg;
  };

  void Run();

  std::mutex mutex_;
  std::condition_variable has_work_;
  // The mutex guards these.
  bool started_ = false;
  std::deque<Work> works_;
};

// Starts a thread that runs function(arg) and ends.
void StartDetachedThread(void (*function)(void* arg), void* arg);

}  // namespace leveldb

#endif  // FOLDB_LEVELDB_PORT_BACKGROUND_H_
