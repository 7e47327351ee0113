#pragma once
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// How a workspace is known.
enum class WorkspaceBasis {
  declared,  ///< our own code takes it: lowering::AlgorithmWork
  measured,  ///< that case was measured
  bounded,   ///< by the largest share of the tensors' bytes that was measured
  formula,   ///< as the papers have the algorithm, which a library need not follow   [MODEL 4]
};
std::string_view workspace_basis_name(WorkspaceBasis basis);

/// Memory that an algorithm takes beside the tensors.
struct Workspace {
  Bytes size;
  WorkspaceBasis basis = WorkspaceBasis::declared;
  /// One that only a formula gives is within no limit, since the library may take any.
  [[nodiscard]] bool within(const std::optional<Bytes>& limit) const;
};

/// A kernel at a batch, of which a workspace was measured.
struct WorkspaceCase {
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  auto operator<=>(const WorkspaceCase&) const = default;
};
/// Bytes by case. Of one way whose code is not ours.
using MeasuredWorkspaces = std::map<WorkspaceCase, Bytes>;

/// Whether that way's code is ours, as no direct convolution is, so that lowering::AlgorithmWork
/// declares what it takes.
bool declares_workspace(const Way& way);

/// The workspace of a case by a way of which those were measured; of a way that declares it, they
/// do not count. Elsewhere
///   W = max over measured cases (Wᵢ / Bᵢ) · B
/// where B is the bytes of input, filters and output once each [D: ours]. Wrong where the library
/// takes more of a shape than of any that was measured: the share is the largest seen, and no
/// bound that it keeps. Far too large for most shapes, since the shares of some are small.
Workspace workspace_of(const KernelCase& what, const MeasuredWorkspaces& measured);

}  // namespace dlscale::model
