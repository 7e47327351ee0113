#include "core/text/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>

#include "core/text/escape_for_terminal.hpp"
#include "core/text/near_words.hpp"

namespace dlscale {
namespace {

char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}

bool same_letter(char a, char b) {
  return lower(a) == lower(b);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Lower case, with one mark between parts: "RTX 4090" is "rtx_4090".
std::string plain(std::string_view word) {
  std::string text;
  for (const char c : word) text += c == ' ' || c == '-' ? '_' : lower(c);
  return text;
}

/// Whether the word begins so, without cutting a number: "a100" does not begin with "a10".
bool begins_with(std::string_view word, std::string_view beginning) {
  constexpr std::size_t least = 3;
  const std::size_t end = beginning.size();
  if (end < least || end >= word.size() || !word.starts_with(beginning)) return false;
  return !is_digit(word[end]) || !is_digit(beginning.back());
}

/// Whether a letter alone was left out at the end: "rank" for "ranks".
bool lacks_one_letter(std::string_view word, std::string_view candidate) {
  return candidate.size() == word.size() + 1 && candidate.starts_with(word) &&
         !is_digit(candidate.back());
}

/// Whether two words cannot be one misspelt, since they have other numbers: neither the same digits
/// in another order, nor digits that one of them lacks at the end.
bool have_other_numbers(std::string_view a, std::string_view b) {
  std::string digits_a;
  std::string digits_b;
  std::ranges::copy_if(a, std::back_inserter(digits_a), is_digit);
  std::ranges::copy_if(b, std::back_inserter(digits_b), is_digit);
  if (digits_a.starts_with(digits_b) || digits_b.starts_with(digits_a)) return false;
  return !std::ranges::is_permutation(digits_a, digits_b);
}

/// Longer words may contain more typing errors.
int most_errors(std::string_view word, std::string_view candidate) {
  return std::max(1, static_cast<int>(std::max(word.size(), candidate.size())) / 3);
}

/// Letters in lower case, and digits: "DGX-A100" is "dgxa100".
std::string squeezed(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) text += lower(c);
  }
  return text;
}

/// Runs of letters and of digits in alphabetical order: those of "a100-dgx" are "100", "a", "dgx".
std::vector<std::string> parts_of(std::string_view word) {
  std::vector<std::string> parts;
  const std::string text = plain(word);
  char before = '_';
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      const bool goes_on =
          std::isalnum(static_cast<unsigned char>(before)) != 0 && is_digit(before) == is_digit(c);
      if (!goes_on) parts.emplace_back();
      parts.back() += c;
    }
    before = c;
  }
  std::ranges::sort(parts);
  return parts;
}

/// Whether a word differs from a name in capitals, marks or the order of its parts alone.
bool is_written_otherwise(std::string_view word, std::string_view name) {
  if (squeezed(word).empty()) return false;
  return squeezed(word) == squeezed(name) || parts_of(word) == parts_of(name);
}

/// Whether a name has all parts of a word with a number, and more: "dgx_a100" those of "A100".
bool is_part_of(std::string_view word, std::string_view name) {
  const std::vector<std::string> few = parts_of(word);
  const bool has_number = few.size() > 1 && std::ranges::any_of(few, [](const auto& part) {
                            return is_digit(part[0]);
                          });
  return has_number && std::ranges::includes(parts_of(name), few);
}

/// Words of other tools for one of ours, squeezed and with blanks between them.
struct OtherWords {
  std::string_view ours;
  std::string_view others;
};

constexpr std::array all_other_words{
    OtherWords{"f32", "fp32 float32 float single"},
    OtherWords{"tf32", "tensorfloat32 tensorfloat"},
    OtherWords{"bf16", "bfloat16 bfloat brainfloat16"},
    OtherWords{"f16", "fp16 float16 half"},
    OtherWords{"f64", "fp64 float64 double"},
    OtherWords{"markdown", "md mdown gfm github"},
    OtherWords{"json", "jsonl ndjson yaml yml"},
    OtherWords{"csv", "tsv excel xls xlsx spreadsheet"},
    OtherWords{"table", "text txt plain pretty ascii console terminal human"},
    OtherWords{"junit", "xml xunit"},
    OtherWords{"openmetrics", "prometheus prom"},
    OtherWords{"comment", "pullrequest mergerequest pr mr"},
    OtherWords{"pytorch_ddp", "ddp pytorch torch torchddp distributeddataparallel lightning"},
    OtherWords{"tensorflow_2_mirrored", "tf tf2 tensorflow keras mirroredstrategy"},
    OtherWords{"googlenet", "inception inceptionv1"},
    OtherWords{"all_reduce", "ddp ring nccl horovod"},
    OtherWords{"parameter_server", "ps pserver paramserver kvstore"},
    OtherWords{"bucketed", "ddp bucket buckets bucketing pytorch"},
    OtherWords{"wait_free", "wfbp overlap overlapped waitfreebackpropagation"},
    OtherWords{"sequential", "none serial nooverlap"},
    OtherWords{"priority", "bytescheduler p3 byteps"},
    OtherWords{"merged", "mgwfbp"},
    OtherWords{"cuda", "gpu nvidia cudnn cublas"},
    OtherWords{"onednn", "mkl mkldnn dnnl cpu intel"},
    OtherWords{"mpi", "gloo openmpi mpich intelmpi ucc"},
    OtherWords{"nccl", "rccl"},
    OtherWords{"pinned", "pinnedmemory pagelocked"},
    OtherWords{"data", "dp dpsize dataparallel dataparallelsize replicas"},
    OtherWords{"tensor", "tp tpsize tensorparallel tensormodelparallelsize"},
    OtherWords{"stages", "pp ppsize pipeline pipelineparallel pipelinemodelparallelsize"},
    OtherWords{"context", "cp cpsize contextparallel contextparallelsize"},
    OtherWords{"experts", "ep epsize expertparallel expertmodelparallelsize"},
    OtherWords{"chunks", "vpp vp virtualstages"},
    OtherWords{"sequence_parallel", "sp"},
    OtherWords{"tensor_overlap", "tpcommoverlap tpoverlap asynctp asynctensorparallel"},
    OtherWords{"compile", "torchcompile compileenable"},
    OtherWords{"micro_batch", "mbs microbatchsize"},
    OtherWords{"micro_batches", "gas gradientaccumulationsteps"}};

