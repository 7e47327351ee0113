#include "bench/e2e/replicas.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "bench/e2e/jointly.hpp"
#include "core/base/fnv1a.hpp"
#include "train/exchange/host_mirror.hpp"

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
