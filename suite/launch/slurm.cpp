#include "suite/launch/slurm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "core/base/error.hpp"
#include "core/base/printable.hpp"
#include "core/system/process.hpp"
#include "suite/launch/batch_script.hpp"

namespace dlscale::suite {
namespace {

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string trimmed(std::string text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && is_space(text.back())) text.pop_back();
  text.erase(text.begin(), std::ranges::find_if_not(text, is_space));
  return text;
}

/// The value of " key=value " in a line, up to `end`.
std::string value_of(std::string_view line, std::string_view key, char end) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = line.substr(at + key.size());
  return std::string(rest.substr(0, rest.find(end)));
}

/// The selected nodes with state and reason.
template <class Meant>
std::string names_of(const std::vector<SlurmNode>& nodes, Meant meant) {
  std::vector<std::string> texts;
  for (const SlurmNode& node : nodes) {
    if (!meant(node)) continue;
    texts.push_back(node.reason.empty()
                        ? fmt::format("{} ({})", node.name, node.state)
                        : fmt::format("{} ({}: {})", node.name, node.state, node.reason));
  }
  return escape_unprintable(fmt::format("{}", fmt::join(texts, ", ")));
}

/// The output of a command, for an error message.
std::string said(const ProgramOutput& output) {
  const std::string errors = escape_unprintable(trimmed(output.errors));
  return errors.empty() ? fmt::format("exit code {}", output.code) : errors;
}

}  // namespace

bool SlurmNode::usable() const {
  // The states of sinfo(1) in which a node takes jobs, at once or after those that it is kept for;
  // a mark may follow the state.
  constexpr std::array usable{"idle", "alloc",      "allocated", "mix",    "mixed",
                              "comp", "completing", "plnd",      "planned"};
  if (state.find('*') != std::string::npos) return false;
  const std::string word = state.substr(0, state.find_first_of("~#!%$@^-+"));
  return std::ranges::find(usable, word) != usable.end();
}

bool SlurmNode::idle() const {
  return usable() && state.starts_with("idle");
}

std::vector<SlurmNode> parse_nodes(std::string_view lines) {
  std::vector<SlurmNode> nodes;
  std::set<std::tuple<std::string, std::string, std::string>> there;
  for (const std::string& line : split(lines, '\n')) {
    const std::vector<std::string> parts = split(line, '|');
    if (parts.size() < 2) continue;
    std::string reason = parts.size() > 2 ? trimmed(parts[2]) : "";
    if (reason == "none") reason.clear();
    SlurmNode node{trimmed(parts[0]), trimmed(parts[1]), reason};
    const bool is_new = there.emplace(node.name, node.state, node.reason).second;
    if (is_new) nodes.push_back(std::move(node));
  }
  return nodes;
}

bool SlurmNode::lost() const {
  return state.find('*') != std::string::npos || state.starts_with("down") ||
         state.starts_with("fail") || state.starts_with("unk");
}

std::string unusable_text(const std::vector<SlurmNode>& nodes) {
  return names_of(nodes, [](const SlurmNode& node) { return !node.usable(); });
}

std::string lost_text(const std::vector<SlurmNode>& nodes) {
  return names_of(nodes, [](const SlurmNode& node) { return node.lost(); });
}

bool SlurmJob::ended() const {
  // A job that lost its node, or made way for another, waits in the queue again.
  constexpr std::array going_on{"PENDING",       "RUNNING",     "CONFIGURING",  "COMPLETING",
                                "SUSPENDED",     "RESIZING",    "SIGNALING",    "STAGE_OUT",
                                "REQUEUED",      "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT",
                                "RESV_DEL_HOLD", "STOPPED",     "POWER_UP_NODE"};
  return std::ranges::find(going_on, state) == going_on.end();
}

SlurmJob parse_job(std::string_view line) {
  return {value_of(line, "JobState=", ' '), value_of(line, " Reason=", ' ')};
}

std::string parse_submission(std::string_view text) {
  // Plugins of a site may print lines before it, and its own sbatch the sentence for people.
  constexpr std::string_view sentence = "Submitted batch job ";
  const std::vector<std::string> lines = split(text, '\n');
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const bool is_sentence = line->starts_with(sentence);
    std::string number = trimmed(is_sentence ? line->substr(sentence.size()) : *line);
    number.resize(std::min(number.find(is_sentence ? ' ' : ';'), number.size()));
    const bool digits =
        !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
    if (digits) return number;
  }
  return {};
}

std::vector<SlurmNode> slurm_nodes(const std::string& partition, const std::string& names) {
  std::vector<std::string> command{"sinfo", "--noheader", "--Node", "--format=%N|%t|%E"};
  if (!partition.empty()) command.push_back("--partition=" + partition);
  if (!names.empty()) command.push_back("--nodes=" + names);
  const ProgramOutput output = run_program(command);
  if (output.code != 0) {
    throw LibraryError(
        fmt::format("sinfo failed ({}), so the nodes of Slurm are not known. Is this a node of "
                    "the cluster, and does slurmctld run?",
                    said(output)));
  }
  return parse_nodes(output.text);
}

SlurmJob slurm_job(const std::string& job) {
  const ProgramOutput output = run_program({"scontrol", "show", "job", "--oneliner", job});
  if (output.code == 0) return parse_job(output.text);
  if (output.errors.find("Invalid job id") != std::string::npos) return {};
  throw LibraryError(
      fmt::format("scontrol failed ({}), so it is not known how job {} stands. It goes on, and the "
                  "same command waits for it again when Slurm answers.",
                  said(output), job));
}

std::string submit_to_slurm(const std::string& script) {
  const ProgramOutput output = run_program(submission(Scheduler::slurm, script));
  const std::string job = output.code == 0 ? parse_submission(output.text) : "";
  if (!job.empty()) return job;
  throw ConfigError(
      fmt::format("sbatch did not take {} ({}). Correct the system file, what the "
                  "suite asks of it, or -J.",
                  script, said(output)));
}

}  // namespace dlscale::suite
