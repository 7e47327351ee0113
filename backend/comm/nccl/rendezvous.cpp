#include "backend/comm/nccl/rendezvous.hpp"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/interrupt.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// Between two looks at the folder: little beside the start of a program, and easy on a file
/// server.
constexpr std::chrono::milliseconds pause{20};
/// For the other ranks to read rank 0's answer before its files go.
constexpr std::chrono::seconds reading_time{5};

std::chrono::duration<double> duration(Seconds seconds) {
  return std::chrono::duration<double>(seconds.si());
}

/// Looks until `done` is true; false if `patience` is over. Throws Interrupted after a signal.
template <class Done>
bool wait_until(Seconds patience, Done done) {
  const Clock::time_point begin = Clock::now();
  while (!done()) {
    if (Clock::now() - begin > duration(patience)) return false;
    throw_if_interrupted();
    std::this_thread::sleep_for(pause);
  }
  return true;
}

std::uint64_t draw() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

/// A card as it lies in its file: whose it is, then what it says.
std::vector<std::byte> sign(std::uint64_t owner, std::span<const std::byte> card) {
  std::vector<std::byte> body(sizeof owner);
  std::memcpy(body.data(), &owner, sizeof owner);
  body.insert(body.end(), card.begin(), card.end());
  return body;
}

std::uint64_t owner_of(std::span<const std::byte> signed_card) {
  std::uint64_t owner = 0;
  EXPECT(signed_card.size() >= sizeof owner);
  std::memcpy(&owner, signed_card.data(), sizeof owner);
  return owner;
}

/// Both times are the file server's, so that clocks of nodes need not agree.
Seconds age_of(const fs::path& file, const fs::path& newer) {
  std::error_code gone;
  const auto written = fs::last_write_time(file, gone);
  const auto now = gone ? written : fs::last_write_time(newer, gone);
  if (gone) return Seconds(0.0);
  return Seconds(std::chrono::duration<double>(now - written).count());
}

ConfigError stale(const fs::path& file, std::string_view why) {
  return ConfigError(fmt::format(
      "{} {}. Remove it and the files {}.* beside it, or name another file in DLSCALE_RENDEZVOUS.",
      file.string(), why, file.filename().string()));
}

}  // namespace

Rendezvous::Rendezvous(RendezvousSetting setting) : setting_(std::move(setting)), own_(draw()) {
  EXPECT(setting_.rank >= 0 && setting_.rank < setting_.world);
  const fs::path folder = fs::absolute(setting_.file).parent_path();
  if (!fs::is_directory(folder)) {
    throw ConfigError(fmt::format(
        "DLSCALE_RENDEZVOUS names {}, but {} is no folder here. Name a file in a folder "
        "that all ranks share.",
        setting_.file.string(), folder.string()));
  }
  if (setting_.rank == 0) open();
}

Rendezvous::~Rendezvous() {
  if (!opened_) return;
  if (answered_) await_readers();
  std::error_code ignored;
  // First, so that nobody takes this meeting for one that is still to come. From then on the next
  // run's may begin, whose files stay.
  fs::remove(setting_.file, ignored);
  for (Rank rank = 0; rank < setting_.world; ++rank) remove_own(card_path(rank));
  remove_own(answer_path());
}

Gathering Rendezvous::meet(std::span<const std::byte> card, std::span<const std::byte> word) {
  if (setting_.rank != 0) find_opened();
  leave_card(card);
  if (setting_.rank == 0) hand_round(collect_cards(), word);
  const RendezvousPage answer = await_answer();
  std::error_code ignored;
  fs::remove(card_path(setting_.rank), ignored);  // tells rank 0 that its answer was read
  return read_answer(answer, card.size());
}

fs::path Rendezvous::card_path(Rank rank) const {
  return fmt::format("{}.rank{}", setting_.file.string(), rank);
}

fs::path Rendezvous::answer_path() const {
  return setting_.file.string() + ".answer";
}

void Rendezvous::publish(const fs::path& path, std::vector<std::byte> body) const {
  write_page(path, {meeting_, setting_.rank, setting_.world, std::move(body)});
}

std::optional<RendezvousPage> Rendezvous::look_up(const fs::path& path) const {
  std::optional<RendezvousPage> page = read_page(path);
  if (page && page->meeting != meeting_) page.reset();
  return page;
}

void Rendezvous::remove_own(const fs::path& path) const noexcept {
  std::error_code ignored;
  if (look_up(path)) fs::remove(path, ignored);
}

/// A meeting whose answer is out before this rank has left its card is the last run's, which is
/// about to remove its files.
bool Rendezvous::is_open() {
  const std::optional<RendezvousPage> page = read_page(setting_.file);
  if (!page) return false;
  meeting_ = page->meeting;
  return !look_up(answer_path()) && look_up(setting_.file);
}

std::string Rendezvous::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = 0; rank < setting_.world; ++rank) {
    if (!look_up(card_path(rank))) ranks.push_back(rank);
  }
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

void Rendezvous::open() {
  std::error_code ignored;
  if (fs::exists(setting_.file, ignored)) {
    throw stale(setting_.file,
                "is there already: an earlier run left it, or another one uses it now");
  }
  meeting_ = draw();
  publish(setting_.file, {});
  opened_ = true;
}

