// dlscale_forks FD: the program, started once. For each request at the socket FD (forks.py) a
// forked copy becomes a run of it, without the tenth of a second that a start takes with
// sanitizers. Given other words it is the program.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

int run_program(int count, char** words);  // main() of app/main.cpp

namespace {

/// Its folder and its words, and the files that take its output and its errors.
struct Request {
  std::vector<std::string> texts;
  std::array<int, 2> outputs{};
};

/// Nothing once the test has closed its end.
std::optional<Request> receive(int socket) {
  static std::array<char, 1 << 17> bytes;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Request::outputs))> files{};
  iovec part{bytes.data(), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = files.data();
  message.msg_controllen = files.size();
  const ssize_t length = recvmsg(socket, &message, 0);
  if (length <= 0) return std::nullopt;
  const cmsghdr* const first = CMSG_FIRSTHDR(&message);
  if (first == nullptr || (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) std::abort();
  Request request;
  std::memcpy(request.outputs.data(), CMSG_DATA(first), sizeof request.outputs);
  std::string_view rest(bytes.data(), static_cast<std::size_t>(length));
  while (!rest.empty()) {  // each text ends with a zero
    request.texts.emplace_back(rest.substr(0, rest.find('\0')));
    rest.remove_prefix(request.texts.back().size() + 1);
  }
  return request;
}

[[noreturn]] void become(Request& request, int socket) {
  close(socket);
  std::vector<char*> words;
  for (std::string& text : request.texts) words.push_back(text.data());
  const bool ready = dup2(request.outputs[0], STDOUT_FILENO) >= 0 &&
                     dup2(request.outputs[1], STDERR_FILENO) >= 0 && chdir(words[0]) == 0;
  if (!ready) std::abort();
  words.push_back(nullptr);
  const int code = run_program(static_cast<int>(words.size()) - 1, words.data());
  std::fflush(nullptr);
  // Not exit(): with sanitizers it takes longer than most runs. Nothing is lost: run_program() has
  // destroyed what writes files, and the tests in C++ look for leaks.
  _exit(code);
}

int serve(int socket) {
  while (std::optional<Request> request = receive(socket)) {
    const pid_t child = fork();
    if (child == 0) become(*request, socket);
    for (const int output : request->outputs) close(output);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) std::abort();
    if (send(socket, &status, sizeof status, MSG_NOSIGNAL) < 0) break;
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** words) {
  const bool serves = count == 2 && std::strspn(words[1], "0123456789") == std::strlen(words[1]);
  return serves ? serve(std::atoi(words[1])) : run_program(count, words);
}
