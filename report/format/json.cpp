#include "report/format/format.hpp"

namespace dlscale::report::format {
namespace {

std::string write_json(const Document& document, const Terminal&) {
  return document.json.ends_with('\n') ? document.json : document.json + "\n";
}

}  // namespace

extern const Format json;
const Format json{"json", "strict JSON with a schema, SI units, unit in the key", write_json};

}  // namespace dlscale::report::format
