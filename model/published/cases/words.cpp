#include "model/published/cases/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::cases {
namespace {

template <class Enum>
using CaseWord = std::pair<std::string_view, Enum>;

constexpr std::array<CaseWord<Synchronisation>, 4> synchronisations{
    {{"all_reduce", Synchronisation::all_reduce},
     {"parameter_server", Synchronisation::parameter_server},
     {"replicated_copy", Synchronisation::replicated_copy},
     {"fsdp", Synchronisation::fsdp}}};
constexpr std::array<CaseWord<Overlap>, 7> overlaps{
    {{"none", Overlap::none},
     {"wfbp", Overlap::wfbp},
     {"bucketed", Overlap::bucketed},
     {"merged", Overlap::merged},
     {"scheduled", Overlap::scheduled},
     {"bucketed+async_tp", Overlap::bucketed_async_tp},
     {"unknown", Overlap::unknown}}};
constexpr std::array<CaseWord<Input>, 3> inputs{
    {{"synthetic", Input::synthetic}, {"real", Input::real}, {"unknown", Input::unknown}}};
constexpr std::array<CaseWord<BufferMemory>, 2> buffers{
    {{"device", BufferMemory::device}, {"host", BufferMemory::host}}};
constexpr std::array<CaseWord<CurveTask>, 2> tasks{
    {{"interpolate", CurveTask::interpolate}, {"extrapolate", CurveTask::extrapolate}}};

[[noreturn]] void refuse_word(std::string_view word, std::string_view where,
                              std::span<const std::string_view> known) {
  const std::vector<std::string> words(known.begin(), known.end());
  throw ConfigError(fmt::format("{} is \"{}\", which is not a known value. {}", where, word,
                                suggestion(word, words)));
}

template <class Enum, std::size_t N>
std::array<std::string_view, N> words_of(const std::array<CaseWord<Enum>, N>& all) {
  std::array<std::string_view, N> words;
  std::ranges::transform(all, words.begin(), [](const auto& named) { return named.first; });
  return words;
}

/// Returns nullptr for a word unlike all known ones, and throws for a misspelt one.
template <class Enum, std::size_t N>
const CaseWord<Enum>* find_word(std::string_view word, std::string_view where,
                                const std::array<CaseWord<Enum>, N>& all) {
  for (const auto& named : all) {
    if (named.first == word) return &named;
  }
  const auto known = words_of(all);
  if (!meant_by(word, known).empty()) refuse_word(word, where, known);
  return nullptr;
}

template <class Enum, std::size_t N>
Enum parse_or_other(std::string_view word, std::string_view where,
                    const std::array<CaseWord<Enum>, N>& all) {
  const auto* found = find_word(word, where, all);
  return found == nullptr ? Enum::other : found->second;
}

}  // namespace

std::string_view meant_by(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t longest_looked_at = 64;
  if (word.size() > longest_looked_at) return {};
  for (const std::string_view candidate : known) {
    const std::size_t longest = std::max(word.size(), candidate.size());
    const int slips = std::max(1, static_cast<int>(longest / 4));
    if (longest >= 4 && edit_distance(word, candidate) <= slips) return candidate;
  }
  return {};
}

Synchronisation parse_synchronisation(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, synchronisations);
}

Overlap parse_overlap(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, overlaps);
}

Input parse_input(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, inputs);
}

BufferMemory parse_buffer(std::string_view word, std::string_view where) {
  return parse_or_other(word, where, buffers);
}

CurveTask parse_task(std::string_view word, std::string_view where) {
  const auto* found = find_word(word, where, tasks);
  if (found == nullptr) refuse_word(word, where, words_of(tasks));
  return found->second;
}

}  // namespace dlscale::cases
