#include "model/communication/contention.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::model {
namespace {

std::string to_text(const Estimate<double>& slowdown) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", slowdown.value, slowdown.low, slowdown.high);
}

}  // namespace

std::string_view work_kind_name(WorkKind kind) {
  switch (kind) {
    case WorkKind::gemm:
      return "gemm";
    case WorkKind::conv:
      return "conv";
    case WorkKind::copy:
      return "memcpy";
  }
  fail_expectation("kind is a WorkKind");
}

WorkKind parse_work_kind(std::string_view name) {
  for (const WorkKind kind : all_work_kinds) {
    if (name == work_kind_name(kind)) return kind;
  }
  throw ConfigError(fmt::format(
      "\"{}\" is not work beside messages, of which gemm, conv and memcpy are known", name));
}

const ContentionRange& ContentionFit::range(Bytes size) const {
  EXPECT(!ranges.empty());
  const auto found =
      std::ranges::find_if(ranges, [&](const ContentionRange& range) { return size < range.to; });
  return found == ranges.end() ? ranges.back() : *found;
}

std::string to_text(const ContentionFit& fit) {
  return fmt::format("{} on {} ranks, {} a node, waiting by {}, beside {} with {} {} on {} {}",
                     fit.collective, fit.ranks, fit.ranks_on_node, fit.waiting,
                     work_kind_name(fit.work), fit.threads, fit.threads == 1 ? "thread" : "threads",
                     fit.cores_per_rank, fit.cores_per_rank == 1 ? "core" : "cores");
}

std::string to_text(const ContentionRange& range) {
  return fmt::format("{} {} from {} to {}: work {} times as long, messages {}", range.points,
                     range.points == 1 ? "size" : "sizes", dlscale::to_text(range.from),
                     dlscale::to_text(range.to), to_text(range.compute), to_text(range.messages));
}

}  // namespace dlscale::model
