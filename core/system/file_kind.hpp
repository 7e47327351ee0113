#pragma once
#include <filesystem>
#include <string_view>

namespace dlscale {

/// Kinds of files that commands read.
enum class FileKind {
  results,
  machine,
  kernels,
  scaling,
  network,
  cluster,
  framework,
  device,
  suite,
  system,
  cases,
  predictions,
  table,
};

/// Throws ConfigError if the file begins as one of another kind does. The message says what it is,
/// and how to get a file of the wanted kind. A file that is not recognised passes, so that its
/// reader can say what is wrong.
void refuse_other_kind(const std::filesystem::path& path, FileKind wanted);

}  // namespace dlscale
