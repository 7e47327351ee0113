#include "app/help/hidden.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "app/cli/completion.hpp"
#include "backend/comm/communicator.hpp"
#include "core/system/output.hpp"

namespace dlscale::app {
namespace {

using WordList = std::span<const std::string>;

void expect_one_behind(WordList words, const char* usage) {
  if (words.size() == 2) return;
  throw ConfigError(fmt::format("{} has {} words after it. Write \"dlscale {}\".", words.front(),
                                words.size() - 1, usage));
}

ExitCode write_completion(WordList words) {
  expect_one_behind(words, "__completion SHELL");
  write_output("-", completion_script(words[1]));
  return ExitCode::ok;
}

/// Runs a barrier and a sum over all ranks: if both succeed, launcher, library and links fit
/// together.
ExitCode say_hello(WordList words) {
  constexpr const char* usage = "__hello RANKS";
  expect_one_behind(words, usage);
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

std::optional<ExitCode> answer_hidden(std::span<const std::string> words) {
  if (words.empty()) return std::nullopt;
  if (words.front() == "__completion") return write_completion(words);
  if (words.front() == "__hello") return say_hello(words);
  return std::nullopt;
}

}  // namespace dlscale::app
