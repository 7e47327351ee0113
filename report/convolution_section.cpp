#include "report/algorithm_tables.hpp"
#include "report/sections.hpp"

namespace dlscale::report {

Section convolution_section(const ReportInput& input) {
  const KernelStudy& study = *input.kernels;
  Section section{"convolutions", "Convolutions by algorithm", {}};
  section.blocks.emplace_back(Paragraph{fastest_sentence(input.results)});
  section.blocks.emplace_back(FigureSlot{"crossover"});
  section.blocks.emplace_back(FigureSlot{"roofline"});
  if (!study.obstacle().empty()) {
    section.blocks.emplace_back(Paragraph{"No roofline: " + study.obstacle()});
  }
  section.blocks.emplace_back(FigureSlot{"batch_speed"});
  for (Table& table : fastest_tables(input.results, study)) {
    section.blocks.emplace_back(std::move(table));
  }
  for (Table& table : layer_tables(input.results, study)) {
    section.blocks.emplace_back(Folded{std::move(table)});
  }
  return section;
}

}  // namespace dlscale::report
