// The program: runs a command line; every error becomes one sentence and an exit code.
#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "app/cli/command_tree.hpp"
#include "app/cli/completion.hpp"
#include "app/cli/rank0_error.hpp"
#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/system/standard_streams.hpp"
#include "core/system/this_command_line.hpp"

namespace {

using namespace dlscale;
using Arguments = std::span<const std::string>;

void expect_one_behind(Arguments words, const char* usage) {
  if (words.size() == 2) return;
  throw ConfigError(fmt::format("{} has {} words after it. Write \"dlscale {}\".", words.front(),
                                words.size() - 1, usage));
}

ExitCode write_completion(Arguments words) {
  expect_one_behind(words, "__completion SHELL");
  write_output("-", app::completion_script(words[1]));
  return ExitCode::ok;
}

/// Runs a barrier and a sum over all ranks: if both succeed, launcher, library and links fit
/// together.
ExitCode say_hello(Arguments words) {
  constexpr const char* usage = "__hello RANKS";
  expect_one_behind(words, usage);
  int ranks = 0;
  const std::string_view count = words[1];
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), ranks);
  if (error != std::errc() || end != count.data() + count.size() || ranks < 1) {
    throw ConfigError(
        fmt::format("\"{}\" is not a number of ranks. Write \"dlscale {}\".", count, usage));
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

/// Answers internal commands, which only programs call:
///   __completion SHELL  prints the completion script of bash, fish or zsh
///   __hello RANKS       a rank that dlscale doctor starts to test the launcher
/// They take their arguments unchanged, with all quotes and dashes, before options are read.
/// Returns nothing for any other command line. Throws Error.
std::optional<ExitCode> run_internal_command(Arguments words) {
  if (words.empty()) return std::nullopt;
  if (words.front() == "__completion") return write_completion(words);
  if (words.front() == "__hello") return say_hello(words);
  return std::nullopt;
}

ExitCode fail(ExitCode code, const std::string& sentence) {
  if (sentence == lost_output && is_left_by_its_reader()) return code;
  app::print_error(sentence);
  return code;
}

ExitCode fail_without_memory() {
  say_out_of_memory();
  return ExitCode::wrong_result;
}

/// Output that could not be written is a failure. A run that failed has already reported it.
ExitCode check_output(ExitCode code) {
  const bool answered =
      code == ExitCode::ok || code == ExitCode::regression || code == ExitCode::inconclusive;
  if (answered) check_standard_output();
  return code;
}

ExitCode run(const std::vector<std::string>& words) {
  try {
    const auto answered = run_internal_command(words);
    return check_output(answered ? *answered : app::CommandTree().run(words));
  } catch (const Error& error) {
    return fail(error.code(), app::sentence_of(error));
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(ExitCode::bad_input,
                fmt::format("{} cannot be used ({}). Check the path, and what you may read and "
                            "write there.",
                            error.path1().string(), error.code().message()));
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::length_error&) {
    say_too_large();
    return ExitCode::wrong_result;
  } catch (const std::exception& error) {
    // fmt throws an error of the system when a full buffer cannot be written.
    return std::ferror(stdout) != 0 ? fail(ExitCode::bad_input, lost_output)
                                    : fail(ExitCode::wrong_result, error.what());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    keep_standard_streams();
    this_program();  // record the path now, since a rebuild may replace the file during a suite
    return static_cast<int>(run({argv + (argc > 0 ? 1 : 0), argv + argc}));
  } catch (const std::bad_alloc&) {  // while making another error's sentence
    return static_cast<int>(fail_without_memory());
  }
}
