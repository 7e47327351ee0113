#include "app/cli/rank0_error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "backend/comm/together.hpp"
#include "core/base/display_width.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/printable.hpp"
#include "core/base/remedy.hpp"
#include "core/base/terminal_width.hpp"
#include "core/text/shell_words.hpp"

namespace dlscale::app {
namespace {

/// Whether the launcher ends this rank within the time that rank 0 may need to print.
bool is_ended() {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + std::chrono::seconds(3); Clock::now() < end;) {
    if (pending_signal() != 0) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

/// A name of a result file that the command does not replace.
std::string new_file(const std::string& subject) {
  std::string file = subject + ".jsonl";
  for (int i = 2; std::filesystem::exists(file); ++i) file = fmt::format("{}-{}.jsonl", subject, i);
  return file;
}

std::string measuring(const Remedy& remedy) {
  std::string command = remedy.ranks > 1 ? fmt::format("mpirun -n {} ", remedy.ranks) : "";
  command += fmt::format("dlscale bench {}", remedy.subject);
  for (const auto& [axis, value] : remedy.axes) command += fmt::format(" --{} {}", axis, value);
  return command + fmt::format(" -o {}", new_file(remedy.subject));
}

std::string remedy_command(const Remedy& remedy) {
  const std::string subject = remedy.subject.empty() ? "RESULTS" : shell_word(remedy.subject);
  switch (remedy.kind) {
    case Remedy::Kind::measure:
      return measuring(remedy);
    case Remedy::Kind::make_data_set:
      return fmt::format("dlscale data make --out {}", subject);
    case Remedy::Kind::calibrate:
      return fmt::format("dlscale calibrate {} -o machine.json", subject);
    case Remedy::Kind::fit_kernels:
      return fmt::format("dlscale roofline fit {} -o kernels.json", subject);
    case Remedy::Kind::fit_scaling:
      return "dlscale calibrate --cases CASES -o model.yaml";
    case Remedy::Kind::list_configured:
      return "dlscale info";
  }
  fail_expectation("kind is a Kind");
}

}  // namespace

bool is_first_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
                               "JSM_NAMESPACE_RANK", "PALS_RANKID", "FLUX_TASK_RANK"}) {
    if (const char* rank = std::getenv(variable); rank != nullptr) return std::string(rank) == "0";
  }
  return true;
}

std::string on_one_line(std::string_view sentence) {
  constexpr std::size_t most = 4000;  // beyond it a name of a file's content fills the screen
  const std::string_view kept = beginning_of(sentence, most);
  return escape_unprintable(kept) + (kept.size() < sentence.size() ? "…" : "");
}

void print_error(std::string_view sentence) {
  constexpr std::size_t indent = 4;
  std::string text = fmt::format("dlscale: {}", on_one_line(sentence));
  if (::isatty(STDERR_FILENO) == 1) {
    const std::size_t command = std::min(text.find(" Type: "), text.size());
    const std::string typed = text.substr(command);
    text = wrapped(text.substr(0, command), line_width(STDERR_FILENO) - indent, indent);
    if (!typed.empty()) text += fmt::format("\n{:{}}{}", "", indent - 1, typed);
  }
  fmt::print(stderr, "{}\n", text);
}

std::string sentence_of(const Error& error) {
  const auto* remediable = dynamic_cast<const RemediableError*>(&error);
  if (remediable == nullptr) return error.what();
  std::vector<std::string> commands;
  std::ranges::transform(remediable->remedies, std::back_inserter(commands), remedy_command);
  return fmt::format("{} Type: {}", error.what(), fmt::join(commands, " && "));
}

void print_on_rank0(std::string_view sentence) {
  if (is_first_rank() || !is_ended()) print_error(sentence);
}

std::optional<ExitCode> refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const backend::FoundByAll& error) {
    // A rank that leaves first would let the launcher end rank 0 before it prints.
    if (is_first_rank()) {
      print_on_rank0(sentence_of(error));
    } else {
      std::ignore = is_ended();
    }
    return error.code();
  } catch (const Error& error) {
    print_on_rank0(sentence_of(error));
    return error.code();
  }
  return std::nullopt;
}

}  // namespace dlscale::app
