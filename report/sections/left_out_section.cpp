#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/results/communication_profile.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/kernels/processor_tables.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/axes.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

using Counts = std::map<std::string, long long>;

template <class Visit>
void for_each_measurement(const ReportInput& input, Visit visit) {
  for (const ResultFile& file : input.results) {
    for (const Measurement& each : file.measurements) visit(each);
  }
}

/// Reason why a page without training runs does not show a measurement: "conv, other layers". Empty
/// if it does.
std::string not_shown(const Measurement& each) {
  if (each.benchmark == profile_benchmark || is_of_messages(each)) return "";
  if (each.benchmark == "e2e") return "e2e, which a machine.json beside them would predict";
  if (each.benchmark != "conv") return is_of_processor(each) ? "" : each.benchmark;
  if (!axis_or_empty(each, "kernel").starts_with("convolution ")) return "conv, other layers";
  return names_algorithm(each) ? "" : "conv, what training runs by itself";
}

void append_not_shown(Items& items, const ReportInput& input) {
  Counts counts;
  for_each_measurement(input, [&](const Measurement& each) {
    if (const std::string what = not_shown(each); !what.empty()) ++counts[what];
  });
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts) parts.push_back(fmt::format("{} ({})", what, count));
  if (parts.empty()) return;
  items.lines.push_back(fmt::format(
      "measurements that have no table here, only their result files: {}", fmt::join(parts, ", ")));
}

void append_unchecked(Items& items, const ReportInput& input) {
  for (const ResultFile& file : input.results) {
    const auto check = file.header.run.find("check");
    if (check == file.header.run.end() || check->second != "no") continue;
    items.lines.push_back(fmt::format("the answers of {} were not checked (--check no)",
                                      file.path.filename().string()));
  }
}

/// Appends counts of algorithm rows without a regular time.
void append_states(Items& items, const ReportInput& input) {
  std::map<Status, long long> counts;
  for (const Measurement* row : algorithm_rows(input.results)) ++counts[row->status];
  const auto append = [&](Status status, const char* what) {
    if (counts[status] > 0) items.lines.push_back(counted(counts[status], "measurement") + what);
  };
  append(Status::unsupported,
         " refused, as the algorithm does not offer the shape; the tables by layer say why");
  append(Status::wrong, " without a time, because the answer was wrong");
  append(Status::interrupted, " interrupted, whose times do not count");
  append(Status::unstable, " not settled in the time allowed; they count with their medians");
}

void append_kernels(Items& items, const KernelStudy& study) {
  const model::LeftOut& left_out = study.not_modelled();
  const auto append = [&items](int count, const char* what) {
    if (count > 0) items.lines.push_back(counted(count, "measurement") + what);
  };
  append(left_out.other_kernels,
         " neither on the roofline nor modelled: no convolution, or not by an algorithm whose work "
         "is known");
  append(left_out.other_precisions, " neither on the roofline nor modelled: not in f32");
  append(left_out.other_layouts,
         " neither on the roofline nor modelled: in a layout that was asked for");
  append(left_out.other_values, " neither on the roofline nor modelled: of other --values");
  append(left_out.beside_others, " neither on the roofline nor modelled: beside other ranks");
  append(study.other_threads(), " not on the roofline: with another number of threads than most");
  append(study.on_devices(), " not on the roofline of the processor: on a GPU");
  append(study.unbounded(),
         " not on the roofline: with what the step before has just written in the caches (--cache "
         "producer), which no ceiling bounds");
}

}  // namespace

Section left_out_section(const ReportInput& input) {
  Items items{input.left_out};
  append_unchecked(items, input);
  if (!input.trained) append_not_shown(items, input);
  if (input.kernels) {
    append_states(items, input);
    append_kernels(items, *input.kernels);
  }
  if (items.lines.empty()) items.lines.emplace_back("Nothing.");
  return {"left-out", "What is left out", {std::move(items)}};
}

}  // namespace dlscale::report
