#pragma once
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "report/results/result_table.hpp"
#include "report/sections/report.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The kinds of blocks in a section.
struct Paragraph {
  std::string text;
};
struct Items {
  std::vector<std::string> lines;
};
/// Place of the figure of that name, if it was drawn.
struct FigureSlot {
  std::string name;
};
/// One word and its reasons.
struct Badge {
  Tone tone = Tone::plain;
  std::string word;
  std::string reasons;
};
/// A table that shows only its title until it is opened.
struct Folded {
  enum class In { all_forms, html };
  Table table;
  In in = In::all_forms;  ///< html: Markdown shows the table unfolded
};
/// Tables too long to read within a page: folded in HTML; separate linked pages in Markdown.
struct Appendix {
  enum class Of { layers, messages };
  std::string name;  ///< subject of the tables; also names the pages
  std::vector<Table> tables;
  Of of = Of::layers;
};
/// All rows, however many: folded in HTML; Markdown only says where they are.
struct RawRows {
  Table table;
};
using Block = std::variant<Paragraph, Badge, Items, Table, Folded, Appendix, FigureSlot, RawRows>;

struct Section {
  std::string id;  ///< lower-case word, for links
  std::string title;
  std::vector<Block> blocks;
};

inline constexpr std::size_t most_unfolded_rows = 40;  ///< a longer table is folded
/// Appends a table that has rows: folded, or as raw rows if it is too long for a page of text.
void append_folded(Section& section, Table table);

/// The report in reading order, independent of the format: the input of html() and markdown().
std::vector<Section> report_sections(const ReportInput& input);

/// Sections as an HTML page, and as Markdown pages.
std::string html_page(const std::string& title, const std::vector<Section>& sections,
                      const Figures& figures);
std::vector<Page> markdown_pages(const std::string& title, const std::vector<Section>& sections,
                                 const Figures& figures);

/// "dlscale: training on local, predicted and measured"; without training "dlscale: measured on AMD
/// …".
std::string report_title(const ReportInput& input);

// The sections, one function each.
Section verdict_section(const ReportInput& input);
Section steps_section(const ReportInput& input);
Section side_by_side_section(const ReportInput& input);  ///< requires two columns
Section raw_section(const ReportInput& input);
Section validation_section(const ReportInput& input);
Section speedup_section(const ReportInput& input);
Section machine_section(const model::Machine& machine);
Section convolution_section(const ReportInput& input);  ///< requires input.kernels
Section processor_section(const ReportInput& input);
Section messages_section(const ReportInput& input);
Section communication_section(const ReportInput& input);
Section suite_section(const ReportInput& input);  ///< requires input.suites
Section environment_section(const ReportInput& input);
Section warnings_section(const ReportInput& input);

/// A page of results side by side alone: predictions need one machine.
std::vector<Section> side_by_side_sections(const ReportInput& input);
inline constexpr std::string_view side_by_side_title = "dlscale: side by side";

// Tables that are also printed on the screen. Requires input.kernels.
std::vector<Table> convolution_summary(const ReportInput& input);

/// "quick, 20 cells: 17 ok, 1 crashed, 2 left"; empty without suites.
std::string suites_sentence(const ReportInput& input);
/// Outcome of each cell of suites, as records (Document::cells).
Table cell_records(const ReportInput& input);
/// Cells of suites without a result, also printed on the screen: one table for each suite that has
/// any.
std::vector<Table> suite_troubles(const ReportInput& input);

}  // namespace dlscale::report
