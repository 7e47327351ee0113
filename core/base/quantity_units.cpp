#include "core/base/quantity_units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/printable.hpp"

namespace dlscale::quantity {
namespace {

/// A unit as other tools write it, and ours.
struct OtherName {
  std::string_view other;
  std::string_view ours;
};
constexpr std::array other_names{OtherName{"sec", "s"},          OtherName{"secs", "s"},
                                 OtherName{"second", "s"},       OtherName{"seconds", "s"},
                                 OtherName{"msec", "ms"},        OtherName{"msecs", "ms"},
                                 OtherName{"millisecond", "ms"}, OtherName{"milliseconds", "ms"},
                                 OtherName{"usec", "us"},        OtherName{"usecs", "us"},
                                 OtherName{"microsecond", "us"}, OtherName{"microseconds", "us"},
                                 OtherName{"μs", "us"},          OtherName{"nsec", "ns"},
                                 OtherName{"nsecs", "ns"},       OtherName{"nanosecond", "ns"},
                                 OtherName{"nanoseconds", "ns"}, OtherName{"mins", "min"},
                                 OtherName{"minute", "min"},     OtherName{"minutes", "min"},
                                 OtherName{"hr", "h"},           OtherName{"hrs", "h"},
                                 OtherName{"hour", "h"},         OtherName{"hours", "h"},
                                 OtherName{"day", "d"},          OtherName{"days", "d"},
                                 OtherName{"byte", "B"},         OtherName{"bytes", "B"},
                                 OtherName{"Byte", "B"},         OtherName{"Bytes", "B"}};

/// Replaces the ending of a name, if it has it.
bool replace_ending(std::string& name, std::string_view ending, std::string_view by) {
  if (!name.ends_with(ending)) return false;
  name.replace(name.size() - ending.size(), ending.size(), by);
  return true;
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

/// A rate without blanks around its stroke, "Gb / s", and without "per second".
std::string with_plain_stroke(std::string_view unit) {
  std::string name(unit);
  for (const std::string_view stroke : {" per ", " / ", "/ ", " /"}) {
    const std::size_t at = name.find(stroke);
    if (at != std::string::npos) name.replace(at, stroke.size(), "/");
  }
  for (const std::string_view second : {"/seconds", "/second", "/secs", "/sec"}) {
    if (replace_ending(name, second, "/s")) break;
  }
  return name;
}

/// The short form of a name that is written out: "Gb/s" of "gigabits/s", "MiB" of "mebibytes".
std::string short_name(const std::string& name) {
  constexpr std::array prefixes{OtherName{"kilo", "k"},  OtherName{"mega", "M"},
                                OtherName{"giga", "G"},  OtherName{"tera", "T"},
                                OtherName{"kibi", "Ki"}, OtherName{"mebi", "Mi"},
                                OtherName{"gibi", "Gi"}, OtherName{"tebi", "Ti"}};
  constexpr std::array amounts{OtherName{"bits", "b"}, OtherName{"bit", "b"},
                               OtherName{"bytes", "B"}, OtherName{"byte", "B"}};
  const std::string small = in_small_letters(name);
  for (const OtherName& prefix : prefixes) {
    if (!small.starts_with(prefix.other)) continue;
    const std::string rest = small.substr(prefix.other.size());
    for (const OtherName& amount : amounts) {
      if (!rest.starts_with(amount.other)) continue;
      return fmt::format("{}{}{}", prefix.ours, amount.ours, rest.substr(amount.other.size()));
    }
  }
  return name;
}

}  // namespace

const Unit* find_unit(const Dimension& dimension, std::string_view name) {
  for (const Unit& unit : dimension.units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string our_name(std::string_view unit) {
  for (const OtherName& known : other_names) {
    if (known.other == unit) return std::string(known.ours);
  }
  std::string name = short_name(with_plain_stroke(unit));
  for (const std::string_view operations : {"FLOPS", "FLOPs", "Flops", "flops", "FLOP/s", "FLOPS/s",
                                            "FLOPs/s", "Flop/s", "Flops/s", "flop/s", "flops/s"}) {
    if (name.size() <= operations.size() + 1 && replace_ending(name, operations, "FLOP/s"))
      return name;
  }
  const bool is_of_bits =
      replace_ending(name, "bps", "b/s") || replace_ending(name, "bits/s", "b/s") ||
      replace_ending(name, "bit/s", "b/s") || replace_ending(name, "Bits/s", "b/s") ||
      replace_ending(name, "Bit/s", "b/s");
  if (is_of_bits && name.starts_with('K')) name.front() = 'k';  // bits have decimal prefixes alone
  if (is_of_bits) return name;
  for (const std::string_view bytes : {"Bps", "bytes/s", "byte/s", "Bytes/s", "Byte/s"}) {
    if (replace_ending(name, bytes, "B/s")) break;
  }
  return name;
}

double value_of(std::string_view number) {
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

namespace {

/// The longest unit that is a prefix of the word, "d" of "days"; else the first example.
std::string_view meant_unit(std::string_view word, const Dimension& wanted) {
  std::string_view longest;
  for (const Unit& unit : wanted.units) {
    if (word.starts_with(unit.name) && unit.name.size() > longest.size()) longest = unit.name;
  }
  return longest.empty() ? wanted.examples[0] : longest;
}

/// Units that differ from the word in capitals alone, which change a meaning: "gb/s".
std::vector<std::string_view> units_but_for_capitals(std::string_view word,
                                                     const Dimension& wanted) {
  const std::string small = in_small_letters(word);
  const std::string wanted_name = in_small_letters(our_name(small));
  const bool counts_bits = small.find("bit") != std::string::npos;
  std::vector<std::string_view> found;
  for (const Unit& unit : wanted.units) {
    const bool fits = !counts_bits || unit.name.find('b') != std::string_view::npos;
    if (fits && in_small_letters(unit.name) == wanted_name) found.push_back(unit.name);
  }
  // A small b counts bits more often than bytes.
  if (word.find('b') != std::string_view::npos) std::ranges::reverse(found);
  return found;
}

/// Whether a word names Ethernet by its rate, whose prefix stands first: "GigE", "GbE", "GBASE-T".
bool is_of_ethernet(std::string_view word) {
  std::string kind = in_small_letters(word.substr(1));
  std::erase_if(kind, [](char c) { return c == ' ' || c == '-'; });
  constexpr std::array<std::string_view, 9> kinds{
      "e", "be", "ige", "bit", "bits", "ethernet", "bethernet", "igabitethernet", "bitethernet"};
  return kind.starts_with("base") || std::ranges::find(kinds, kind) != kinds.end();
}

/// Units of a rate that the word of a network means: bits of "100GbE", "10 gigabit" and "100G".
std::vector<std::string_view> units_of_network(std::string_view word) {
  const Unit* const same = find_unit(bandwidth_dimension, our_name(word) + "/s");
  if (same != nullptr) return {same->name};
  const auto prefix = static_cast<char>(std::toupper(static_cast<unsigned char>(word.front())));
  std::vector<std::string_view> found;
  const bool is_prefix = word.size() == 1;
  if (std::string_view("MGT").find(prefix) == std::string_view::npos) return found;
  for (const Unit& unit : bandwidth_dimension.units) {
    const bool has_bits = unit.name == fmt::format("{}b/s", prefix);
    const bool has_bytes = unit.name == fmt::format("{}B/s", prefix);
    if (has_bits && (is_prefix || is_of_ethernet(word))) found.insert(found.begin(), unit.name);
    if (has_bytes && is_prefix) found.push_back(unit.name);
  }
  return found;
}

/// Units that a word may mean, which is not one itself, the likeliest first: those of "M" and "KB",
/// of which some tools make 1000 and others 1024, and of "gb/s", which may count bits.
std::vector<std::string_view> possible_units(std::string_view word, const Dimension& wanted) {
  constexpr std::string_view prefixes = "kKMGTP";
  std::string_view stem = word.substr(0, word.find_first_of("Bb/"));
  const bool is_prefix = stem.size() == 1 && prefixes.find(stem.front()) != std::string_view::npos;
  std::vector<std::string_view> found;
  const bool is_size = wanted.what == size_dimension.what;
  if (is_size && is_prefix && (stem == word || word == "KB" || word == "kb" || word == "Kb")) {
    const char decimal = stem.front() == 'K' ? 'k' : stem.front();
    const char binary = stem.front() == 'k' ? 'K' : stem.front();
    for (const Unit& unit : wanted.units) {
      if (unit.name == fmt::format("{}B", decimal) || unit.name == fmt::format("{}iB", binary)) {
        found.push_back(unit.name);
      }
    }
    return found;
  }
  const bool has_binary_prefix = stem.size() == 2 && stem == word && word.back() == 'i';
  if (is_size && has_binary_prefix) {  // "64Ki", as Kubernetes writes it
    for (const Unit& unit : wanted.units) {
      if (unit.name.starts_with(word)) found.push_back(unit.name);
    }
    return found;
  }
  if (wanted.what == bandwidth_dimension.what && !word.empty()) {
    if (auto of_network = units_of_network(word); !of_network.empty()) return of_network;
  }
  return units_but_for_capitals(word, wanted);
}

/// Units of a number without one whose size tells them, as other tools count: bytes, bytes or bits
/// per second, operations, or seconds.
std::vector<std::string_view> units_by_size(std::string_view number, const Dimension& wanted) {
  constexpr double least_bytes = 1000;
  constexpr double least_rate = 1e6;
  constexpr double most_seconds = 1e-3;
  const double value = value_of(number);
  if (wanted.what == size_dimension.what && value >= least_bytes) return {"B"};
  if (wanted.what == bandwidth_dimension.what && value >= least_rate) return {"B/s", "b/s"};
  if (wanted.what == speed_dimension.what && value >= least_rate) return {"FLOP/s"};
  if (wanted.what == time_dimension.what && value > 0 && value < most_seconds) return {"s"};
  return {};
}

}  // namespace

std::string why_not(std::string_view unit, const Dimension& wanted) {
  if (unit.empty()) return "no unit";
  for (const Dimension& other : all_dimensions) {
    if (find_unit(other, our_name(unit)) != nullptr) {
      return fmt::format("{}, but {} is wanted", other.what, wanted.what);
    }
  }
  const std::string_view ambiguous =
      possible_units(unit, wanted).size() > 1 ? ", which tools read differently" : "";
  return fmt::format("\"{}\" is not a unit of {}{}", escape_unprintable(beginning_of(unit, 60)), wanted.what,
                     ambiguous);
}

std::vector<std::string_view> meant_units(std::string_view word, std::string_view number,
                                          const Dimension& wanted) {
  if (const Unit* known = find_unit(wanted, our_name(word)); known != nullptr) return {known->name};
  std::vector<std::string_view> possible =
      word.empty() ? units_by_size(number, wanted) : possible_units(word, wanted);
  if (!possible.empty()) return possible;
  const std::string_view first = meant_unit(word, wanted);
  return {first, wanted.examples[first == wanted.examples[1] ? 0 : 1]};
}

bool is_taken(std::string_view number, std::string_view unit, const Dimension& wanted) {
  const double si = value_of(number) * find_unit(wanted, unit)->si;
  if (si == 0) return wanted.zero == Dimension::Zero::is_sensible;
  const bool is_too_large = wanted.what == size_dimension.what && si >= most_bytes;
  return si >= wanted.least && si < wanted.below && !is_too_large;
}

}  // namespace dlscale::quantity
