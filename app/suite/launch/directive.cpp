#include "app/suite/launch/directive.hpp"

#include <algorithm>
#include <cctype>

#include "core/base/error.hpp"

namespace dlscale::app {

std::string_view directive_mark(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::slurm:
      return "#SBATCH";
    case Scheduler::flux:
      return "# flux:";
    case Scheduler::pbs:
      return "#PBS";
    case Scheduler::none:
      break;
  }
  fail_expectation("a scheduler");
}

std::optional<std::string> directive_word(const std::string& word) {
  static constexpr std::string_view plain = "%+,-./:=@_";
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           plain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  const bool several_lines = word.find_first_of("\n\r\\") != std::string::npos;
  const bool both_quotes =
      word.find('\'') != std::string::npos && word.find('"') != std::string::npos;
  if (several_lines || both_quotes) return std::nullopt;
  const char quote = word.find('\'') == std::string::npos ? '\'' : '"';
  return quote + word + quote;
}

}  // namespace dlscale::app
