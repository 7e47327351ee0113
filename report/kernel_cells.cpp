#include "report/kernel_cells.hpp"
#include "report/record_columns.hpp"

#include <string>

namespace dlscale::report {

std::vector<Column> kernel_columns() {
  return {{"algorithm", Align::left}, {"pass", Align::left}, {"kernel", Align::left}, {"batch"}};
}

std::vector<Cell> kernel_cells(const model::KernelCase& what) {
  return {{what.way.algorithm()},
          {std::string(pass_name(what.way.pass))},
          {what.kernel},
          {std::to_string(what.batch)}};
}

std::vector<Column> kernel_record_columns() {
  std::vector<Column> columns;
  add_columns(columns, Meaning::key,
              {"backend", "algorithm", "pass", "kernel", "batch", "threads", "cache"});
  return columns;
}

std::vector<Cell> kernel_record_cells(const model::KernelCase& what) {
  return {{what.way.backend},
          {std::string(lowering::method_name(what.way.method))},
          {std::string(pass_name(what.way.pass))},
          {what.kernel},
          {std::to_string(what.batch)},
          {std::to_string(what.way.threads)},
          {what.way.cache}};
}

}  // namespace dlscale::report
