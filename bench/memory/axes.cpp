#include "bench/memory/axes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backend/host/simd/kernels.hpp"
#include "core/base/error.hpp"
#include "core/text/size_text.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {
namespace {

std::size_t known_beyond(const SizeRule& rule, const std::string& option, const std::string& word) {
  if (rule.beyond > 0) return rule.beyond;
  throw ConfigError(
      fmt::format("{} has \"{}\", but nothing here tells the size of the last-level cache. Write "
                  "four times its size, such as 256 MiB.",
                  option, word));
}

std::size_t parse_size(const std::string& text, const std::string& option, std::size_t unit) {
  return static_cast<std::size_t>(
      parse_whole_elements(text, option, static_cast<std::int64_t>(unit), "units"));
}

}  // namespace

std::vector<std::size_t> sizes_of(const Context& context, std::string_view axis,
                                  const SizeRule& rule) {
  constexpr std::size_t smallest_of_sweep = 4096;
  std::string option = fmt::format("--{}", axis);
  std::replace(option.begin(), option.end(), '_', '-');
  std::vector<std::size_t> all;
  const std::vector<std::string> items = context.list(axis);
  refuse_commas_in_numbers(option, items);
  for (const std::string& text : items) {
    if (text == "beyond_caches" || text == "sweep") all.push_back(known_beyond(rule, option, text));
    if (text == "beyond_caches") continue;
    if (text != "sweep") {
      all.push_back(parse_size(text, option, rule.unit));
      continue;
    }
    for (std::size_t size = smallest_of_sweep; size < rule.beyond; size *= 2) all.push_back(size);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

void check_isa(const std::string& isa, std::initializer_list<std::string_view> words) {
  std::vector<std::string> names(words.begin(), words.end());
  for (const std::string_view each : backend::simd::known_instruction_sets()) {
    names.emplace_back(each);
  }
  if (std::find(names.begin(), names.end(), isa) != names.end()) return;
  throw ConfigError(fmt::format("{} names \"{}\" (there is none for this kind of processor). {}",
                                option_name("isa"), isa, suggestion(isa, names)));
}

void refuse_axes_without_effect(const Context& context, const std::vector<AxisOfOperations>& axes) {
  const std::vector<std::string> chosen = context.list("operations");
  for (const AxisOfOperations& axis : axes) {
    const bool has_effect = std::ranges::any_of(axis.operations, [&](std::string_view name) {
      return std::ranges::find(chosen, name) != chosen.end();
    });
    if (has_effect || !context.given.contains(std::string(axis.name))) continue;
    throw ConfigError(fmt::format("{} has no effect on {} {}. Leave it out, or add {} there.",
                                  option_name(axis.name), option_name("operations"),
                                  context.value("operations"), fmt::join(axis.operations, " or ")));
  }
}

}  // namespace dlscale::bench
