#include "app/command_walk.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstddef>

#include "app/command_tree.hpp"

namespace dlscale::app {
namespace {

/// "-o", "--output"; a negative number is none.
bool is_name(std::string_view word) {
  return word.size() > 1 && word.front() == '-' &&
         std::isdigit(static_cast<unsigned char>(word[1])) == 0;
}

/// "--network=alex" is an option and the beginning of its value.
std::string_view name_in(std::string_view word) {
  return word.starts_with("--") ? word.substr(0, word.find('=')) : word;
}

/// Of its values those that the library of options takes whatever they look like.
int unconditional_values(const CLI::Option& option) {
  return std::min(option.get_type_size_min(), option.get_items_expected_min());
}

}  // namespace

CommandWalk::CommandWalk(CLI::App& root, std::function<void(CLI::App&)> declare)
    : root_(&root), declare_(std::move(declare)), command_(&root) {}

CommandWalk::Role CommandWalk::role_of(const std::string& word) const {
  if (open_ != nullptr && taken_ < unconditional_values(*open_)) return Role::value;
  const bool looks_like_value = word != "--" && !is_name(word) && find_below(word) == nullptr;
  if (takes_value() && looks_like_value) return Role::value;
  if (word == "--") return Role::dashes;
  if (only_places_) return Role::place;
  if (is_name(word)) return Role::name;
  return find_below(word) != nullptr ? Role::command : Role::place;
}

void CommandWalk::take(const std::string& word) {
  const Role role = role_of(word);
  if (role == Role::value) {
    given_.emplace_back(open_, word);
    ++taken_;
    return;
  }
  const bool ends_list = takes_value();
  open_ = nullptr;
  switch (role) {
    case Role::value:
      break;
    case Role::dashes:
      only_places_ = !ends_list;  // that it ends values of one option is all it does then
      break;
    case Role::name:
      take_name(word);
      break;
    case Role::command:
      enter(*find_below(word));
      break;
    case Role::place:
      take_place(word);
      break;
  }
}

bool CommandWalk::wants_value() const {
  return open_ != nullptr && taken_ < open_->get_items_expected_min();
}

bool CommandWalk::takes_value() const {
  return open_ != nullptr && taken_ < open_->get_items_expected_max();
}

const CLI::Option* CommandWalk::place() const {
  int left = places_;
  for (const CLI::Option* option : placed_options(*command_)) {
    left -= option->get_items_expected_max();
    if (left < 0) return option;
  }
  return nullptr;
}

bool CommandWalk::is_at_prefix() const {
  return command_->get_prefix_command() && place() == nullptr;
}

const CLI::Option* CommandWalk::find_option(std::string_view name) const {
  for (const CLI::Option* option : named_options(*command_)) {
    const std::vector<std::string> all = names_of(*option);
    if (std::ranges::find(all, name) != all.end()) return option;
  }
  return nullptr;
}

CLI::App* CommandWalk::find_below(const std::string& word) const {
  for (CLI::App* below : commands_below(*command_)) {
    if (below->get_name() == word) return below;
  }
  return nullptr;
}

void CommandWalk::take_name(const std::string& word) {
  const CLI::Option* option = find_option(name_in(word));
  // "-ofile" is -o and its value.
  if (option == nullptr && !word.starts_with("--")) option = find_option(word.substr(0, 2));
  if (option == nullptr) return;
  named_.insert(option);
  if (!app::takes_value(*option)) {
    given_.emplace_back(option, "");
    return;
  }
  const std::size_t equals = word.find('=');
  const std::size_t value = word.starts_with("--") ? std::min(equals, word.size() - 1) + 1 : 2;
  const bool holds_value = value < word.size();
  if (holds_value) given_.emplace_back(option, word.substr(value));
  open_ = option;
  taken_ = holds_value ? 1 : 0;
}

void CommandWalk::take_place(const std::string& word) {
  if (const CLI::Option* option = place(); option != nullptr) given_.emplace_back(option, word);
  ++places_;
}

void CommandWalk::enter(CLI::App& below) {
  if (command_ == root_) declare_(below);
  command_ = &below;
  places_ = 0;
}

}  // namespace dlscale::app
