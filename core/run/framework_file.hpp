#pragma once
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/config/data_source.hpp"
#include "core/run/run.hpp"

namespace dlscale {

/// How frameworks train data-parallel, as far as their sources and documents say:
/// configs/frameworks, one file a framework, version and mode.

/// What is known of a property: its value, that there is no such thing, or nothing.
template <class T>
class Fact {
 public:
  static Fact unknown() { return Fact(false, std::nullopt); }
  static Fact none() { return Fact(true, std::nullopt); }
  static Fact stated(T value) { return Fact(true, std::move(value)); }

  [[nodiscard]] bool is_unknown() const { return !known_; }
  [[nodiscard]] bool is_none() const { return known_ && !value_; }
  [[nodiscard]] bool is_stated() const { return value_.has_value(); }
  [[nodiscard]] const T& value() const {
    EXPECT(is_stated());
    return *value_;
  }

 private:
  Fact(bool known, std::optional<T> value) : known_(known), value_(std::move(value)) {}
  bool known_;
  std::optional<T> value_;
};

/// How gradients of several workers become one.
enum class GradientPath {
  all_reduce,
  parameter_server,
  replicated_copy,  ///< copied to one another and added, without a library of collectives
  reduce_broadcast  ///< reduced to one worker, which updates and broadcasts parameters
};
/// Who carries them.
enum class GradientLibrary { nccl, mpi, gloo, grpc, ps_lite, copies };
enum class HostMemory { pinned, pageable };
enum class UpdatePlace {
  worker,  ///< every worker updates its copy of the parameters
  server,  ///< one place does, and parameters travel back
};
/// What workers agree on over the host before a message is sent.
enum class Negotiation {
  per_tensor,  ///< that a gradient is ready everywhere
  per_part,    ///< that a part of one is
};

/// How kernels come to the device.
enum class KernelLaunch {
  eager,    ///< one by one from an interpreter, as the program gets to them
  runtime,  ///< one by one from a graph or a list that the framework has compiled
  recorded  ///< many at once, as graphs recorded before (CUDA graphs)
};

/// A month in which a version came out.
struct ReleaseMonth {
  int year = 0;
  int month = 1;  ///< 1 … 12
  auto operator<=>(const ReleaseMonth&) const = default;
};

struct FrameworkProfile {
  std::string id;        ///< as its file is called: horovod_0.19
  std::string name;      ///< Horovod
  std::string versions;  ///< "0.16 to 0.20"
  std::string doc;
  /// Parts of what case files call it, in any case; a * stands for anything between two.
  std::vector<std::string> match;
  std::optional<ReleaseMonth> since = {};  ///< the first month of its versions, if stated
  std::optional<ReleaseMonth> until = {};  ///< and the last
  Fact<HostMemory> input_copy = Fact<HostMemory>::unknown();  ///< batches to the device: from
  Fact<GradientPath> gradients = Fact<GradientPath>::unknown();
  Fact<GradientLibrary> in_node = Fact<GradientLibrary>::unknown();
  Fact<GradientLibrary> between_nodes = Fact<GradientLibrary>::unknown();
  Fact<Schedule> schedule = Fact<Schedule>::unknown();
  Fact<Bytes> first_bucket = Fact<Bytes>::unknown();
  Fact<Bytes> bucket = Fact<Bytes>::unknown();
  Fact<int> groups = Fact<int>::unknown();  ///< messages into which all gradients are packed
  Fact<Bytes> fusion_threshold = Fact<Bytes>::unknown();
  Fact<Seconds> fusion_cycle = Fact<Seconds>::unknown();
  Fact<Bytes> partition = Fact<Bytes>::unknown();
  Fact<Bytes> credit = Fact<Bytes>::unknown();          ///< bytes of partitions under way at once
  Fact<Sharding> sharding = Fact<Sharding>::unknown();  ///< which server keeps what
  Fact<Callers> callers = Fact<Callers>::unknown();     ///< which processes talk to servers
  Fact<UpdatePlace> update_on = Fact<UpdatePlace>::unknown();
  Fact<Negotiation> negotiation = Fact<Negotiation>::unknown();
  Fact<KernelLaunch> launch = Fact<KernelLaunch>::unknown();
  std::vector<DataSource> sources;  ///< of all that is not unknown
};

/// Reads configs/frameworks/<name>.yaml, or the file `name` if it has a slash or ends in .yaml.
/// Every property must be there, if only as "unknown" or "none". Throws ConfigError that names
/// file, place and what to write.
FrameworkProfile load_framework(std::string_view name);

/// All of configs/frameworks, by name.
std::vector<FrameworkProfile> load_frameworks();

/// The profile with the longest `match` (without stars) that `text`, which says in free words what
/// trained, holds. If the longest ones are of several profiles, the one that `released` is within
/// since and until of, and of those the one with the latest since. nullptr if no profile is left,
/// or several are.
const FrameworkProfile* find_framework(const std::vector<FrameworkProfile>& profiles,
                                       std::string_view text,
                                       std::optional<ReleaseMonth> released = {});

/// A property as its file has it: "pinned", "25.00 MiB", "none", "unknown".
std::string to_text(const Fact<HostMemory>& fact);
std::string to_text(const Fact<GradientPath>& fact);
std::string to_text(const Fact<GradientLibrary>& fact);
std::string to_text(const Fact<Schedule>& fact);
std::string to_text(const Fact<Sharding>& fact);
std::string to_text(const Fact<Callers>& fact);
std::string to_text(const Fact<UpdatePlace>& fact);
std::string to_text(const Fact<Negotiation>& fact);
std::string to_text(const Fact<KernelLaunch>& fact);

}  // namespace dlscale
