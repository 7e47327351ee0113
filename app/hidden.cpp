#include "app/hidden.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/completion.hpp"
#include "app/man_pages.hpp"
#include "app/output.hpp"
#include "backend/comm/communicator.hpp"

namespace dlscale::app {
namespace {

using Words = std::vector<std::string_view>;

void expect_words(const Words& words, std::size_t least, std::size_t most, const char* usage) {
  if (words.size() >= least && words.size() <= most) return;
  throw ConfigError(fmt::format("{} has {} words after it. Write \"dlscale {}\".", words.front(),
                                words.size() - 1, usage));
}

ExitCode write_completion(const Words& words) {
  expect_words(words, 2, 2, "__completion SHELL");
  write_output("-", completion_script(words[1]));
  return ExitCode::ok;
}

ExitCode write_manual(const Words& words) {
  expect_words(words, 2, 2, "__manual FOLDER");
  write_man_pages(std::string(words[1]));
  return ExitCode::ok;
}

/// That all ranks meet and add shows that launcher, library and links fit together.
ExitCode say_hello(const Words& words) {
  constexpr const char* usage = "__hello RANKS";
  expect_words(words, 2, 2, usage);
  int ranks = 0;
  const std::string_view count = words[1];
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), ranks);
  if (error != std::errc() || end != count.data() + count.size() || ranks < 1) {
    throw ConfigError(
        fmt::format("\"{}\" is no number of ranks. Write \"dlscale {}\".", count, usage));
  }
  const std::unique_ptr<backend::Communicator> all = backend::connect_launched(ranks);
  double sum = 1;
  all->all_reduce(std::span(&sum, 1), backend::Reduction::sum);
  if (std::lround(sum) != ranks) {
    throw WrongResult(fmt::format("{} ranks that add 1 each come to {}.", ranks, sum));
  }
  if (all->rank() == 0) {
    write_output("-", fmt::format("{} ranks by {}\n", all->size(), all->library()));
  }
  return ExitCode::ok;
}

}  // namespace

std::optional<ExitCode> answer_hidden(std::span<char* const> arguments) {
  const Words words(arguments.begin() + (arguments.empty() ? 0 : 1), arguments.end());
  if (words.empty()) return std::nullopt;
  if (words.front() == "__completion") return write_completion(words);
  if (words.front() == "__manual") return write_manual(words);
  if (words.front() == "__hello") return say_hello(words);
  return std::nullopt;
}

}  // namespace dlscale::app
