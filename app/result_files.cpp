#include "app/result_files.hpp"

#include <algorithm>
#include <iterator>

namespace dlscale::app {

std::vector<ResultFile> all_results(const std::vector<std::string>& paths) {
  std::vector<ResultFile> files;
  for (const std::string& path : paths)
    std::ranges::move(read_result_tree(path), std::back_inserter(files));
  return files;
}

std::vector<ResultFile> results_of(const std::vector<std::string>& paths,
                                   const std::vector<std::string_view>& benchmarks) {
  std::vector<ResultFile> files = all_results(paths);
  std::erase_if(files, [&](const ResultFile& file) {
    return std::ranges::find(benchmarks, file.header.benchmark) == benchmarks.end();
  });
  return files;
}

}  // namespace dlscale::app
