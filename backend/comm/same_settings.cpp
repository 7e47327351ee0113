#include "backend/comm/same_settings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/comm/together.hpp"
#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"

namespace dlscale::backend {
namespace {

constexpr char after_each = '\0';

std::string packed(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    text += name + after_each + value + after_each;
  }
  return text;
}

Settings unpacked(std::string_view text) {
  const auto take = [&text] {
    const std::string_view part = text.substr(0, text.find(after_each));
    text.remove_prefix(part.size() + 1);
    return std::string(part);
  };
  Settings settings;
  while (!text.empty()) {
    std::string name = take();
    settings[std::move(name)] = take();
  }
  return settings;
}

std::vector<std::uint64_t> gather(Communicator& communicator, std::uint64_t mine) {
  std::vector<std::uint64_t> all(static_cast<std::size_t>(communicator.size()));
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
  return all;
}

std::vector<Settings> gather_settings(Communicator& communicator, std::string mine) {
  const std::vector<std::uint64_t> sizes = gather(communicator, mine.size());
  const std::size_t longest = *std::ranges::max_element(sizes);
  mine.resize(longest);
  std::string all(longest * sizes.size(), after_each);
  communicator.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  std::vector<Settings> by_rank;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    by_rank.push_back(unpacked(std::string_view(all).substr(rank * longest, sizes[rank])));
  }
  return by_rank;
}

/// "rank 3", "ranks 0-2, 5".
std::string ranks_text(std::span<const std::size_t> ranks) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    ranges.push_back(i == last ? fmt::format("{}", ranks[i])
                               : fmt::format("{}-{}", ranks[i], ranks[last]));
    i = last + 1;
  }
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranges, ", "));
}

std::string value_of(const Settings& settings, const std::string& name) {
  constexpr std::size_t longest = 80;
  const auto found = settings.find(name);
  if (found == settings.end()) return "not set";
  if (found->second.empty()) return "empty";
  if (found->second.size() <= longest) return found->second;
  return found->second.substr(0, longest) + "…";
}

/// "0.01 on ranks 0-2, but 0.1 on rank 3": values in the order of their first ranks.
std::string values_text(std::span<const Settings> by_rank, const std::string& name) {
  constexpr std::size_t most_values = 3;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> values;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    std::string value = value_of(by_rank[rank], name);
    auto same = std::ranges::find(values, value, &decltype(values)::value_type::first);
    if (same == values.end()) same = values.insert(values.end(), {std::move(value), {}});
    same->second.push_back(rank);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(values.size(), most_values); ++i) {
    text += fmt::format("{}{} on {}", i == 0 ? "" : i == 1 ? ", but " : ", ", values[i].first,
                        ranks_text(values[i].second));
  }
  if (values.size() > most_values) {
    text += fmt::format(", and has {} more values", values.size() - most_values);
  }
  return text;
}

}  // namespace

std::string difference_of_settings(std::span<const Settings> by_rank) {
  std::set<std::string> names;
  for (const Settings& settings : by_rank) {
    for (const auto& [name, value] : settings) names.insert(name);
  }
  std::vector<std::string> different;
  std::ranges::copy_if(names, std::back_inserter(different), [&](const std::string& name) {
    const auto same = [&](const Settings& settings) {
      const auto here = settings.find(name);
      const auto first = by_rank.front().find(name);
      if (here == settings.end() || first == by_rank.front().end()) {
        return here == settings.end() && first == by_rank.front().end();
      }
      return here->second == first->second;
    };
    return !std::ranges::all_of(by_rank, same);
  });
  if (different.empty()) return {};
  std::string text = fmt::format("{} is {}", different.front(),
                                 values_text(by_rank, different.front()));
  different.erase(different.begin());
  if (!different.empty()) {
    text += fmt::format(" ({} differ{} too)", fmt::join(different, ", "),
                        different.size() == 1 ? "s" : "");
  }
  return text +
         ". The ranks of a run must have the same settings, or its result is of none of them. "
         "Start all with the same options, and keep the files that these name alike.";
}

void expect_same_settings(Communicator& communicator, const Settings& mine) {
  const std::string text = packed(mine);
  const std::vector<std::uint64_t> digests = gather(communicator, fnv1a(text));
  if (std::ranges::count(digests, digests.front()) == std::ssize(digests)) return;
  throw FoundByAll(ExitCode::bad_input,
                   difference_of_settings(gather_settings(communicator, text)));
}

}  // namespace dlscale::backend
