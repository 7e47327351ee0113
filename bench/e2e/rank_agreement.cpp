#include "bench/e2e/rank_agreement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/comm/together.hpp"
#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/base/interrupt.hpp"
#include "train/exchange/host_copies.hpp"

namespace dlscale::bench {
namespace {

std::uint64_t checksum(train::Program& program) {
  program.synchronize();
  const std::span<float> parameters = program.all_parameters();
  train::HostMirror mirror(program.device(), parameters);
  const std::span<float> values = mirror.fetch(parameters);
  return fnv1a({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

}  // namespace

JointEnd run_jointly(backend::Communicator& communicator, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::exception_ptr wrong_answer;
  std::string reason;
  try {
    work();
  } catch (const WrongResult& error) {
    reason = error.what();
    wrong_answer = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
    if (is_collective_failure(failure)) throw;
  }
  std::array<double, 3> signs{static_cast<double>(pending_signal()), wrong_answer ? 1.0 : 0.0,
                              static_cast<double>(backend::exit_code_of(failure))};
  const auto& [signal, wrong, exit_code] = signs;
  communicator.all_reduce(std::span<double>(signs), backend::Reduction::max);
  if (exit_code > 0) throw_if_ended(agree(communicator, failure), failure);
  if (signal > 0) follow_signal(static_cast<int>(signal));
  if (wrong > 0 && communicator.size() > 1) reason = agree(communicator, wrong_answer).cause;
  return {.signal = static_cast<int>(signal),
          .answer = wrong > 0 ? JointEnd::Answer::wrong : JointEnd::Answer::right,
          .reason = reason};
}

std::string difference(std::span<const std::uint64_t> checksums) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const std::uint64_t each : checksums) ++counts[each];
  if (counts.size() < 2) return {};
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  const bool majority = 2 * most->second > checksums.size();
  std::vector<std::size_t> others;
  for (std::size_t rank = 0; rank < checksums.size(); ++rank) {
    if (!majority || checksums[rank] != most->first) others.push_back(rank);
  }
  const std::string who =
      fmt::format("rank{} {}", others.size() == 1 ? "" : "s", fmt::join(others, ", "));
  if (!majority) return fmt::format("the parameters of {} differ from each other", who);
  return fmt::format("the parameters of {} differ from those of the other {} ranks", who,
                     most->second);
}

std::string parameter_difference(backend::Communicator& communicator, train::Program& program) {
  std::uint64_t mine = 0;
  // This must work after a signal, too, where together() would throw.
  std::ignore = run_jointly(communicator, [&] { mine = checksum(program); });
  std::vector<std::uint64_t> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
  return difference(all);
}

}  // namespace dlscale::bench
