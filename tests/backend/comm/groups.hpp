#pragma once
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

using Program = std::function<void(Communicator&)>;

/// Runs `program` on as many threads as there are ranks.
inline void run_on_threads(int ranks, const Program& program) {
  std::vector<std::unique_ptr<Communicator>> group = local_group(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(group.size());
  for (auto& communicator : group) {
    threads.emplace_back([&program, &communicator] { program(*communicator); });
  }
}

/// Groups of 1 to 5 threads, powers of two and others; not once more in each process of a launcher.
struct Threads {
  static void run(const Program& program) {
    if (launched_backend() != "local") GTEST_SKIP() << "tested without a launcher";
    for (int ranks = 1; ranks <= 5; ++ranks) run_on_threads(ranks, program);
  }
};

/// The ranks that mpirun started; nobody if this test runs by itself.
struct Processes {
  static void run(const Program& program) {
    if (launched_backend() != "mpi") GTEST_SKIP() << "not started by a launcher of ranks";
    static const std::unique_ptr<Communicator> world = connect_launched(0);
    program(*world);
  }
};

}  // namespace dlscale::backend