bool is_among(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

/// Whether other tools call the same thing so.
bool is_called(std::string_view ours, std::string_view word) {
  const std::string other = squeezed(word);
  return std::ranges::any_of(all_other_words, [&](const OtherWords& known) {
    return known.ours == ours && is_among(known.others, other);
  });
}

/// Escapes words of a file, which may contain characters that would break a message.
std::vector<std::string> shown(std::span<const std::string> words) {
  std::vector<std::string> each;
  std::ranges::transform(words, std::back_inserter(each), escape_for_terminal);
  return each;
}

}  // namespace

int edit_distance(std::string_view a, std::string_view b) {
  constexpr std::size_t longest = 256;  // the work is the product of the sizes
  if (a.size() > longest || b.size() > longest) {
    const std::size_t most = std::max(a.size(), b.size());
    return static_cast<int>(std::min<std::size_t>(most, std::numeric_limits<int>::max()));
  }
  const std::size_t columns = b.size() + 1;
  std::vector<int> cost((a.size() + 1) * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return cost[i * columns + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replace = same_letter(a[i - 1], b[j - 1]) ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + replace});
      const bool swapped =
          i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) && same_letter(a[i - 2], b[j - 1]);
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return cost.back();
}

std::vector<std::string> nearest_first(std::string_view word, std::span<const std::string> words) {
  std::multimap<int, std::string> by_distance;  // equal ones in their order
  for (const std::string& each : words) by_distance.emplace(edit_distance(word, each), each);
  std::vector<std::string> ordered;
  for (const auto& [distance, each] : by_distance) ordered.push_back(each);
  return ordered;
}

std::vector<std::string> same_words(std::string_view word, std::span<const std::string> words) {
  std::vector<std::string> same;
  std::ranges::copy_if(words, std::back_inserter(same),
                       [&](const std::string& ours) { return is_written_otherwise(word, ours); });
  if (!same.empty()) return same;
  std::ranges::copy_if(words, std::back_inserter(same),
                       [&](const std::string& ours) { return is_called(ours, word); });
  return same;
}

std::vector<std::string> near_words(std::string_view word, std::span<const std::string> words) {
  std::vector<std::string> near = same_words(word, words);
  if (!near.empty()) return near;
  const std::string wanted = plain(word);
  bool is_slip = false;
  for (const std::string& candidate : words) {
    if (begins_with(plain(candidate), wanted)) near.push_back(candidate);
    is_slip = is_slip || lacks_one_letter(wanted, plain(candidate));
  }
  if (!near.empty() && !is_slip) return near;
  near.clear();
  int least = std::numeric_limits<int>::max();
  for (const std::string& candidate : words) {
    const int errors = edit_distance(wanted, plain(candidate));
    if (errors > most_errors(wanted, candidate) || errors > least) continue;
    // Typing errors seldom begin a word: a mobilenet is not a misspelt googlenet.
    if (errors > 1 && !same_letter(wanted.front(), candidate.front())) continue;
    if (have_other_numbers(wanted, candidate)) continue;
    if (errors < least) near.clear();
    least = errors;
    near.push_back(candidate);
  }
  if (!near.empty()) return near;
  std::ranges::copy_if(words, std::back_inserter(near),
                       [&](const std::string& candidate) { return is_part_of(word, candidate); });
  return near;
}

std::string did_you_mean(std::span<const std::string> near) {
  if (near.empty()) return {};
  std::vector<std::string> quoted;
  for (const std::string& word : shown(near)) quoted.push_back(fmt::format("\"{}\"", word));
  const std::string last = quoted.back();
  quoted.pop_back();
  return fmt::format("Did you mean {}{}{}? ", fmt::join(quoted, ", "), quoted.empty() ? "" : " or ",
                     last);
}

std::string suggestion(std::string_view word, std::span<const std::string> words) {
  if (words.empty()) return "None is allowed here.";
  constexpr std::size_t most_shown = 16;
  std::vector<std::string> ordered = nearest_first(word, words);
  std::string allowed = fmt::format("Allowed: {}.", fmt::join(shown(words), ", "));
  if (words.size() > most_shown) {
    ordered.resize(most_shown);
    allowed = fmt::format("Allowed: {}, and {} more.", fmt::join(shown(ordered), ", "),
                          words.size() - most_shown);
  }
  return did_you_mean(near_words(word, words)) + allowed;
}

}  // namespace dlscale
