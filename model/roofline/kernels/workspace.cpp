#include "model/roofline/kernels/workspace.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

/// The share Wᵢ / Bᵢ.
double share_of_tensors(const WorkspaceCase& measured, Bytes workspace) {
  const auto convolution = parse_convolution_key(measured.kernel, measured.batch);
  EXPECT(convolution.has_value());
  return workspace / least_bytes(convolution->shape);
}

}  // namespace

std::string_view workspace_basis_name(WorkspaceBasis basis) {
  switch (basis) {
    case WorkspaceBasis::declared:
      return "declared";
    case WorkspaceBasis::measured:
      return "measured";
    case WorkspaceBasis::bounded:
      return "bounded";
    case WorkspaceBasis::formula:
      return "formula";
  }
  fail_expectation("basis is one of WorkspaceBasis");
}

bool Workspace::within(const std::optional<Bytes>& limit) const {
  return !limit || (basis != WorkspaceBasis::formula && size <= *limit);
}

bool declares_workspace(const Way& way) {
  return way.method != lowering::Method::direct &&
         lowering::blocking_of(way.backend) != lowering::Blocking::whole;
}

Workspace workspace_of(const KernelCase& what, const MeasuredWorkspaces& measured) {
  if (declares_workspace(what.way)) return {what.work.workspace, WorkspaceBasis::declared};
  const auto same = measured.find({what.kernel, what.batch});
  if (same != measured.end()) return {same->second, WorkspaceBasis::measured};
  if (measured.empty()) return {what.work.workspace, WorkspaceBasis::formula};
  double largest = 0;
  for (const auto& [of, workspace] : measured) {
    largest = std::max(largest, share_of_tensors(of, workspace));
  }
  return {largest * least_bytes(what.shape), WorkspaceBasis::bounded};
}

}  // namespace dlscale::model
