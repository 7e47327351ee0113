#include <charconv>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "backend/comm/nccl/rendezvous.hpp"
#include "core/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

/// The whole number that a variable holds; `meaning` ends the sentence that asks for it.
int number(const Lookup& lookup, const char* variable, int least, std::string_view meaning) {
  const char* text = lookup(variable);
  if (text == nullptr) {
    throw ConfigError(
        fmt::format("DLSCALE_RENDEZVOUS is set, but {} is not. Set it to {}.", variable, meaning));
  }
  int value = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc{} || stop != end || value < least) {
    throw ConfigError(fmt::format("{} is \"{}\". Set it to {}.", variable, text, meaning));
  }
  return value;
}

}  // namespace

std::optional<RendezvousSetting> rendezvous_setting(const Lookup& lookup) {
  const char* file = lookup("DLSCALE_RENDEZVOUS");
  if (file == nullptr || *file == '\0') return std::nullopt;
  RendezvousSetting setting;
  setting.file = file;
  setting.world = number(lookup, "DLSCALE_WORLD", 1, "the number of ranks");
  setting.rank = number(lookup, "DLSCALE_RANK", 0, "this rank's number, from 0");
  if (setting.rank >= setting.world) {
    throw ConfigError(fmt::format(
        "DLSCALE_RANK is {} and DLSCALE_WORLD is {}, but ranks are numbered from 0 to {}.",
        setting.rank, setting.world, setting.world - 1));
  }
  if (lookup("DLSCALE_RENDEZVOUS_TIMEOUT") != nullptr) {
    setting.patience =
        Seconds(number(lookup, "DLSCALE_RENDEZVOUS_TIMEOUT", 1, "a whole number of seconds"));
  }
  return setting;
}

}  // namespace dlscale::backend::gpu_comm
