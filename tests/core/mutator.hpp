#pragma once
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace dlscale::test {

/// Damages texts; the same for every seed.
class Mutator {
 public:
  explicit Mutator(std::uint32_t seed) : random_(seed) {}

  /// A copy with one to three mutations.
  std::string operator()(std::string text) {
    const std::size_t count = 1 + below(3);
    for (std::size_t i = 0; i < count && text.size() > 2; ++i) mutate(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void mutate(std::string& text) {
    const std::size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        return;
      case 1:
        text.erase(at, 1 + below(below(8) == 0 ? text.size() : 4));
        return;
      case 2:
        text.insert(at, text.substr(below(text.size()), 1 + below(20)));
        return;
      case 3:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      case 4:
        swap_numbers(text);
        return;
      default:
        replace_number(text);
    }
  }

  using Span = std::pair<std::size_t, std::size_t>;  ///< begin and length

  /// Where numbers that are values stand.
  static std::vector<Span> numbers(const std::string& text) {
    std::vector<Span> found;
    for (std::size_t i = 1; i < text.size(); ++i) {
      const bool begins =
          std::isdigit(static_cast<unsigned char>(text[i])) != 0 &&
          (text[i - 1] == ':' || text[i - 1] == ',' || text[i - 1] == '[' || text[i - 1] == ' ');
      if (!begins) continue;
      const std::size_t end = text.find_first_not_of("0123456789.eE+-", i);
      found.emplace_back(i, (end == std::string::npos ? text.size() : end) - i);
      i += found.back().second;
    }
    return found;
  }

  void swap_numbers(std::string& text) {
    const std::vector<Span> all = numbers(text);
    if (all.size() < 2) return;
    Span first = all[below(all.size())];
    Span second = all[below(all.size())];
    if (second.first < first.first) std::swap(first, second);
    if (first.first == second.first) return;
    const std::string one = text.substr(first.first, first.second);
    const std::string other = text.substr(second.first, second.second);
    text.replace(second.first, second.second, one);
    text.replace(first.first, first.second, other);
  }

  void replace_number(std::string& text) {
    static constexpr std::array values{"0",     "-1",     "1",         "2",
                                       "1e-11", "1e9",    "1e15",      "1e17",
                                       "1e308", "1e-308", "1e999",     "NaN",
                                       "null",  "\"8\"",  "[]",        "{}",
                                       "0.5",   "true",   "100000000", "99999999999999999999"};
    const std::vector<Span> all = numbers(text);
    if (all.empty()) return;
    const Span chosen = all[below(all.size())];
    text.replace(chosen.first, chosen.second, values[below(values.size())]);
  }

  std::mt19937 random_;
};

}  // namespace dlscale::test
