#include "bench/engine/thread_limit.hpp"

#include <fmt/format.h>

#include "backend/host/host.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {

void expect_few_threads(std::string_view option, int threads) {
  const std::size_t cores = backend::usable_cores().size();
  const std::size_t most = cores * most_threads_of_a_core;
  if (static_cast<std::size_t>(threads) <= most) return;
  throw ConfigError(fmt::format(
      "{} threads on {} usable core(s) are more than {} each, which would measure how the system "
      "takes turns. Give {} at most {}.",
      threads, cores, most_threads_of_a_core, option, most));
}

void expect_few_threads(const Context& context) {
  for (const auto& [axis, option] :
       {std::pair("threads", "--threads"), std::pair("loader_threads", "--loader-threads")}) {
    if (!context.values.contains(axis)) continue;
    for (const int threads : context.integers(axis)) expect_few_threads(option, threads);
  }
}

}  // namespace dlscale::bench
