#include "bench/engine/extra_work.hpp"

#include <fmt/format.h>

#include <charconv>

#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"

namespace dlscale::bench {

ExtraWork parse_extra_work(std::string_view text) {
  int percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (error != std::errc() || unit != "%" || percent < 0 || percent > 100) {
    throw ConfigError(fmt::format(
        "--extra-work is \"{}\" (it is done in whole runs of a hundred). Write a whole number of "
        "percent from 0 to 100, such as 5%.",
        shown_text(text)));
  }
  return {.runs = 100 + percent, .counted = 100};
}

std::string extra_work_text(const ExtraWork& extra) {
  return fmt::format("{}%", extra.runs - extra.counted);
}

}  // namespace dlscale::bench