void Rendezvous::find_opened() {
  if (!wait_until(setting_.patience, [&] { return is_open(); })) {
    throw ConfigError(
        fmt::format("rank {} waited {:.3g} s for rank 0 at {}. Start rank 0, with the same file in "
                    "DLSCALE_RENDEZVOUS and in a folder that all ranks share.",
                    setting_.rank, setting_.patience.si(), setting_.file.string()));
  }
  const std::optional<RendezvousPage> page = look_up(setting_.file);
  if (!page || page->world == setting_.world) return;
  throw ConfigError(fmt::format(
      "rank {} was started with DLSCALE_WORLD={}, but rank 0 with {}. Give all ranks the same.",
      setting_.rank, setting_.world, page->world));
}

void Rendezvous::leave_card(std::span<const std::byte> card) const {
  const fs::path path = card_path(setting_.rank);
  if (look_up(path)) {
    throw ConfigError(fmt::format(
        "another process is rank {} at {} already. Give each its own number in DLSCALE_RANK.",
        setting_.rank, setting_.file.string()));
  }
  publish(path, sign(own_, card));
  const Seconds age = age_of(setting_.file, path);
  if (age <= setting_.patience) return;
  std::error_code ignored;
  fs::remove(path, ignored);
  throw stale(setting_.file,
              fmt::format("is {:.3g} s older than this rank: an earlier run left it", age.si()));
}

std::vector<std::vector<std::byte>> Rendezvous::collect_cards() const {
  std::vector<std::vector<std::byte>> cards(static_cast<std::size_t>(setting_.world));
  const bool complete = wait_until(setting_.patience, [&] {
    bool all = true;
    for (Rank rank = 0; rank < setting_.world; ++rank) {
      std::vector<std::byte>& card = cards[static_cast<std::size_t>(rank)];
      if (!card.empty()) continue;
      if (auto page = look_up(card_path(rank))) card = std::move(page->body);
      all = all && !card.empty();
    }
    return all;
  });
  if (complete) return cards;
  throw ConfigError(fmt::format(
      "{} did not come to {} within {:.3g} s. Start all {} ranks; DLSCALE_RENDEZVOUS_TIMEOUT sets "
      "how many seconds they have.",
      missing(), setting_.file.string(), setting_.patience.si(), setting_.world));
}

void Rendezvous::hand_round(const std::vector<std::vector<std::byte>>& signed_cards,
                            std::span<const std::byte> word) {
  std::vector<std::byte> body;
  for (const std::vector<std::byte>& card : signed_cards) {
    body.insert(body.end(), card.begin(), card.end());
  }
  body.insert(body.end(), word.begin(), word.end());
  publish(answer_path(), std::move(body));
  answered_ = true;
}

RendezvousPage Rendezvous::await_answer() const {
  std::optional<RendezvousPage> answer;
  bool closed = false;
  const bool in_time = wait_until(setting_.patience, [&] {
    answer = look_up(answer_path());
    closed = !answer && !look_up(setting_.file);
    return answer.has_value() || closed;
  });
  if (answer) return std::move(*answer);
  if (closed && in_time) {
    throw ConfigError(fmt::format(
        "rank 0 left {} before all ranks had come; it says why. Mend that and start all ranks.",
        setting_.file.string()));
  }
  throw ConfigError(fmt::format("rank {} waited {:.3g} s at {} for {}. Start all {} ranks.",
                                setting_.rank, setting_.patience.si(), setting_.file.string(),
                                missing(), setting_.world));
}

Gathering Rendezvous::read_answer(const RendezvousPage& answer, std::size_t card_bytes) const {
  const auto ranks = static_cast<std::size_t>(setting_.world);
  const std::size_t step = sizeof own_ + card_bytes;
  const std::span<const std::byte> body(answer.body);
  if (body.size() < ranks * step) {
    throw ConfigError(
        fmt::format("the ranks that met at {} are of different versions of dlscale. Start the same "
                    "program on all nodes.",
                    setting_.file.string()));
  }
  if (owner_of(body.subspan(static_cast<std::size_t>(setting_.rank) * step, step)) != own_) {
    throw ConfigError(
        fmt::format("two processes at {} are rank {}, or an earlier run left its files there. Give "
                    "each its own "
                    "number in DLSCALE_RANK, and name a new file.",
                    setting_.file.string(), setting_.rank));
  }
  Gathering gathering;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto card = body.subspan(rank * step + sizeof own_, card_bytes);
    gathering.cards.emplace_back(card.begin(), card.end());
  }
  const auto word = body.subspan(ranks * step);
  gathering.word.assign(word.begin(), word.end());
  return gathering;
}

void Rendezvous::await_readers() const noexcept {
  const Clock::time_point begin = Clock::now();
  const auto unread = [&] {
    std::error_code ignored;
    for (Rank rank = 0; rank < setting_.world; ++rank) {
      if (fs::exists(card_path(rank), ignored)) return true;
    }
    return false;
  };
  while (unread() && Clock::now() - begin < reading_time) std::this_thread::sleep_for(pause);
}

}  // namespace dlscale::backend::gpu_comm
