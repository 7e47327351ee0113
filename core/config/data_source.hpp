#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config_file.hpp"

namespace dlscale {

/// Where figures of a configuration file are from.
struct DataSource {
  std::vector<std::string> of;  ///< the keys of the file it is for
  std::string title;            ///< of a document; or repository, file and version
  std::string url;              ///< where it, or what others tell of it, was read; may be empty
  bool checked = false;         ///< the figures were compared with the text at `url`
};

/// Reads the key `sources`, a list of {of, title, url, checked}; `of` names keys among `stated`, or
/// is the word all. Throws ConfigError naming a key among `stated` that has no source, an `of` that
/// is none of them, and what is checked without a place where it was.
std::vector<DataSource> read_sources(const ConfigMap& map,
                                     std::span<const std::string_view> stated);

/// Those of `keys` that are in the file.
std::vector<std::string_view> stated_keys(const ConfigMap& map,
                                          std::span<const std::string_view> keys);

}  // namespace dlscale
