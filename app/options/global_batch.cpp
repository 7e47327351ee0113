#include "app/options/global_batch.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <system_error>

#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "core/text/shown_text.hpp"

namespace dlscale::app {

void GlobalBatchOption::declare(CLI::App& verb) {
  verb.add_option("--global-batch", text,
                  "Images of an iteration on all ranks together, of which each takes an equal "
                  "share, instead of --batch: strong scaling, over one rank with all of them")
      ->excludes(verb.get_option("--batch"));
}

std::int64_t counted_images(std::string_view option, std::string_view text) {
  constexpr std::int64_t most = 1'000'000'000;
  std::int64_t images = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, images);
  if (error == std::errc() && stop == end && images >= 1 && images <= most) return images;
  throw ConfigError(
      fmt::format("{} is \"{}\" (images are counted). Write one whole number from 1 to {}.", option,
                  shown_text(text), most));
}

std::optional<std::int64_t> GlobalBatchOption::find() const {
  if (text.empty()) return std::nullopt;
  return counted_images("--global-batch", text);
}

int share_of(std::int64_t global_batch, int ranks) {
  const std::int64_t share = global_batch / ranks;
  if (share > most_images_per_rank) {
    throw ConfigError(
        fmt::format("--global-batch {} is {} images for each of {} ranks, and a rank takes {} at "
                    "most. Take more ranks, or fewer images.",
                    global_batch, share, ranks, most_images_per_rank));
  }
  if (share * ranks == global_batch) return static_cast<int>(share);
  throw ConfigError(
      fmt::format("--global-batch {} is no whole number of images for each of {} ranks. Take a "
                  "multiple of the ranks.",
                  global_batch, ranks));
}

}  // namespace dlscale::app
