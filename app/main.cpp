// The program: finds the verb, runs it, turns every error into one sentence and an exit code.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "app/verb.hpp"
#include "core/interrupt.hpp"

namespace {

using namespace dlscale;

int fail(ExitCode code, const char* message) {
  fmt::print(stderr, "dlscale: {}\n", message);
  return static_cast<int>(code);
}

/// Help goes to standard output; a usage error is one sentence and the way to more.
int finish_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  fmt::print(stderr, "dlscale: {}. See \"dlscale --help\" or \"dlscale VERB --help\".\n",
             error.what());
  return static_cast<int>(ExitCode::bad_input);
}

int run(int argc, char** argv) {
  CLI::App app{
      "How fast will data-parallel training run on N workers, what bounds it, what to change?"};
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  auto result = ExitCode::ok;
  for (const app::Verb* verb : family<app::Verb>().members) {
    verb->declare(*app.add_subcommand(std::string(verb->name), std::string(verb->doc)), result);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return finish_parse(app, error);
  }
  return static_cast<int>(result);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    dlscale::install_signal_handlers();
    return run(argc, argv);
  } catch (const dlscale::Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::exception& error) {
    return fail(dlscale::ExitCode::wrong_result, error.what());
  }
}
