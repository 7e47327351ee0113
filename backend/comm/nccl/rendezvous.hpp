#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/comm/launch.hpp"
#include "backend/comm/nccl/rendezvous_page.hpp"
#include "core/ids.hpp"
#include "core/units.hpp"

namespace dlscale::backend::gpu_comm {

/// Where ranks that no launcher brought together find each other: a file that all can reach.
struct RendezvousSetting {
  std::filesystem::path file;
  Rank rank = 0;
  int world = 1;
  Seconds patience{120.0};  ///< how long a rank waits for the others
};

/// DLSCALE_RENDEZVOUS, DLSCALE_RANK, DLSCALE_WORLD and DLSCALE_RENDEZVOUS_TIMEOUT (seconds).
/// Nothing if the first is not set. Throws ConfigError for what is missing or no number.
std::optional<RendezvousSetting> rendezvous_setting(const Lookup& lookup);

/// What all ranks know after they have met.
struct Gathering {
  std::vector<std::vector<std::byte>> cards;  ///< by rank
  std::vector<std::byte> word;                ///< rank 0's
};

/// One meeting of all ranks. Rank 0 opens it by the file itself, with a number drawn for this
/// meeting; every rank answers with a card in <file>.rank<r> that repeats the number; rank 0 then
/// hands all cards and its word round in <file>.answer. Each file appears whole, by rename. A file
/// that is there before rank 0 opens is of an earlier meeting and is refused.
class Rendezvous {
 public:
  /// Throws ConfigError if the folder is not there or the file is.
  explicit Rendezvous(RendezvousSetting setting);
  /// Rank 0 removes the files, after the others have read them (or 5 s).
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// Called once. Cards are of equal size. Throws ConfigError naming the ranks that did not come in
  /// time, a rank that is there twice, or one that was started for another number of ranks;
  /// Interrupted after a signal.
  Gathering meet(std::span<const std::byte> card, std::span<const std::byte> word);

 private:
  [[nodiscard]] std::filesystem::path card_path(Rank rank) const;
  [[nodiscard]] std::filesystem::path answer_path() const;
  void publish(const std::filesystem::path& path, std::vector<std::byte> body) const;
  /// Nothing if there is no such file, or none of this meeting.
  [[nodiscard]] std::optional<RendezvousPage> look_up(const std::filesystem::path& path) const;
  [[nodiscard]] std::string missing() const;
  void remove_own(const std::filesystem::path& path) const noexcept;
  [[nodiscard]] bool is_open();

  void open();
  void find_opened();
  void leave_card(std::span<const std::byte> card) const;
  [[nodiscard]] std::vector<std::vector<std::byte>> collect_cards() const;
  void hand_round(const std::vector<std::vector<std::byte>>& signed_cards,
                  std::span<const std::byte> word);
  [[nodiscard]] RendezvousPage await_answer() const;
  [[nodiscard]] Gathering read_answer(const RendezvousPage& answer, std::size_t card_bytes) const;
  void await_readers() const noexcept;

  RendezvousSetting setting_;
  std::uint64_t meeting_ = 0;  ///< drawn by rank 0
  std::uint64_t own_ = 0;      ///< drawn by this rank: two processes with one rank differ in it
  bool opened_ = false;
  bool answered_ = false;
};

}  // namespace dlscale::backend::gpu_comm
