// A rank for watchdog_test.py: works with the others until something ends it.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/comm/watchdog/watchdog.hpp"
#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend {
namespace {

struct Task {
  std::string folder;  ///< each rank writes its process number to <folder>/<rank>
  /// "loop" looks at signals, "joint" does so on all ranks at once, "stuck" waits for ever, "throw"
  /// fails at the end, "break" where the others are in a collective
  std::string work;
  WatchdogOptions options;
};

Task parse(const std::vector<std::string>& words) {
  Task task{words.at(1), words.at(2), {}};
  if (words.at(3) == "tcp") task.options.link = WatchdogOptions::Link::tcp;
  task.options.patience = Seconds(std::stod(words.at(4)));
  task.options.heartbeat = task.options.patience / 5;
  return task;
}

void announce(const std::string& folder, Rank rank) {
  const std::string name = folder + '/' + std::to_string(rank);
  std::ofstream(name + ".new") << getpid() << '\n';
  std::rename((name + ".new").c_str(), name.c_str());
}

void add_once(Communicator& communicator) {
  std::vector<float> values(1000, 1.0F);
  communicator.barrier(WaitPolicy::sleep);
  communicator.all_reduce(std::span(values), Reduction::sum);
  if (values.back() != static_cast<float>(communicator.size())) throw WrongResult("wrong sum");
}

/// All at once, as benchmarks do.
void throw_if_any_is_interrupted(Communicator& communicator) {
  std::vector<float> signal(1, static_cast<float>(pending_signal()));
  communicator.all_reduce(std::span(signal), Reduction::max);
  if (signal.front() == 0) return;
  follow_signal(static_cast<int>(signal.front()));
  throw Interrupted(static_cast<int>(signal.front()));
}

/// True on all ranks once the test has written <folder>/stop.
bool told_to_stop(Communicator& communicator, const std::string& folder) {
  std::byte stop{std::filesystem::exists(folder + "/stop")};
  communicator.broadcast(std::span(&stop, 1), 0);
  return stop != std::byte{0};
}

void work(Communicator& communicator, const Task& task) {
  const bool last = communicator.rank() == communicator.size() - 1;
  while (!told_to_stop(communicator, task.folder)) {
    if (task.work == "break" && last && std::filesystem::exists(task.folder + "/0")) {
      throw LibraryError("a call failed on the last rank");
    }
    add_once(communicator);
    // In a collective that the last rank never enters, where no signal is looked at.
    if (task.work == "stuck" && last) sleep(60);
    if (task.work == "loop") throw_if_interrupted();
    if (task.work == "joint") throw_if_any_is_interrupted(communicator);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // leaves the cores to other tests
  }
  if (task.work == "throw" && last) throw ConfigError("thrown by the last rank");
  communicator.barrier();
}

int run(const Task& task) {
  try {
    install_signal_handlers();
    const std::unique_ptr<Communicator> communicator = connect_launched(0);
    Watchdog watchdog(*communicator, "results/test.jsonl", task.options);
    announce(task.folder, communicator->rank());
    work(*communicator, task);
    watchdog.dismiss();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "dlscale: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace
}  // namespace dlscale::backend

int main(int argc, char** argv) {
  return dlscale::backend::run(dlscale::backend::parse({argv, argv + argc}));
}
