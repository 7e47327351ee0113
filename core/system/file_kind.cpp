#include "core/system/file_kind.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/system/input_file.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

struct KindWords {
  FileKind kind;
  std::string_view mark;  ///< its schema, or the first key of its YAML; empty: not recognised
  std::string_view what;
  std::string_view advice;
  std::optional<Remedy::Kind> remedy = {};
};

constexpr std::string_view named = "Name one of the configurations, or the path of another.";

constexpr std::array kinds{
    KindWords{FileKind::results, "dlscale.result", "a file of results",
              "Name one that a benchmark wrote."},
    KindWords{FileKind::machine, "dlscale.machine", "a machine description",
              "Make one from results.", Remedy::Kind::calibrate},
    KindWords{FileKind::kernels, "dlscale.kernels", "a file of kernel models",
              "Make one from results.", Remedy::Kind::fit_kernels},
    KindWords{FileKind::scaling, "dlscale.scaling", "a model of scaling",
              "Make one from published cases.", Remedy::Kind::fit_scaling},
    KindWords{FileKind::network, "network", "the description of a network", named,
              Remedy::Kind::list_configured},
    KindWords{FileKind::cluster, "cluster", "the description of a cluster", named,
              Remedy::Kind::list_configured},
    KindWords{FileKind::framework, "framework", "the profile of a framework", named,
              Remedy::Kind::list_configured},
    KindWords{FileKind::device, "device", "the data sheet of a device", named,
              Remedy::Kind::list_configured},
    KindWords{FileKind::suite, "suite", "a suite", named, Remedy::Kind::list_configured},
    KindWords{FileKind::system, "system", "the description of a system", named,
              Remedy::Kind::list_configured},
    KindWords{FileKind::cases, "dlscale.case/1", "a file of published cases",
              "docs/reference/cases.md says how to write one."},
    KindWords{FileKind::cases, "dlscale.allreduce/1", "a file of published curves", ""},
    KindWords{FileKind::cases, "dlscale.memory/1", "a file of published memory", ""},
    KindWords{FileKind::predictions, "", "a file of predictions of published cases",
              "docs/reference/cases.md says how to write one."},
    KindWords{FileKind::table, "", "a CSV table of times",
              "docs/how-to/predict-from-layer-times.md says how to write one."},
};

std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, std::min(text.find_first_of(ends), text.size()));
}

/// The schema of JSON, or the first key of YAML; empty if there is none.
std::string_view mark_of(std::string_view text) {
  constexpr std::string_view schema = "dlscale.";
  if (text.starts_with('{') || text.starts_with("schema:")) {
    const std::size_t key = std::min(text.find("schema"), text.size());
    const std::size_t value = text.find(schema, key);
    return value == std::string_view::npos ? "" : until(text.substr(value), "\"\n\r, ");
  }
  while (text.starts_with('#') || text.starts_with('\n') || text.starts_with("---")) {
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  }
  const std::string_view key = until(text, ":\n");
  return text.substr(key.size()).starts_with(':') ? key : "";
}

const KindWords& words_of(FileKind kind) {
  return *std::ranges::find(kinds, kind, &KindWords::kind);
}

}  // namespace

void refuse_other_kind(const std::filesystem::path& path, FileKind wanted) {
  constexpr std::size_t longest_header = std::size_t{1} << 16U;
  const std::string beginning = read_beginning(path, longest_header);
  const std::string mark(mark_of(beginning));
  if (mark.empty()) return;
  // The keys of YAML have no order, and a cluster may describe its devices itself.
  const std::string_view own = words_of(wanted).mark;
  if (!own.empty() && beginning.find(fmt::format("\n{}:", own)) != std::string::npos) return;
  const auto* const found = std::ranges::find(kinds, mark, &KindWords::mark);
  if (found != kinds.end() && found->kind == wanted) return;
  const bool is_ours = mark.starts_with("dlscale.");
  if (found == kinds.end() && !is_ours) return;
  const KindWords& words = words_of(wanted);
  const std::string what =
      found != kinds.end() ? std::string(found->what)
                           : fmt::format("an answer of dlscale ({})", escape_for_terminal(mark));
  const std::string message =
      fmt::format("{} is {}, and {} is wanted here. {}", escape_for_terminal(path.string()), what,
                  words.what, words.advice);
  if (!words.remedy) throw ConfigError(message);
  Remedy remedy{.kind = *words.remedy};
  if (mark == words_of(FileKind::results).mark) remedy.subject = path.string();
  throw RemediableError(message, remedy);
}

}  // namespace dlscale
