// Locks, threads, loggers, and the rest of the default Env.

#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "leveldb/env.h"
#include "port.h"

using leveldb::Env;
using leveldb::FileLock;
using leveldb::Status;

namespace {

Env* env() { return Env::Default(); }

// What another process learns when it locks the file.
std::string LockedElsewhere(const std::string& name) {
  int ends[2];
  if (pipe(ends) != 0) {
    return "no pipe";
  }
  const pid_t child = fork();
  if (child == 0) {
    FileLock* lock;
    // The original's child inherits the list of its parent's locks. Ours asks the system.
    const std::string text = env()->LockFile(name, &lock).ok() ? "free" : "locked";
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written < 0);
  }
  close(ends[1]);
  char text[1000];
  const ssize_t length = read(ends[0], text, sizeof(text));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(text, length < 0 ? 0 : static_cast<size_t>(length));
}

// Counts down to zero, and wakes the thread that waits for it.
class Countdown {
 public:
  explicit Countdown(int count) : left_(count) {}

  void Step() {
    std::lock_guard<std::mutex> lock(mutex_);
    left_--;
    done_.notify_all();
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    done_.wait(lock, [this] { return left_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  int left_;
};

struct Work {
  Countdown* countdown;
  std::vector<int>* order;
  std::vector<std::thread::id>* threads;
  int number;
};

void RunWork(void* argument) {
  const std::unique_ptr<Work> work(static_cast<Work*>(argument));
  work->order->push_back(work->number);
  work->threads->push_back(std::this_thread::get_id());
  // Work may schedule more work.
  if (work->number == 3) {
    env()->Schedule(RunWork, new Work{work->countdown, work->order, work->threads, 100});
  }
  work->countdown->Step();
}

void Step(void* countdown) { static_cast<Countdown*>(countdown)->Step(); }

// Prints `format` as a logger prints it.
void Write(leveldb::Logger* logger, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  logger->Logv(format, arguments);
  va_end(arguments);
}

// The lines of a log with a letter in place of each digit before the message. The thread's number
// has more or fewer digits in each run.
std::string Shape(const std::string& log) {
  std::string shape;
  size_t begin = 0;
  while (begin < log.size()) {
    size_t end = log.find('\n', begin);
    end = end == std::string::npos ? log.size() : end + 1;
    std::string line = log.substr(begin, end - begin);
    size_t at = 0;
    for (; at < line.size() && line[at] != ' '; at++) {
      shape += line[at] >= '0' && line[at] <= '9' ? 'd' : line[at];
    }
    const size_t message = line.find(' ', at + 1);
    bool digits = message != std::string::npos && message > at + 1;
    for (size_t i = at + 1; digits && i < message; i++) {
      digits = line[i] >= '0' && line[i] <= '9';
    }
    shape += digits ? " N" + line.substr(message) : line.substr(at);
    begin = end;
  }
  return shape;
}

}  // namespace

void Locks(const std::string& directory) {
  const std::string name = directory + "/LOCK";
  const auto say = [&](const char* what, const std::string& text) {
    std::printf("lock %s: %s\n", what, Replaced(text, directory, "DIR").c_str());
  };
  FileLock* lock;
  say("first", env()->LockFile(name, &lock).ToString());
  say("elsewhere", LockedElsewhere(name));
  FileLock* second;
  say("again", env()->LockFile(name, &second).ToString());
  std::printf("lock null=%d\n", second == nullptr);
  say("unlock", env()->UnlockFile(lock).ToString());
  say("elsewhere", LockedElsewhere(name));
  say("again", env()->LockFile(name, &lock).ToString());
  say("unlock", env()->UnlockFile(lock).ToString());
  std::printf("lock file exists %d\n", env()->FileExists(name));
}

void Threads() {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  Countdown works(11);
  for (int number = 0; number < 10; number++) {
    env()->Schedule(RunWork, new Work{&works, &order, &threads, number});
  }
  works.Wait();
  std::printf("threads order");
  bool same = true;
  for (size_t i = 0; i < order.size(); i++) {
    // The work that work scheduled runs at its turn: after the fourth, and in its own place.
    same = same && threads[i] == threads[0] && threads[i] != std::this_thread::get_id();
    if (order[i] != 100) {
      std::printf(" %d", order[i]);
    }
  }
  std::printf(" one thread=%d count=%zu\n", same, order.size());

  Countdown started(20);
  for (int i = 0; i < 20; i++) {
    env()->StartThread(Step, &started);
  }
  started.Wait();
  const uint64_t before = env()->NowMicros();
  env()->SleepForMicroseconds(2000);
  std::printf("threads slept=%d\n", env()->NowMicros() - before >= 2000);

  std::string path, again;
  setenv("TEST_TMPDIR", "/tmp", 1);
  std::printf("threads test %s", env()->GetTestDirectory(&path).ToString().c_str());
  std::printf(" %s", path.c_str());
  setenv("TEST_TMPDIR", "", 1);
  env()->GetTestDirectory(&path);
  unsetenv("TEST_TMPDIR");
  env()->GetTestDirectory(&again);
  std::printf(" %d %d %s\n", path == again, env()->FileExists(path),
              Replaced(path, std::to_string(geteuid()), "USER").c_str());
}

void Loggers(const std::string& directory) {
  const std::string name = directory + "/LOG";
  leveldb::Logger* logger;
  std::printf("logger %s\n", env()->NewLogger(name, &logger).ToString().c_str());
  Write(logger, "%s", "");
  Write(logger, "plain");
  Write(logger, "number %d text %s", 42, "x y");
  Write(logger, "with an end\n");
  Write(logger, "two\nlines\n\n");
  const std::string big(5000, 'x');
  Write(logger, "%s", big.c_str());
  // Around the sizes of buffers.
  for (size_t length = 400; length < 520; length++) {
    Write(logger, "%s", big.substr(0, length).c_str());
  }
  delete logger;
  std::string log;
  leveldb::ReadFileToString(env(), name, &log);
  std::string shape = Shape(log);
  for (size_t length = 5000; length >= 400; length = length == 5000 ? 519 : length - 1) {
    shape = Replaced(shape, std::string(length, 'x'), std::to_string(length) + " letters");
  }
  std::printf("%s", shape.c_str());
  // A second logger appends.
  env()->NewLogger(name, &logger);
  Write(logger, "second");
  delete logger;
  leveldb::ReadFileToString(env(), name, &log);
  std::printf("logger appended=%d\n", log.find("plain") < log.find("second\n"));
}
