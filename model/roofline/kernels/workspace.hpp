#pragma once
#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/units.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// The source of the size of a workspace.
enum class WorkspaceBasis {
  declared,  ///< our own code takes it: lowering::AlgorithmWork
  measured,  ///< measured for this case
  bounded,   ///< estimated by the largest measured share of the tensors' bytes
  formula,   ///< the papers' formula, which a library need not follow   [MODEL 4]
};
std::string_view workspace_basis_name(WorkspaceBasis basis);

/// Memory that an algorithm takes beside the tensors.
struct Workspace {
  Bytes size;
  WorkspaceBasis basis = WorkspaceBasis::declared;
  /// A size from a formula alone is within no limit, since the library may take any amount.
  [[nodiscard]] bool within(const std::optional<Bytes>& limit) const;
};

/// A kernel and a batch whose workspace was measured.
struct WorkspaceCase {
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  auto operator<=>(const WorkspaceCase&) const = default;
};
/// Bytes by case, for one way whose code is not ours.
using MeasuredWorkspaces = std::map<WorkspaceCase, Bytes>;

/// Whether that way's code is ours, so that lowering::AlgorithmWork declares its workspace. No
/// direct convolution is ours.
bool declares_workspace(const Way& way);

/// The workspace of a case by a way. A way that declares its workspace ignores `measured`.
/// Otherwise the size of a measured case counts, or else
///   W = max over measured cases (Wᵢ / Bᵢ) · B
/// where B is the bytes of input, filters and output once each [D: ours]. Wrong where the library
/// takes a larger share for this shape than for any measured one: the largest share seen is not a
/// guaranteed bound. It is far too large for most shapes, since the shares of some are small.
Workspace workspace_of(const KernelCase& what, const MeasuredWorkspaces& measured);

}  // namespace dlscale::model
