#include "core/text/name_pattern.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <cstddef>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

re2::RE2::Options without_log() {
  re2::RE2::Options options;
  options.set_log_errors(false);
  return options;
}

}  // namespace

NamePattern::NamePattern(std::string_view option, const std::string& text) {
  constexpr std::size_t longest = 4096;  // one of 256 KiB takes 20 s
  if (text.size() > longest) {
    throw ConfigError(
        fmt::format("{}: a regular expression has at most {} bytes, and this one has {}. Write a "
                    "part of the names.",
                    option, longest, text.size()));
  }
  expression_ = std::make_shared<const re2::RE2>(text, without_log());
  if (expression_->ok()) return;
  throw ConfigError(
      fmt::format("{}: \"{}\" is not a regular expression ({}). Write a part of the names in the "
                  "syntax of RE2, "
                  "for example \"gemm-.*-2$\".",
                  option, escape_for_terminal(text), escape_for_terminal(expression_->error())));
}

bool NamePattern::is_in(std::string_view name) const {
  return re2::RE2::PartialMatch({name.data(), name.size()}, *expression_);
}

}  // namespace dlscale
