#include "app/measure/fit_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <istream>
#include <memory>
#include <utility>

#include "app/cli/option_values.hpp"
#include "core/system/output_file.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

bool opens_as_kernels(std::istream& content) {
  std::string line;
  return static_cast<bool>(std::getline(content, line)) && line == "schema: dlscale.kernel_times";
}

}  // namespace

void refuse_other_than_kernels(const std::string& output) {
  if (output != "-") refuse_foreign_file(output, "a model of kernels", opens_as_kernels);
}

FitsProgress fits_progress(ProgressLine::Kind kind) {
  const auto progress = std::make_shared<PartsProgress>("fits", kind);
  return [progress](std::size_t done, std::size_t all) { progress->show(done, all); };
}

report::Table constant_table(
    std::string title, const std::vector<std::string_view>& keys,
    const std::map<std::string, model::FittedConstant, std::less<>>& fitted, IntervalWords ends) {
  report::Table table;
  table.title = std::move(title);
  table.columns = {{"constant", report::Align::left},
                   {"prior"},
                   {"spread of its logarithm"},
                   {"fitted"},
                   {std::move(ends.low)},
                   {std::move(ends.high)}};
  for (const std::string_view key : keys) {
    const model::FittedConstant& one = fitted.find(key)->second;
    table.rows.push_back({{std::string(key)},
                          {fmt::format("{:.4g}", one.prior)},
                          {fmt::format("{:.2g}", one.spread)},
                          {fmt::format("{:.4g}", one.value)},
                          {fmt::format("{:.4g}", one.low)},
                          {fmt::format("{:.4g}", one.high)}});
  }
  return table;
}

void print_tables(std::FILE* to, std::vector<report::Table> tables) {
  report::Document document;
  document.tables = std::move(tables);
  const auto terminal =
      report::format::detect_terminal(to == stderr ? STDERR_FILENO : STDOUT_FILENO);
  fmt::print(to, "{}", report::format::find_format("table").write(document, terminal));
}

}  // namespace dlscale::app
