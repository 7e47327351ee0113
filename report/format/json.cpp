#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

std::string write_json(const Document& document, const Terminal&) {
  std::string text = document.json();
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

}  // namespace

extern const Format json_format;
const Format json_format{"json", "strict JSON with a schema, SI units, unit in the key",
                         write_json};

}  // namespace dlscale::report::format
