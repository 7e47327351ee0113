#include "tests/fuzz/growth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>

#include "tests/fuzz/input.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_places = 8;  // of a text, at which one kind of part is repeated

/// A part with this number in place of its first digits; as it is if it has none.
std::string numbered(const std::string& part, std::size_t number) {
  const std::size_t begin = part.find_first_of("0123456789");
  if (begin == std::string::npos) return part;
  const std::size_t end = std::min(part.find_first_not_of("0123456789", begin), part.size());
  return part.substr(0, begin) + std::to_string(number) + part.substr(end);
}

/// Text before and after the repetitions.
using Brackets = std::pair<std::string, std::string>;

/// Grows a part of a text in all ways: as it is, with numbers, and each of its names with numbers.
class Grower {
 public:
  Grower(const std::string& text, std::vector<Growth>& all) : text_(text), all_(all) {}

  void grow(const std::string& name, std::size_t begin, std::size_t end,
            const std::string& separator) {
    const std::string part = text_.substr(begin, end - begin);
    if (part.empty() || !seen_.insert(part).second) return;
    add(name, begin, end, part, separator, false);
    add(name + ", numbered", begin, end, part, separator, true);
    std::size_t names = 0;
    for (std::size_t at = 0; at < part.size() && names < most_places; ++at) {
      const bool ends_word = is_letter(part[at]) && (at + 1 == part.size() || ends(part[at + 1]));
      if (!ends_word) continue;
      ++names;
      add(fmt::format("{}, name {} numbered", name, names), begin, end,
          without_digits(part.substr(0, at + 1)) + "0" + part.substr(at + 1), separator, true);
    }
  }

  void add(const std::string& name, std::size_t begin, std::size_t end, const std::string& part,
           const std::string& separator, bool is_numbered, const Brackets& around = {}) {
    all_.push_back({name, text_.substr(0, begin) + around.first, part, separator,
                    around.second + text_.substr(end), is_numbered});
  }

 private:
  static bool is_letter(char letter) {
    return std::isalpha(static_cast<unsigned char>(letter)) != 0;
  }
  static bool ends(char letter) {
    return std::string_view("\" :,|\n").find(letter) != std::string_view::npos;
  }
  /// Its first digits are those to be numbered.
  static std::string without_digits(std::string part) {
    std::erase_if(
        part, [](char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; });
    return part;
  }

  const std::string& text_;
  std::vector<Growth>& all_;
  std::set<std::string> seen_;
};

void grow_lines(const std::string& text, Grower& grower) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size() && number < most_places; ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    grower.grow(fmt::format("line {}", number + 1), begin, end, "");
    const std::size_t last = text.find_last_of(" \t,", end - 1);
    if (last != std::string::npos && last >= begin) {
      grower.grow(fmt::format("end of line {}", number + 1), last, end - 1, "");
    }
    begin = end;
  }
}

/// Where the bracket that opens at `begin` is closed.
std::size_t end_of_bracket(const std::string& text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (text[at] == '{' || text[at] == '[') ++depth;
    if ((text[at] == '}' || text[at] == ']') && --depth == 0) return at + 1;
  }
  return std::string::npos;
}

void grow_objects(const std::string& text, Grower& grower) {
  std::size_t number = 0;
  for (std::size_t at = text.find('{'); at != text.npos && number < most_places;
       at = text.find('{', at + 1)) {
    const std::size_t end = end_of_bracket(text, at);
    if (end == std::string::npos) return;
    grower.grow(fmt::format("object {}", ++number), at, end, ",");
  }
}

/// Other values of each key, and further keys.
void grow_values(const std::string& text, Grower& grower) {
  std::size_t number = 0;
  for (std::size_t at = text.find(':'); at != text.npos && number < most_places; ++number) {
    const std::size_t end = std::min(text.find_first_of(",}\n", at), text.size());
    const auto value = [&](const char* name, const char* open, const char* part,
                           const char* separator, const char* close) {
      const std::string all = fmt::format("{} {}", name, number + 1);
      grower.add(all, at + 1, end, part, separator, true, {open, close});
    };
    value("keys", " {", "\"k0\":1", ",", "}");
    value("numbers", " [", "0", ",", "]");
    value("letters", " \"", "a", "", "\"");
    value("escapes", " \"", "\\n", "", "\"");
    value("digits", " 1", "1", "", "");
    at = text.find(':', end);
  }
}

void grow_marks(const std::string& text, Grower& grower) {
  for (const char* mark : {"[", "{\"a\":", "- ", "(", "\t", "1", "\"", "a: &a *a\n", "\xC2\xA0",
                           "\x1b[1m", "[1]", "\r", "# ", "\"\\", "*a ", "? "}) {
    const std::size_t middle = std::min(text.find_first_of(":,", text.size() / 2), text.size());
    for (const std::size_t place : {std::size_t{0}, middle, text.size()}) {
      grower.add(fmt::format("mark {} at {}", mark, place), place, place, mark, "", false);
    }
  }
}

struct Trial {
  std::string fault;
  double seconds = 0;  ///< of the processor, since other programs may be busy, too
};

Trial trial_of(const Target& target, const fs::path& file, const std::string& text) {
  const std::clock_t start = std::clock();
  const Outcome outcome = try_input(target, file, text);
  return {outcome.fault, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC};
}

}  // namespace

std::string Growth::text(std::size_t bytes) const {
  std::string all = before;
  for (std::size_t number = 0; number == 0 || all.size() + after.size() < bytes; ++number) {
    if (number > 0) all += separator;
    all += is_numbered ? numbered(part, number) : part;
  }
  return all + after;
}

std::vector<Growth> growths_of(const std::string& text) {
  std::vector<Growth> all;
  Grower grower(text, all);
  grower.grow("the whole", 0, text.size(), "");
  grow_lines(text, grower);
  grow_objects(text, grower);
  grow_values(text, grower);
  grow_marks(text, grower);
  return all;
}

std::string growth_fault(const Target& target, const fs::path& file, const Growth& growth,
                         std::size_t bytes) {
  constexpr double least_s = 0.01;
  constexpr double most_ratio = 8;
  constexpr int most_tries = 5;
  const std::string large = growth.text(bytes);
  const std::string small = growth.text(bytes / 4);
  const Trial first = trial_of(target, file, large);
  if (!first.fault.empty()) return first.fault;
  double large_s = first.seconds;
  double small_s = large_s;
  for (int i = 0; i < most_tries; ++i) {
    if (large_s < least_s) return "";
    for (int j = 0; j < 3; ++j) {
      small_s = std::min(small_s, trial_of(target, file, small).seconds);
    }
    if (large_s <= most_ratio * small_s) return "";
    large_s = std::min(large_s, trial_of(target, file, large).seconds);
  }
  if (large_s <= most_ratio * small_s) return "";
  return fmt::format("{} bytes take {:.3f} s and {} bytes {:.3f} s", small.size(), small_s,
                     large.size(), large_s);
}

std::vector<std::string> growth_faults(const Target& target, const fs::path& file,
                                       std::size_t bytes) {
  constexpr std::size_t most_seeds = 2;
  std::vector<std::string> faults;
  const std::vector<std::string> seeds = target.seeds();
  for (std::size_t i = 0; i < std::min(most_seeds, seeds.size()); ++i) {
    for (const Growth& growth : growths_of(seeds[i])) {
      const std::string fault = growth_fault(target, file, growth, bytes);
      if (fault.empty()) continue;
      faults.push_back(fmt::format("seed {}, {}: {}", i + 1, growth.name, fault));
    }
  }
  return faults;
}

}  // namespace dlscale::fuzz
