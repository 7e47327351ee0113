// What several ranks throw together, and which of it one can say for all.
#include <gtest/gtest.h>

#include <exception>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include "backend/comm/together.hpp"
#include "core/base/error.hpp"
#include "core/base/ranks_apart.hpp"

namespace dlscale::backend {
namespace {

/// By rank, what two ranks throw that do `work` of a rank together.
std::vector<std::exception_ptr> thrown(const std::function<void(int)>& work) {
  auto group = local_group(2);
  std::vector<std::exception_ptr> errors(group.size());
  std::vector<std::jthread> threads;
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        together_on_input(*group[rank], [&] { work(static_cast<int>(rank)); });
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  threads.clear();
  return errors;
}

TEST(Together, WhatAllFindWrongIsSaidForAll) {
  for (const auto& error : thrown([](int) { throw ConfigError("wrong"); })) {
    EXPECT_THROW(std::rethrow_exception(error), FoundByAll);
  }
}

TEST(Together, WhatDiffersIsEachRanksOwn) {
  const auto errors = thrown([](int rank) { throw ConfigError(rank == 0 ? "wrong" : "bad"); });
  for (const auto& error : errors) EXPECT_THROW(std::rethrow_exception(error), ConfigError);
}

TEST(Together, MemoryThatRanOutEverywhereStaysThat) {
  for (const auto& error : thrown([](int) { throw std::bad_alloc(); })) {
    EXPECT_THROW(std::rethrow_exception(error), std::bad_alloc);
  }
}

/// It must not be taken for one that nobody else knows of (core/base/ranks_apart.hpp).
TEST(Together, AFailureOfALibraryThatAllWereToldOfLeavesThemInStep) {
  const auto errors = thrown([](int rank) {
    if (rank == 1) throw LibraryError("cudaMalloc failed.");
  });
  for (const auto& error : errors) EXPECT_FALSE(leaves_ranks_apart(error));
  EXPECT_TRUE(leaves_ranks_apart(std::make_exception_ptr(LibraryError("cudaMalloc failed."))));
  EXPECT_EQ(exit_code_of(errors[1]), static_cast<int>(ExitCode::wrong_result));
}

}  // namespace
}  // namespace dlscale::backend
