#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/published/scaling/facts/facts.hpp"

namespace dlscale::model::scaling {
namespace {

/// The statements that a clause may consist of, apart from words_around.
constexpr std::array<std::string_view, 26> statements{"compute only",
                                                      "computation only",
                                                      "computing only",
                                                      "compute alone",
                                                      "computation alone",
                                                      "computing alone",
                                                      "only compute",
                                                      "only computes",
                                                      "only computation",
                                                      "only computing",
                                                      "pure compute",
                                                      "pure computation",
                                                      "pure computing",
                                                      "forward and backward only",
                                                      "forward and backward alone",
                                                      "only forward and backward",
                                                      "no update",
                                                      "without update",
                                                      "without weight update",
                                                      "no optimizer",
                                                      "without optimizer",
                                                      "without optimizer update",
                                                      "no optimiser",
                                                      "without optimiser",
                                                      "without optimiser update",
                                                      "excluding optimizer"};

/// Words that do not change a statement. None of them denies or doubts.
constexpr std::array<std::string_view, 21> words_around{
    "the",        "a",     "an",         "this",     "it",    "its",     "is",
    "was",        "of",    "time",       "times",    "step",  "steps",   "iteration",
    "iterations", "point", "throughput", "measured", "speed", "samples", "given"};

/// The first words of clauses that may take back the previous statement.
constexpr std::array<std::string_view, 9> reservations{
    "which", "but", "though", "although", "unless", "except", "if", "or", "not"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
  return std::ranges::find(words, word) != words.end();
}

bool is_mark(char letter, std::string_view marks) {
  return marks.find(letter) != std::string_view::npos;
}

using Clause = std::vector<std::string>;

/// The words between punctuation marks, in lower case, sentence by sentence. A hyphen separates
/// words.
std::vector<std::vector<Clause>> sentences_of(std::string_view text) {
  std::vector<std::vector<Clause>> sentences(1);
  Clause clause;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) clause.push_back(std::move(word));
    word.clear();
  };
  const auto end_clause = [&] {
    end_word();
    if (!clause.empty()) sentences.back().push_back(std::move(clause));
    clause.clear();
  };
  for (const char letter : text) {
    if (is_mark(letter, " \t-_")) {
      end_word();
    } else if (is_mark(letter, ",:()[]")) {
      end_clause();
    } else if (is_mark(letter, ".;\n")) {
      end_clause();
      sentences.emplace_back();
    } else {
      word.push_back(letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a')
                                                    : letter);
    }
  }
  end_clause();
  return sentences;
}

bool is_statement(const Clause& clause) {
  std::string said;
  for (const std::string& word : clause) {
    if (is_one_of(word, words_around)) continue;
    if (!said.empty()) said += ' ';
    said += word;
  }
  return is_one_of(said, statements);
}

bool says_so(const std::vector<Clause>& sentence) {
  return std::ranges::any_of(sentence, is_statement) &&
         std::ranges::none_of(sentence, [](const Clause& clause) {
           return is_one_of(clause.front(), reservations) && clause.size() > 1 &&
                  clause.at(1) != "including" && clause.at(1) != "counting";
         });
}

}  // namespace

bool computes_only(const cases::GivenPoint& given) {
  if (given.computes_only) return *given.computes_only;
  return std::ranges::any_of(sentences_of(given.note), says_so);
}

}  // namespace dlscale::model::scaling
