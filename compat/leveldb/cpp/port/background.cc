// The background thread: waits for work, takes the oldest, and runs it without the lock.

#include "port/background.h"

namespace leveldb {

void Background::Schedule(void (*function)(void* arg), void* arg) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!started_) {
    started_ = true;
    std::thread([this] { Run(); }).detach();
  }
  works_.push_back(Work{function, arg});
  has_work_.notify_one();
}

void Background::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return !works_.empty(); });
    const Work work = works_.front();
    works_.pop_front();
    lock.unlock();
    work.function(work.arg);
    lock.lock();
  }
}

void StartDetachedThread(void (*function)(void* arg), void* arg) {
  std::thread(function, arg).detach();
}

}  // namespace leveldb
