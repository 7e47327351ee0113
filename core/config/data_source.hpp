#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"

namespace dlscale {

/// Source of figures in a configuration file.
struct DataSource {
  std::vector<std::string> of;  ///< the keys of the file that it supports
  std::string title;            ///< title of a document; or repository, file and version
  std::string url;              ///< where it, or a report about it, was read; may be empty
  bool checked = false;         ///< the figures were compared with the text at `url`
};

/// Reads the key `sources`, a list of {of, title, url, checked}; `of` names keys among `stated`, or
/// is the word all. Throws ConfigError for a key among `stated` without a source, an unknown `of`,
/// and a checked source without a place.
std::vector<DataSource> read_sources(const ConfigMap& map,
                                     std::span<const std::string_view> stated);

/// The members of `keys` that the file has.
std::vector<std::string_view> stated_keys(const ConfigMap& map,
                                          std::span<const std::string_view> keys);

}  // namespace dlscale
