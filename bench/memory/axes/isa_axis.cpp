#include "bench/memory/axes/isa_axis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/host/simd/kernels.hpp"
#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {

void check_isa(const std::string& isa, std::initializer_list<std::string_view> words) {
  std::vector<std::string> names(words.begin(), words.end());
  for (const std::string_view each : backend::simd::known_instruction_sets()) {
    names.emplace_back(each);
  }
  if (std::find(names.begin(), names.end(), isa) != names.end()) return;
  throw ConfigError(fmt::format("--isa names \"{}\" (there is none for this kind of processor). {}",
                                isa, suggestion(isa, names)));
}

}  // namespace dlscale::bench
