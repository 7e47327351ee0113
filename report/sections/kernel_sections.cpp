#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/kernels/algorithm_summary.hpp"
#include "report/kernels/algorithm_tables.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/kernels/kernel_tables.hpp"
#include "report/kernels/processor_tables.hpp"
#include "report/kernels/roofline_table.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {

namespace {

void fold(Section& section, Table table) {
  if (!table.rows.empty()) section.blocks.emplace_back(Folded{std::move(table)});
}

void append_or_fold(Section& section, Table table) {
  if (table.rows.size() > most_unfolded_rows) {
    fold(section, std::move(table));
  } else if (!table.rows.empty() || !table.notes.empty()) {
    section.blocks.emplace_back(std::move(table));
  }
}

void append_roofline(Section& section, const KernelStudy& study) {
  section.blocks.emplace_back(FigureSlot{"roofline"});
  if (!study.roofline()) {
    section.blocks.emplace_back(Paragraph{"No roofline: " + study.obstacle()});
    return;
  }
  for (Table& table : ceiling_tables(*study.roofline(), study.placed())) {
    append_or_fold(section, std::move(table));
  }
}

}  // namespace

std::vector<Table> convolution_summary(const ReportInput& input) {
  return {algorithms_table(input.results, *input.kernels), answers_table(input.results)};
}

Section convolution_section(const ReportInput& input) {
  Section section{"convolutions", "Convolutions by algorithm", {}};
  section.blocks.emplace_back(Paragraph{fastest_sentence(input.results)});
  for (Table& table : convolution_summary(input)) append_or_fold(section, std::move(table));
  append_roofline(section, *input.kernels);
  section.blocks.emplace_back(
      Paragraph{"Every algorithm, layer by layer, with speed, workspace, errors and what ran:"});
  for (auto& [set, tables] : tables_by_set(input.results, *input.kernels)) {
    section.blocks.emplace_back(Appendix{set, std::move(tables)});
  }
  return section;
}

Section model_section(const ReportInput& input) {
  const KernelStudy& study = *input.kernels;
  Section section{"models", "Models of kernel times", {}};
  if (!study.judgement()) {
    section.blocks.emplace_back(Paragraph{"No model was judged: " + study.judgement_obstacle()});
    return section;
  }
  Document document = roofline_document(*study.judgement(), study.not_modelled(), {});
  section.blocks.emplace_back(Paragraph{document.lead});
  for (Table& table : document.tables) section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace dlscale::report
