#include "model/sgd_iter/notes.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dlscale::model {

void Notes::add(const std::string& what, const std::string& example) {
  auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                           [&](const Kind& known) { return known.what == what; });
  if (kind == kinds_.end()) kind = kinds_.insert(kinds_.end(), Kind{what, {}});
  auto& examples = kind->examples;
  if (example.empty() || std::find(examples.begin(), examples.end(), example) != examples.end()) {
    return;
  }
  examples.push_back(example);
}

std::vector<std::string> Notes::text() const {
  std::vector<std::string> lines;
  for (const Kind& kind : kinds_) {
    const auto& examples = kind.examples;
    if (examples.empty()) {
      lines.push_back(kind.what);
    } else if (examples.size() == 1) {
      lines.push_back(fmt::format("{} ({})", kind.what, examples.front()));
    } else {
      lines.push_back(
          fmt::format("{} ({} and {} more)", kind.what, examples.front(), examples.size() - 1));
    }
  }
  return lines;
}

}  // namespace dlscale::model
