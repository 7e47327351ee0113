// The program: runs a command line; every error becomes one sentence and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/cli/command_tree.hpp"
#include "app/cli/said_once.hpp"
#include "app/help/hidden.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/system/own_command.hpp"

namespace {

using namespace dlscale;

ExitCode fail(ExitCode code, const std::string& sentence) {
  fmt::print(stderr, "dlscale: {}\n", app::on_one_line(sentence));
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
    const auto answered = app::answer_hidden(words);
    return check_output(answered ? *answered : app::CommandTree().run(words));
  } catch (const Error& error) {
    return fail(error.code(), error.what());
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
    own_program();  // record the path now, since a rebuild may replace the file during a suite
    return static_cast<int>(run({argv + (argc > 0 ? 1 : 0), argv + argc}));
  } catch (const std::bad_alloc&) {  // while making another error's sentence
    return static_cast<int>(fail_without_memory());
  }
}
