#include "app/cli/rank0_error.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "core/base/interrupt.hpp"
#include "core/base/remedy.hpp"
#include "core/text/escape_for_terminal.hpp"
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

}  // namespace

bool is_first_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID",
                               "JSM_NAMESPACE_RANK", "PALS_RANKID", "FLUX_TASK_RANK"}) {
    if (const char* rank = std::getenv(variable); rank != nullptr) return std::string(rank) == "0";
  }
  return true;
}

std::string on_one_line(std::string_view sentence) {
  if (is_plain_line(sentence)) return std::string(sentence);
  std::string line;
  for (const char& letter : sentence) line += escape_for_terminal(std::string_view(&letter, 1));
  return line;
}

std::string sentence_of(const Error& error) {
  const auto* remediable = dynamic_cast<const RemediableError*>(&error);
  if (remediable == nullptr) return error.what();
  const Remedy& remedy = remediable->remedy;
  if (remedy.kind == Remedy::Kind::make_data_set) {
    return fmt::format("{} Type: dlscale data make --out {}", error.what(),
                       shell_word(remedy.subject));
  }
  std::string command = fmt::format("dlscale bench {}", remedy.subject);
  if (remedy.ranks > 1) command = fmt::format("mpirun -n {} {}", remedy.ranks, command);
  for (const auto& [axis, value] : remedy.axes) command += fmt::format(" --{} {}", axis, value);
  return fmt::format("{} Type: {}", error.what(), command);
}

void print_on_rank0(std::string_view sentence) {
  if (is_first_rank() || !is_ended()) fmt::print(stderr, "dlscale: {}\n", on_one_line(sentence));
}

std::optional<ExitCode> refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    print_on_rank0(sentence_of(error));
    return error.code();
  }
  return std::nullopt;
}

}  // namespace dlscale::app
