#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/results/suite_record.hpp"
#include "report/sections/report.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The kinds of blocks a section is made of.
struct Paragraph {
  std::string text;
};
struct Items {
  std::vector<std::string> lines;
};
/// Where the figure of that name goes if it was drawn.
struct FigureSlot {
  std::string name;
};
/// One word and the reasons for it.
struct Badge {
  Tone tone = Tone::plain;
  std::string word;
  std::string reasons;
};
/// A table of which only the title shows until it is opened.
struct Folded {
  enum class In { all_forms, html };
  Table table;
  In in = In::all_forms;  ///< html: Markdown shows the table
};
/// Tables too long for a page that people read through: folded in HTML; beside Markdown in pages of
/// their own, which it links.
struct Appendix {
  enum class Of { layers, messages };
  std::string name;  ///< what they are of; names the pages, too
  std::vector<Table> tables;
  Of of = Of::layers;
};
/// All rows, as many as there are: folded in HTML; Markdown only tells where they stand.
struct RawRows {
  Table table;
};
using Block = std::variant<Paragraph, Badge, Items, Table, Folded, Appendix, FigureSlot, RawRows>;

struct Section {
  std::string id;  ///< lower-case word, for links
  std::string title;
  std::vector<Block> blocks;
};

/// The report in the order in which it is read, without a form: what html() and markdown() write.
std::vector<Section> report_sections(const ReportInput& input);

/// Sections as a page, and as pages of Markdown: what html() and markdown() of any report are.
std::string html_page(const std::string& title, const std::vector<Section>& sections,
                      const Figures& figures);
std::vector<Page> markdown_pages(const std::string& title, const std::vector<Section>& sections,
                                 const Figures& figures);

/// "dlscale: training on local, predicted and measured" or, where nothing was trained, "dlscale:
/// measured on AMD …".
std::string report_title(const ReportInput& input);

// The sections, one function each.
Section verdict_section(const ReportInput& input);
Section steps_section(const ReportInput& input);
Section side_by_side_section(const ReportInput& input);  ///< requires two columns
Section raw_section(const ReportInput& input);
Section validation_section(const ReportInput& input);
Section speedup_section(const ReportInput& input);
Section bounds_section(const ReportInput& input);
Section machine_section(const model::Machine& machine);
Section convolution_section(const ReportInput& input);  ///< requires input.kernels
Section ratio_section(const ReportInput& input);        ///< likewise
Section model_section(const ReportInput& input);        ///< likewise
Section processor_section(const ReportInput& input);
Section messages_section(const ReportInput& input);
Section communication_section(const ReportInput& input);
Section suite_section(const ReportInput& input);  ///< requires input.suites
Section left_out_section(const ReportInput& input);
Section environment_section(const ReportInput& input);
Section warnings_section(const ReportInput& input);

/// A page of results side by side and of nothing else: predictions need one machine.
std::vector<Section> side_by_side_sections(const ReportInput& input);
inline constexpr std::string_view side_by_side_title = "dlscale: side by side";

// What is printed on the screen, too; these two require input.kernels.
std::vector<Table> convolution_summary(const ReportInput& input);
std::vector<Table> ratio_tables(const ReportInput& input);

/// "quick, 20 cells: 17 ok, 1 crashed, 2 left"; empty without suites.
std::string suites_sentence(const ReportInput& input);
/// What became of each cell of suites, as records (Document::cells).
Table cell_records(const ReportInput& input);
/// Cells of suites that have no result, which are printed, too: a table a suite that has some.
std::vector<Table> suite_troubles(const ReportInput& input);

}  // namespace dlscale::report
